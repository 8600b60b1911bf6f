package actors

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
)

// transferContact is a transfer on its way to the contact.
type transferContact struct {
	Contact engine.ContactID
	Attempt engine.AttemptID
	To      string
}

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
	m := &transferContact{Contact: a.Contact, Attempt: a.ID, To: to}
	if a.Campaign == "" {
		_, err = ask[any](ctx, t.d, t.d.dialout, m)
		return err
	}
	_, err = ask[any](ctx, t.d, t.d.campaigns, t.askRun(a.Campaign, m))
	return err
}
