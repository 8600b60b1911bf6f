package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// bulk compares the statement with the machine of a contact.
func bulk(t *testing.T, w *world) {
	later := w.now.Add(time.Hour)
	live := engine.AttemptID(id())
	kinds := []func(*contact.Contact){
		func(*contact.Contact) {},
		func(c *contact.Contact) { c.State, c.Used, c.DueClass = contact.Waiting, 1, contact.DueRetry },
		func(c *contact.Contact) {
			c.State, c.DueAt, c.DueClass = contact.Connected, &later, contact.DueCallback
			c.Callback, c.CallbackAt, c.CallbackExtra = contact.CallbackPending, &later, true
		},
		func(c *contact.Contact) { c.State, c.DueAt, c.ResultDueAt = contact.Connected, nil, &later },
		func(c *contact.Contact) { // a short conversation
			c.State, c.Used, c.ResultDueAt, c.DueClass = contact.Connected, 1, &later, contact.DueRetry
		},
		func(c *contact.Contact) { c.DueAt, c.Attempt = nil, live },
		func(c *contact.Contact) { c.State, c.DueAt = contact.Completed, nil },
		func(c *contact.Contact) { c.State, c.DueAt = contact.Excluded, nil },
	}
	var all []contact.Contact
	for _, k := range kinds {
		all = append(all, w.contact(k))
	}
	foreign := newWorld(t, w.store)
	theirs := foreign.contact()
	foreign.commit(foreign.write(func(x *journal.Write) { x.Contacts = []contact.Contact{theirs} }))
	mine := w.contact()
	fold := tally.New()
	for _, c := range append([]contact.Contact{mine}, all...) {
		f := c.Facts()
		fold.Contacts(&f, 1)
	}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = append([]contact.Contact{mine}, all...) }))
	end := w.now.Add(time.Minute)
	x := w.write(func(x *journal.Write) {
		ev := w.event(journal.ContactsClosed, "", "")
		ev.At = end
		x.Bulk = &journal.Bulk{To: contact.ManuallyStopped, Sweep: journal.Sweep{At: end, Except: []engine.ContactID{mine.ID},
			Event: ev}}
	})
	w.commit(x)
	for _, c := range all {
		m := contact.Machine{C: c}
		if c.DueAt != nil { // the others have an actor, a pending result, or are final
			must(t, m.Apply(contact.Event{Kind: contact.RunStopped, At: end}))
		}
		t.Run(string(c.State), func(t *testing.T) { sameFields(t, w.stored(c.ID), m.C) })
	}
	sameFields(t, w.stored(mine.ID), mine) // its actor closes it
	events := w.events()
	closed := events[len(events)-1]
	if closed.Type != journal.ContactsClosed || closed.Seq != x.Bulk.Event.Seq || len(closed.Data.Moves) != 4 {
		t.Fatalf("the event is %+v", closed)
	}
	fold.Apply(&closed)
	got, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	for _, d := range tally.Compare(fold.Counters(), got) {
		t.Errorf("%s: events %s, tables %s", d.Figure, d.A, d.B)
	}

	// Once it is stored, repeating the bulk does nothing: a contact added later stays.
	later2 := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{later2} }))
	w.commit(x)
	sameFields(t, w.stored(later2.ID), later2)
	if n := len(w.events()); n != len(events) {
		t.Errorf("%d events, there were %d", n, len(events))
	}
	if got := w.stored(theirs.ID); got.State != contact.Pending {
		t.Errorf("a contact of another campaign became %s", got.State)
	}
}

// bulkInParts checks that a limit bounds how many contacts are changed and reported; the campaign
// stays active until none waits.
func bulkInParts(t *testing.T, w *world) {
	const waiting = 7
	var all []contact.Contact
	for range waiting {
		all = append(all, w.contact())
	}
	w.commit(w.write(func(x *journal.Write) {
		c := w.c
		c.State, c.CompletionReason = campaign.Completed, campaign.ReasonManuallyStopped
		x.Contacts, x.CampaignRow = all, &c
	}))
	for _, want := range []int{3, 3, 1, 0} {
		ids, err := w.store.ActiveCampaigns(t.Context())
		must(t, err)
		if slices.Contains(ids, w.c.ID) != (want > 0) {
			t.Errorf("active: %v, with %d to close", ids, want)
		}
		w.commit(w.write(func(x *journal.Write) {
			ev := w.event(journal.ContactsClosed, "", "")
			x.Bulk = &journal.Bulk{To: contact.ManuallyStopped, Sweep: journal.Sweep{At: ev.At, Limit: 3, Event: ev}}
		}))
		events, n := w.events(), 0
		for _, m := range events[len(events)-1].Data.Moves {
			n += m.Count
		}
		if n != want {
			t.Errorf("%d were moved, want %d", n, want)
		}
	}
	for _, c := range all {
		if got := w.stored(c.ID); got.State != contact.ManuallyStopped || got.DueAt != nil {
			t.Errorf("%+v", got)
		}
	}
}

