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
	joined := time.Now()
	for range 20 {
		c := &counting{first: make(chan struct{})}
		all = append(all, c)
		leave = append(leave, g.Add(c))
	}
	// A busy machine may be late, and what is late is made up for up to a point
	// only. So the turns are never more than fifty a second, and at some time as
	// many; those of one pacer have the same.
	for _, c := range all[:2] { // one of each
		<-c.first
		before, at := c.turns.Load(), time.Now()
		for best := 0.0; best < 45; {
			if time.Since(joined) > time.Minute {
				t.Fatalf("at most %.1f turns a second", best)
			}
			timer := time.NewTimer(300 * time.Millisecond)
			<-timer.C
			n, now := c.turns.Load(), time.Now()
			best = max(best, float64(n-before)/now.Sub(at).Seconds())
			before, at = n, now
		}
	}
	for i, c := range all {
		least := all[i%2].turns.Load() - 1
		n := c.turns.Load()
		if most := int64(time.Since(joined)/Frame) + 2; n < least || n > most {
			t.Errorf("member %d had %d turns, at least %d and at most %d expected", i, n, least, most)
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
		c, came := &counting{first: make(chan struct{})}, time.Now()
		remove := g.Add(c)
		<-c.first
		if n := c.turns.Load(); n > int64(time.Since(came)/Frame)+2 {
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
