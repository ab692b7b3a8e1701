// Command go-channel makes calls through a stock grpc-go channel, as it is told on standard input.
//
// One JSON object a line. Each but send, finish and cancel is answered by one line with the same seq; a call's comes at its end:
//
//	{"seq":1,"op":"open","channel":"a","target":"127.0.0.1:1234","serviceConfig":"{…}"}  → {"seq":1} or {"seq":1,"configRejected":"why"}
//	{"seq":6,"op":"open","channel":"b","target":"127.0.0.1:1235","tls":{"ca":"ca.crt","cert":"c.crt","key":"c.key"}}  → {"seq":6}
//	{"seq":2,"op":"call","channel":"a","method":"/t.S/M","kind":"unary","message":"hi"}  → {"seq":2,"status":0,"message":"",…}
//	{"seq":3,"op":"call","channel":"a","method":"/t.S/M","kind":"clientStream"}  → {"seq":3,"status":0,"message":"",…}
//	{"seq":7,"op":"call","channel":"b","method":"/t.S/M","kind":"serverStream","message":"hi"}  → {"seq":7,"status":0,"message":"",…}
//	{"op":"send","call":3,"message":"hi"}
//	{"op":"finish","call":3}
//	{"op":"cancel","call":2}
//	{"seq":4,"op":"close","channel":"a"}  → {"seq":4}
//	{"seq":5,"op":"version"}  → {"seq":5,"message":"1.2.3"}
//
// Attempts are counted by the backend, not here: a channel does not tell them.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// PEM files: whom the channel trusts, and what it shows, if anything.
type tlsFiles struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

func (f *tlsFiles) credentials() (credentials.TransportCredentials, error) {
	ca, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New(f.CA + " holds no certificate")
	}
	if f.Cert != "" {
		own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return credentials.NewTLS(config), nil
}

type request struct {
	Seq     int    `json:"seq"`
	Op      string `json:"op"`
	Channel string `json:"channel"`
	Target  string `json:"target"`
	// The configuration's text, as it stands.
	ServiceConfig *string `json:"serviceConfig"`
	// Of open; absent for cleartext.
	TLS *tlsFiles `json:"tls"`
	// The channel's own retries, the transparent ones of A6 left, are off.
	NoRetries bool   `json:"noRetries"`
	Method    string `json:"method"`
	// Of send, finish and cancel: the seq of the call.
	Call int `json:"call"`
	// unary, clientStream, or serverStream.
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Each message is compressed.
	Gzip     bool        `json:"gzip"`
	Metadata [][2]string `json:"metadata"`
	// From the start of the call; absent for none.
	DeadlineMs *int64 `json:"deadlineMs"`
}

type reply struct {
	Seq            int      `json:"seq"`
	ConfigRejected string   `json:"configRejected,omitempty"`
	Status         *int     `json:"status,omitempty"`
	Message        string   `json:"message"`
	Messages       []string `json:"messages,omitempty"`
	// The values of one key in their order.
	Headers  [][2]string `json:"headers,omitempty"`
	Trailers [][2]string `json:"trailers,omitempty"`
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
	transport := insecure.NewCredentials()
	if r.TLS != nil {
		secure, err := r.TLS.credentials()
		if err != nil {
			return nil, err
		}
		transport = secure
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		// The configuration is the one given here; a name resolver's is not looked for.
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(),
	}
	if r.NoRetries {
		options = append(options, grpc.WithDisableRetry())
	}
	if r.ServiceConfig != nil {
		options = append(options, grpc.WithDefaultServiceConfig(*r.ServiceConfig))
	}
	return grpc.NewClient("passthrough:///"+r.Target, options...)
}

// So long a channel may take to its first connection before the calls go on without.
const connectBound = 5 * time.Second

// Times in the cases begin with a connection that is up.
func connect(conn *grpc.ClientConn) {
	ctx, stop := context.WithTimeout(context.Background(), connectBound)
	defer stop()
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// A call that is not over.
type live struct {
	cancel context.CancelFunc
	// What a client stream is to send, in order; closed for its end.
	outgoing chan []byte
}

func (l *live) run(ctx context.Context, conn *grpc.ClientConn, r request) reply {
	begin := time.Now()
	if r.DeadlineMs != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(*r.DeadlineMs)*time.Millisecond)
		defer stop()
	}
	for _, pair := range r.Metadata {
		value := pair[1]
		if strings.HasSuffix(pair[0], "-bin") {
			bytes, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return reply{Seq: r.Seq, Fault: err.Error()}
			}
			value = string(bytes)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, pair[0], value)
	}
	var headers, trailers metadata.MD
	options := []grpc.CallOption{grpc.ForceCodec(rawCodec{}), grpc.Header(&headers), grpc.Trailer(&trailers)}
	if r.Gzip {
		options = append(options, grpc.UseCompressor(gzip.Name))
	}
	var answers []string
	var err error
	switch r.Kind {
	case "serverStream":
		answers, err = serverStream(ctx, conn, r, options)
	case "unary":
		var answer []byte
		message := []byte(r.Message)
		err = conn.Invoke(ctx, r.Method, &message, &answer, options...)
		answers = []string{string(answer)}
	default:
		var answer []byte
		err = l.stream(ctx, conn, r.Method, &answer, options)
		answers = []string{string(answer)}
	}
	took := float64(time.Since(begin).Microseconds()) / 1000
	code := int(status.Code(err))
	result := reply{Seq: r.Seq, Status: &code, Message: status.Convert(err).Message(), TookMs: took}
	if err == nil {
		result.Messages = answers
	}
	result.Headers, result.Trailers = lines(headers), lines(trailers)
	return result
}

