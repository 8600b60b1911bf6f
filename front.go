package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"dialler/actors"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http"
	"dialler/persistence"
)

// front is what the API knows of the dialler: commands go to the campaign
// tree, lists come from the store.
type front struct {
	*persistence.Store
	tree *actors.Tree
	p    *process
}

// Create implements http.Campaigns.
func (f *front) Create(ctx context.Context, cmd campaign.Create) (campaign.Detail, error) {
	now := time.Now()
	c := campaign.Campaign{ID: actors.NewCampaignID(), Settings: cmd.Settings, State: campaign.Draft, Version: 1, Run: 1,
		CreatedAt: now, CreatedBy: cmd.Who}
	who := cmd.Who
	created := journal.Event{Campaign: c.ID, Seq: 1, Run: 1, At: now, Type: journal.CampaignCreated, Version: 1, Data: journal.Data{Who: &who}}
	if err := f.Store.InsertCampaign(ctx, c, created); err != nil {
		return campaign.Detail{}, err
	}
	return f.tree.Detail(ctx, c.ID)
}

// Detail implements http.Campaigns.
func (f *front) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	return f.tree.Detail(ctx, id)
}

// List implements http.Campaigns: a campaign that dials is asked itself, the
// others are counted.
func (f *front) List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error) {
	rows, total, err := f.Store.Campaigns(ctx, page)
	if err != nil {
		return nil, 0, err
	}
	list := make([]campaign.Detail, len(rows))
	for i := range rows {
		if rows[i].State == campaign.Running || rows[i].State == campaign.Paused {
			if list[i], err = f.tree.Detail(ctx, rows[i].ID); err != nil {
				return nil, 0, err
			}
			continue
		}
		list[i].Campaign = rows[i]
		if list[i].Counters, err = f.Store.Counters(ctx, rows[i].ID, rows[i].Run); err != nil {
			return nil, 0, err
		}
	}
	return list, total, nil
}

// ChangeKey implements http.Keys.
func (f *front) ChangeKey(ctx context.Context, id engine.KeyID, change http.KeyChange, who engine.Who) (engine.APIKey, error) {
	return f.Store.UpdateKey(ctx, id, func(k *engine.APIKey) {
		if change.Name != nil {
			k.Name = *change.Name
		}
		if change.Active != nil {
			k.Active = *change.Active
		}
		if change.ExpiresAt != nil {
			k.ExpiresAt = *change.ExpiresAt
		}
		if change.Scopes != nil {
			k.Scopes = *change.Scopes
		}
		if change.Campaigns != nil {
			k.Campaigns = *change.Campaigns
		}
	}, who)
}

// AddContacts implements http.Campaigns.
func (f *front) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	return f.tree.AddContacts(ctx, cmd)
}

// Import implements http.Imports.
func (f *front) Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	return f.tree.Import(ctx, cmd, file)
}

// ImportByID implements http.Imports.
func (f *front) ImportByID(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	return f.Store.Import(ctx, id)
}

// Act implements http.Campaigns.
func (f *front) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	return f.tree.Act(ctx, cmd)
}

// Trigger implements http.Campaigns.
func (f *front) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	return f.tree.Trigger(ctx, cmd)
}

// Exclude implements http.Campaigns.
func (f *front) Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error) {
	return f.tree.Exclude(ctx, cmd)
}

// Contacts implements http.Campaigns: live attempts as their owners know them.
func (f *front) Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error) {
	list, err := f.Store.Contacts(ctx, id, page)
	if err != nil {
		return list, err
	}
	var wg sync.WaitGroup
	for i := range list.Contacts {
		for j := range list.Contacts[i].Attempts {
			if a := &list.Contacts[i].Attempts[j]; a.State != attempt.Ended {
				wg.Go(func() { *a = f.tree.Live(ctx, *a) })
			}
		}
	}
	wg.Wait()
	return list, nil
}

// Dialout implements http.Calls.
func (f *front) Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error) {
	return f.tree.Dialout(ctx, cmd)
}

// Call implements http.Calls.
func (f *front) Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	return f.tree.Call(ctx, id)
}

// SubmitResult implements http.Calls.
func (f *front) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	return f.tree.SubmitResult(ctx, cmd)
}

// HangUp implements http.Calls.
func (f *front) HangUp(ctx context.Context, id engine.CallID) error { return f.tree.HangUp(ctx, id) }

// PutBot implements http.Bots: the tree hears of the change.
func (f *front) PutBot(ctx context.Context, b engine.Bot, keepSecret bool, who engine.Who) (engine.Bot, bool, error) {
	if b.Account == "" {
		account, err := f.account(ctx, b.ID)
		if err != nil {
			return engine.Bot{}, false, err
		}
		b.Account = account
	}
	stored, created, err := f.Store.PutBot(ctx, b, keepSecret, who)
	if err == nil {
		err = f.tree.BotsChanged(ctx)
	}
	return stored, created, err
}

// account gives the "AC" identifier that a bot has, or a new one.
func (f *front) account(ctx context.Context, id engine.BotID) (string, error) {
	bots, err := f.Store.Bots(ctx)
	if err != nil {
		return "", err
	}
	for _, b := range bots {
		if b.ID == id && b.Account != "" {
			return b.Account, nil
		}
	}
	var fresh [16]byte
	_, _ = rand.Read(fresh[:]) // never fails
	return "AC" + hex.EncodeToString(fresh[:]), nil
}

// PutTrunk implements http.Trunks: the telephony adapter and the tree hear of
// the change.
func (f *front) PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (bool, error) {
	created, err := f.Store.PutTrunk(ctx, t, keepSecret, who)
	if err == nil {
		err = f.p.setTrunks(ctx)
	}
	if err == nil {
		err = f.tree.TrunksChanged(ctx)
	}
	return created, err
}

// PutNumber implements http.Numbers.
func (f *front) PutNumber(ctx context.Context, n engine.NumberSettings, who engine.Who) (bool, error) {
	created, err := f.Store.PutNumber(ctx, n, who)
	if err == nil {
		f.tree.NumberChanged(n)
	}
	return created, err
}

// Alive implements http.Health.
func (f *front) Alive() error { return f.tree.Alive() }

// Checks implements http.Health.
func (f *front) Checks(ctx context.Context) []http.Check {
	db := http.Check{Name: "database", OK: true}
	if err := f.Store.Ping(ctx); err != nil {
		db.OK, db.Detail = false, "the database does not answer; no new call is placed"
	}
	trunks := http.Check{Name: "trunks"}
	list, err := f.Store.Trunks(ctx)
	for _, t := range list {
		trunks.OK = trunks.OK || (err == nil && t.Active)
	}
	if !trunks.OK {
		trunks.Detail = "no active trunk is configured"
	}
	f.p.mu.Lock()
	draining := http.Check{Name: "draining", OK: !f.p.draining}
	f.p.mu.Unlock()
	if !draining.OK {
		draining.Detail = "the process is being stopped; live calls finish"
	}
	return []http.Check{db, trunks, {Name: "rtp_ports", OK: true}, draining}
}
