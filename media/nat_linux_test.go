package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/pion/rtp"
	"golang.org/x/sys/unix"

	"dialler/engine"
	"dialler/media/codec"
)

// home consists of three network namespaces: d with us at 203.0.113.10, c with a far side at
// 10.77.0.2, and between them the router r, a NAT that gives every stream from c a port of its own
// at 203.0.113.1.
type home struct{ d, r, c string }

// newHome skips the test where namespaces cannot be created.
func newHome(t *testing.T, name string) home {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("network namespaces with a NAT need %s (packages iproute2 and nftables)", tool)
		}
	}
	id := fmt.Sprintf("rtp%d%s", os.Getpid(), name)
	h := home{id + "d", id + "r", id + "c"}
	run := func(stdin string, args ...string) error {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = bytes.NewReader([]byte(stdin))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", args, err, out)
		}
		return nil
	}
	if err := run("", "ip", "netns", "add", h.d); err != nil {
		t.Skipf("network namespaces cannot be made here: %v", err)
	}
	t.Cleanup(func() {
		for _, ns := range []string{h.d, h.r, h.c} {
			_ = run("", "ip", "netns", "del", ns)
		}
	})
	for _, line := range [][]string{
		{"ip", "netns", "add", h.r}, {"ip", "netns", "add", h.c},
		{"ip", "-n", h.r, "link", "add", "out", "type", "veth", "peer", "name", "eth", "netns", h.d},
		{"ip", "-n", h.r, "link", "add", "in", "type", "veth", "peer", "name", "eth", "netns", h.c},
		{"ip", "-n", h.d, "addr", "add", "203.0.113.10/24", "dev", "eth"}, {"ip", "-n", h.d, "link", "set", "eth", "up"},
		{"ip", "-n", h.r, "addr", "add", "203.0.113.1/24", "dev", "out"}, {"ip", "-n", h.r, "link", "set", "out", "up"},
		{"ip", "-n", h.r, "addr", "add", "10.77.0.1/16", "dev", "in"}, {"ip", "-n", h.r, "link", "set", "in", "up"},
		{"ip", "-n", h.c, "addr", "add", "10.77.0.2/16", "dev", "eth"}, {"ip", "-n", h.c, "link", "set", "eth", "up"},
		{"ip", "-n", h.c, "link", "set", "lo", "up"},
		{"ip", "-n", h.c, "route", "add", "default", "via", "10.77.0.1"},
		{"ip", "netns", "exec", h.r, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"},
	} {
		if err := run("", line...); err != nil {
			t.Fatal(err)
		}
	}
	nat := "table ip nat {\n chain out {\n type nat hook postrouting priority 100\n oifname \"out\" masquerade " +
		"random\n }\n}\n"
	if err := run(nat, "ip", "netns", "exec", h.r, "nft", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	return h
}

// inside runs f on a thread of its own in a namespace; sockets that it opens stay in it.
func inside(t *testing.T, ns string, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		fd, err := unix.Open("/run/netns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestEveryCallBehindANATIsHeard places 200 calls, 10 per second, to a far side behind a NAT that
// its SDP does not reveal: each has its own port, or all share one, or an rtpengine stands between; many have
// early media. Every call must be heard within 300 ms of audio, in both directions, and no other call by it.
// NAT_LONG=1 places 600 that ring for 2 to 28 s, of which 35 % are answered: a minute and a half.
func TestEveryCallBehindANATIsHeard(t *testing.T) {
	t.Run("a port each", func(t *testing.T) {
		t.Parallel()
		behind(t, newHome(t, "a"), false, nil)
	})
	t.Run("one port for all", func(t *testing.T) {
		t.Parallel()
		behind(t, newHome(t, "b"), true, nil)
	})
	t.Run("through rtpengine", func(t *testing.T) {
		t.Parallel()
		h := newHome(t, "g")
		behind(t, h, false, newGateway(t, h))
	})
}

// natted is a call to a far side behind a NAT.
type natted struct {
	conn       *net.UDPConn
	to         *net.UDPAddr
	offer      []byte
	rings      int // ticks
	early      bool
	answers    bool
	ssrc, ts   uint32
	seq, first uint16
}

// behind places the calls; through is nil where no gateway stands between.
func behind(t *testing.T, h home, onePort bool, through *gateway) {
	const (
		every       = 5   // ticks of 20 ms between two calls
		talk        = 100 // ticks
		heardWithin = 15  // packets, 300 ms
	)
	calls, least, most, answers := 200, 10, 250, 100 // rings in ticks; per cent
	if os.Getenv("NAT_LONG") != "" {
		calls, least, most, answers = 600, 100, 1400, 35
	}
	rng := rand.New(rand.NewPCG(3, 4))
	answered := 0
	list := make([]*natted, calls)
	inside(t, h.c, func() (err error) {
		var conn *net.UDPConn
		for n := range list {
			if conn == nil || !onePort {
				if conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 77, 0, 2)}); err != nil {
					return err
				}
				t.Cleanup(func() { _ = conn.Close() })
				_ = conn.SetReadBuffer(4 << 20)
			}
			list[n] = &natted{
				conn: conn, rings: least + rng.IntN(most-least), early: n%3 == 0, answers: rng.IntN(100) < answers,
				ssrc: rng.Uint32(), ts: rng.Uint32(), seq: uint16(rng.Uint32()),
			}
			if list[n].answers {
				answered++
			}
		}
		return nil
	})
	var e *Engine
	inside(t, h.d, func() (err error) {
		if e, err = New(Config{Host: "203.0.113.10", Sockets: 4}); err != nil {
			return err
		}
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for tick := 0; tick < calls*every+most+talk+1; tick++ {
			<-ticker.C
			for n, c := range list {
				at := tick - n*every
				switch {
				case at == 0:
					if c.offer, err = e.Open(engine.OpenMedia{Attempt: attempt(n)}, nil); err != nil {
						return err
					}
					c.to = &net.UDPAddr{IP: net.IPv4(203, 0, 113, 10), Port: offeredPort(t, c.offer)}
					if through != nil {
						passed, err := through.describe("offer", attempt(n), c.offer)
						if err != nil {
							return err
						}
						c.to = &net.UDPAddr{IP: net.IPv4(10, 77, 0, 2), Port: offeredPort(t, passed)}
					}
				case at == c.rings && !c.answers:
					e.CloseMedia(attempt(n))
				case at == c.rings:
					port := c.conn.LocalAddr().(*net.UDPAddr).Port
					answer := bytes.ReplaceAll(sdpAnswer(port, "0"), []byte("127.0.0.1"), []byte("10.77.0.2"))
					if through != nil {
						if answer, err = through.describe("answer", attempt(n), answer); err != nil {
							return err
						}
					}
					e.AnsweredFrom(attempt(n), attempt(n).Leg(1), netip.MustParseAddr("203.0.113.1"))
					e.Answer(attempt(n), answer, time.Now())
					c.first = c.seq
				case at == c.rings+talk && c.answers:
					if err := c.check(e.call(attempt(n)), heardWithin); err != nil {
						return fmt.Errorf("call %d: %w; %+v", n, err, e.Stats())
					}
					e.CloseMedia(attempt(n))
				}
				if at < 0 || at > c.rings+talk || at < c.rings && !c.early || at >= c.rings && !c.answers {
					continue
				}
				b, err := (&rtp.Packet{
					Header:  rtp.Header{Version: 2, SequenceNumber: c.seq, Timestamp: c.ts, SSRC: c.ssrc},
					Payload: speech(codec.FrameBytes, byte(n)),
				}).Marshal()
				if err != nil {
					return err
				}
				if _, err := c.conn.WriteTo(b, c.to); err != nil {
					return err
				}
				c.seq++
				c.ts += codec.FrameBytes
			}
		}
		if onePort {
			return nil
		}
		for n, c := range list {
			if c.answers && c.heardOfUs() == 0 {
				return fmt.Errorf("call %d hears nothing of us", n)
			}
		}
		return nil
	})
	// Where the machine stands still, a call's first packets may come while another seems silent.
	if s := e.Stats(); s.Latched < uint64(answered) || !onePort && s.DropAmbiguous > uint64(calls/10) || s.Crowded != 0 {
		t.Errorf("%+v", s)
	}
	e.Close()
}

