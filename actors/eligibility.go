package actors

import (
	"context"

	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/eligibility"
)

// Eligibility asks a system of the operator's own whether a contact may be called
// now. It blocks, not much longer than Config.EligibilityBudget, and always has a
// verdict.
type Eligibility interface {
	// Asks says whether anybody is asked about contacts of a campaign with this hook.
	Asks(own eligibility.Hook) bool
	Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict
}

// mayDial: time has passed since the run decided to dial.
func (r *run) mayDial(m *call.MayDial) {
	l := r.lines[m.Contact]
	if l == nil {
		return
	}
	d := *m.Dial
	d.SendWithin = r.callableFor(l.number)
	d.Eligible, d.Withdrawn = true, r.m.C.State != campaign.Running || d.SendWithin <= 0
	r.send(l, &d)
}
