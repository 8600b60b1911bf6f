package pace

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

type counting struct {
	turns atomic.Int64
	first chan struct{}
}

func (c *counting) Tick(time.Time) {
	if c.turns.Add(1) == 1 {
		close(c.first)
	}
}

func TestMembersGetAboutFiftyTurnsASecond(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := Start(2)
	defer g.Close()
	var all []*counting
	var leave []func()
	for range 20 {
		c := &counting{first: make(chan struct{})}
		all = append(all, c)
		leave = append(leave, g.Add(c))
	}
	<-all[0].first
	const length = 600 * time.Millisecond
	timer := time.NewTimer(length)
	<-timer.C
	for i, c := range all {
		// A busy machine may be late, but what is late is made up for.
		if n := c.turns.Load(); n < 20 || n > 33 {
			t.Fatalf("member %d had %d turns in %v", i, n, length)
		}
		leave[i]()
	}
	for _, p := range g.pacers {
		p.mu.Lock()
		for _, slot := range p.slots {
			if len(slot) != 0 {
				t.Errorf("%d members are left", len(slot))
			}
		}
		p.mu.Unlock()
	}
}

// An empty group rests; who comes then gets turns at once, and none for the
// time before.
func TestGroupThatWasEmptyServesWhoComes(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := Start(1)
	defer g.Close()
	for range 3 {
		c := &counting{first: make(chan struct{})}
		remove := g.Add(c)
		<-c.first
		if n := c.turns.Load(); n > 3 {
			t.Fatalf("%d turns at once", n)
		}
		remove()
		remove() // once is enough
		rest := time.NewTimer(100 * time.Millisecond)
		<-rest.C
	}
	if n := g.pacers[0].members; n != 0 {
		t.Fatalf("%d members are left", n)
	}
}
