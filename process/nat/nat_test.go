package nat

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pion/stun/v3"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply answers a request with what it sends.
type reply func(request *stun.Message, from *net.UDPAddr, send func(*stun.Message, error))

// server is a STUN server on loopback; it returns its address.
func server(t *testing.T, answer reply) string {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFromUDP(buf)
			if err != nil {
				return
			}
			request := &stun.Message{Raw: append([]byte(nil), buf[:n]...)}
			if request.Decode() != nil || request.Type != stun.BindingRequest {
				t.Errorf("no request: %x", buf[:n])
				continue
			}
			answer(request, from, func(m *stun.Message, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = conn.WriteToUDP(m.Raw, from)
			})
		}
	}()
	return conn.LocalAddr().String()
}

var seen = net.IPv4(203, 0, 113, 7)

// What of the answers of servers is believed.
func TestAnAddressIsThatOfTheAnswerToOurQuestion(t *testing.T) {
	f := func(want string, answer reply) {
		t.Helper()
		a, err := ask(t.Context(), server(t, answer), netip.MustParseAddr("127.0.0.1"), time.Second)
		got := a.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	xor := &stun.XORMappedAddress{IP: seen, Port: 5060}
	f("203.0.113.7", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
		send(stun.Build(q, stun.BindingSuccess, xor))
	})
	f("203.0.113.7", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) { // of RFC 3489
		send(stun.Build(q, stun.BindingSuccess, &stun.MappedAddress{IP: seen, Port: 5060}))
	})
	f("203.0.113.7", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) { // a stranger was faster
		send(stun.Build(stun.TransactionID, stun.BindingSuccess, &stun.XORMappedAddress{IP: net.IPv4(192, 0, 2, 66)}))
		send(stun.Build(q, stun.BindingSuccess, xor))
	})
	f("names no IPv4 address of ours", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
		send(stun.Build(q, stun.BindingSuccess, &stun.XORMappedAddress{IP: net.ParseIP("2001:db8::1")}))
	})
	f("names no IPv4 address of ours", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
		send(stun.Build(q, stun.BindingSuccess))
	})
	f("refuses: Binding error response", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
		send(stun.Build(q, stun.BindingError, stun.CodeBadRequest))
	})
	f("does not answer", func(*stun.Message, *net.UDPAddr, func(*stun.Message, error)) {})
	lost := 0
	f("203.0.113.7", func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) { // the first is lost
		if lost++; lost > 1 {
			send(stun.Build(q, stun.BindingSuccess, xor))
		}
	})
	f("203.0.113.7", func(q *stun.Message, from *net.UDPAddr, send func(*stun.Message, error)) {
		if !from.IP.Equal(net.IPv4(127, 0, 0, 1)) {
			t.Errorf("asked from %s", from)
		}
		send(stun.Build(q, stun.BindingSuccess, xor))
	})
}

// A server may be within our own network. One that sees us on loopback is on this machine.
func TestAnAddressOfThisMachineIsOursOnlyOnLoopback(t *testing.T) {
	at := server(t, func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
		send(stun.Build(q, stun.BindingSuccess, &stun.XORMappedAddress{IP: net.IPv4(127, 0, 0, 1), Port: 5060}))
	})
	if a, err := ask(t.Context(), at, netip.MustParseAddr("127.0.0.1"), time.Second); err != nil || !a.IsLoopback() {
		t.Errorf("%s %v", a, err)
	}
	if a, err := ask(t.Context(), at, netip.IPv4Unspecified(), time.Second); err == nil {
		t.Errorf("believed: %s", a)
	}
}

func TestAnAddressThatFewCanSendToIsWarnedOf(t *testing.T) {
	f := func(address string, warned bool) {
		t.Helper()
		var log strings.Builder
		at := server(t, func(q *stun.Message, _ *net.UDPAddr, send func(*stun.Message, error)) {
			send(stun.Build(q, stun.BindingSuccess, &stun.XORMappedAddress{IP: net.ParseIP(address), Port: 5060}))
		})
		w, err := Begin(t.Context(), Config{Server: at, From: netip.MustParseAddr("127.0.0.1"), Log: zerolog.New(&log)})
		if err != nil || w.Seen().String() != address || Inner(w.Seen()) != warned ||
			strings.Contains(log.String(), "private address") != warned {
			t.Errorf("%s: %v %s", address, err, log.String())
		}
	}
	f("10.0.0.5", true)
	f("172.31.255.1", true)
	f("192.168.1.1", true)
	f("100.64.0.1", true)
	f("127.0.0.1", true)
	f("100.128.0.1", false)
	f("203.0.113.7", false)
}

// What was said before a restart is used while the server is away.
func TestAWatchBeginsWithTheLastAddressOrAnAnswer(t *testing.T) {
	silent := server(t, func(*stun.Message, *net.UDPAddr, func(*stun.Message, error)) {})
	c := Config{Server: silent, Within: 50 * time.Millisecond, Log: zerolog.New(io.Discard)}
	if _, err := Begin(t.Context(), c); err == nil {
		t.Error("it began with no address")
	}
	c.Last = netip.MustParseAddr("203.0.113.7")
	w, err := Begin(t.Context(), c)
	if err != nil || w.Seen() != c.Last {
		t.Fatal(err)
	}
	if since, why := w.Failing(); why == "" || since.IsZero() {
		t.Errorf("%s %q", since, why)
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	at := server(t, func(*stun.Message, *net.UDPAddr, func(*stun.Message, error)) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, at, netip.Addr{}, time.Hour); err == nil {
		t.Error("answered")
	}
}

// The last address stays until the server says another one.
func TestTheLastAddressStaysWhileTheServerIsSilent(t *testing.T) {
	w := &Watch{seen: netip.MustParseAddr("203.0.113.7"), Config: Config{Log: zerolog.New(io.Discard)}}
	f := func(address string, err error, changed bool, want string, failing bool) {
		t.Helper()
		a, _ := netip.ParseAddr(address)
		if got := w.note(a, err); got != changed || w.Seen().String() != want {
			t.Errorf("changed %v to %s", got, w.Seen())
		}
		if _, why := w.Failing(); (why != "") != failing {
			t.Errorf("failing: %q", why)
		}
	}
	f("203.0.113.7", nil, false, "203.0.113.7", false)
	f("", io.EOF, false, "203.0.113.7", true)
	f("", io.EOF, false, "203.0.113.7", true)
	f("203.0.113.8", nil, true, "203.0.113.8", false)
}
