package media

import (
	"testing"

	"dialler/engine"
	"dialler/media/codec"
)

// TestACallThatMayBeLatchedIsAloneUntilItIsHeard opens more calls than there are
// ports.
func TestACallThatMayBeLatchedIsAloneUntilItIsHeard(t *testing.T) {
	e := start(t, func(c *Config) { c.SocketCap = 6 })
	on := engine.MediaProfile{Symmetric: engine.SymmetricOn}
	open := func(n int, p engine.MediaProfile) *call {
		if _, err := e.Open(engine.OpenMedia{Attempt: attempt(n), Profile: p}, nil); err != nil {
			t.Fatal(err)
		}
		return e.call(attempt(n))
	}
	used := map[*socket]int{}
	for n := range 5 {
		used[open(n, on).sock]++
	}
	if len(used) != 5 {
		t.Fatalf("five calls are on %d ports", len(used))
	}
	near := open(5, engine.MediaProfile{}).sock // it cannot latch, but may be mistaken for one that can
	if used[near] != 0 {
		t.Fatal("a call was opened beside one that may be latched")
	}
	if open(6, engine.MediaProfile{}).sock != near || e.Stats().Crowded != 0 {
		t.Fatal("calls that cannot be latched do not share a port")
	}
	crowded := open(7, on).sock
	if e.Stats().Crowded != 1 {
		t.Fatal("a port too few is not counted")
	}
	// A call that was alone on its port leaves it to the next once it was heard.
	a := attempt(0)
	if e.call(a).sock == crowded {
		a = attempt(1)
	}
	c, p := e.call(a), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: a, Profile: on}, nil)
	e.Answer(a, p.called(offer, "0"), c.openedAt)
	p.say(0, speech(codec.FrameBytes, 1))
	wait(t, func() bool { return c.sock.alone.Load() == 0 && c.sock.waiting.Load() == 0 }, nil)
	c.sock.ghosts.Store(0) // two seconds have passed
	if open(8, on).sock != c.sock {
		t.Fatal("the port of a call that was heard is not used again")
	}
}
