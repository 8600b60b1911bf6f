package actors

import (
	"context"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// Preflight asks everything that Start asks, and more, but starts nothing: its
// facts come from the tables and from those who own seats, trunks and numbers.

type (
	// seatsOf, trunksKnown and numberStates ask the owners.
	seatsOf struct{ Bot engine.BotID }
	// seatsLeft answers seatsOf.
	seatsLeft struct {
		Seats, Free int
		Outage      *fleet.Outage
	}
	trunksKnown struct{}
	// numberStates asks for the states of those of the numbers that are
	// configured or have been used.
	numberStates struct{ Numbers []engine.PhoneNumber }
	// numberBarred is a number's word that its strikes have quarantined it.
	numberBarred struct{ Number engine.PhoneNumber }
)

// Preflight says whether the campaign can be started and what is ahead of it.
func (t *Tree) Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	return ask[campaign.Readiness](ctx, t.d, t.d.campaigns, t.askRun(id, &core.Preflight{}))
}

// left answers how many seats of a bot there are, and how many of them nobody
// holds.
func (f *fleetActor) left(id engine.BotID) seatsLeft {
	b := f.bots[id]
	if b == nil {
		b = fleet.New(id, 0, 0)
	}
	left := seatsLeft{Seats: b.Seats(), Free: b.Free(), Outage: f.outage(id)}
	if e := f.ends[id]; left.Outage != nil {
		left.Seats, left.Free = e.conf.Seats, e.conf.Seats // when it is back
	}
	return left
}

// last gives the last word of every trunk.
func (t *trunks) last() []trunk.Candidate {
	list := make([]trunk.Candidate, 0, len(t.set))
	for _, s := range t.set {
		if s.Active {
			list = append(list, t.known[s.ID])
		}
	}
	return list
}

// states gives the states of those of the numbers that are configured or
// barred.
func (n *numbers) states(of []engine.PhoneNumber) map[engine.PhoneNumber]numberpool.State {
	out := make(map[engine.PhoneNumber]numberpool.State, len(of))
	for _, no := range of {
		if s, ok := n.set[no]; ok {
			out[no] = numberpool.State(s.State)
		}
		if _, ok := n.barred[no]; ok {
			out[no] = numberpool.Quarantined
		}
	}
	return out
}
