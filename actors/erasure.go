package actors

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

// A person is erased in the database; around that the tree takes the person out
// of the campaigns in which it is open, and forgets it. The number is held in
// the database meanwhile: no intent to dial it is accepted.

// erasureTime is how long a run keeps triggers of a number away at most, for
// the case that whoever erases it is gone.
const erasureTime = time.Minute

var (
	errBeingErased = engine.Conflict("person_being_erased", "the person is being erased; trigger again in a minute, if it is to be called at all")
)

type (
	// beginErasure keeps triggers of a number away; it is answered once
	// everything that was written of the campaign before is durable.
	beginErasure struct{ Number engine.PhoneNumber }
	// endErasure makes everybody forget the number and the exclusions that were
	// this person's alone.
	endErasure struct {
		Number, Tombstone engine.PhoneNumber
		Matches           []map[string]string
	}
)

// BeginErasure takes a person out of the campaigns in which it may still be
// called (open) and lets no trigger of the number pass in all of them. Whoever
// calls it holds the number; if it is not erased, triggers are let pass again after
// a minute.
func (t *Tree) BeginErasure(ctx context.Context, n engine.PhoneNumber, all, open []engine.CampaignID, reason string) error {
	for _, id := range all {
		m := &beginErasure{n}
		var to any = &ifUp{Campaign: id, Msg: m}
		if slices.Contains(open, id) {
			to = t.askRun(id, m)
		}
		if _, err := ask[any](ctx, t.d, t.d.campaigns, to); err != nil {
			return err
		}
	}
	for _, id := range open {
		if _, err := t.Exclude(ctx, campaign.Exclude{Campaign: id, Number: n, Reason: reason}); err != nil {
			return err
		}
	}
	return nil
}

// EndErasure makes the tree forget a person.
func (t *Tree) EndErasure(ctx context.Context, n, tombstone engine.PhoneNumber, all []engine.CampaignID, matches map[engine.CampaignID][]map[string]string) error {
	t.d.abandons.forget(n)
	t.d.root.Send(t.d.dialout, &endErasure{Number: n, Tombstone: tombstone})
	for _, id := range all {
		m := &endErasure{Number: n, Tombstone: tombstone, Matches: matches[id]}
		if _, err := ask[any](ctx, t.d, t.d.campaigns, &ifUp{Campaign: id, Msg: m}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) beginErasure(m *beginErasure, sender *actor.PID) {
	if _, busy := r.triggering[m.Number]; busy {
		reply(r.d, sender, nil, engine.TemporaryConflict("person_being_added", "a trigger of this number is under way; erase again", time.Second))
		return
	}
	r.erasing[m.Number] = r.now.Add(erasureTime)
	if l := r.byNumber[m.Number]; l != nil {
		r.send(l, &call.Rest{})
	}
	r.afterWrites(func() { reply(r.d, sender, nil, nil) })
}

func (r *run) endErasure(m *endErasure, sender *actor.PID) {
	delete(r.erasing, m.Number)
	r.excluded.DropNumber(m.Number)
	for _, gone := range m.Matches {
		r.excluded.DropMatch(gone)
	}
	if l := r.byNumber[m.Number]; l != nil {
		delete(r.byNumber, m.Number)
		l.number, l.variables = m.Tombstone, nil
		r.byNumber[l.number] = l
		r.send(l, &call.Forget{Tombstone: m.Tombstone})
	}
	reply(r.d, sender, nil, nil)
}
