package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func contactsFound(t *testing.T, w *world) {
	plain := w.contact()
	var called []contact.Contact
	for _, s := range []contact.CallbackState{contact.CallbackRequested, contact.CallbackPending, contact.CallbackPending,
		contact.CallbackCancelled} {
		called = append(called, w.contact(func(c *contact.Contact) { c.Callback, c.CallbackAt = s, &w.now }))
	}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = append(called, plain) }))
	find := func(p campaign.Page, want ...engine.ContactID) {
		t.Helper()
		p.Number, p.Size = 1, 50
		list, err := w.store.Contacts(t.Context(), w.c.ID, p)
		must(t, err)
		if list.Total != len(want) || len(list.Contacts) != len(want) {
			t.Fatalf("%+v: %d of %d, want %d", p, len(list.Contacts), list.Total, len(want))
		}
		for i := range want {
			if list.Contacts[i].Contact.ID != want[i] {
				t.Errorf("%+v: place %d", p, i)
			}
		}
	}
	find(campaign.Page{Phone: plain.Number}, plain.ID)
	find(campaign.Page{Phone: number()})
	find(campaign.Page{Callback: contact.CallbackRequested}, called[0].ID, called[1].ID, called[2].ID, called[3].ID)
	find(campaign.Page{Callback: contact.CallbackPending}, called[0].ID, called[1].ID, called[2].ID)
	find(campaign.Page{Callback: contact.CallbackCancelled}, called[3].ID)
	find(campaign.Page{Callback: contact.CallbackPending, Phone: called[2].Number, Filter: string(contact.Pending)},
		called[2].ID)
	find(campaign.Page{Callback: contact.CallbackCompleted})

	// The panel counts callbacks, the filters find contacts: the numbers agree while each contact
	// has one.
	counters, err := w.store.Counters(t.Context(), w.c.ID, w.c.Run)
	must(t, err)
	for word, counted := range map[contact.CallbackState]int{contact.CallbackRequested: counters.Callbacks.Requested,
		contact.CallbackPending:   counters.Callbacks.Pending,
		contact.CallbackCompleted: counters.Callbacks.Completed, contact.CallbackCancelled: counters.Callbacks.Cancelled} {
		list, err := w.store.Contacts(t.Context(), w.c.ID, campaign.Page{Callback: word, Number: 1, Size: 50})
		must(t, err)
		if list.Total != counted {
			t.Errorf("callbacks %s: %d are counted, %d found", word, counted, list.Total)
		}
	}

	v, ok, err := w.pg.ContactView(t.Context(), w.c.ID, plain.ID)
	if err != nil || !ok || v.Contact.Number != plain.Number {
		t.Errorf("one contact: %+v %v %v", v, ok, err)
	}
	for _, f := range []struct {
		c engine.CampaignID
		i engine.ContactID
	}{{"cmp_other", plain.ID}, {w.c.ID, "x"}, {w.c.ID, engine.ContactID(id())}} {
		if _, ok, err := w.pg.ContactView(t.Context(), f.c, f.i); ok || err != nil {
			t.Errorf("%v is found, %v", f, err)
		}
	}
}

func contactFacts(t *testing.T, w *world) {
	facts := func(c *contact.Contact, o contact.Order) campaign.ContactFacts {
		t.Helper()
		f, err := w.pg.ContactFacts(t.Context(), c, o)
		must(t, err)
		return f
	}
	now := contact.Order{Now: w.now}
	free := w.contact()
	if f := facts(&free, now); f != (campaign.ContactFacts{}) {
		t.Errorf("nothing holds it: %+v", f)
	}
	held, refused := w.contact(), w.contact()
	x, a := w.intent(&held)
	w.commit(x)
	w.commit(w.write(func(x *journal.Write) {
		x.Suppressions = []journal.Suppression{{Number: refused.Number, Reason: "import", CreatedAt: w.now}}
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: refused.Number, CreatedAt: w.now}}
	}))
	if f := facts(&held, now); !f.Held || f.HeldUntil != nil || f.Suppressed || f.Excluded {
		t.Errorf("held: %+v", f)
	}
	if f := facts(&refused, now); f.Held || !f.Suppressed || !f.Excluded {
		t.Errorf("refused: %+v", f)
	}
	end, done := w.ended(&held, a, engine.OutcomeAbandoned)
	until := w.now.Add(time.Hour)
	end.Holds[0].Until = until
	w.commit(end)
	if f := facts(&held, now); !f.Held || f.HeldUntil == nil || f.HeldUntil.Sub(until).Abs() > time.Minute ||
		// by the database's clock
		f.AbandonedAt == nil || !f.AbandonedAt.Equal(*done.EndedAt) {
		t.Errorf("abandoned: %+v", f)
	}
	if h, err := w.pg.Hold(t.Context(), held.Number); err != nil || h == nil || h.Attempt != a.ID || h.Until == nil ||
		h.Until.Sub(until).Abs() > time.Minute {
		t.Errorf("hold: %+v, %v", h, err)
	}
	if h, err := w.pg.Hold(t.Context(), free.Number); h != nil || err != nil {
		t.Errorf("hold: %+v, %v", h, err)
	}
	if f := facts(&held, contact.Order{Now: w.now.Add(73 * time.Hour)}); f.Held || f.AbandonedAt != nil {
		t.Errorf("three days later: %+v", f)
	}

	// The number of contacts ahead agrees with the order, whatever the class.
	var all []contact.Contact
	for i := range 60 {
		all = append(all, w.contact(func(c *contact.Contact) {
			due := w.now.Add(-time.Duration(i*7%20) * time.Second)
			c.DueAt, c.DueClass, c.Used = &due, contact.DueClass(i%4), i%3
		}))
	}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = all }))
	for _, overdue := range []time.Duration{0, 5 * time.Second} {
		o := contact.Order{Now: w.now, Overdue: overdue}
		for i, c := range w.dueIn(o, 1000) {
			if f := facts(&c, o); f.Ahead != i {
				t.Fatalf("overdue %v, place %d (class %d): %d ahead", overdue, i, c.DueClass, f.Ahead)
			}
		}
	}
}
