package process

import (
	"context"
	"fmt"

	"dialler/engine"
	"dialler/engine/campaign"
)

// EndInterrupted stops the campaigns that an interrupted process left running or paused, and
// reports them; those that only wait for results are left alone.
func (p *Process) EndInterrupted(ctx context.Context, say func(string, ...any)) error {
	ids, err := p.store.ActiveCampaigns(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := p.tree.Detail(ctx, id)
		if err != nil {
			return err
		}
		if d.Campaign.State != campaign.Running && d.Campaign.State != campaign.Paused {
			continue // it only waits for its last results
		}
		if _, err := p.tree.Act(ctx, campaign.Act{Campaign: id, Action: campaign.ActionStop,
			Who: engine.System}); err != nil {
			return fmt.Errorf("stop campaign %s of an interrupted run: %w", id, err)
		}
		say("campaign %s of an interrupted run is stopped", id)
	}
	return nil
}
