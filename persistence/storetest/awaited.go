package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// outcomeFinal checks that an attempt's outcome is final everywhere it is shown, or nowhere.
func outcomeFinal(t *testing.T, w *world) {
	c := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	x, a := w.intent(&c)
	w.commit(x)
	end, done := w.ended(&c, a, engine.OutcomeConnectedNoResult)
	due := w.now.Add(time.Hour)
	c.State, c.LastConversation, c.ResultDueAt = contact.Connected, a.ID, &due
	c.LastOutcome = engine.OutcomeConnectedNoResult
	end.Contacts = []contact.Contact{c}
	w.commit(end)
	shown := func(what string, awaits bool) {
		t.Helper()
		list, _, err := w.pg.Lists.Calls(t.Context(), attempt.Query{Campaign: w.c.ID, Limit: 10})
		must(t, err)
		view, _, err := w.pg.ContactView(t.Context(), w.c.ID, c.ID)
		must(t, err)
		page, err := w.pg.Lists.AttemptsPage(
			t.Context(),
			campaign.AttemptsQuery{Campaign: w.c.ID, Until: w.now.Add(time.Hour), Limit: 10},
		)
		must(t, err)
		for place, got := range map[string]attempt.Attempt{"one call": w.storedAttempt(a.ID), "calls": list[0],
			"a contact":  view.Attempts[0],
			"the report": page[0].Attempt} {
			if got.AwaitsResult != c.AwaitsResult(a.ID) || got.AwaitsResult != awaits || (got.FinalOutcome() == nil) != awaits ||
				got.Outcome != done.Outcome {
				t.Errorf("%s, %s: awaits %v, outcome %v", what, place, got.AwaitsResult, got.FinalOutcome())
			}
		}
		found, _, err := w.pg.Lists.Calls(
			t.Context(),
			attempt.Query{Campaign: w.c.ID, Outcome: engine.OutcomeConnectedNoResult, Limit: 10},
		)
		must(t, err)
		if (len(found) == 0) != awaits {
			t.Errorf("%s: %d calls are found by the outcome", what, len(found))
		}
	}
	shown("its result is awaited", true)
	c.ResultDueAt = nil
	c.Version++
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	shown("no result came", false)
	c.ResultDueAt, c.LastConversation = &due, engine.AttemptID(id())
	c.Version++
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	shown("another one's is awaited", false)
	c.LastConversation, c.LastOutcome = a.ID, engine.OutcomeMediaError
	c.Version++
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	shown("what ended it last is final", false)
}

// keptContacts checks that a late result changes a contact as its run left it, while that is kept.
func keptContacts(t *testing.T, w *world) {
	c := w.contact(func(c *contact.Contact) {
		c.State, c.Reason, c.DueAt, c.ConnectedOnce, c.Used = contact.Failed, string(
			engine.OutcomeConnectedNoResult,
		), nil, true, 1
	})
	facts, added := c.Facts(), w.event(journal.ContactTriggered, c.ID, "")
	added.Data.After = &facts
	w.commit(w.write(func(x *journal.Write) { x.Contacts, x.Events = []contact.Contact{c}, []journal.Event{added} }))
	if _, ok, err := w.store.KeptContact(t.Context(), c.ID, 1); ok || err != nil {
		t.Errorf("a contact is kept of the present run: %v", err)
	}
	row := w.c
	step := func(run int, state campaign.State) {
		row.Run, row.State, row.Seq = run, state, w.seq.Add(1)
		w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, CampaignRow: &row})
	}
	step(2, campaign.Draft)
	reset := w.event(journal.ContactsReset, "", "")
	reset.Run = 2
	must(t, w.store.ResetContacts(t.Context(), w.c.ID, 2, false, w.now, reset))
	kept, ok, err := w.store.KeptContact(t.Context(), c.ID, 1)
	must(t, err)
	if !ok || kept.State != contact.Failed || kept.Run != 1 {
		t.Fatalf("kept %v: %+v", ok, kept)
	}

	change := func() {
		before := kept.Facts()
		kept.State, kept.Reason, kept.HasResult, kept.LastDisposition = contact.Completed, "", true, "sold"
		kept.Version++
		after, e := kept.Facts(), w.event(journal.ResultStored, c.ID, "")
		e.Data.Before, e.Data.After, e.Data.Kept = &before, &after, true
		w.commit(w.write(func(x *journal.Write) { x.Kept, x.Events = []contact.Contact{kept}, []journal.Event{e} }))
	}
	change()
	got, _, err := w.store.KeptContact(t.Context(), c.ID, 1)
	must(t, err)
	sameFields(t, got, kept)
	old := kept
	old.State, old.Version = contact.Failed, kept.Version-1
	w.commit(w.write(func(x *journal.Write) { x.Kept = []contact.Contact{old} })) // a repeat that arrives late
	if now := w.stored(c.ID); now.State != contact.Pending || now.Run != 2 {
		t.Errorf("in the next run it is %s, of run %d", now.State, now.Run)
	}
	fold := tally.Runs{}
	for _, e := range w.events() {
		fold.Apply(&e)
	}
	for run := 1; run <= 2; run++ {
		n, err := w.store.Counters(t.Context(), w.c.ID, run)
		must(t, err)
		for _, d := range tally.Compare(fold.Counters(run), n) {
			t.Errorf("run %d, %s: events %s, tables %s", run, d.Figure, d.A, d.B)
		}
		if want := 2 - run; n.Completed != want || n.Failed != 0 {
			t.Errorf("run %d: %d completed, %d failed", run, n.Completed, n.Failed)
		}
	}
	if w.pg != nil {
		if a, err := w.pg.Records.Audit(t.Context(), w.c.ID); err != nil || a.Wrong() > 0 {
			t.Errorf("audit: %+v, %v", a, err)
		}
	}

	step(1, campaign.Completed)
	must(t, w.store.RestoreContacts(t.Context(), w.c.ID, 1, w.event(journal.ContactsRestored, "", "")))
	if now := w.stored(c.ID); now.State != contact.Completed || now.LastDisposition != "sold" {
		t.Errorf("shown again it is %s, %q", now.State, now.LastDisposition)
	}
	kept.Version += 10
	w.commit(w.write(func(x *journal.Write) { x.Kept = []contact.Contact{kept} }))
	if _, ok, err := w.store.KeptContact(t.Context(), c.ID, 1); ok || err != nil {
		t.Errorf("what is kept no longer comes back: %v", err)
	}
}