// check checks how the call was heard.
func (n *natted) check(c *call, within int16) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &c.heard
	if !h.known {
		return errors.New("never heard")
	}
	if h.ssrc != n.ssrc {
		return errors.New("another one is heard")
	}
	if late := int16(uint16(h.first) - n.first); late > within { // RFC 1982 arithmetic
		return fmt.Errorf("heard from packet %d on", late)
	}
	// Where the machine stands still, early media may be read after the answer.
	if all := uint32(n.seq - n.first); h.received > all+uint32(within) || h.received+uint32(within)+5 < all {
		return fmt.Errorf("heard %d packets of %d", h.received, all)
	}
	return nil
}

// heardOfUs counts the packets of our audio received; all of them have one SSRC.
func (n *natted) heardOfUs() (packets int) {
	raw, err := n.conn.SyscallConn()
	if err != nil {
		return 0
	}
	ssrc := map[uint32]bool{}
	_ = raw.Read(func(fd uintptr) bool {
		for buf := make([]byte, 2000); ; packets++ {
			k, _, err := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT)
			if err != nil {
				return true
			}
			if k >= rtpHeaderBytes && !isRTCP(buf[:k]) {
				ssrc[binary.BigEndian.Uint32(buf[8:])] = true
			} else {
				packets--
			}
		}
	})
	if len(ssrc) != 1 {
		return 0
	}
	return packets
}

