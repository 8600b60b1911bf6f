package promise

import "dialler/engine"

// oneCall records the current calls.
type oneCall struct {
	with map[engine.PhoneNumber]map[engine.LegID]bool
	to   map[engine.LegID]engine.PhoneNumber
}

// oneCallANumber checks that no number ever has two overlapping calls, in either direction. A call that ends at the
// instant at which the next begins does not overlap it.
func (j *Judge) oneCallANumber(leg engine.LegID, to engine.PhoneNumber) {
	o := &j.calls
	if o.with == nil {
		o.with, o.to = map[engine.PhoneNumber]map[engine.LegID]bool{}, map[engine.LegID]engine.PhoneNumber{}
	}
	for other := range o.with[to] {
		id, _, _ := leg.Attempt()
		j.broke(j.campaignOf(id), "two calls with %s: %s and %s", to, other, leg)
	}
	if o.with[to] == nil {
		o.with[to] = map[engine.LegID]bool{}
	}
	o.with[to][leg], o.to[leg] = true, to
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
	if f.Inbound && (f.Campaign != "" || f.Contact != "") {
		j.broke(f.Campaign, "attempt %s came in and counts as a call to contact %s", f.Attempt, f.Contact)
	}
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
