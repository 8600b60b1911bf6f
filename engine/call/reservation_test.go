package call

import (
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
