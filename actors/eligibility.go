package actors

import (
	"context"

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
