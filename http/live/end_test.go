package live

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

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

// Clients take figures for stale after ten seconds of silence; one of these is for the network.
func TestNoSilenceComesNearTenSeconds(t *testing.T) {
	const most = 9 * time.Second
	// Written just after a check, a feed's stream is silent until the second check after it.
	if silent := 2 * (streamHeartbeat + checkTimeout); silent > most {
		t.Errorf("a feed is silent for %v", silent)
	}
	// Of what one client follows, a query may have begun just before a check is due.
	if silent := streamHeartbeat + lookTimeout + checkTimeout; silent > most {
		t.Errorf("what one client follows is silent for %v", silent)
	}
}
