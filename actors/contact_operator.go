package actors

import (
	"context"

	"dialler/engine/campaign"
	core "dialler/engine/run"
)

// ActOnContact has an operator's word on one contact carried out; it returns once
// that is durable.
func (t *Tree) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	if err := t.d.database.err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Operate{Command: cmd}))
	return err
}
