package ownership

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

// balancing is a cluster of nodes that balance, second by second. A campaign being handed over has
// no owner for a while.
type balancing struct {
	now     engine.BootTime
	nodes   map[engine.Incarnation]*Balance
	owned   map[engine.Incarnation]int
	moving  []handed
	calm    map[engine.Incarnation]bool // draining, or without a lease
	lastAny engine.BootTime
	moves   int
}

type handed struct {
	to    engine.Incarnation
	there engine.BootTime
}

func newBalancing() *balancing {
	return &balancing{nodes: map[engine.Incarnation]*Balance{}, owned: map[engine.Incarnation]int{},
		calm: map[engine.Incarnation]bool{}, lastAny: -1 << 40}
}

func (w *balancing) join(id engine.Incarnation, owned int) {
	b := Balance{}.WithDefaults()
	w.nodes[id], w.owned[id] = &b, owned
}

func (w *balancing) loads() (all []Load) {
	for id, n := range w.owned {
		all = append(all, Load{Node: Node{Incarnation: id, Live: true, Draining: w.calm[id]}, Owned: n})
	}
	return all
}

// second advances by one second, in which each node looks once, in the given order and with the
// given delay of hand-overs.
func (w *balancing) second(order []engine.Incarnation, delay time.Duration) error {
	w.now += second
	w.moving = slices.DeleteFunc(w.moving, func(h handed) bool {
		if w.now < h.there {
			return false
		}
		w.owned[h.to]++
		return true
	})
	for _, id := range order {
		to, give := w.nodes[id].Look(w.now, id, w.loads(), len(w.moving))
		if !give {
			continue
		}
		switch {
		case len(w.calm) > 0 || len(w.moving) > 0:
			return fmt.Errorf("node %d gives while the cluster is not settled", id)
		case w.now < w.lastAny.Add(5*time.Second):
			return fmt.Errorf("node %d gives %v after the last move", id, time.Duration(w.now-w.lastAny))
		case w.owned[id] < w.owned[to]+2:
			return fmt.Errorf("node %d with %d gives to node %d with %d", id, w.owned[id], to, w.owned[to])
		}
		w.owned[id]--
		w.moving = append(w.moving, handed{to, w.now.Add(delay)})
		w.lastAny = w.now
		w.moves++
	}
	return nil
}

func (w *balancing) ids() (all []engine.Incarnation) {
	for id := range w.nodes {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}

func (w *balancing) spread() int {
	least, most := 1<<30, 0
	for _, n := range w.owned {
		least, most = min(least, n), max(most, n)
	}
	return most - least
}

// From any distribution the campaigns spread evenly, and each moves at most once: one move in five
// seconds at most, in whatever order the nodes look.
func TestCampaignsSpreadEvenlyAndNeverMoveBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newBalancing()
		total, n := 0, rapid.IntRange(1, 6).Draw(t, "nodes")
		for id := range n {
			owned := rapid.IntRange(0, 12).Draw(t, "owned")
			w.join(engine.Incarnation(id+1), owned)
			total += owned
		}
		needed := 0
		for _, owned := range w.owned {
			needed += max(0, owned-(total+n-1)/n)
		}
		few := 0 // nodes below the even share have to be filled, too
		for _, owned := range w.owned {
			few += max(0, total/n-owned)
		}
		needed = max(needed, few)
		for range 40 + 10*needed {
			order := rapid.Permutation(w.ids()).Draw(t, "order")
			if err := w.second(order, time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms"))*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		if w.spread() > 1 || w.moves != needed || len(w.moving) > 0 {
			t.Fatalf("%v after %d moves, %d were needed", w.owned, w.moves, needed)
		}
	})
}

func TestANodeThatJoinsLaterGetsCampaigns(t *testing.T) {
	w := newBalancing()
	w.join(1, 6)
	w.join(2, 6)
	run := func(seconds int) {
		t.Helper()
		for range seconds {
			if err := w.second(w.ids(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(60)
	if w.moves != 0 {
		t.Fatalf("%d moves of what is even", w.moves)
	}
	w.join(3, 0)
	run(60)
	if w.owned[1] != 4 || w.owned[2] != 4 || w.owned[3] != 4 || w.moves != 4 {
		t.Fatalf("%v after %d moves", w.owned, w.moves)
	}
}

func TestNothingMovesWhileANodeDrainsOrJustAfterOneWasLost(t *testing.T) {
	w := newBalancing()
	w.join(1, 6)
	w.join(2, 0)
	w.calm[2] = true
	for range 60 {
		if err := w.second(w.ids(), 0); err != nil {
			t.Fatal(err)
		}
	}
	clear(w.calm)
	for _, b := range w.nodes {
		b.Disturbed(w.now)
	}
	lost := w.now
	for w.moves == 0 {
		if w.now > lost.Add(time.Minute) {
			t.Fatal("nothing moves any more")
		}
		if err := w.second(w.ids(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if w.now < lost.Add(30*time.Second) {
		t.Errorf("a campaign moves %v after a node was lost", time.Duration(w.now-lost))
	}
}

func TestACampaignWithFewLiveCallsMovesFirst(t *testing.T) {
	if id, ok := Lightest(map[engine.CampaignID]int{"busy": 40, "quiet": 1, "calm": 1}); id != "calm" || !ok {
		t.Errorf("%s", id)
	}
	if _, ok := Lightest(nil); ok {
		t.Error("one of none")
	}
}
