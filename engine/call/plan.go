package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/window"
)

// Planned is a dial of a plan.
type Planned struct {
	At      time.Time
	Outcome engine.Outcome
	// By is the rule of the cadence after which it comes; "" for the first dial, and where the Retry
	// Delay holds.
	By string
}

// PlanCap is the most dials that a plan lists.
const PlanCap = 50

// Plan says when a contact would be dialled from a time on, if nothing but the campaign's rules kept
// it waiting and its attempts ended at once in the outcomes, the last of them again and again. After
// says why nothing follows.
func Plan(c campaign.Campaign, table *cadence.Named, home window.Home, from time.Time,
	outcomes []engine.Outcome) (dials []Planned, after campaign.Explanation) {
	c.State, c.Prepared, c.WindowEndsAt = campaign.Running, false, nil
	if c.Settings.SingleDay {
		c.WindowEndsAt = campaign.SingleDayEnd(&c, from)
	}
	rules := RulesOf(c)
	rules.Policy.Cadence = table.Table()
	p := rules.PolicyFor("", func(engine.PhoneNumber) window.Home { return home })
	explain := func(row *contact.Contact, now time.Time) campaign.Explanation {
		return campaign.Explain(campaign.Question{Campaign: &c, Contact: row, Home: home, Cadence: table, Now: now})
	}
	due, ok := p.Clip(from)
	m := contact.Machine{C: contact.Contact{State: contact.Pending, Max: p.MaxAttempts, DueAt: &due,
		DueClass: contact.DueFirst}}
	if !ok {
		return nil, explain(&m.C, from)
	}
	for len(dials) < min(p.MaxAttempts, PlanCap) && m.C.DueAt != nil {
		at := *m.C.DueAt
		if end := c.WindowEndsAt; end != nil && !at.Before(*end) {
			_ = m.Apply(contact.Event{Kind: contact.WindowEnded, At: *end, Policy: p})
			return dials, explain(&m.C, *end)
		}
		d := Planned{At: at, Outcome: outcomes[min(len(dials), len(outcomes)-1)]}
		if table != nil && len(dials) > 0 {
			of := cadence.Of(m.C.LastOutcome)
			d.By = table.After(of, m.C.Tries.Count(of))
		}
		dials = append(dials, d)
		a := &contact.Attempt{ID: "planned", Outcome: d.Outcome, Consumed: true, DialledAt: at, EndedAt: at,
			Connected: d.Outcome == engine.OutcomeConnectedNoResult, Rang: d.Outcome == engine.OutcomeNoAnswer}
		for _, ev := range []contact.Event{{Kind: contact.Reserved, Attempt: a}, {Kind: contact.Attempted, Attempt: a}} {
			ev.At, ev.Policy = at, p
			if m.Apply(ev) != nil {
				return dials, explain(&m.C, at)
			}
		}
		if end := m.C.ResultDueAt; end != nil && m.C.DueAt == nil {
			_ = m.Apply(contact.Event{Kind: contact.ResultTimedOut, At: *end, Policy: p})
		}
		from = at
	}
	return dials, explain(&m.C, from)
}
