package actors

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"io"
	"strings"

	campaignactor "dialler/actors/campaign"
	"dialler/engine"
	"dialler/engine/campaign"
	core "dialler/engine/run"
)

// toRun addresses a request to a campaign's run.
func toRun(id engine.CampaignID, msg any) any {
	return &campaignactor.ForCampaign{Campaign: id, Msg: msg}
}

// Act carries out a lifecycle command.
func (t *Tree) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.Detail{}, err
	}
	return ask[campaign.Detail](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.Act{Command: cmd}))
}

// Detail returns the campaign's current state with its live figures.
func (t *Tree) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	if err := t.writers.Database.Err(); err != nil { // no actor can start now
		d, up, askErr := t.DetailIfUp(ctx, id)
		if askErr != nil || up {
			return d, askErr
		}
		return d, err
	}
	return ask[campaign.Detail](ctx, t, t.campaigns, toRun(id, &core.Detail{Supplies: t.supplies(ctx)}))
}

// DetailIfUp is Detail for a campaign whose actors are up. For any other, up is false: nothing has
// happened to it since this process started, so its row and tables are complete.
func (t *Tree) DetailIfUp(ctx context.Context, id engine.CampaignID) (d campaign.Detail, up bool, err error) {
	v, err := ask[any](
		ctx,
		t,
		t.campaigns,
		&campaignactor.IfUp{Campaign: id, Msg: &core.Detail{Supplies: t.supplies(ctx)}},
	)
	d, up = v.(campaign.Detail)
	return d, up, err
}

// AddContacts adds contacts to a draft that never ran or a running campaign.
func (t *Tree) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.AddReport{}, err
	}
	return ask[campaign.AddReport](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.AddRows{Command: cmd}))
}

// AddBatch is AddContacts for a list whose items are judged one by one; the reply is stored with
// the contacts if the command carries an Idempotency.
func (t *Tree) AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.BatchReply{}, err
	}
	return ask[campaign.BatchReply](ctx, t, t.campaigns, toRun(cmd.Campaign,
		&core.AddRows{Command: cmd.AddContacts, Batch: &cmd}))
}

// UndoImport takes back the contacts of a file that were never dialled and that nothing else has named; it
// returns after the first page, which may have been the last.
func (t *Tree) UndoImport(ctx context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.ImportUndo{}, err
	}
	return ask[campaign.ImportUndo](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.UndoImport{Command: cmd}))
}

// Trigger adds one contact and dials or queues it.
func (t *Tree) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.TriggerReply{}, err
	}
	return ask[campaign.TriggerReply](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.Trigger{Command: cmd}))
}

// Exclude suppresses contacts of a campaign.
func (t *Tree) Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.ExcludeReply{}, err
	}
	return ask[campaign.ExcludeReply](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.Exclude{Command: cmd}))
}

// ExclusionsImported records in a campaign's history that a file of numbers was excluded.
func (t *Tree) ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error {
	if err := t.writers.Database.Err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.ExclusionsImported{Command: cmd}))
	return err
}

// Lift lifts an exclusion of a campaign.
func (t *Tree) Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error) {
	if err := t.writers.Database.Err(); err != nil {
		return campaign.LiftReply{}, err
	}
	return ask[campaign.LiftReply](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.Lift{Command: cmd}))
}

// ActOnContact carries out an operator's command on one contact; it returns once the effect is
// durable.
func (t *Tree) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	if err := t.writers.Database.Err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t, t.campaigns, toRun(cmd.Campaign, &core.Operate{Command: cmd}))
	return err
}

// Preflight says whether the campaign can be started and what it has to expect.
func (t *Tree) Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	return ask[campaign.Readiness](ctx, t, t.campaigns, toRun(id, &core.Preflight{}))
}

// Import reads a file of contacts into a campaign (campaign.Imports).
func (t *Tree) Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	return t.imports.Import(ctx, cmd, file)
}

// Figures returns what the campaigns published last, for at most 200 of them.
func (t *Tree) Figures() []campaignactor.Figures { return t.board.All() }

// NewCampaignID returns an ID short enough to read aloud: "cmp_" and 10 characters.
func NewCampaignID() engine.CampaignID {
	var b [7]byte
	_, _ = rand.Read(b[:])
	s := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
	return engine.CampaignID("cmp_" + strings.ToLower(s[:10]))
}
