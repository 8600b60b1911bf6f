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
	"dialler/engine/call"
	core "dialler/engine/run"
)

// Ownership lets package cluster/ownership assign campaigns to this node's tree.
type Ownership struct{ t *Tree }

// Ownership returns the interface for deciding which campaigns this node owns.
func (t *Tree) Ownership() Ownership { return Ownership{t} }

// Adopt starts a campaign that this node now owns: it goes on as after a start.
func (o Ownership) Adopt(id engine.CampaignID) {
	o.t.sys.Root.Send(o.t.campaigns, &campaignactor.Wake{Campaign: id})
}

// ActiveCampaigns returns the campaigns that need an owner.
func (o Ownership) ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error) {
	return o.t.store.ActiveCampaigns(ctx)
}

// Up returns the campaigns whose actors are up here.
func (o Ownership) Up(ctx context.Context) ([]engine.CampaignID, error) {
	return ask[[]engine.CampaignID](ctx, o.t, o.t.campaigns, &campaignactor.Up{})
}

// CallsOf counts, for each campaign, the calls whose actors are up here.
func (o Ownership) CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int {
	all, out := o.t.calls.Owners.ByCampaign(), make(map[engine.CampaignID]int, len(ids))
	for _, id := range ids {
		out[id] = all[id]
	}
	return out
}

// placingFor bounds the wait for the INVITEs of stored intents.
const placingFor = time.Second

// settle stops a run's dialling and waits until no INVITE is outstanding: an attempt between its
// intent and its INVITE would be lost with its actor.
func (o Ownership) settle(ctx context.Context, id engine.CampaignID) {
	ctx, cancel := context.WithTimeout(ctx, placingFor)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := ask[any](ctx, o.t, o.t.campaigns, &campaignactor.IfUp{Campaign: id, Msg: &core.DialNoMore{}})
		p, up := v.(core.Placing)
		if err != nil || !up {
			return
		}
		busy := p.Round
		for a, contact := range p.Attempts {
			if busy {
				break
			}
			at, err := o.t.askOwner(ctx, a, callactor.Owner{Campaign: id, Contact: contact})
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

// Release stops the actors of a campaign that another node will act for. If it returns nil,
// everything they had to write is in the database. Legs and audio go on: the next owner attaches to
// them.
func (o Ownership) Release(ctx context.Context, id engine.CampaignID) error {
	o.settle(ctx, id)
	pid, err := ask[*actor.PID](ctx, o.t, o.t.campaigns, &campaignactor.LetGo{Campaign: id})
	if err != nil {
		return err
	}
	if pid != nil {
		if err := host.Wait(ctx, o.t.sys.Root.StopFuture(pid)); err != nil {
			return fmt.Errorf("actors: campaign %s does not stop: %w", id, err)
		}
	}
	if err := o.t.writers.Flush(ctx); err != nil {
		return err
	}
	o.t.writers.LetGo(func(a *attempt.Attempt) bool { return a.Campaign == id })
	return nil
}

// Left ends what Release began, once the campaign's owner is known again. In between, requests for
// it are answered "not_owner".
func (o Ownership) Left(id engine.CampaignID) {
	o.t.sys.Root.Send(o.t.campaigns, &campaignactor.HasLeft{Campaign: id})
}

// OpenDialouts returns the calls outside campaigns, of all nodes, that have not ended or that have
// a leg that has not.
func (o Ownership) OpenDialouts(ctx context.Context) ([]attempt.Attempt, error) {
	open, err := o.t.store.OpenAttempts(ctx)
	if err != nil {
		return nil, err
	}
	watched, err := o.t.store.OpenLegs(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(open, watched...), func(a attempt.Attempt) bool { return a.Campaign != "" }), nil
}

// CloseDialout takes over a call outside campaigns of a node that is gone: it goes on if
// its process has it. Of two that do, one after the other, the later epoch has it. The caller owns
// the calls of that node; what it knows of this one may be older, so it is read again.
func (o Ownership) CloseDialout(a attempt.Attempt, epoch int64) {
	go func() { // it queries the database and the other node, for seconds
		if now, ok, err := o.t.store.Attempt(o.t.calls.Ctx, a.ID); err == nil && ok {
			a = now
		}
		if a.Live() {
			o.t.calls.AdoptLegs(o.t.calls.Ctx, epoch, []attempt.Attempt{a})
		}
		o.t.sys.Root.Send(o.t.dialout, &dialoutactor.Recover{Attempt: a})
	}()
}

// Taken says that another node acts for a call: it has adopted the legs here, or this node was
// without its lease. Only the actor of a dialout is told: a campaign's actors are stopped as a whole.
func (o Ownership) Taken(id engine.AttemptID) {
	o.t.writers.LetGo(func(a *attempt.Attempt) bool { return a.ID == id })
	if of, ok := o.t.calls.Owners.Of(id); ok && of.Campaign == "" {
		o.t.sys.Root.Send(o.t.dialout, &call.Taken{Attempt: id})
	}
}

// Has says whether the actor of an attempt is here.
func (o Ownership) Has(id engine.AttemptID) bool { return o.t.Has(id) }

// LegsGone says that the node with the legs of these attempts is gone and sends nothing any more:
// the attempts are lost, and any remaining legs at the carrier are ended from here.
func (o Ownership) LegsGone(ids []engine.AttemptID) {
	for _, id := range ids {
		of, ok := o.t.calls.Owners.Of(id)
		m := &call.LegsGone{Contact: of.Contact, Attempt: id}
		switch {
		case !ok:
		case of.Campaign == "":
			o.t.sys.Root.Send(o.t.dialout, m)
		default:
			o.t.sys.Root.Send(o.t.campaigns, toRun(of.Campaign, m))
		}
	}
}
