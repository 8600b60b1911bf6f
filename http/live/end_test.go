package live

import (
	"context"
	"errors"
	"net"
	"testing"

	"dialler/http/wire"
)

// The end of a stream may come just before a write begins.
func TestNothingIsWrittenAfterTheEnd(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _ = a.Close() }()
	defer func() { _ = b.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := (&stream{feeds: &Feeds{}}).write(ctx, a, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A connection whose stream could not begin before the end is closed.
func TestNoStreamBeginsAfterShutdown(t *testing.T) {
	host := &wire.Host{Leisure: wire.NewLeisure(context.Background())}
	f := New(host, nil, nil, 1, 1, Figures{})
	if err := f.hold("user x"); err != nil {
		t.Fatal(err)
	}
	f.Stop(context.Background())
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	host.OnConnection(a, func() { f.release("user x") }, func(context.Context, net.Conn) {
		t.Error("it began")
	})
	if f.Count() != 0 {
		t.Error("its place is kept")
	}
	_ = a.Close()
}
