package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/redial"
	"dialler/engine/tally"
)

// callbacks plays contacts through their machine and, after each step, compares the counters of the
// tables with the fold of the events: each callback counts.
func callbacks(t *testing.T, w *world) {
	fold := tally.New()
	policy := contact.Policy{MaxAttempts: 1, Callbacks: true, Redial: redial.Rule{Delay: time.Minute},
		ResultTimeout: time.Minute}
	now := w.now
	step := func(c *contact.Contact, typ journal.Type, ev contact.Event, a *attempt.Attempt, d journal.Data,
		first ...journal.Type) {
		t.Helper()
		ev.At, ev.Policy = now, policy
		m, before := contact.Machine{C: *c}, c.Facts()
		must(t, m.Apply(ev))
		*c = m.C
		after := c.Facts()
		d.Before, d.After = &before, &after
		x := w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{*c} })
		for _, typ := range append(first, typ) {
			e := w.event(typ, c.ID, "")
			e.At = now
			if a != nil {
				x.Attempts = []attempt.Attempt{*a}
				e.Attempt, e.Data.Pass, d.Pass, d.ReservedAt = a.ID, a.Pass, a.Pass, a.ReservedAt
			}
			x.Events = append(x.Events, e)
		}
		x.Events[len(first)].Data = d
		w.commit(x)
		for i := range x.Events {
			fold.Apply(&x.Events[i])
		}
		got, err := w.store.Counters(t.Context(), w.c.ID, 1)
		must(t, err)
		for _, d := range tally.Compare(fold.Counters(), got) {
			t.Errorf("%s: %s: events %s, tables %s", typ, d.Figure, d.A, d.B)
		}
	}
	dial := func(c *contact.Contact) attempt.Attempt {
		t.Helper()
		at, wished := *c.DueAt, c.CallbackAt
		now = at.Add(1500 * time.Millisecond)
		a := w.attempt(*c)
		a.Callback, a.Pass = c.DueClass == contact.DueCallback, c.Used+1
		if a.Callback {
			a.CallbackAt = wished
		}
		a.ReservedAt, a.InviteAt = &now, &now
		step(
			c,
			journal.AttemptReserved,
			contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: a.ID}},
			&a,
			journal.Data{},
		)
		return a
	}
	// talk ends a call whose result asks for a callback.
	talk := func(c *contact.Contact, callback bool) {
		t.Helper()
		a := dial(c)
		served, end := now, now
		a.State, a.Outcome, a.Consumed, a.EndedAt = attempt.Ended, engine.OutcomeCompleted, true, &end
		a.AnsweredAt, a.ServedAt, a.BotConnectedAt = &served, &served, &served
		s := &contact.Attempt{
			ID:        a.ID,
			Outcome:   a.Outcome,
			Consumed:  true,
			Connected: true,
			HasResult: true,
			EndedAt:   end,
		}
		if callback {
			at := now.Add(time.Hour)
			s.Callback = &contact.CallbackWish{At: &at}
		}
		d := journal.Data{Outcome: a.Outcome, Consumed: true, Connected: true, Answered: true}
		if ms, ok := a.CallbackDelayMS(); ok {
			d.CallbackDelayMS = &ms
		}
		step(
			c,
			journal.AttemptEnded,
			contact.Event{Kind: contact.Attempted, Attempt: s},
			&a,
			d,
			journal.AttemptAnswered,
			journal.AttemptConnected,
		)
	}
	added := func() contact.Contact {
		t.Helper()
		c := w.contact(func(c *contact.Contact) { c.Max = 1 })
		facts, e := c.Facts(), w.event(journal.ContactTriggered, c.ID, "")
		e.Data.After = &facts
		w.commit(w.write(func(x *journal.Write) { x.Contacts, x.Events = []contact.Contact{c}, []journal.Event{e} }))
		fold.Apply(&e)
		return c
	}
	comesTo := func(requested, pending, completed, cancelled int) {
		t.Helper()
		n, err := w.store.Counters(t.Context(), w.c.ID, 1)
		must(t, err)
		if b := n.Callbacks; b.Requested != requested || b.Pending != pending || b.Completed != completed ||
			b.Cancelled != cancelled {
			t.Errorf("callbacks %+v, want %d, %d, %d, %d", b, requested, pending, completed, cancelled)
		} else if b.MeanDelaySeconds != nil && *b.MeanDelaySeconds != 1.5 {
			t.Errorf("mean delay %v s over %d completed ones", *b.MeanDelaySeconds, b.Completed)
		}
	}

	refused := added()
	talk(&refused, true)
	talk(&refused, true)
	comesTo(2, 0, 1, 1)

	policy.MaxAttempts = 3
	x, y := added(), added()
	talk(&x, true)
	talk(&x, true)
	talk(&y, true)
	talk(&y, false)
	comesTo(5, 1, 3, 1)
	// Another callback replaces one that is being dialled.
	a := dial(&x)
	at := now.Add(time.Hour)
	late := &contact.Attempt{
		ID:        w.attempt(x).ID,
		Connected: true,
		HasResult: true,
		Callback:  &contact.CallbackWish{At: &at},
	}
	step(&x, journal.ResultStored, contact.Event{Kind: contact.ResultStored, Attempt: late}, nil, journal.Data{})
	comesTo(6, 2, 3, 1)
	a.State, a.Outcome, a.EndedAt = attempt.Ended, engine.OutcomeThrottled, &now
	step(
		&x,
		journal.AttemptEnded,
		contact.Event{Kind: contact.Attempted, Attempt: &contact.Attempt{ID: a.ID, Outcome: a.Outcome, EndedAt: now}},
		&a,
		journal.Data{Outcome: a.Outcome},
	)
	comesTo(6, 1, 3, 2)

	// Neither an exclusion nor fresh attempts remove a fact.
	step(&y, journal.ContactExcluded, contact.Event{Kind: contact.ExcludedBy, Reason: "asked"}, nil, journal.Data{})
	step(&x, journal.ContactExcluded, contact.Event{Kind: contact.ExcludedBy, Reason: "asked"}, nil, journal.Data{})
	step(&x, journal.ContactTriggered, contact.Event{Kind: contact.Triggered}, nil, journal.Data{})
	comesTo(6, 0, 3, 3)

	// How the run closed a contact stays too: whether by one statement or one by one.
	z := added()
	bulk := w.event(journal.ContactsClosed, "", "")
	bulk.At = now
	w.commit(w.write(func(x *journal.Write) {
		x.Bulk = &journal.Bulk{To: contact.ManuallyStopped, Sweep: journal.Sweep{At: now, Event: bulk}}
	}))
	for _, e := range w.events() {
		if e.Type == journal.ContactsClosed {
			fold.Apply(&e)
		}
	}
	z = w.stored(z.ID)
	step(&z, journal.ContactExcluded, contact.Event{Kind: contact.ExcludedBy, Reason: "asked"}, nil, journal.Data{})
	n, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	if n.ManuallyStopped != 2 || n.States[contact.ManuallyStopped] != 1 || n.Excluded != 2 {
		t.Errorf("%d were manually stopped, want 2: %+v", n.ManuallyStopped, n)
	}
	comesTo(6, 0, 3, 3)
	if w.pg != nil {
		audit, err := w.pg.Records.Audit(t.Context(), w.c.ID)
		must(t, err)
		for _, d := range audit.Runs[0].Differences {
			t.Errorf("the audit: %+v", d)
		}
	}
}
