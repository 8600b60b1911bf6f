package call

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
	"dialler/engine/trunk"
)

func TestLegsGoFromTrunkToTrunkUntilEachHasAChannel(t *testing.T) {
	now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	trunks := map[engine.TrunkID]*trunk.Trunk{}
	for i, id := range []engine.TrunkID{"one", "two"} {
		trunks[id] = trunk.New(engine.TrunkSettings{ID: id, Active: true, CPSCap: 50, ChannelCap: 1, Priority: i})
		trunks[id].Heard(engine.TrunkAlive)
	}
	place := func(r *Reservation) *Reservation {
		for {
			var of []trunk.Candidate
			for _, id := range []engine.TrunkID{"one", "two"} {
				of = append(of, trunks[id].Candidate(now))
			}
			id, ok := r.Next(of)
			if !ok {
				return r
			}
			r.Ask(trunks[id], now, 0, time.Hour)
		}
	}
	a, b, c, d := engine.LegID("a.1"), engine.LegID("b.1"), engine.LegID("c.1"), engine.LegID("d.1")
	r := place(NewReservation(nil, a, b, c))
	if !slices.Equal(r.Trunks, []engine.TrunkID{"one", "two", ""}) || r.Media[0] == nil || r.Media[2] != nil {
		t.Errorf("%+v", r)
	}
	if why, _ := r.Why(); why != engine.ConstraintTrunkChannels {
		t.Errorf("%s", why)
	}
	trunks["one"].Release(now, a)
	now = now.Add(time.Minute)
	// A trunk that was tried is not asked again.
	if m := place(NewReservation([]engine.TrunkID{"one"}, d)).Of("d"); m.Trunk != "" || m.Leg != d || m.Attempt != "d" ||
		m.Constraint != engine.ConstraintTrunkChannels {
		t.Errorf("%+v", m)
	}
	if m := place(NewReservation(nil, d)).Of("d"); m.Trunk != "one" || m.Media == nil {
		t.Errorf("%+v", m)
	}
	none := NewReservation(nil, a)
	if _, ok := none.Next(nil); ok {
		t.Error("a trunk is asked, and there is none")
	}
	if why, at := none.Why(); why != engine.ConstraintTrunkHealth || !at.IsZero() {
		t.Errorf("%s at %s", why, at)
	}
}

// crowd lets people ask for a trunk, all of a batch together, and again when they are told to.
type crowd struct {
	t      *testing.T
	now    time.Time
	trunks []*trunk.Trunk
	got    map[engine.TrunkID]int
	sent   map[engine.TrunkID][]time.Time
	begun  int // attempts: each try of a batch is one of its own
}

func newCrowd(t *testing.T, settings ...engine.TrunkSettings) *crowd {
	c := &crowd{t: t, now: time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC), got: map[engine.TrunkID]int{},
		sent: map[engine.TrunkID][]time.Time{}}
	for _, s := range settings {
		if s.Active = true; s.ChannelCap == 0 {
			s.ChannelCap = 1000
		}
		tr := trunk.New(s)
		tr.Heard(engine.TrunkAlive)
		c.trunks = append(c.trunks, tr)
	}
	return c
}

// ask asks for a batch once, and returns who has no trunk and when to ask again.
func (c *crowd) ask(people []int) (left []int, at time.Time) {
	c.t.Helper()
	legs, draws := make([]engine.LegID, len(people)), make([]uint64, len(people))
	for i, p := range people {
		c.begun++
		legs[i] = engine.AttemptID(fmt.Sprintf("%032x", c.begun)).Leg(1)
		draws[i] = trunk.Draw(fmt.Sprint("person", p), 0)
	}
	r := NewBatch(legs, draws)
	for asked := 0; ; asked++ {
		if asked > 3*len(c.trunks) {
			c.t.Fatal("the reservation does not end")
		}
		of := make([]trunk.Candidate, len(c.trunks))
		for i, tr := range c.trunks {
			of[i] = tr.Candidate(c.now)
		}
		id, ok := r.Next(of)
		if !ok {
			break
		}
		tr := c.trunks[slices.IndexFunc(c.trunks, func(t *trunk.Trunk) bool { return t.Settings().ID == id })]
		r.Ask(tr, c.now, 0, time.Hour)
	}
	for i, id := range r.Trunks {
		if id == "" {
			left = append(left, people[i])
			continue
		}
		tr := c.trunks[slices.IndexFunc(c.trunks, func(t *trunk.Trunk) bool { return t.Settings().ID == id })]
		tr.Sent(c.now, legs[i])
		c.got[id]++
		c.sent[id] = append(c.sent[id], c.now)
	}
	_, at = r.Why()
	return left, at
}

