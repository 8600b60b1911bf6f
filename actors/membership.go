package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	core "dialler/engine/run"
)

// Membership is this node's place among several that share the campaigns. A
// tree without one is alone and acts for all of them.
type Membership interface {
	// LeaseEnds is when this node begins nothing any more unless its lease is
	// renewed before: another may act for its campaigns from then on.
	LeaseEnds() engine.BootTime
	// Suppressed has every other node that may dial confirm that it dials numbers no
	// more that are on the suppression list now; the error says which did not.
	Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error
}

// errFenced answers whoever wants a call from a node whose lease ran out.
var errFenced = engine.Unavailable("node_fenced", "this node lost its lease and places no new call; another one takes over, try again", 2*time.Second)

// fenced says that this node's lease ran out.
func (d *deps) fenced() bool { return d.member != nil && d.clock.Boot() >= d.member.LeaseEnds() }

// Adopt brings up a campaign that this node has become the owner of: it goes
// on as after a start.
func (t *Tree) Adopt(id engine.CampaignID) { t.d.root.Send(t.d.campaigns, &wake{Campaign: id}) }

// ActiveCampaigns are those for which somebody has to act.
func (t *Tree) ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error) {
	return t.d.store.ActiveCampaigns(ctx)
}

// whoIsUp asks which campaigns' actors are up.
type whoIsUp struct{}

// Up are the campaigns whose actors are up here.
func (t *Tree) Up(ctx context.Context) ([]engine.CampaignID, error) {
	return ask[[]engine.CampaignID](ctx, t.d, t.d.campaigns, &whoIsUp{})
}

// CallsOf counts, for each of the campaigns, the calls whose actors are up here.
func (t *Tree) CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int {
	all, out := t.d.owners.byCampaign(), make(map[engine.CampaignID]int, len(ids))
	for _, id := range ids {
		out[id] = all[id]
	}
	return out
}

// letGo asks for the actors of a campaign, to stop them: the answer comes when its
// run has said its last word. Until hasLeft nothing brings them up again but Adopt.
type (
	letGo   struct{ Campaign engine.CampaignID }
	hasLeft struct{ Campaign engine.CampaignID }
)

const (
	// placingFor bounds how long INVITEs are waited for whose intents are stored.
	placingFor = time.Second
)

// settle has a run dial nobody any more and waits until no INVITE is on its way:
// an attempt between its intent and its INVITE would be lost with its actor.
func (t *Tree) settle(ctx context.Context, id engine.CampaignID) {
	ctx, cancel := context.WithTimeout(ctx, placingFor)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := ask[any](ctx, t.d, t.d.campaigns, &ifUp{Campaign: id, Msg: &core.DialNoMore{}})
		p, up := v.(core.Placing)
		if err != nil || !up {
			return
		}
		busy := p.Round
		for a, contact := range p.Attempts {
			if busy {
				break
			}
			at, err := t.askOwner(ctx, a, owner{campaign: id, contact: contact})
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
	d := t.d
	t.settle(ctx, id)
	pid, err := ask[*actor.PID](ctx, d, d.campaigns, &letGo{id})
	if err != nil {
		return err
	}
	if pid != nil {
		if err := wait(ctx, d.root.StopFuture(pid)); err != nil {
			return fmt.Errorf("actors: campaign %s does not stop: %w", id, err)
		}
	}
	return t.flush(ctx)
}

// Left ends what Release began: who acts for the campaign is known again. In
// between what is asked of it is answered "not_owner".
func (t *Tree) Left(id engine.CampaignID) { t.d.root.Send(t.d.campaigns, &hasLeft{id}) }

// flush waits until every write that is under way has reached the database.
func (t *Tree) flush(ctx context.Context) error {
	d := t.d
	left := time.Minute
	if dl, ok := ctx.Deadline(); ok {
		left = max(time.Until(dl), time.Millisecond)
	}
	passed := make([]*actor.Future, len(d.writers))
	for i, w := range d.writers {
		passed[i] = actor.NewFuture(d.system, left)
		d.root.Send(w, &barrier{ReplyTo: passed[i].PID()})
	}
	for _, f := range passed {
		if err := wait(ctx, f); err != nil {
			return fmt.Errorf("actors: writes are not in the database yet: %w", err)
		}
	}
	return nil
}

// wait for a future, or for the end of ctx.
func wait(ctx context.Context, f *actor.Future) error {
	done := make(chan error, 1)
	go func() { done <- f.Wait() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// OpenDialouts are the calls outside campaigns that have not ended, or of which
// a leg has not, of all nodes.
func (t *Tree) OpenDialouts(ctx context.Context) ([]attempt.Attempt, error) {
	open, err := t.d.store.OpenAttempts(ctx)
	if err != nil {
		return nil, err
	}
	watched, err := t.d.store.OpenLegs(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(append(open, watched...), func(a attempt.Attempt) bool { return a.Campaign != "" }), nil
}

// CloseDialout closes a call outside campaigns of a node that is gone.
func (t *Tree) CloseDialout(a attempt.Attempt) { t.d.root.Send(t.d.dialout, &recoverCall{Attempt: a}) }