func active(t *testing.T, w *world) {
	paused := w.campaign(func(c *campaign.Campaign) { c.State = campaign.Paused })
	draft := w.campaign(func(c *campaign.Campaign) { c.State = campaign.Draft })
	draining := w.campaign(func(c *campaign.Campaign) { c.State = campaign.Completed })
	c := w.contact(func(c *contact.Contact) { c.Campaign = draining.ID })
	x, _ := w.intent(&c)
	x.Epoch = draining.Epoch
	w.commit(x)
	owed := w.campaign(func(c *campaign.Campaign) { c.State = campaign.Completed })
	over := w.campaign(func(c *campaign.Campaign) { c.State = campaign.Completed })
	due := w.now.Add(time.Minute)
	for _, of := range []*campaign.Campaign{&owed, &over} {
		k := w.contact(func(c *contact.Contact) { c.Campaign, c.State, c.DueAt = of.ID, contact.Completed, nil })
		if of == &owed {
			k.State, k.ResultDueAt = contact.Connected, &due
		}
		x := w.write(func(x *journal.Write) { x.Campaign, x.Epoch, x.Contacts = of.ID, of.Epoch, []contact.Contact{k} })
		w.commit(x)
	}
	ids, err := w.store.ActiveCampaigns(t.Context())
	must(t, err)
	if slices.Contains(ids, over.ID) {
		t.Error("a campaign that is over is listed")
	}
	for _, want := range []engine.CampaignID{w.c.ID, paused.ID, draining.ID, owed.ID} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if slices.Contains(ids, draft.ID) {
		t.Error("a draft is listed")
	}
}

