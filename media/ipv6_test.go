package media

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
)

const (
	host4 = "127.0.0.1"
	host6 = "::1"
)

// phoneAt returns a phone at an address; it skips the test on a machine without IPv6.
func phoneAt(t testing.TB, host string, ssrc uint32) *phone {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), 0)))
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &phone{t: t, conn: conn, ssrc: ssrc, seq: 65000, ts: ssrc * 7}
}

// calledAt reads an offer, which must name the host, and returns the answer.
func (p *phone) calledAt(host string, offer []byte) []byte {
	p.t.Helper()
	family := "IP4"
	if strings.Contains(host, ":") {
		family = "IP6"
	}
	if n := bytes.Count(offer, []byte("IN "+family+" "+host+"\r\n")); n != 2 { // o= and c=
		p.t.Fatalf("the offer names another address than %s: %s", host, offer)
	}
	p.to = &net.UDPAddr{IP: net.ParseIP(host), Port: offeredPort(p.t, offer)}
	return []byte(fmt.Sprintf("v=0\r\no=- 1 1 IN %s %s\r\ns=-\r\nc=IN %s %s\r\nt=0 0\r\nm=audio %d RTP/AVP 0 101\r\n",
		family, host, family, host, p.port()))
}

// bothFamilies returns an engine that has both.
func bothFamilies(t testing.TB) *Engine {
	t.Helper()
	phoneAt(t, host6, 1)
	return start(t, func(c *Config) { c.Second = host6 })
}

// talk checks that phone and bot hear each other.
func talk(t *testing.T, e *Engine, n int, p *phone, ev *events) {
	t.Helper()
	b := newBot(t)
	e.AttachBot(attach(attempt(n), b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	word, reply := speech(codec.FrameBytes*4, 3), speech(codec.FrameBytes*4, 5)
	for i := 0; i < len(word); i += codec.FrameBytes {
		p.say(0, word[i:i+codec.FrameBytes])
	}
	if got := s.hearUntil(len(word)); !bytes.Equal(got, word) {
		t.Fatal("the bot heard something else")
	}
	s.say(reply)
	if got := p.hearUntil(len(reply), codec.UlawSilence); !bytes.Equal(got, reply) {
		t.Fatal("the callee heard something else")
	}
}

func TestACallOverIPv6IsHeardAtBothEnds(t *testing.T) {
	p := phoneAt(t, host6, 7)
	e := start(t, func(c *Config) { c.Host = host6 })
	ev := record(t)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(1), p.calledAt(host6, offer), time.Now())
	talk(t, e, 1, p, ev)
	hasten(e, attempt(1)) // its reports have their own socket
	wait(t, func() bool { return e.Stats().RTCPSent > 0 && e.Stats().SendErrors == 0 }, nil)
	if q := e.CloseMedia(attempt(1)); q.PacketsLost != 0 || q.HeardFrom != "" {
		t.Fatalf("%+v", q)
	}
}

// A call is offered the family of the trunk that is tried, the next trunk's too.
func TestTheFamilyOfAnOfferIsThatOfTheTrunk(t *testing.T) {
	e := bothFamilies(t)
	f := func(n int, want string, profiles ...engine.MediaProfile) {
		t.Helper()
		var offer []byte
		ev := record(t)
		for _, p := range profiles {
			var err error
			if offer, err = e.Open(engine.OpenMedia{Attempt: attempt(n), Profile: p}, ev.sink); err != nil {
				t.Fatal(err)
			}
		}
		p := phoneAt(t, want, uint32(n))
		e.Answer(attempt(n), p.calledAt(want, offer), time.Now())
		talk(t, e, n, p, ev)
	}
	near6, near4 := engine.MediaProfile{Reached: "2001:db8::1"}, engine.MediaProfile{Reached: "192.0.2.1"}
	f(1, host4, engine.MediaProfile{}) // a trunk that is named: the first
	f(2, host6, near6)
	f(3, host4, near6, near4)
	f(4, host6, near4, near6, near6)
	f(5, host4, engine.MediaProfile{Reached: "2001:db8::1", Family: engine.IPv4})
	f(6, host6, engine.MediaProfile{Family: engine.IPv6})
	for n := range 6 {
		e.CloseMedia(attempt(n + 1))
	}
	for _, s := range e.sockets {
		if s.live.Load() != 0 || s.waiting.Load() != 0 {
			t.Fatalf("a call stayed on port %d", s.port)
		}
	}
}

func TestAFamilyThatIsNotThereIsSaid(t *testing.T) {
	e, ev := start(t, nil), record(t)
	_, err := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{Family: engine.IPv6}}, nil)
	if err == nil || !strings.Contains(err.Error(), "IPv6") || !strings.Contains(err.Error(), "--rtp-host") {
		t.Fatal(err)
	}
	if len(e.Calls()) != 0 {
		t.Fatal("a call was opened")
	}
	// The trunk's address prefers a family, its setting demands one.
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{Reached: host6}}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	p := newPhone(t, 1)
	answer := bytes.ReplaceAll(p.calledAt(host4, offer), []byte("IP4 127.0.0.1"), []byte("IP6 ::1"))
	e.Answer(attempt(1), answer, time.Now())
	if got := ev.next(engine.MediaFailed); !strings.Contains(got.Error, "media.family") {
		t.Fatal(got.Error)
	}
	for _, bad := range []string{"", "somewhere", "::1%lo", "::ffff:127.0.0.1"} {
		if e, err := New(Config{Host: bad}); err == nil {
			e.Close()
			t.Errorf("%q is an address", bad)
		}
	}
	if e, err := New(Config{Host: host4, Second: "127.0.0.2"}); err == nil {
		e.Close()
		t.Error("two addresses of one family")
	}
}

