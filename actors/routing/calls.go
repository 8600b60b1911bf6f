package routing

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// campaignOf finds the campaign whose owner knows a call: "" when this node is
// to answer, because the call is here, or outside campaigns, or unknown.
func (r *Router) campaignOf(ctx context.Context, id engine.CallID) (engine.CampaignID, error) {
	a, ok := id.Attempt()
	if !ok || r.tree.Has(a) {
		return "", nil
	}
	row, ok, err := r.attempts.Attempt(ctx, a)
	if err != nil || !ok {
		return "", err
	}
	return row.Campaign, nil
}

// ofCall has what concerns a call carried out where the call is known.
func ofCall[C, R any](ctx context.Context, r *Router, id engine.CallID, method string, cmd C, here func(context.Context, C) (R, error)) (out R, err error) {
	c, err := r.campaignOf(ctx, id)
	if err != nil {
		return out, err
	}
	if c == "" {
		return here(ctx, cmd)
	}
	return carry(ctx, r, c, method, cmd, here)
}

// Call gives a call as it stands.
func (r *Router) Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	return ofCall(ctx, r, id, "call", id, r.tree.Call)
}

// Live brings the stored row of an attempt that has not ended up to date.
func (r *Router) Live(ctx context.Context, a attempt.Attempt) attempt.Attempt {
	if a.State == attempt.Ended || a.Campaign == "" || r.tree.Has(a.ID) {
		return r.tree.Live(ctx, a)
	}
	now, err := carry(ctx, r, a.Campaign, "live", a, r.liveHere)
	if err != nil {
		return a // its row is good enough
	}
	return now
}

func (r *Router) liveHere(ctx context.Context, a attempt.Attempt) (attempt.Attempt, error) {
	return r.tree.Live(ctx, a), nil
}

// SubmitResult stores the result of a conversation, whenever it comes.
func (r *Router) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	_, err := ofCall(ctx, r, cmd.Call, "submit_result", cmd, r.submitHere)
	return err
}

func (r *Router) submitHere(ctx context.Context, cmd campaign.SubmitResult) (none, error) {
	return none{}, r.tree.SubmitResult(ctx, cmd)
}

// control is what is done to a live call.
type control struct {
	Call   engine.CallID
	What   string // hang_up, digits, transfer
	Digits string
	To     string
}

// HangUp ends a live call.
func (r *Router) HangUp(ctx context.Context, id engine.CallID) error {
	return r.control(ctx, control{Call: id, What: "hang_up"})
}

// SendDigits sends keys to the callee of an answered call.
func (r *Router) SendDigits(ctx context.Context, id engine.CallID, digits string) error {
	return r.control(ctx, control{Call: id, What: "digits", Digits: digits})
}

// Transfer hands an answered call over to a person.
func (r *Router) Transfer(ctx context.Context, id engine.CallID, to string) error {
	return r.control(ctx, control{Call: id, What: "transfer", To: to})
}

func (r *Router) control(ctx context.Context, c control) error {
	_, err := ofCall(ctx, r, c.Call, "control", c, r.controlHere)
	return err
}

func (r *Router) controlHere(ctx context.Context, c control) (none, error) {
	switch c.What {
	case "hang_up":
		return none{}, r.tree.HangUp(ctx, c.Call)
	case "digits":
		return none{}, r.tree.SendDigits(ctx, c.Call, c.Digits)
	case "transfer":
		return none{}, r.tree.Transfer(ctx, c.Call, c.To)
	}
	return none{}, engine.Invalid("request_unreadable", "another node asks for what this one does not know; are all of one version?")
}
