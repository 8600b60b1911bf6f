package routing

import (
	"context"
	"errors"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// find returns the row of a call that may be another node's. here is true if this node must answer,
// because the call's actor is here or the call is unknown.
func (r *Router) find(ctx context.Context, id engine.CallID) (row attempt.Attempt, here bool, err error) {
	a, ok := id.Attempt()
	if !ok || r.tree.Has(a) {
		return row, true, nil
	}
	row, ok, err = r.attempts.Attempt(ctx, a)
	return row, !ok, err
}

// atCall runs a command for a call where its actor is: here, at the owner of its campaign, or at
// the node of a dialout.
func atCall[C any](ctx context.Context, r *Router, asked dialoutAsked, method string, cmd C,
	here func(context.Context, C) (none, error)) error {
	row, mine, err := r.find(ctx, asked.Call)
	if err == nil && mine {
		if _, err = here(ctx, cmd); !errors.Is(replaced(err), ownership.ErrNotOwner) {
			return err
		}
		row, err = r.handedOver(ctx, asked.Call)
	}
	switch {
	case err != nil:
	case row.Campaign == "":
		asked.Node = row.Node
		_, err = r.ofDialout(ctx, asked, &row)
	default:
		_, err = carry(ctx, r, row.Campaign, method, cmd, here)
	}
	return err
}

// handedOver gives the row of a call whose campaign was handed over while this
// node, which had the call's actor, was asked about it.
func (r *Router) handedOver(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	a, _ := id.Attempt()
	row, ok, err := r.attempts.Attempt(ctx, a)
	switch {
	case err != nil:
	case !ok:
		err = ownership.ErrNotOwner
	case row.Campaign == "": // its next owner has it once it is closed here
		err = call.ErrBeingClosed
	}
	return row, err
}

// Call returns the current state of a call.
func (r *Router) Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	row, here, err := r.find(ctx, id)
	switch {
	case err != nil:
		return row, err
	case here:
		return r.tree.Call(ctx, id)
	case row.Campaign == "":
		return r.dialout(ctx, row), nil
	}
	return carry(ctx, r, row.Campaign, "call", id, r.tree.Call)
}

// dialout refreshes the stored row of a call outside campaigns.
func (r *Router) dialout(ctx context.Context, row attempt.Attempt) attempt.Attempt {
	if row.State == attempt.Ended {
		return row
	}
	out, err := r.ofDialout(ctx, dialoutAsked{Call: row.ID.Call(), Node: row.Node, Show: true}, &row)
	if err != nil || out.Call == nil {
		return row // the stored row will do
	}
	return *out.Call
}

// Live refreshes the stored row of an attempt that has not ended.
func (r *Router) Live(ctx context.Context, a attempt.Attempt) attempt.Attempt {
	switch {
	case a.State == attempt.Ended || a.State == attempt.Scheduled || r.tree.Has(a.ID):
		return r.tree.Live(ctx, a)
	case a.Campaign == "":
		return r.dialout(ctx, a)
	}
	now, err := carry(ctx, r, a.Campaign, "live", a, r.liveHere)
	if err != nil {
		return a // the stored row will do
	}
	return now
}

func (r *Router) liveHere(ctx context.Context, a attempt.Attempt) (attempt.Attempt, error) {
	return r.tree.Live(ctx, a), nil
}

// SubmitResult stores the result of a conversation, however late it comes.
func (r *Router) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	return atCall(ctx, r, dialoutAsked{Call: cmd.Call, Result: &cmd}, "submit_result", cmd, r.submitHere)
}

func (r *Router) submitHere(ctx context.Context, cmd campaign.SubmitResult) (none, error) {
	return none{}, r.tree.SubmitResult(ctx, cmd)
}

// control is a command for a live call.
type control struct {
	Call   engine.CallID
	What   string     // hang_up, digits, transfer
	Who    engine.Who // of hang_up
	Digits string
	To     string
}

// HangUp ends a live call, or a dialout that waits for its time.
func (r *Router) HangUp(ctx context.Context, id engine.CallID, who engine.Who) error {
	return r.control(ctx, control{Call: id, What: "hang_up", Who: who})
}

// CancelDialout ends a dialout that waits for its time: no node has it, and the store decides.
func (r *Router) CancelDialout(ctx context.Context, cmd campaign.CancelDialout) error {
	return r.tree.CancelDialout(ctx, cmd)
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
	return atCall(ctx, r, dialoutAsked{Call: c.Call, Control: &c}, "control", c, r.controlHere)
}

func (r *Router) controlHere(ctx context.Context, c control) (none, error) {
	switch c.What {
	case "hang_up":
		return none{}, r.tree.HangUp(ctx, c.Call, c.Who)
	case "digits":
		return none{}, r.tree.SendDigits(ctx, c.Call, c.Digits)
	case "transfer":
		return none{}, r.tree.Transfer(ctx, c.Call, c.To)
	}
	return none{}, errUnknown
}