// counters plays calls through and compares the tables with the fold of their
// events.
func counters(t *testing.T, w *world) {
	fold := tally.New()
	apply := func(x journal.Write) {
		w.commit(x)
		for i := range x.Events {
			fold.Apply(&x.Events[i])
		}
	}
	add := w.insert(12)
	after := contact.Fresh(3)
	add.Event.Data.After = &after
	report, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	add.Event.Data.Count = report.Added
	fold.Apply(&add.Event)

	play := func(i int, o engine.Outcome, served time.Duration, change func(*contact.Contact, *attempt.Attempt)) {
		c := w.stored(add.Contacts[i].ID)
		x, a := w.intent(&c)
		apply(x)
		if served > 0 || o == engine.OutcomeAbandoned || o == engine.OutcomeMachine {
			t0 := w.now
			a.State, a.AnsweredAt = attempt.Answered, &t0
			if o == engine.OutcomeMachine {
				a.Verdict, a.VerdictAt = engine.VerdictMachine, &t0
			}
			apply(w.write(func(x *journal.Write) {
				x.Attempts = []attempt.Attempt{a}
				x.Events = []journal.Event{w.event(journal.AttemptAnswered, c.ID, a.ID)}
			}))
		}
		if served > 0 {
			t0 := w.now
			before := c.Facts()
			c.State, c.ConnectedOnce = contact.Connected, true
			c.Version++
			a.State, a.ServedAt, a.BotConnectedAt = attempt.Connected, &t0, &t0
			ev := w.event(journal.AttemptConnected, c.ID, a.ID)
			now := c.Facts()
			ev.Data.Before, ev.Data.After, ev.Data.Pass = &before, &now, a.Pass
			apply(w.write(func(x *journal.Write) {
				x.Attempts, x.Contacts, x.Events = []attempt.Attempt{a}, []contact.Contact{c}, []journal.Event{ev}
			}))
		}
		before := c.Facts()
		end, done := w.ended(&c, a, o)
		if served > 0 {
			t1 := w.now.Add(served)
			done.EndedAt = &t1
			end.Events[0].Data.TalkMS = done.TalkMS()
		}
		if change != nil {
			change(&c, &done)
		}
		if !done.Consumed {
			c.Used--
		}
		now := c.Facts()
		end.Contacts, end.Attempts = []contact.Contact{c}, []attempt.Attempt{done}
		d := &end.Events[0].Data
		d.Pass, d.ReservedAt = done.Pass, done.ReservedAt
		d.Before, d.After, d.Outcome, d.Cause, d.Consumed = &before, &now, done.Outcome, done.Cause, done.Consumed
		d.Answered, d.Connected = done.AnsweredAt != nil, done.WasConnected()
		apply(end)
		if done.Result != nil {
			ev := w.event(journal.ResultStored, c.ID, a.ID)
			ev.Data.Connected = done.ServedAt != nil
			apply(w.write(func(x *journal.Write) { x.Events = []journal.Event{ev} }))
		}
	}
	to := func(s contact.State) func(*contact.Contact, *attempt.Attempt) {
		return func(c *contact.Contact, _ *attempt.Attempt) { c.State = s }
	}
	play(0, engine.OutcomeCompleted, 12345*time.Millisecond, func(c *contact.Contact, a *attempt.Attempt) {
		c.State, c.HasResult = contact.Completed, true
		a.Result = &attempt.Result{Disposition: "sold", ReceivedAt: w.now}
	})
	play(1, engine.OutcomeConnectedNoResult, 7*time.Second, nil)
	play(2, engine.OutcomeAbandoned, 0, func(c *contact.Contact, a *attempt.Attempt) {
		c.State, a.Cause = contact.Abandoned, engine.AbandonCapacityLoss
	})
	play(3, engine.OutcomeAbandoned, 0, func(c *contact.Contact, a *attempt.Attempt) {
		c.State, a.Cause = contact.Abandoned, engine.AbandonNoSeat
	})
	play(4, engine.OutcomeNoAnswer, 0, func(c *contact.Contact, _ *attempt.Attempt) {
		due := w.now.Add(time.Hour)
		c.State, c.RangUnanswered, c.DueAt, c.DueClass = contact.Waiting, true, &due, contact.DueRetry
	})
	play(5, engine.OutcomeMachine, 0, to(contact.MachineDetected))
	play(6, engine.OutcomeBusy, 0, to(contact.Failed))
	play(7, engine.OutcomeTrunkError, 0, func(c *contact.Contact, a *attempt.Attempt) {
		due := w.now
		c.DueAt, a.Consumed = &due, false
	})
	play(8, engine.OutcomeExcluded, 0, to(contact.Excluded))
	// One is still in a call.
	c := w.stored(add.Contacts[9].ID)
	x, _ := w.intent(&c)
	apply(x)

	want := fold.Counters()
	got, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		sameFields(t, got, want)
	}
	if got.Total != 12 || got.LiveAnswers != 4 || got.Attempts != 8 || got.TalkSeconds != 19.345 {
		t.Errorf("total %d, live answers %d, attempts %d, talk %v", got.Total, got.LiveAnswers, got.Attempts, got.TalkSeconds)
	}
	audited := func(want int) {
		t.Helper()
		if w.pg == nil {
			return
		}
		a, err := w.pg.Records.Audit(t.Context(), w.c.ID)
		must(t, err)
		if len(a.Runs) != 1 || a.Runs[0].Run != 1 || len(a.Runs[0].Differences) != want || a.Events == 0 {
			t.Errorf("the audit says %+v, want %d differences", a, want)
		}
	}
	audited(0)
	if w.pg == nil {
	} else if _, err := w.pg.Records.Audit(t.Context(), "cmp_nobody"); code(err) != "campaign_not_found" {
		t.Errorf("of no campaign: %v", err)
	}

	want4 := pacing.Counts{Live: 4, Abandoned: 2, CapacityLoss: 1, Machines: 1}
	for since, want := range map[time.Time]pacing.Counts{w.now.Add(-time.Minute): want4, w.now.Add(time.Hour): {}} {
		if n, err := w.store.AbandonLedger(t.Context(), w.c.ID, since); err != nil || n != want {
			t.Errorf("ledger since %v: %+v %v, want %+v", since, n, err, want)
		}
	}
	hours, err := w.store.AbandonHours(t.Context(), w.c.ID, w.now.Add(-time.Minute))
	must(t, err)
	var sum pacing.Counts
	for hour, c := range hours {
		if first := pacing.HourOf(w.now); hour < first || hour > first+1 {
			t.Errorf("hour %d, it is %d", hour, first)
		}
		sum.Add(c)
	}
	if sum != want4 {
		t.Errorf("hours %+v, want %+v", sum, want4)
	}

	// A row changed without an event is found: here pending became failed.
	moved := w.stored(add.Contacts[11].ID)
	moved.State, moved.DueAt = contact.Failed, nil
	moved.Version++
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{moved} }))
	audited(6) // pending, failed, retries left, both states, waiting for pass 1
}

