// Command go-peers is a backend that fails as each call asks for in its metadata (docs/interop.md, The flaky backend).
// It tells its port in one line of JSON on standard output and ends with its standard input. With -ca, -cert and -key it
// speaks TLS, and asks for a certificate of that CA.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const service = "/hedgerow.interop.Flaky/"

// rawCodec passes bytes on as they are, under the name that plain content types ask for.
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

// What came of the attempts of one call id.
type seen struct {
	previous  []string
	cancelled int
}

type flaky struct {
	lock    sync.Mutex
	changed *sync.Cond
	calls   map[string]*seen
}

// Under the lock.
func (f *flaky) call(id string) *seen {
	found := f.calls[id]
	if found == nil {
		found = &seen{}
		f.calls[id] = found
	}
	return found
}

func first(md metadata.MD, key string) string {
	if values := md.Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Answers when the call has as many attempts and cancels as the metadata asks for.
func (f *flaky) tell(md metadata.MD) string {
	attempts, _ := strconv.Atoi(first(md, "wait-attempts"))
	cancelled, _ := strconv.Atoi(first(md, "wait-cancelled"))
	f.lock.Lock()
	defer f.lock.Unlock()
	it := f.call(first(md, "call-id"))
	for len(it.previous) < attempts || it.cancelled < cancelled {
		f.changed.Wait()
	}
	return fmt.Sprintf("previous=%s cancelled=%d", strings.Join(it.previous, ","), it.cancelled)
}

func (f *flaky) begin(md metadata.MD) int {
	f.lock.Lock()
	defer f.lock.Unlock()
	it := f.call(first(md, "call-id"))
	previous := first(md, "grpc-previous-rpc-attempts")
	if previous == "" {
		previous = "0"
	}
	it.previous = append(it.previous, previous)
	f.changed.Broadcast()
	return len(it.previous)
}

func (f *flaky) cancelled(md metadata.MD) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.call(first(md, "call-id")).cancelled++
	f.changed.Broadcast()
}

func receive(stream grpc.ServerStream) (all []byte, err error) {
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, message...)
	}
}

func answer(stream grpc.ServerStream, text string) error {
	bytes := []byte(text)
	return stream.SendMsg(&bytes)
}

func (f *flaky) handle(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	method, _ := grpc.MethodFromServerStream(stream)
	method = strings.TrimPrefix(method, service)
	if method == "Seen" {
		return answer(stream, f.tell(md))
	}
	attempt := f.begin(md)
	all, err := receive(stream)
	if err != nil {
		if ctx.Err() != nil {
			f.cancelled(md)
		}
		return err
	}
	failing, _ := strconv.Atoi(first(md, "fail-first"))
	if attempt <= failing {
		return f.fail(stream, md)
	}
	if first(md, "hang") != "" {
		<-ctx.Done()
		f.cancelled(md)
		return status.FromContextError(ctx.Err()).Err()
	}
	echoed := metadata.MD{}
	for key, values := range md {
		if strings.HasPrefix(key, "echo-") {
			echoed[key] = values
		}
	}
	if err := stream.SetHeader(echoed); err != nil {
		return err
	}
	stream.SetTrailer(echoed)
	if first(md, "answer-gzip") != "" {
		if err := grpc.SetSendCompressor(ctx, gzip.Name); err != nil {
			return err
		}
	}
	if method == "Thrice" {
		for n := range 2 {
			if err := answer(stream, fmt.Sprintf("%d of 3", n+1)); err != nil {
				return err
			}
		}
	}
	return answer(stream, fmt.Sprintf("%s %d %s", method, len(all), all[:min(len(all), 16)]))
}

func (f *flaky) fail(stream grpc.ServerStream, md metadata.MD) error {
	if first(md, "early-headers") != "" {
		if err := stream.SendHeader(metadata.Pairs("early", "yes")); err != nil {
			return err
		}
	}
	if details := first(md, "details-bin"); details != "" {
		stream.SetTrailer(metadata.Pairs("grpc-status-details-bin", details))
	}
	return status.Error(codes.Unavailable, "ä\nb")
}

func transport(ca, cert, key string) ([]grpc.ServerOption, error) {
	if ca == "" {
		return nil, nil
	}
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	trusted, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(trusted) {
		return nil, errors.New(ca + " holds no certificate")
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
	}
	return []grpc.ServerOption{grpc.Creds(credentials.NewTLS(config))}, nil
}

func main() {
	ca := flag.String("ca", "", "PEM file of the CA of clients; empty: cleartext")
	cert := flag.String("cert", "", "PEM file of the server's certificate")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	options, err := transport(*ca, *cert, *key)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	encoding.RegisterCodec(rawCodec{})
	f := &flaky{calls: map[string]*seen{}}
	f.changed = sync.NewCond(&f.lock)
	server := grpc.NewServer(append(options, grpc.UnknownServiceHandler(f.handle))...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // Its end is all that counts.
		os.Exit(0)
	}()
	fmt.Printf("{\"port\":%d,\"version\":%q}\n", listener.Addr().(*net.TCPAddr).Port, grpc.Version)
	if err := server.Serve(listener); err != nil {
		os.Exit(1)
	}
}
