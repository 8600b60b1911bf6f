package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	nethttp "net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/http/wire"
)

// knock opens a connection and sends the beginning of a request.
func knock(t *testing.T, address, bytes string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte(bytes)); err != nil {
		t.Fatal(err)
	}
	return c
}

// waitsLeast sets how long a connection must have waited before it makes room.
func (b *bench) waitsLeast(d time.Duration) {
	b.server.conns.mu.Lock()
	defer b.server.conns.mu.Unlock()
	b.server.conns.least = d
}

const askHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

func TestTheConnectionThatWaitsLongestMakesRoomForAnother(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ConnectionCap = 3 })
	b.waitsLeast(time.Hour)
	address := b.served()
	idle := knock(t, address, askHealth)
	if status, _, _ := response(t, bufio.NewReader(idle)); status != 200 {
		t.Fatalf("answered %d", status)
	}
	// One never ends its head, the other never its body.
	knock(t, address, "GET /healthz HTTP/1.1\r\nHos")
	knock(t, address, "POST "+triggerPath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"mob")
	eventually(t, "three are open", func() bool { return b.server.conns.count() == 3 })
	// At first they may still be sending: a new client is told to retry, and finds room once they
	// have waited long enough.
	ask := func() int {
		c := knock(t, address, askHealth)
		defer func() { _ = c.Close() }()
		resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == 503 &&
			(resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != wire.ContentProblem || !resp.Close) {
			t.Errorf("refused with %v", resp.Header)
		}
		return resp.StatusCode
	}
	for range 3 {
		if status := ask(); status != 503 {
			t.Fatalf("answered %d", status)
		}
	}
	b.waitsLeast(0)
	for n := range 3 {
		if status := ask(); status != 200 {
			t.Fatalf("answered %d", status)
		}
		if got := b.figure("dialler_http_connections_evicted_total"); got != float64(n+1) {
			t.Errorf("%v had to go for %d", got, n+1)
		}
		eventually(t, "it is gone", func() bool { return b.server.conns.count() == 2 })
		knock(t, address, "G")
		eventually(t, "another waits in its place", func() bool { return b.server.conns.count() == 3 })
	}
	if got := b.figure("dialler_http_connections_refused_total"); got != 3 {
		t.Errorf("3 were refused, counted %v", got)
	}
}

func TestAConnectionWhoseRequestIsHandledMakesNoRoom(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ConnectionCap = 2 })
	b.waitsLeast(0)
	address := b.served()
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	b.ports.onTrigger = func(_ context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
		entered <- struct{}{}
		<-leave
		return campaign.TriggerReply{Status: "queued", ContactID: "c", CampaignID: c.Campaign}, nil
	}
	body := triggerBody("")
	ask := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n%s", triggerPath, b.key, len(body), body)
	one, two := knock(t, address, ask), knock(t, address, ask)
	<-entered
	<-entered
	for range 20 {
		c := knock(t, address, askHealth)
		resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != 503 {
			t.Fatalf("%v %v", resp, err)
		}
		resp.Body.Close()
		_ = c.Close()
	}
	close(leave)
	for _, c := range []net.Conn{one, two} {
		if status, _, _ := response(t, bufio.NewReader(c)); status != 200 {
			t.Errorf("answered %d", status)
		}
	}
}

// poor is a listener that sometimes lacks descriptors.
type poor struct {
	net.Listener
	lacks atomic.Int32
}

func (p *poor) Accept() (net.Conn, error) {
	if p.lacks.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return p.Listener.Accept()
}

func TestTheAPIOutlivesAWantOfDescriptors(t *testing.T) {
	b := newBench(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &poor{Listener: ln}
	p.lacks.Store(5)
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(p) }()
	if status, _, _ := response(t, bufio.NewReader(knock(t, ln.Addr().String(), askHealth))); status != 200 {
		t.Errorf("answered %d", status)
	}
	if n := b.figure("dialler_http_accept_errors_total"); n != 5 {
		t.Errorf("%v failures are counted", n)
	}
	p.lacks.Store(1 << 30) // Shutdown does not wait for descriptors
	if err := b.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestARefusedClientOfAPipeMaySendItsBody(t *testing.T) {
	ours, client := net.Pipe() // it has no half-close
	c := &conn{Conn: ours, all: new(connections)}
	c.linger.Store(true)
	closed := make(chan struct{})
	go func() { _ = c.Close(); close(closed) }()
	if err := client.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4<<10)
	for i := range 100 {
		if _, err := client.Write(piece); err != nil {
			t.Fatalf("piece %d: %v", i, err)
		}
	}
	_ = client.Close()
	<-closed
}
