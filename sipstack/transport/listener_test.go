package transport

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/emiago/sipgo/sip"
	"github.com/rs/zerolog"

	"dialler/sipstack/message"
)

func TestEverySocketOfAListenerIsControlled(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	control := func(network, _ string, _ syscall.RawConn) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, network)
		return nil
	}
	n, err := Open([]Listener{{Name: "a", Address: "127.0.0.1:0", Control: control}}, nil, time.Minute, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	anyone := func(netip.Addr) bool { return true }
	n.Serve(anyone, anyone, func(sip.Message, Target) {})
	defer func() { _ = n.Close() }()
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = far.Close() }()
	if _, err := n.connect(Target{Transport: message.TCP, Addr: far.Addr().(*net.TCPAddr).AddrPort()}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"tcp4", "udp4", "tcp4"}; !slices.Equal(seen, want) {
		t.Errorf("%v were controlled, want %v", seen, want)
	}
}