// Binary values in base64, as on the wire.
func lines(of metadata.MD) [][2]string {
	var all [][2]string
	for key, values := range of {
		for _, value := range values {
			if strings.HasSuffix(key, "-bin") {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			all = append(all, [2]string{key, value})
		}
	}
	return all
}

func (l *live) stream(ctx context.Context, conn *grpc.ClientConn, method string, answer *[]byte, options []grpc.CallOption) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method, options...)
	if err != nil {
		return err
	}
	// Sent from a goroutine of its own, as an application does that wants to hear of the end while it sends.
	go func() {
		for message := range l.outgoing {
			if stream.SendMsg(&message) != nil {
				return // The call is over; RecvMsg tells its status.
			}
		}
		_ = stream.CloseSend() // Likewise.
	}()
	return stream.RecvMsg(answer)
}

func serverStream(ctx context.Context, conn *grpc.ClientConn, r request, options []grpc.CallOption) ([]string, error) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, r.Method, options...)
	if err != nil {
		return nil, err
	}
	message := []byte(r.Message)
	// Where the call is over, RecvMsg tells its status.
	_ = stream.SendMsg(&message)
	_ = stream.CloseSend()
	var answers []string
	for {
		var answer []byte
		switch err := stream.RecvMsg(&answer); {
		case errors.Is(err, io.EOF):
			return answers, nil
		case err != nil:
			return nil, err
		}
		answers = append(answers, string(answer))
	}
}

// More than a case sends, so that no line waits for another call's flow control.
const mostMessages = 4096

type peer struct {
	lock     sync.Mutex
	say      func(reply)
	channels map[string]*grpc.ClientConn
	calls    map[int]*live
}

// What has to keep the order of the lines is done at once; calls go on beside.
func (p *peer) carryOut(r request) {
	p.lock.Lock()
	defer p.lock.Unlock()
	conn, call := p.channels[r.Channel], p.calls[r.Call]
	switch {
	case r.Op == "version":
		p.say(reply{Seq: r.Seq, Message: grpc.Version})
	case r.Op == "open" && conn == nil:
		conn, err := open(r)
		if err != nil {
			p.say(reply{Seq: r.Seq, ConfigRejected: err.Error()})
			return
		}
		p.channels[r.Channel] = conn
		go func() {
			// With TLS, whether it comes to a connection is what the calls are to show.
			if r.TLS == nil {
				connect(conn)
			}
			p.lock.Lock()
			defer p.lock.Unlock()
			p.say(reply{Seq: r.Seq})
		}()
	case r.Op == "call" && conn != nil:
		ctx, cancel := context.WithCancel(context.Background())
		begun := &live{cancel: cancel, outgoing: make(chan []byte, mostMessages)}
		p.calls[r.Seq] = begun
		go func() {
			defer cancel()
			result := begun.run(ctx, conn, r)
			p.lock.Lock()
			defer p.lock.Unlock()
			delete(p.calls, r.Seq)
			p.say(result)
		}()
	case r.Op == "send" && call != nil:
		call.outgoing <- []byte(r.Message)
	case r.Op == "finish" && call != nil:
		close(call.outgoing)
	case r.Op == "cancel" && call != nil:
		call.cancel()
	case r.Op == "send" || r.Op == "finish" || r.Op == "cancel":
		// The call is over.
	case r.Op == "close" && conn != nil:
		delete(p.channels, r.Channel)
		_ = conn.Close() // Fails only where it is closed already.
		p.say(reply{Seq: r.Seq})
	default:
		p.say(reply{Seq: r.Seq, Fault: fmt.Sprintf("cannot do op %q for channel %q", r.Op, r.Channel)})
	}
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	p := peer{channels: map[string]*grpc.ClientConn{}, calls: map[int]*live{}}
	// Always under the peer's lock.
	p.say = func(r reply) {
		if err := out.Encode(r); err != nil {
			os.Exit(1) // Nobody reads any more.
		}
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return // Nobody asks any more.
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			p.lock.Lock()
			p.say(reply{Fault: "not a request: " + err.Error()})
			p.lock.Unlock()
			continue
		}
		p.carryOut(r)
	}
}
