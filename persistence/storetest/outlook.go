package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// outlook checks that every contact is ahead, or skipped for exactly one reason.
func outlook(t *testing.T, w *world) {
	later := w.now.Add(time.Hour)
	var all []contact.Contact
	for _, k := range []func(*contact.Contact){
		func(c *contact.Contact) {
			c.Variables = map[string]string{"fits": strings.Repeat("ü", engine.VariableHeaderCap/2),
				"note": strings.Repeat("v", engine.VariableHeaderCap+1)}
		},
		func(c *contact.Contact) {
			c.Variables = map[string]string{"a": strings.Repeat("v", engine.VariableHeaderCap),
				"b": strings.Repeat("v", engine.VariableHeaderCap)}
			c.State, c.Used, c.DueClass, c.DueAt = contact.Waiting, 2, contact.DueRetry, &later
		},
		func(*contact.Contact) {}, // suppressed
		func(c *contact.Contact) { c.State, c.DueAt, c.ResultDueAt = contact.Connected, nil, &later },
		func(c *contact.Contact) { c.Attempt = engine.AttemptID(id()) },
		func(c *contact.Contact) { c.State, c.DueAt = contact.Completed, nil },
		func(c *contact.Contact) { c.State, c.DueAt = contact.Failed, nil },
		func(c *contact.Contact) { c.State, c.DueAt = contact.Excluded, nil },
		func(c *contact.Contact) { c.Run = w.c.Run + 1 },
		func(c *contact.Contact) { c.ExpiresAt = &w.now },
		func(c *contact.Contact) { c.NotBefore, c.ExpiresAt = &later, &later },
	} {
		all = append(all, w.contact(k))
	}
	reserved, rang, answered, over := w.now, w.now.Add(
		time.Second,
	), w.now.Add(
		11*time.Second,
	), w.now.Add(
		41*time.Second,
	)
	served := w.attempt(all[0])
	served.State, served.Consumed, served.Outcome = attempt.Ended, true, engine.OutcomeCompleted
	served.ReservedAt, served.InviteAt, served.AnsweredAt, served.ServedAt, served.BotConnectedAt, served.EndedAt =
		&reserved, &rang, &answered, &answered, &answered, &over
	silent := w.attempt(all[1])
	silent.State, silent.Consumed, silent.Outcome = attempt.Ended, true, engine.OutcomeNoAnswer
	silent.ReservedAt, silent.InviteAt, silent.EndedAt = &reserved, &rang, &over
	unsent := w.attempt(all[1])
	unsent.State, unsent.Outcome, unsent.EndedAt = attempt.Ended, engine.OutcomeCancelled, &over
	w.commit(w.write(func(x *journal.Write) {
		x.Contacts = all
		x.Attempts = []attempt.Attempt{served, silent, unsent}
		x.Suppressions = []journal.Suppression{{Number: all[2].Number, Reason: "do_not_call", CreatedAt: w.now}}
	}))
	o, err := w.store.Outlook(w.ctx, w.c.ID, w.c.Run, w.now)
	must(t, err)
	groups, err := w.store.WaitingNumbers(w.ctx, w.c.ID, w.c.Run, w.now)
	must(t, err)
	waiting := 0
	for _, g := range groups {
		waiting += g.Count
		if g.Sample != all[0].Number && g.Sample != all[1].Number && g.Sample != all[10].Number {
			t.Errorf("%+v is not one of those that wait", g)
		}
	}
	if waiting != 3 {
		t.Errorf("%d numbers in groups", waiting)
	}
	want := campaign.Outlook{
		Total: 10, Waiting: 3, Attempts: 3 + 1 + 3, TooLong: 1, Later: 1,
		Skipped: []campaign.SkipReason{
			{Reason: "excluded", Count: 1},
			{Reason: "expired", Count: 1},
			{Reason: "in_progress", Count: 2},
			{Reason: "processed", Count: 2},
			{Reason: "suppressed", Count: 1},
		},
		Past: campaign.Past{Dials: 2, Answered: 1, Connected: 1, TalkSeconds: 30, RingSeconds: 10 + 40},
	}
	if !reflect.DeepEqual(o, want) {
		t.Errorf("\n got %+v\nwant %+v", o, want)
	}
}
