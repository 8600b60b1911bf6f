package storetest

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

func cloned(t *testing.T, w *world) {
	ended := w.now.Add(-time.Hour)
	done := w.contact(func(c *contact.Contact) {
		c.State, c.Used, c.DueAt, c.HasResult, c.LastOutcome, c.AbandonedAt, c.Source =
			contact.Completed, 2, nil, true, engine.OutcomeCompleted, &ended, "csv"
	})
	plain := w.contact(func(c *contact.Contact) { c.Variables = nil })
	out := w.contact(func(c *contact.Contact) { c.State, c.DueAt, c.Reason = contact.Excluded, nil, "asked" })
	inCall := w.contact(func(c *contact.Contact) {
		c.State, c.DueAt, c.Attempt, c.ExcludeAfterCall, c.Reason =
			contact.Connected, nil, engine.AttemptID(id()), true, "rude"
	})
	all := []contact.Contact{done, plain, out, inCall}
	lifted, advance := number(), number()
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = all
		x.Exclusions = []journal.Exclusion{
			{Campaign: w.c.ID, Number: out.Number, Reason: "asked", CreatedAt: w.now},
			{Campaign: w.c.ID, Number: advance, Reason: "never", CreatedAt: w.now},
			{Campaign: w.c.ID, Number: lifted, Lifted: true, CreatedAt: w.now},
			{Campaign: w.c.ID, Match: map[string]string{"plan": "iron"}, Reason: "plan", CreatedAt: w.now},
		}
	}))
	as, now := engine.CampaignID("cmp_"+id()[:12]), w.now.Add(time.Minute)
	c, err := w.pg.CloneCampaign(t.Context(), campaign.Clone{Campaign: w.c.ID, Who: admin}, as, now)
	must(t, err)
	stored, err := w.store.Campaign(t.Context(), as)
	must(t, err)
	sameFields(t, stored, c)
	want := w.c.Settings
	want.Name = campaign.CopyName(want.Name)
	if changed := campaign.Changes(&want, &c.Settings); c.State != campaign.Draft || c.EverRun || c.Run != 1 ||
		len(changed) > 0 || c.CreatedBy != admin {
		t.Errorf("copy %+v, other settings %v", c, changed)
	}

	copies := map[engine.PhoneNumber]contact.Contact{}
	for _, o := range all {
		got, ok, err := w.store.ContactByNumber(t.Context(), as, o.Number)
		must(t, err)
		if !ok {
			t.Fatalf("%s contact is not copied", o.State)
		}
		copies[o.Number] = got
		x := contact.Contact{ID: got.ID, Campaign: as, Number: o.Number, Variables: o.Variables, Position: o.Position,
			Source: o.Source, Run: 1,
			State: contact.Pending, Max: 3, DueAt: &now, DueClass: contact.DueFirst, DuePass: 1, CreatedAt: now, UpdatedAt: now,
			Version: 1}
		if o.State == contact.Excluded || o.ExcludeAfterCall {
			x.State, x.Reason, x.DueAt = contact.Excluded, o.Reason, nil
		}
		if got.ID == o.ID {
			t.Error("a copy has the identifier of its original")
		}
		t.Run(string(o.State), func(t *testing.T) { sameFields(t, got, x) })
		sameFields(t, w.stored(o.ID), o) // the original is as it was
	}
	ordered := slices.SortedFunc(maps.Values(copies),
		func(a, b contact.Contact) int { return int(a.Position - b.Position) })
	if !slices.IsSortedFunc(ordered, func(a, b contact.Contact) int { return cmp.Compare(a.ID, b.ID) }) {
		t.Error("the copies' identifiers are not in list order")
	}

	exclusions, err := w.store.Exclusions(t.Context(), as)
	must(t, err)
	if len(exclusions) != 3 || slices.ContainsFunc(exclusions,
		func(x journal.Exclusion) bool { return x.Number == lifted || x.Campaign != as }) {
		t.Errorf("exclusions %+v", exclusions)
	}

	fold := tally.New()
	events, err := w.store.Events(t.Context(), as, 0, 10)
	must(t, err)
	for i := range events {
		fold.Apply(&events[i])
	}
	counters, err := w.store.Counters(t.Context(), as, 1)
	must(t, err)
	for _, x := range tally.Compare(fold.Counters(), counters) {
		t.Errorf("%s: events %s, tables %s", x.Figure, x.A, x.B)
	}
	if counters.Pending != 2 || counters.Excluded != 2 {
		t.Errorf("counters %+v", counters)
	}

	first := campaign.Page{Number: 1, Size: 10}
	log, _, err := w.pg.Lists.Activity(t.Context(), as, nil, first)
	must(t, err)
	if len(log) != 1 || log[0].Type != journal.CampaignCreated || log[0].Data.Campaign != w.c.ID ||
		*log[0].Data.Who != admin {
		t.Errorf("activity of the copy %+v", log)
	}
	log, _, err = w.pg.Lists.Activity(t.Context(), w.c.ID, nil, first)
	must(t, err)
	if len(log) != 1 || log[0].Type != journal.CampaignCloned || log[0].Data.Campaign != as {
		t.Errorf("activity of the original %+v", log)
	}
	if c, err := w.store.AcquireCampaign(t.Context(), as); err != nil || c.Seq != 3 {
		t.Errorf("the copy's sequence goes on from %d, %v", c.Seq, err)
	}

	named, err := w.pg.CloneCampaign(t.Context(), campaign.Clone{Campaign: w.c.ID, Name: "Autumn", Who: admin},
		engine.CampaignID("cmp_"+id()[:12]), now)
	must(t, err)
	if named.Settings.Name != "Autumn" {
		t.Errorf("named %q", named.Settings.Name)
	}
	if _, err := w.pg.CloneCampaign(t.Context(), campaign.Clone{Campaign: "cmp_none", Who: admin}, "cmp_x",
		now); code(err) != "campaign_not_found" {
		t.Errorf("of nothing: %v", err)
	}

	// Stored before such settings were rejected.
	row := w.c
	row.Settings.RedialOnlyUnderSec, row.Settings.StopRedialsAfterSec, row.Seq = 20, 10, w.seq.Add(1)
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, CampaignRow: &row})
	var e *engine.Error
	_, err = w.pg.CloneCampaign(t.Context(), campaign.Clone{Campaign: w.c.ID, Who: admin},
		engine.CampaignID("cmp_"+id()[:12]), now)
	if !errors.As(err, &e) || e.Kind != engine.KindInvalid || len(e.Fields) != 1 ||
		e.Fields[0].Field != "redial_only_under_s" {
		t.Errorf("of settings that contradict each other: %v", err)
	}
}
