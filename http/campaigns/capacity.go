package campaigns

import (
	"context"
	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
	"dialler/http/telephony"
	"dialler/http/wire"
)

// What a campaign dials with, how much of it is taken, and which of it binds.

// suppliesTTL is how old what is told of trunks and numbers may be.
const suppliesTTL = time.Second

// supplies are the trunks and numbers of the installation as they stand.
type supplies struct {
	trunks   []engine.TrunkSettings
	stand    map[engine.TrunkID]telephony.TrunkStatus
	states   map[engine.PhoneNumber]string // as configured
	statuses map[engine.PhoneNumber]numberpool.Status
}

func (s *API) loadSupplies(ctx context.Context, _ struct{}) (v supplies, found bool, err error) {
	if v.trunks, err = s.Trunks.Trunks(ctx); err != nil {
		return v, false, err
	}
	if v.stand, err = s.Trunks.TrunkStatuses(ctx); err != nil {
		return v, false, err
	}
	numbers, err := s.Numbers.Numbers(ctx)
	if err != nil {
		return v, false, err
	}
	if v.statuses, err = s.Numbers.NumberStatuses(ctx); err != nil {
		return v, false, err
	}
	v.states = make(map[engine.PhoneNumber]string, len(numbers))
	for _, n := range numbers {
		v.states[n.Number] = n.State
	}
	return v, true, nil
}

// number is how one stands; one of which nothing is known was not used.
func (v *supplies) number(n engine.PhoneNumber) numberpool.Status {
	s, known := v.statuses[n]
	switch {
	case known:
	case v.states[n] != "":
		s.State = numberpool.State(v.states[n])
	default:
		s.State = numberpool.Active
	}
	return s
}

type capacityView struct {
	At         time.Time         `json:"at"`
	Constraint engine.Constraint `json:"constraint"`
	Resources  []resourceView    `json:"resources"`
}

// resourceView is one thing that dials need. Out counts what of it cannot be used
// now, by why.
type resourceView struct {
	Resource string         `json:"resource"`
	Used     float64        `json:"used"`
	Of       float64        `json:"of"`
	Binding  bool           `json:"binding"`
	Out      map[string]int `json:"out"`
}

func (s *API) ShowCapacity(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	have, _, err := s.supplies.Get(r.Ctx(), struct{}{})
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewCapacity(&d, &have, s.Now()))
}

func viewCapacity(d *campaign.Detail, have *supplies, now time.Time) capacityView {
	v := capacityView{At: now.UTC()}
	seats := resourceView{Resource: "seats", Of: float64(d.Campaign.Settings.Concurrency), Out: map[string]int{}}
	if l := d.Live; l != nil {
		v.Constraint = l.Constraint
		seats.Used, seats.Of = float64(max(l.Seats-l.FreeSeats, 0)), float64(l.Seats)
	}
	cps := resourceView{Resource: "trunk_cps", Out: map[string]int{}}
	channels := resourceView{Resource: "trunk_channels", Out: map[string]int{}}
	for i := range have.trunks {
		switch status := have.stand[have.trunks[i].ID]; status.Health {
		case trunk.Up, trunk.Trying:
			cps.Used += status.Placed
			cps.Of += status.Rate
			channels.Used += float64(status.Legs)
			channels.Of += float64(status.Channels)
		case "": // made this moment
		default:
			cps.Out[string(status.Health)]++
			channels.Out[string(status.Health)]++
		}
	}
	cps.Used, cps.Of = thousandths(cps.Used), thousandths(cps.Of)
	pool := d.Campaign.Settings.Numbers
	numbers := resourceView{Resource: "numbers", Of: float64(len(pool)), Out: map[string]int{}}
	for _, n := range pool {
		if why := have.number(n).Refuses; why != numberpool.CapNone {
			numbers.Used++
			numbers.Out[string(why)]++
		}
	}
	switch v.Constraint {
	case engine.ConstraintSeats, engine.ConstraintConcurrency:
		seats.Binding = true
	case engine.ConstraintTrunkCPS:
		cps.Binding = true
	case engine.ConstraintTrunkChannels:
		channels.Binding = true
	case engine.ConstraintTrunkHealth: // no trunk takes calls: of two figures of trunks one is marked
		channels.Binding = true
	case engine.ConstraintNumberPool:
		numbers.Binding = true
	default: // none of these resources holds it back
	}
	v.Resources = []resourceView{seats, cps, channels, numbers}
	return v
}
