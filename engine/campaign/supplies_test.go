package campaign

import (
	"testing"

	"dialler/engine"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

func TestTheCapacityOfACampaignIsWhatCanBeUsedNow(t *testing.T) {
	var trunks []trunk.Status
	for _, health := range []trunk.Health{trunk.Up, trunk.Trying, trunk.Held, trunk.Unproven} {
		trunks = append(trunks, trunk.Status{Health: health, Rate: 10, Placed: 4.5, Legs: 7, Channels: 30})
	}
	have := SuppliesOf(trunks, map[engine.PhoneNumber]numberpool.Status{
		"+493023125000": {State: numberpool.Resting, Refuses: numberpool.CapRest},
		"+493023125001": {State: numberpool.Active}, "+493023125009": {Refuses: numberpool.CapState}})
	c := &Campaign{
		State:    Running,
		Settings: Settings{Concurrency: 8, Numbers: []engine.PhoneNumber{"+493023125000", "+493023125001"}},
	}
	for constraint, binds := range map[engine.Constraint]int{engine.ConstraintNone: -1, engine.ConstraintAbandonCredit: -1,
		engine.ConstraintSeats: 0, engine.ConstraintConcurrency: 0, engine.ConstraintTrunkCPS: 1,
		engine.ConstraintTrunkChannels: 2,
		engine.ConstraintTrunkHealth:   2, engine.ConstraintNumberPool: 3} {
		l := Live{Seats: 6, FreeSeats: 2}
		l.Explain(c, &Reason{Constraint: constraint, Supplies: have})
		want := []Resource{{Resource: "seats", Used: 4, Of: 6}, {Resource: "trunk_cps", Used: 9, Of: 20},
			{Resource: "trunk_channels", Used: 14, Of: 60}, {Resource: "numbers", Used: 1, Of: 2}}
		for i, r := range l.Resources {
			if w := want[i]; r.Resource != w.Resource || r.Used != w.Used || r.Of != w.Of || r.Binding != (i == binds) {
				t.Errorf("%s: %+v, want %+v, binding %d", constraint, r, w, binds)
			}
		}
		if l.Resources[1].Out["held"] != 1 || l.Resources[1].Out["unproven"] != 1 || l.Resources[3].Out["rest"] != 1 {
			t.Errorf("%+v", l.Resources)
		}
	}
}

// Other campaigns' use of resources is not shown for a campaign that no longer dials, or not yet.
func TestACampaignThatIsNotRunDialsWithNothing(t *testing.T) {
	for s, want := range map[State]int{Draft: 0, Running: 4, Paused: 4, Completed: 0, Failed: 0} {
		var l Live
		l.Explain(&Campaign{State: s}, &Reason{Supplies: SuppliesOf(nil, nil)})
		if len(l.Resources) != want {
			t.Errorf("%s: %+v", s, l.Resources)
		}
	}
}
