package media

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"dialler/engine"
)

// steal closes a line's descriptor behind its back.
func steal(t *testing.T, l *line) {
	t.Helper()
	err := l.raw.Control(func(fd uintptr) {
		if err := unix.Close(int(fd)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABrokenPortIsReplacedAndItsCallsGoOn(t *testing.T) {
	e := start(t, func(c *Config) { c.Sockets = 1 })
	p, s, _ := connected(t, e, 1, "0")
	word := speech(160, 1)
	p.say(0, word)
	if got := s.hearUntil(160); !bytes.Equal(got, word) {
		t.Fatalf("heard %x", got)
	}
	steal(t, e.sockets[0].rtp.Load())
	steal(t, e.sockets[0].rtcp.Load())
	wait(t, func() bool { return e.Stats().PortsReplaced == 2 }, nil)
	if usable, _ := e.Ports(); usable != 1 {
		t.Fatal("the port is still broken")
	}
	again := speech(160, 2)
	for i := 0; i < 2; i++ {
		p.say(0, again)
	}
	if got := s.hearUntil(320); !bytes.Contains(got, again[:100]) {
		t.Fatalf("heard %x", got)
	}
	reply := speech(160, 3)
	s.say(reply)
	for !bytes.Contains(p.hear().Payload, reply) {
	}
	// And a new call.
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(2)}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestAPortThatCannotBeReadIsReplaced(t *testing.T) {
	e := start(t, func(c *Config) { c.Sockets = 1 })
	s := e.sockets[0]
	old := s.rtp.Load()
	s.broken.Store(true) // as its reader reports after several errors in a row
	s.tend()
	if l := s.rtp.Load(); l == old || l.port != old.port || s.broken.Load() || !old.left.Load() {
		t.Fatalf("port %d, broken %v", l.port, s.broken.Load())
	}
	p, b, _ := connected(t, e, 1, "0")
	p.say(0, speech(160, 1))
	b.hearUntil(160)
	if usable, _ := e.Ports(); usable != 1 {
		t.Fatal("no port is usable")
	}
	before := s.rtp.Load()
	s.tend()
	if s.rtp.Load() != before {
		t.Fatal("what is sound was replaced")
	}
}
