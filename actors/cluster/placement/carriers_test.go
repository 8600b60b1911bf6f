package placement

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/placement"
)

// nodes are Carriers that hear each other.
type nodes struct {
	all map[engine.Incarnation]*member
}

type member struct {
	*Carriers
	mu   sync.Mutex
	own  placement.Report
	mute bool
}

// set changes what the node reports of itself, and whether it reports.
func (m *member) set(f func(m *member)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

func (m *member) report() placement.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

func (m *member) silent() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mute
}

func newNodes(ctx context.Context, reports map[engine.Incarnation]placement.Report) *nodes {
	n := &nodes{all: map[engine.Incarnation]*member{}}
	began := time.Now()
	for id, r := range reports {
		m := &member{own: r}
		m.Carriers = New(Config{Policy: placement.Policy{OwnShare: 0.6},
			Boot: func() engine.BootTime { return engine.BootTime(1e9 + time.Since(began)) },
			Own:  m.report,
			Tell: func(to engine.Incarnation, say func(*link.Wire)) {
				if other := n.all[to]; other != nil && !m.silent() {
					other.Heard(id, link.Reader(link.Write(link.Moment{}, say), link.Moment{}))
				}
			},
			Ready: func(engine.Incarnation) bool { return true }})
		n.all[id] = m
	}
	for id, m := range n.all {
		var others []engine.Incarnation
		for other := range n.all {
			if other != id {
				others = append(others, other)
			}
		}
		m.Know(others)
	}
	for _, m := range n.all {
		go m.Run(ctx)
	}
	return n
}

func TestWhatNodesTellEachOtherDecidesWhoCarriesACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t.Context(), map[engine.Incarnation]placement.Report{
			1: {Calls: 90, Room: 100}, 2: {Room: 100}, 3: {Room: 100, Unusable: []engine.TrunkID{"t"}},
		})
		one := n.all[1]
		if id := one.Choose("t"); id != 0 {
			t.Errorf("node %d was given a call before it was heard of", id)
		}
		time.Sleep(Interval)
		synctest.Wait()
		if id := one.Choose("t"); id != 2 || one.Candidates() != 2 {
			t.Errorf("the call went to node %d of %d candidates", id, one.Candidates())
		}
		one.Failed(2)
		if id := one.Choose("t"); id != 0 {
			t.Errorf("the call went to node %d, which has just failed", id)
		}
		if h, a, f := one.Here.Load(), one.There.Load(), one.Failures.Load(); h != 2 || a != 1 || f != 1 {
			t.Errorf("%d calls here, %d elsewhere, %d failures are counted", h, a, f)
		}
	})
}

func TestANodeThatIsDrainedOrSilentIsGivenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodes(t.Context(), map[engine.Incarnation]placement.Report{1: {Calls: 90, Room: 100}, 2: {Room: 100}})
		one, two := n.all[1], n.all[2]
		time.Sleep(Interval)
		synctest.Wait()
		two.set(func(m *member) { m.own.Draining = true })
		two.Tell() // at once
		if id := one.Choose("t"); id != 0 {
			t.Errorf("a node that is drained was given a call")
		}
		two.set(func(m *member) { m.own.Draining = false })
		two.Tell()
		if id := one.Choose("t"); id != 2 {
			t.Errorf("the call went to node %d", id)
		}
		two.set(func(m *member) { m.mute = true })
		time.Sleep(4 * Interval)
		synctest.Wait()
		if id := one.Choose("t"); id != 0 {
			t.Errorf("a node that was silent for four seconds was given a call")
		}
	})
}

func TestReportsThatCannotBeUnderstoodAreDropped(t *testing.T) {
	c := New(Config{Boot: func() engine.BootTime { return 1e9 },
		Own: func() placement.Report { return placement.Report{} }, Ready: func(engine.Incarnation) bool { return true }})
	write := func(calls, trunks int, load float64) []byte {
		return link.Write(link.Moment{}, func(w *link.Wire) {
			room, unusable := 10, slices.Repeat([]engine.TrunkID{"t"}, trunks)
			link.Number(w, &calls)
			link.Number(w, &room)
			w.Real(&load)
			w.Flag(new(bool))
			link.List(w, &unusable, func(t *engine.TrunkID) { link.Text(w, t) })
		})
	}
	hear := func(b []byte) { c.Heard(2, link.Reader(b, link.Moment{})) }
	good := write(1, 2, 0.5)
	for cut := range good {
		hear(good[:cut])
	}
	hear(append(good[:len(good):len(good)], 0))
	hear(write(-1, 2, 0.5))
	hear(write(1, maxUnusable+1, 0.5))
	hear(write(1, 2, math.NaN()))
	if n := c.Candidates(); n != 0 {
		t.Errorf("%d nodes are candidates by what cannot be understood", n)
	}
	hear(good)
	if n := c.Candidates(); n != 1 {
		t.Errorf("%d candidates", n)
	}
}

func TestANodeWhoseTrunksAreAllDownHasNoRoom(t *testing.T) {
	said := placement.Report{Room: 10}
	c := New(Config{Boot: func() engine.BootTime { return 1e9 },
		Own: func() placement.Report {
			return placement.Report{Room: 10, Unusable: make([]engine.TrunkID, maxUnusable+1)}
		},
		Tell: func(_ engine.Incarnation, say func(*link.Wire)) {
			w := link.Reader(link.Write(link.Moment{}, say), link.Moment{})
			if describe(w, &said); !w.Whole() {
				t.Error("what it says cannot be read")
			}
		}})
	c.Know([]engine.Incarnation{2})
	c.Tell()
	if said.Room != 0 || len(said.Unusable) != 0 {
		t.Errorf("it says %+v", said)
	}
}