// place asks until all have a trunk, a millisecond late each time, at most until a time.
func (c *crowd) place(people []int, until time.Time) (left []int) {
	for left = people; len(left) > 0 && c.now.Before(until); {
		var at time.Time
		if left, at = c.ask(left); len(left) > 0 {
			c.now = c.now.Add(max(at.Sub(c.now), 0) + time.Millisecond)
		}
	}
	return left
}

// fullest is the largest number of legs of a trunk within a second.
func (c *crowd) fullest(id engine.TrunkID) (most int) {
	at := c.sent[id]
	for i, j := 0, 0; j < len(at); j++ {
		for at[j].Sub(at[i]) >= time.Second {
			i++
		}
		most = max(most, j-i+1)
	}
	return most
}

func people(from, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = from + i
	}
	return list
}

// A burst below the cap of the first trunk stays on it, and equal trunks share one by weight.
func TestABurstStaysWithItsPriorityAndIsSharedByWeight(t *testing.T) {
	first := engine.TrunkSettings{ID: "first", CPSCap: 50}
	second := engine.TrunkSettings{ID: "second", CPSCap: 50, Priority: 1}
	three := engine.TrunkSettings{ID: "three", CPSCap: 50, Weight: 3}
	one := engine.TrunkSettings{ID: "one", CPSCap: 50, Weight: 1}
	for _, burst := range []int{1, 5, 10, 20, 40} {
		byPriority, byWeight := newCrowd(t, first, second), newCrowd(t, three, one)
		for _, c := range []*crowd{byPriority, byWeight} {
			begin := c.now
			for n := 0; n < 200; n += burst {
				began := c.now
				if left := c.place(people(n, burst), began.Add(time.Second)); len(left) > 0 {
					t.Errorf("bursts of %d: %d wait after a second", burst, len(left))
				}
				if c.now = began.Add(time.Second); c.now.Sub(begin) > time.Hour {
					t.Fatal("it does not end")
				}
			}
		}
		if n := byPriority.got["first"]; n != 200 {
			t.Errorf("bursts of %d: %d of 200 on the first trunk, %d in its fullest second", burst, n,
				byPriority.fullest("first"))
		}
		if n := byWeight.got["three"]; n < 135 || n > 165 {
			t.Errorf("bursts of %d: weights 3:1 gave %v", burst, byWeight.got)
		}
	}
}

// What is beyond the calls a second of the first trunk goes to the second one: the first works at its
// rate, and nobody waits for it longer than a second, however many ask together.
func TestWhatIsBeyondATrunksRateGoesToTheNext(t *testing.T) {
	first := engine.TrunkSettings{ID: "first", CPSCap: 50}
	second := engine.TrunkSettings{ID: "second", CPSCap: 100, Priority: 1}
	c := newCrowd(t, first, second)
	began := c.now
	if c.place(people(0, 120), began.Add(time.Minute)); c.got["second"] < 60 || c.now.Sub(began) > 1200*time.Millisecond {
		t.Errorf("a burst of 120: %v in %v", c.got, c.now.Sub(began))
	}

	c = newCrowd(t, first, second) // twelve campaigns of ten calls each
	began = c.now
	var waiting [][]int
	for i := range 12 {
		waiting = append(waiting, people(10*i, 10))
	}
	for placed := 0; placed < len(waiting); c.now = c.now.Add(time.Millisecond) {
		placed = 0
		for i := range waiting {
			if waiting[i], _ = c.ask(waiting[i]); len(waiting[i]) == 0 {
				placed++
			}
		}
	}
	if took := c.now.Sub(began); took > 2*time.Second || c.got["second"] == 0 {
		t.Errorf("twelve times ten: %v in %v", c.got, took)
	}

	c = newCrowd(t, first, second) // 80 a second, one after the other, for 10 s
	began = c.now
	var left []int
	for n := range 800 {
		c.now = began.Add(time.Duration(n) * time.Second / 80)
		left, _ = c.ask(append(left, n))
	}
	if n := c.got["first"]; n < 470 || len(left) > 50 {
		t.Errorf("80 a second: %v, and %d wait", c.got, len(left))
	}

	c = newCrowd(t, first, second) // the carrier has asked the first one to wait
	c.trunks[0].Report(c.now, "x.1", "", "", &disposition.Result{Throttle: true, TrunkRetryAfter: time.Minute})
	if left, _ := c.ask(people(0, 3)); len(left) > 0 && c.got["second"] == 0 || c.got["first"] > 0 {
		t.Errorf("of three, %d wait: %v", len(left), c.got)
	}

	first.ChannelCap = 5 // nobody waits for a token without a channel
	c = newCrowd(t, first, second)
	if c.place(people(0, 10), c.now.Add(time.Second)); c.got["first"] != 5 || c.got["second"] != 5 {
		t.Errorf("five channels: %v", c.got)
	}
}
