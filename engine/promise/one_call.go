package promise

import "dialler/engine"

// oneCall records the current calls.
type oneCall struct {
	with map[engine.PhoneNumber]map[engine.LegID]bool
	to   map[engine.LegID]engine.PhoneNumber
}

// oneCallANumber checks that no number ever has two overlapping calls. A call that ends at the
// instant at which the next begins does not overlap it.
func (j *Judge) oneCallANumber(f Arrived) {
	o := &j.calls
	if o.with == nil {
		o.with, o.to = map[engine.PhoneNumber]map[engine.LegID]bool{}, map[engine.LegID]engine.PhoneNumber{}
	}
	for other := range o.with[f.To] {
		id, _, _ := f.Leg.Attempt()
		j.broke(j.campaignOf(id), "two calls to %s: %s and %s", f.To, other, f.Leg)
	}
	if o.with[f.To] == nil {
		o.with[f.To] = map[engine.LegID]bool{}
	}
	o.with[f.To][f.Leg], o.to[f.Leg] = true, f.To
}

func (o *oneCall) end(leg engine.LegID) {
	n, ok := o.to[leg]
	if !ok {
		return
	}
	delete(o.to, leg)
	if delete(o.with[n], leg); len(o.with[n]) == 0 {
		delete(o.with, n)
	}
}

// began checks that no contact has two live attempts.
func (j *Judge) began(f Begun) {
	if j.attempts[f.Attempt] != nil {
		return
	}
	j.attempts[f.Attempt] = &dial{Begun: f, at: j.at, reserved: f.Reserved.Add(-j.offset)}
	if f.Contact == "" {
		return
	}
	c := j.course(f.Campaign)
	if other := c.live[f.Contact]; other != "" {
		j.broke(f.Campaign, "two attempts of contact %s live: %s and %s", f.Contact, other, f.Attempt)
	}
	c.live[f.Contact] = f.Attempt
}

func (j *Judge) campaignOf(id engine.AttemptID) engine.CampaignID {
	if d := j.attempts[id]; d != nil {
		return d.Campaign
	}
	return ""
}