// restart compares the statements with the machine of a contact (RunReset).
func restart(t *testing.T, w *world) {
	for _, unreached := range []bool{false, true} {
		t.Run(fmt.Sprint("only unreached ", unreached), func(t *testing.T) { restarted(t, newWorld(t, w.store), unreached) })
	}
}

func restarted(t *testing.T, w *world, unreached bool) {
	contacts := make([]contact.Contact, 0, 7)
	for i, s := range []contact.State{contact.Completed, contact.Failed, contact.Excluded, contact.ManuallyStopped,
		contact.Failed, contact.Connected, contact.Connected} {
		c := enginetest.Filled[contact.Contact]()
		c.ID, c.Campaign, c.Number, c.Run, c.State, c.Attempt, c.DueAt, c.ResultDueAt =
			engine.ContactID(id()), w.c.ID, number(), 1, s, "", nil, nil
		c.Position, c.LastConversation, c.CallbackOf = w.seq.Add(1), engine.AttemptID(id()), engine.AttemptID(id())
		until := w.now.Add(time.Duration(i%3-1) * 15 * time.Minute) // of a call back: over, or not
		c.CallsBack, c.CallsBackUntil, c.DueOtherwise = engine.AttemptID(id()), &until, nil
		switch i {
		case 0:
			c.Choice &^= contact.ChoiceKept
		case 3, 4:
			c.ConnectedOnce, c.HasResult = false, false
		case 5:
			c.HasResult, c.Callback, c.DueAt = true, contact.CallbackPending, &w.now
		case 6:
			c.HasResult, c.Callback, c.ResultDueAt = false, contact.CallbackNone, &w.now
		}
		contacts = append(contacts, c)
	}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = contacts }))
	first, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)

	reset := w.event(journal.ContactsReset, "", "")
	reset.Run = 2
	if err := w.store.ResetContacts(t.Context(), w.c.ID, 2, unreached, w.now, reset); code(err) != "run_moved" {
		t.Errorf("before the campaign's row is in the new run: %v", err)
	}
	inRun := func(want int) {
		t.Helper()
		if got, err := w.store.RunOfContacts(t.Context(), w.c.ID); err != nil || got != want {
			t.Errorf("the contacts are in run %d, want %d (%v)", got, want, err)
		}
	}
	inRun(1)
	row := w.c
	row.Run, row.State, row.Seq = 2, campaign.Draft, w.seq.Add(1)
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, CampaignRow: &row})
	for range 2 { // the second time changes nothing
		must(t, w.store.ResetContacts(t.Context(), w.c.ID, 2, unreached, w.now, reset))
	}
	inRun(2)
	fold := tally.Runs{}
	for _, e := range w.events() {
		fold.Apply(&e)
	}
	prepared, err := w.store.Counters(t.Context(), w.c.ID, 2)
	must(t, err)
	for _, d := range tally.Compare(fold.Counters(2), prepared) {
		t.Errorf("prepared run, %s: events %s, tables %s", d.Figure, d.A, d.B)
	}
	for _, c := range contacts {
		m := contact.Machine{C: c}
		must(t, m.Apply(contact.Event{Kind: contact.RunReset, At: w.now, Run: 2, Unreached: unreached,
			Policy: contact.Policy{MaxAttempts: 3}}))
		sameFields(t, w.stored(c.ID), m.C)
	}
	pending := 6
	if unreached {
		pending = 2
	}
	if n, err := w.store.Counters(t.Context(), w.c.ID, 2); err != nil || n.Pending != pending || n.Excluded != 1 ||
		n.Total != 7 {
		t.Errorf("counters of the prepared run %+v %v", n, err)
	}
	if again, err := w.store.Counters(t.Context(), w.c.ID, 1); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("counters of the run before %+v, were %+v (%v)", again, first, err)
	}

	// Excluded while the next run was prepared: stays excluded.
	x := w.stored(contacts[1].ID)
	x.State, x.DueAt, x.Reason = contact.Excluded, nil, "asked"
	x.Version++
	w.commit(w.write(func(y *journal.Write) { y.Contacts = []contact.Contact{x} }))
	// Who asked meanwhile, in a call back, not to be called stays known for it.
	asked := w.stored(contacts[0].ID)
	asked.Choice |= contact.ChoiceStopped
	asked.Version++
	w.commit(w.write(func(y *journal.Write) { y.Contacts = []contact.Contact{asked} }))

	row.Run, row.State, row.Seq = 1, campaign.Completed, w.seq.Add(1)
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, CampaignRow: &row})
	restored := w.event(journal.ContactsRestored, "", "")
	if err := w.store.RestoreContacts(t.Context(), w.c.ID, 2, restored); code(err) != "run_moved" {
		t.Errorf("of a run that the campaign's row is not in: %v", err)
	}
	for range 2 {
		must(t, w.store.RestoreContacts(t.Context(), w.c.ID, 1, restored))
	}
	inRun(1)
	again := tally.From(first)
	for _, e := range w.events() {
		if e.Type == journal.ContactsRestored {
			again.Apply(&e)
		}
	}
	now, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	for _, d := range tally.Compare(again.Counters(), now) {
		t.Errorf("restored run, %s: events %s, tables %s", d.Figure, d.A, d.B)
	}
	if now.Excluded != first.Excluded+1 {
		t.Errorf("%d excluded, there were %d", now.Excluded, first.Excluded)
	}
	for i, want := range contacts {
		got := w.stored(want.ID)
		if got.Version <= want.Version {
			t.Errorf("version went back to %d", got.Version)
		}
		want.Version = got.Version
		switch i {
		case 0:
			want.Choice |= contact.ChoiceStopped
		case 1:
			m := contact.Machine{C: want}
			must(t, m.Apply(contact.Event{Kind: contact.ExcludedBy, At: want.UpdatedAt, Reason: "asked"}))
			m.C.Version = want.Version
			want = m.C
		}
		sameFields(t, got, want)
	}
}

