package actors

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	core "dialler/engine/run"
)

// Transfer asks for a live call to be handed over to a number or SIP address.
// Call tells what became of it.
func (t *Tree) Transfer(ctx context.Context, id engine.CallID, to string) error {
	a, err := t.stored(ctx, id)
	if err != nil {
		return err
	}
	if a.State == attempt.Ended {
		return engine.NotFound("call_ended", "the call is over")
	}
	transfer := call.Transfer{Attempt: a.ID, To: to}
	if a.Campaign == "" {
		_, err = ask[any](ctx, t.d, t.d.dialout, &transfer)
		return err
	}
	_, err = ask[any](ctx, t.d, t.d.campaigns, t.askRun(a.Campaign, &core.Transfer{Contact: a.Contact,
		Transfer: transfer}))
	return err
}
