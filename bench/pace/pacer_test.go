package pace

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type counting struct{ turns atomic.Int64 }

func (c *counting) Tick(time.Time) { c.turns.Add(1) }

const (
	length = 600 * time.Millisecond
	turns  = int64(length / Frame)
)

// A synctest bubble fails when a goroutine of the group is left.
func TestMembersGetFiftyTurnsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Start(2)
		defer g.Close()
		var all []*counting
		var leave []func()
		for range 20 {
			c := &counting{}
			all = append(all, c)
			leave = append(leave, g.Add(c))
		}
		time.Sleep(length) // virtual
		synctest.Wait()
		for i, c := range all {
			if n := c.turns.Load(); n != turns {
				t.Errorf("member %d had %d turns in %v", i, n, length)
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
	})
}

// slow takes long over its first turn.
type slow struct {
	takes time.Duration
	had   bool
}

func (s *slow) Tick(time.Time) {
	if !s.had {
		s.had = true
		time.Sleep(s.takes) // virtual
	}
}

// Late turns are made up for, at most ten.
func TestLateTurnsAreMadeUpForWithinALimit(t *testing.T) {
	for takes, skipped := range map[time.Duration]int64{100 * time.Millisecond: 0, 400 * time.Millisecond: 10} {
		synctest.Test(t, func(t *testing.T) {
			g := Start(1)
			defer g.Close()
			c := &counting{}
			g.Add(&slow{takes: takes})
			g.Add(c)
			time.Sleep(length) // virtual
			synctest.Wait()
			if n := c.turns.Load(); n != turns-skipped {
				t.Errorf("after a turn of %v: %d turns in %v, want %d", takes, n, length, turns-skipped)
			}
		})
	}
}

// An empty group sleeps; a new member gets turns at once, but none for the time before.
func TestGroupThatWasEmptyServesWhoComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Start(1)
		defer g.Close()
		for range 3 {
			c := &counting{}
			remove := g.Add(c)
			time.Sleep(Frame) // virtual
			synctest.Wait()
			if n := c.turns.Load(); n != 1 {
				t.Fatalf("%d turns in the first %v", n, Frame)
			}
			remove()
			remove()                           // once is enough
			time.Sleep(100 * time.Millisecond) // virtual
		}
		if n := g.pacers[0].members; n != 0 {
			t.Fatalf("%d members are left", n)
		}
	})
}