// A callee by IPv4 talks with a bot by SIP that has IPv6 alone, and the other way round; packets that
// are read at once with theirs go their own way.
func TestTwoFamiliesAreJoined(t *testing.T) {
	f := func(near, far string) {
		t.Run(near+" "+far, func(t *testing.T) {
			phoneAt(t, host6, 1)
			e := start(t, func(c *Config) { c.Second, c.Sockets = host6, 1 })
			other := bridgeOn(t, e, "0", "0") // a call of one family
			callee, peer := phoneAt(t, near, 33), phoneAt(t, far, 44)
			offer, err := e.Open(engine.OpenMedia{Attempt: attempt(2), Profile: engine.MediaProfile{Reached: near}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			e.Answer(attempt(2), callee.calledAt(near, offer), time.Now())
			leg := attempt(2).Leg(2)
			if offer, err = e.OpenPeer(attempt(2), leg, engine.MediaProfile{Reached: far}); err != nil {
				t.Fatal(err)
			}
			if err := e.JoinPeer(attempt(2), leg, peer.calledAt(far, offer)); err != nil {
				t.Fatal(err)
			}
			pass := func(seed int, from, to, otherFrom, otherTo *phone) {
				t.Helper()
				word, beside := speech(codec.FrameBytes, byte(seed)), speech(codec.FrameBytes, byte(seed+100))
				other.callee.together(e, 1, func() {
					otherFrom.say(0, beside)
					from.say(0, word)
					otherFrom.say(0, beside)
				})
				if got := to.hearUntil(len(word), codec.UlawSilence); !bytes.Equal(got, word) {
					t.Fatal("somebody heard something else")
				}
				if got := otherTo.hearUntil(2*len(word), codec.UlawSilence); !bytes.Equal(got[len(word):], beside) {
					t.Fatal("somebody beside them heard something else")
				}
			}
			for i := range 5 {
				pass(i, callee, peer, other.callee, other.peer)
				pass(i+10, peer, callee, other.peer, other.callee)
			}
			if s := e.Stats(); s.SendErrors != 0 {
				t.Fatalf("%+v", s)
			}
		})
	}
	f(host4, host6)
	f(host6, host4)
}
