package storetest

import (
	"errors"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/inbound"
	"dialler/engine/journal"
)

// callIn checks what is known of a caller: the last call from the number that was called, with its
// campaign's policy and the contact's variables.
func callIn(t *testing.T, w *world) {
	ours, other := number(), number()
	who := engine.Who{Name: "ops"}
	_, err := w.pg.PutNumber(t.Context(), engine.NumberSettings{Number: ours, State: "active", CallbackPolicy: "bot",
		CallbackBot: "anna", CallbackMessage: "sorry"}, who)
	must(t, err)
	_, err = w.pg.PutNumber(t.Context(), engine.NumberSettings{Number: other, State: "active"}, who)
	must(t, err)
	c := w.contact(func(c *contact.Contact) { c.Variables = map[string]string{"name": "Ada"} })
	ask := func(to engine.PhoneNumber, from ...engine.PhoneNumber) *inbound.Called {
		t.Helper()
		called, err := w.pg.CallIn(t.Context(), []engine.PhoneNumber{number(), to}, from, at().Add(-time.Hour))
		must(t, err)
		return called
	}
	if got := ask(number(), c.Number); got.Number != "" {
		t.Errorf("a number of somebody else: %+v", got)
	}
	if got := ask(ours); got.Number != ours || got.Last != nil ||
		got.Rule != (inbound.Rule{Policy: inbound.Bot, Bot: "anna", Message: "sorry"}) {
		t.Errorf("a withheld caller: %+v", got)
	}
	if got := ask(ours, c.Number); got.Last != nil {
		t.Errorf("somebody who was never called: %+v", got)
	}
	call := func(change func(*attempt.Attempt)) engine.AttemptID {
		x, a := w.intent(&c)
		began, sent := at(), at()
		a.From, a.ReservedAt, a.InviteAt = ours, &began, &sent
		change(&a)
		x.Intent, x.Attempts = nil, []attempt.Attempt{a}
		w.commit(x)
		return a.ID
	}
	missed := call(func(*attempt.Attempt) {})
	call(func(a *attempt.Attempt) { a.From = other })
	call(func(a *attempt.Attempt) { a.InviteAt = nil })
	call(func(a *attempt.Attempt) { a.Inbound = true })
	got := ask(ours, number(), c.Number)
	if l := got.Last; l == nil || l.Attempt != missed || l.Variables["name"] != "Ada" || got.Caller != c.Number ||
		l.Rule.Policy != "" || l.Rule.Bot == "" {
		t.Errorf("%+v, %+v", got, got.Last)
	}
	called, err := w.pg.CallIn(t.Context(), []engine.PhoneNumber{ours}, []engine.PhoneNumber{c.Number},
		at().Add(time.Hour))
	must(t, err)
	if called.Last != nil {
		t.Errorf("too long ago: %+v", called.Last)
	}
}

// callsBack checks that a contact is shown with the calls that return its attempts, and no others.
func callsBack(t *testing.T, w *world) {
	called, other := w.contact(), w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{called, other} }))
	call := func(c contact.Contact, returns engine.AttemptID) engine.AttemptID {
		a, end := w.attempt(c), at()
		a.State, a.EndedAt, a.Legs = attempt.Ended, &end, nil
		x := w.write(func(x *journal.Write) {})
		if returns != "" {
			a.Campaign, a.Contact, a.Inbound, a.Returns = "", "", true, returns
			x = journal.Write{}
		}
		x.Attempts = []attempt.Attempt{a}
		w.commit(x)
		return a.ID
	}
	missed, second := call(called, ""), call(called, "")
	call(other, "")
	first, again := call(called, missed), call(called, second)
	call(called, engine.AttemptID(id())) // of another campaign
	f := func(v campaign.ContactView) {
		t.Helper()
		if len(v.Attempts) != 2 || len(v.CallsBack) != 2 || v.CallsBack[0].ID != min(first, again) ||
			v.CallsBack[1].ID != max(first, again) {
			t.Errorf("%d attempts, calls back %+v", len(v.Attempts), v.CallsBack)
		}
	}
	v, _, err := w.pg.ContactView(t.Context(), w.c.ID, called.ID)
	must(t, err)
	f(v)
	list, err := w.pg.Contacts(t.Context(), w.c.ID, campaign.Page{Number: 1, Size: 50})
	must(t, err)
	for _, v := range list.Contacts {
		switch v.Contact.ID {
		case called.ID:
			f(v)
		case other.ID:
			if len(v.Attempts) != 1 || v.CallsBack != nil {
				t.Errorf("who did not call back: %+v", v)
			}
		}
	}
}

// incomingIntent checks that the suppression list forbids calls by us, not calls to us.
func incomingIntent(t *testing.T, w *world) {
	c := w.contact()
	w.commit(w.write(func(x *journal.Write) {
		x.Suppressions = []journal.Suppression{{Number: c.Number, Reason: "import", CreatedAt: at()}}
	}))
	x, _ := w.intent(&c)
	if err := w.try(x)[0]; !errors.Is(err, journal.ErrSuppressed) {
		t.Fatalf("we call: %v", err)
	}
	x.Intent.Incoming = true
	w.commit(x)
	y, _ := w.intent(&c)
	y.Intent.Incoming = true
	if err := w.try(y)[0]; !errors.Is(err, journal.ErrNumberHeld) {
		t.Errorf("they call twice at once: %v", err)
	}
}