// A NAT that forgets a call in its midst gives its stream another port: the call is heard again within 3 s, both ways.
func TestACallIsHeardAgainWhenItsNATForgetsIt(t *testing.T) {
	t.Parallel()
	h := newHome(t, "f")
	const forgets, again, end = 50, 200, 250 // ticks of 20 ms
	n := &natted{ssrc: 7}
	inside(t, h.c, func() (err error) {
		n.conn, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 77, 0, 2)})
		return err
	})
	defer func() { _ = n.conn.Close() }()
	inside(t, h.d, func() error {
		e, err := New(Config{Host: "203.0.113.10", Sockets: 4})
		if err != nil {
			return err
		}
		defer e.Close()
		if n.offer, err = e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil); err != nil {
			return err
		}
		n.to = &net.UDPAddr{IP: net.IPv4(203, 0, 113, 10), Port: offeredPort(t, n.offer)}
		port := n.conn.LocalAddr().(*net.UDPAddr).Port
		e.AnsweredFrom(attempt(1), attempt(1).Leg(1), netip.MustParseAddr("203.0.113.1"))
		e.Answer(attempt(1), bytes.ReplaceAll(sdpAnswer(port, "0"), []byte("127.0.0.1"), []byte("10.77.0.2")), time.Now())
		c := e.call(attempt(1))
		received := func() (packets uint32, from netip.AddrPort) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.heard.received, c.dest
		}
		var before, after uint32
		var first netip.AddrPort
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for tick := range end {
			<-ticker.C
			switch tick {
			case forgets: // an address that goes takes what was translated to it along
				if before, first = received(); before == 0 {
					return errors.New("never heard")
				}
				for _, act := range []string{"del", "add"} {
					change := exec.Command("ip", "-n", h.r, "addr", act, "203.0.113.1/24", "dev", "out")
					if out, err := change.CombinedOutput(); err != nil {
						return fmt.Errorf("%w: %s", err, out)
					}
				}
			case again:
				after, _ = received()
				n.heardOfUs() // what came until now
			}
			b, err := (&rtp.Packet{
				Header:  rtp.Header{Version: 2, SequenceNumber: n.seq, Timestamp: n.ts, SSRC: n.ssrc},
				Payload: speech(codec.FrameBytes, 1),
			}).Marshal()
			if err != nil {
				return err
			}
			if _, err := n.conn.WriteTo(b, n.to); err != nil {
				return err
			}
			n.seq++
			n.ts += codec.FrameBytes
		}
		last, moved := received()
		if moved == first {
			return fmt.Errorf("the NAT has not given another port than %s", first)
		}
		if after <= before || last-after < (end-again)/2 || n.heardOfUs() == 0 {
			return fmt.Errorf("heard %d packets, %d 3 s after the NAT forgot, %d at the end", before, after, last)
		}
		return nil
	})
}
