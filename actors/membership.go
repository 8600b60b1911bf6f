package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	dialoutactor "dialler/actors/dialout"
	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/attempt"
	core "dialler/engine/run"
)

// Adopt brings up a campaign that this node has become the owner of: it goes
// on as after a start.
func (t *Tree) Adopt(id engine.CampaignID) {
	t.sys.Root.Send(t.campaigns, &campaignactor.Wake{Campaign: id})
}

// ActiveCampaigns are those for which somebody has to act.
func (t *Tree) ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error) {
	return t.store.ActiveCampaigns(ctx)
}

// Up are the campaigns whose actors are up here.
func (t *Tree) Up(ctx context.Context) ([]engine.CampaignID, error) {
	return ask[[]engine.CampaignID](ctx, t, t.campaigns, &campaignactor.Up{})
}

// CallsOf counts, for each of the campaigns, the calls whose actors are up here.
func (t *Tree) CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int {
	all, out := t.calls.Owners.ByCampaign(), make(map[engine.CampaignID]int, len(ids))
	for _, id := range ids {
		out[id] = all[id]
	}
	return out
}

// placingFor bounds how long INVITEs are waited for whose intents are stored.
const placingFor = time.Second

// settle has a run dial nobody any more and waits until no INVITE is on its way:
// an attempt between its intent and its INVITE would be lost with its actor.
func (t *Tree) settle(ctx context.Context, id engine.CampaignID) {
	ctx, cancel := context.WithTimeout(ctx, placingFor)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := ask[any](ctx, t, t.campaigns, &campaignactor.IfUp{Campaign: id, Msg: &core.DialNoMore{}})
		p, up := v.(core.Placing)
		if err != nil || !up {
			return
		}
		busy := p.Round
		for a, contact := range p.Attempts {
			if busy {
				break
			}
			at, err := t.askOwner(ctx, a, callactor.Owner{Campaign: id, Contact: contact})
			busy = err == nil && at.State == attempt.Reserved
		}
		if !busy {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Release stops the actors of a campaign that another node is to act for. When
// it returns nil, what they had to say is in the database. Legs and audio go on:
// whoever takes the campaign over attaches to them.
func (t *Tree) Release(ctx context.Context, id engine.CampaignID) error {
	t.settle(ctx, id)
	pid, err := ask[*actor.PID](ctx, t, t.campaigns, &campaignactor.LetGo{Campaign: id})
	if err != nil {
		return err
	}
	if pid != nil {
		if err := host.Wait(ctx, t.sys.Root.StopFuture(pid)); err != nil {
			return fmt.Errorf("actors: campaign %s does not stop: %w", id, err)
		}
	}
	return t.writers.Flush(ctx)
}

// Left ends what Release began: who acts for the campaign is known again. In
// between what is asked of it is answered "not_owner".
func (t *Tree) Left(id engine.CampaignID) {
	t.sys.Root.Send(t.campaigns, &campaignactor.HasLeft{Campaign: id})
}

// OpenDialouts are the calls outside campaigns that have not ended, or of which
// a leg has not, of all nodes.
func (t *Tree) OpenDialouts(ctx context.Context) ([]attempt.Attempt, error) {
	open, err := t.store.OpenAttempts(ctx)
	if err != nil {
		return nil, err
	}
	watched, err := t.store.OpenLegs(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(open, watched...), func(a attempt.Attempt) bool { return a.Campaign != "" }), nil
}

// CloseDialout closes a call outside campaigns of a node that is gone.
func (t *Tree) CloseDialout(a attempt.Attempt) {
	t.sys.Root.Send(t.dialout, &dialoutactor.Recover{Attempt: a})
}
