package campaigns

import (
	"context"
	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
	"dialler/http/wire"
)

// numbersTTL is how long number statuses are cached.
const numbersTTL = time.Second

// numbers caches the status of the installation's outbound numbers.
type numbers struct {
	states   map[engine.PhoneNumber]string // as configured
	statuses map[engine.PhoneNumber]numberpool.Status
}

func (s *API) loadNumbers(ctx context.Context, _ struct{}) (v numbers, found bool, err error) {
	list, err := s.Numbers.Numbers(ctx)
	if err != nil {
		return v, false, err
	}
	if v.statuses, err = s.Numbers.NumberStatuses(ctx); err != nil {
		return v, false, err
	}
	v.states = make(map[engine.PhoneNumber]string, len(list))
	for _, n := range list {
		v.states[n.Number] = n.State
	}
	return v, true, nil
}

// number returns the status of one; an unknown number has not been used.
func (v *numbers) number(n engine.PhoneNumber) numberpool.Status {
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
	At         time.Time           `json:"at"`
	Constraint engine.Constraint   `json:"constraint"`
	Resources  []campaign.Resource `json:"resources"`
}

// ShowCapacity shows what a campaign dials with, from its live figures.
func (s *API) ShowCapacity(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	v := capacityView{At: s.Now().UTC(), Resources: []campaign.Resource{}}
	if l := d.Live; l != nil {
		v = capacityView{At: l.At, Constraint: l.Constraint, Resources: append(v.Resources, l.Resources...)}
	}
	return r.Reply(nethttp.StatusOK, v)
}
