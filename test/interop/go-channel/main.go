// Command go-channel makes calls through a stock grpc-go channel, as it is told on standard input.
//
// One JSON object a line, answered by one line with the same seq, in any order:
//
//	{"seq":1,"op":"open","channel":"a","target":"127.0.0.1:1234","serviceConfig":"{…}"}  → {"seq":1} or {"seq":1,"configRejected":"why"}
//	{"seq":2,"op":"call","channel":"a","method":"/t.S/M","kind":"unary","messages":["hi"]}  → {"seq":2,"status":0,"message":"",…}
//	{"seq":3,"op":"cancel","channel":"a","call":2}  → {"seq":3}
//	{"seq":4,"op":"close","channel":"a"}  → {"seq":4}
//	{"seq":5,"op":"version"}  → {"seq":5,"message":"1.2.3"}
//
// Attempts are counted by the backend, not here: a channel does not tell them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type request struct {
	Seq     int    `json:"seq"`
	Op      string `json:"op"`
	Channel string `json:"channel"`
	Target  string `json:"target"`
	// The configuration's text, as it stands.
	ServiceConfig *string `json:"serviceConfig"`
	Method        string  `json:"method"`
	// Of cancel: the seq of the call.
	Call int `json:"call"`
	// unary, or clientStream.
	Kind     string      `json:"kind"`
	Messages []string    `json:"messages"`
	Metadata [][2]string `json:"metadata"`
	// From the start of the call; absent for none.
	DeadlineMs    *int64 `json:"deadlineMs"`
	CancelAfterMs *int64 `json:"cancelAfterMs"`
}

type reply struct {
	Seq            int      `json:"seq"`
	ConfigRejected string   `json:"configRejected,omitempty"`
	Status         *int     `json:"status,omitempty"`
	Message        string   `json:"message"`
	Messages       []string `json:"messages,omitempty"`
	// Headers and trailers; the values of one key in their order.
	Metadata [][2]string `json:"metadata,omitempty"`
	// From the call's start to its status.
	TookMs float64 `json:"tookMs,omitempty"`
	// The line could not be carried out: a fault of the one who sent it.
	Fault string `json:"fault,omitempty"`
}

// rawCodec passes bytes on as they are. It goes by the name proto, so that the content type is a plain one.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	bytes, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("not bytes: %T", v)
	}
	return *bytes, nil
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	bytes, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("not bytes: %T", v)
	}
	*bytes = append([]byte(nil), data...)
	return nil
}

func open(r request) (*grpc.ClientConn, error) {
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// The configuration is the one given here; a name resolver's is not looked for.
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	}
	if r.ServiceConfig != nil {
		options = append(options, grpc.WithDefaultServiceConfig(*r.ServiceConfig))
	}
	return grpc.NewClient("passthrough:///"+r.Target, options...)
}

func call(ctx context.Context, cancel context.CancelFunc, conn *grpc.ClientConn, r request) reply {
	begin := time.Now()
	if r.DeadlineMs != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*r.DeadlineMs)*time.Millisecond)
		defer stop()
	}
	if r.CancelAfterMs != nil {
		timer := time.AfterFunc(time.Duration(*r.CancelAfterMs)*time.Millisecond, cancel)
		defer timer.Stop()
	}
	for _, pair := range r.Metadata {
		ctx = metadata.AppendToOutgoingContext(ctx, pair[0], pair[1])
	}
	var headers, trailers metadata.MD
	options := []grpc.CallOption{grpc.ForceCodec(rawCodec{}), grpc.Header(&headers), grpc.Trailer(&trailers)}
	var answer []byte
	var err error
	if r.Kind == "unary" {
		message := []byte{}
		if len(r.Messages) > 0 {
			message = []byte(r.Messages[0])
		}
		err = conn.Invoke(ctx, r.Method, &message, &answer, options...)
	} else {
		err = clientStream(ctx, conn, r, &answer, options)
	}
	took := float64(time.Since(begin).Microseconds()) / 1000
	code := int(status.Code(err))
	result := reply{Seq: r.Seq, Status: &code, Message: status.Convert(err).Message(), TookMs: took}
	if err == nil {
		result.Messages = []string{string(answer)}
	}
	for _, part := range []metadata.MD{headers, trailers} {
		for key, values := range part {
			for _, value := range values {
				result.Metadata = append(result.Metadata, [2]string{key, value})
			}
		}
	}
	return result
}

func clientStream(ctx context.Context, conn *grpc.ClientConn, r request, answer *[]byte, options []grpc.CallOption) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, r.Method, options...)
	if err != nil {
		return err
	}
	for _, text := range r.Messages {
		message := []byte(text)
		if err := stream.SendMsg(&message); err != nil {
			if errors.Is(err, io.EOF) {
				break // The call is over; RecvMsg tells its status.
			}
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(answer)
}

type peer struct {
	lock     sync.Mutex
	channels map[string]*grpc.ClientConn
	// The calls that are not over, by seq.
	cancels map[int]context.CancelFunc
}

func (p *peer) locked(do func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	do()
}

func (p *peer) carryOut(r request) reply {
	var conn *grpc.ClientConn
	p.locked(func() { conn = p.channels[r.Channel] })
	switch {
	case r.Op == "version":
		return reply{Seq: r.Seq, Message: grpc.Version}
	case r.Op == "open" && conn == nil:
		conn, err := open(r)
		if err != nil {
			return reply{Seq: r.Seq, ConfigRejected: err.Error()}
		}
		p.locked(func() { p.channels[r.Channel] = conn })
		return reply{Seq: r.Seq}
	case r.Op == "call" && conn != nil:
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p.locked(func() { p.cancels[r.Seq] = cancel })
		defer p.locked(func() { delete(p.cancels, r.Seq) })
		return call(ctx, cancel, conn, r)
	case r.Op == "cancel":
		p.locked(func() {
			if cancel := p.cancels[r.Call]; cancel != nil {
				cancel()
			}
		})
		return reply{Seq: r.Seq}
	case r.Op == "close" && conn != nil:
		p.locked(func() { delete(p.channels, r.Channel) })
		if err := conn.Close(); err != nil {
			return reply{Seq: r.Seq, Fault: err.Error()}
		}
		return reply{Seq: r.Seq}
	default:
		return reply{Seq: r.Seq, Fault: fmt.Sprintf("cannot do op %q for channel %q", r.Op, r.Channel)}
	}
}

func main() {
	var output sync.Mutex
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	say := func(r reply) {
		output.Lock()
		defer output.Unlock()
		if err := lines.Encode(r); err != nil {
			os.Exit(1) // Nobody reads any more.
		}
	}

	p := peer{channels: map[string]*grpc.ClientConn{}, cancels: map[int]context.CancelFunc{}}
	var pending sync.WaitGroup
	input := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			break
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			say(reply{Fault: "not a request: " + err.Error()})
			continue
		}
		pending.Go(func() { say(p.carryOut(r)) })
	}
	pending.Wait()
}