func remove(t *testing.T, w *world) {
	draft := w.campaign(func(c *campaign.Campaign) { c.State, c.EverRun = campaign.Draft, false })
	add := w.insert(3)
	add.Campaign, add.Epoch = draft.ID, draft.Epoch
	_, err := w.store.AddContacts(t.Context(), add)
	must(t, err)
	w.commit(journal.Write{Exclusions: []journal.Exclusion{{Campaign: draft.ID, Number: number(), CreatedAt: w.now}}})
	c, _, err := w.store.ContactByID(t.Context(), add.Contacts[0].ID)
	must(t, err)
	before := c.Facts()
	c.State, c.DueAt = contact.Excluded, nil
	c.Version++
	after := c.Facts()
	e := w.event(journal.ContactExcluded, c.ID, "")
	e.Campaign, e.Data = draft.ID, journal.Data{Before: &before, After: &after}
	w.commit(journal.Write{Campaign: draft.ID, Epoch: draft.Epoch, Contacts: []contact.Contact{c},
		Events: []journal.Event{e}})
	must(t, w.store.SavePacing(t.Context(), draft.ID, draft.Epoch, pacing.State{Theta: 0.5}, w.now))
	imp := w.begin(func(i *campaign.Import) { i.Campaign = draft.ID })
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(2), nil, 2, 0))
	for range 2 {
		must(t, w.store.RemoveCampaign(t.Context(), draft.ID, engine.System))
	}
	if _, ok, _ := w.store.ContactByID(t.Context(), add.Contacts[0].ID); ok {
		t.Error("its contacts are still there")
	}
	if list, err := w.store.Exclusions(t.Context(), draft.ID); err != nil || len(list) != 0 {
		t.Errorf("%d of its exclusions are still there, %v", len(list), err)
	}
	if _, ok, err := w.store.Pacing(t.Context(), draft.ID); ok || err != nil {
		t.Errorf("its pacing is still there (%v)", err)
	}
	if _, err := w.store.Import(t.Context(), imp.ID); code(err) != "import_not_found" {
		t.Errorf("its import: %v", err)
	}
	if _, err := w.store.Campaign(t.Context(), draft.ID); code(err) != "campaign_not_found" {
		t.Errorf("its row: %v", err)
	}
	if err := w.store.RemoveCampaign(t.Context(), w.c.ID, engine.System); code(err) != "campaign_was_run" {
		t.Errorf("one that ran: %v", err)
	}
}
