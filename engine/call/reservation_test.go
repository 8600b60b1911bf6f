package call

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dialler/engine"
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
			id, ok := r.Next(of, 0)
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
	if _, ok := none.Next(nil, 0); ok {
		t.Error("a trunk is asked, and there is none")
	}
	if why, at := none.Why(); why != engine.ConstraintTrunkHealth || !at.IsZero() {
		t.Errorf("%s at %s", why, at)
	}
}

// A batch is shared by weight as single calls are, and a burst far below the cap does not leave for
// a trunk of lower priority.
func TestABatchIsSharedByWeightAndStaysWithItsPriority(t *testing.T) {
	f := func(want map[engine.TrunkID]int, batch int, settings ...engine.TrunkSettings) {
		t.Helper()
		now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
		trunks, got := map[engine.TrunkID]*trunk.Trunk{}, map[engine.TrunkID]int{}
		for _, s := range settings {
			s.Active, s.ChannelCap = true, 1000
			trunks[s.ID] = trunk.New(s)
			trunks[s.ID].Heard(engine.TrunkAlive)
			trunks[s.ID].Overflow(len(settings) > 1)
		}
		for k := range 200 / batch {
			legs := make([]engine.LegID, batch)
			for i := range legs {
				legs[i] = engine.LegID(fmt.Sprintf("%d-%d.1", k, i))
			}
			for r := NewReservation(nil, legs...); ; {
				var of []trunk.Candidate
				for _, s := range settings {
					of = append(of, trunks[s.ID].Candidate(now))
				}
				id, ok := r.Next(of, uint64(k)*0x6c62272e07bb0142)
				if !ok {
					for i, id := range r.Trunks {
						if got[id]++; id != "" {
							trunks[id].Sent(now, legs[i])
						}
					}
					break
				}
				r.Ask(trunks[id], now, 0, time.Hour)
			}
			now = now.Add(time.Second)
		}
		for id, n := range want {
			if d := got[id] - n; d < -8 || d > 8 {
				t.Errorf("batches of %d: %v, want %v", batch, got, want)
			}
		}
	}
	first := engine.TrunkSettings{ID: "first", CPSCap: 50}
	second := engine.TrunkSettings{ID: "second", CPSCap: 50, Priority: 1}
	for _, batch := range []int{1, 5, 20} {
		f(map[engine.TrunkID]int{"first": 200, "second": 0}, batch, first, second)
		f(map[engine.TrunkID]int{"a": 150, "b": 50}, batch, engine.TrunkSettings{ID: "a", CPSCap: 50, Weight: 3},
			engine.TrunkSettings{ID: "b", CPSCap: 50, Weight: 1})
	}
	// What is beyond half a second's calls goes to the next one.
	f(map[engine.TrunkID]int{"first": 25 * 5, "second": 15 * 5}, 40, first, second)
}
