package actors

import (
	"context"
	"errors"
	"slices"

	campaignactor "dialler/actors/campaign"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

// A person is erased in the database. In addition, the tree removes the person from the campaigns
// in which they are open, and forgets them. Meanwhile the number is held in the database: no intent
// to dial it is accepted.

// BeginErasure removes a person from the campaigns in which they may still be called (open), cancels the
// dialouts to them that wait for their time, and blocks triggers for the number in all of them. The caller
// holds the number; unless it is erased, triggers are allowed again after a minute.
func (t *Tree) BeginErasure(ctx context.Context, n engine.PhoneNumber, all, open []engine.CampaignID,
	reason string) error {
	for _, id := range all {
		m := &core.BeginErasure{Number: n}
		var to any = &campaignactor.IfUp{Campaign: id, Msg: m}
		if slices.Contains(open, id) {
			to = toRun(id, m)
		}
		if _, err := ask[any](ctx, t, t.campaigns, to); err != nil {
			return err
		}
	}
	for _, id := range open {
		if _, err := t.Exclude(ctx, campaign.Exclude{Campaign: id, Number: n, Reason: reason}); err != nil {
			return err
		}
	}
	return t.cancelDialoutsTo(ctx, n)
}

// cancelDialoutsTo cancels the dialouts to a number that wait for their time; another node may do so too.
func (t *Tree) cancelDialoutsTo(ctx context.Context, n engine.PhoneNumber) error {
	ids, err := t.store.DialoutsTo(ctx, n)
	if err != nil {
		return journal.Unavailable(err)
	}
	for _, id := range ids {
		err := t.CancelDialout(ctx, campaign.CancelDialout{Call: id.Call(), Who: engine.System})
		if err != nil && !errors.Is(err, journal.ErrNotScheduled) {
			return err
		}
	}
	return nil
}

// EndErasure makes the tree forget a person.
func (t *Tree) EndErasure(ctx context.Context, n, tombstone engine.PhoneNumber, all []engine.CampaignID,
	matches map[engine.CampaignID][]map[string]string) error {
	t.calls.Abandoned.Forget(n)
	t.sys.Root.Send(t.dialout, &core.EndErasure{Number: n, Tombstone: tombstone})
	for _, id := range all {
		m := &core.EndErasure{Number: n, Tombstone: tombstone, Matches: matches[id]}
		if _, err := ask[any](ctx, t, t.campaigns, &campaignactor.IfUp{Campaign: id, Msg: m}); err != nil {
			return err
		}
	}
	return nil
}
