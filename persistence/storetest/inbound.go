package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	var all []engine.AttemptID
	for range campaign.CallsBackMost {
		all = append(all, call(called, missed))
	}
	v, _, err = w.pg.ContactView(t.Context(), w.c.ID, called.ID)
	must(t, err)
	var shown []engine.AttemptID
	for i := range v.CallsBack {
		shown = append(shown, v.CallsBack[i].ID)
	}
	all = append(all, first, again)
	slices.Sort(all)
	if !slices.Equal(shown, all[2:]) {
		t.Errorf("of many calls back %d are shown", len(shown))
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

// callsBackUntold checks which calls back are found whose contact has not heard of them: those that are over and
// have something to say, as contact.Contact.KnowsCallBack has it.
func callsBackUntold(t *testing.T, w *world) {
	store, ok := w.store.(interface {
		CallsBackUntold(context.Context, time.Time, int) ([]attempt.Attempt, error)
	})
	if !ok {
		t.Fatal("the store cannot find calls back")
	}
	since := at().Add(-time.Second)
	call := func(returns engine.AttemptID, change func(*attempt.Attempt)) engine.AttemptID {
		a, end := w.attempt(w.contact()), at()
		a.Campaign, a.Contact, a.Inbound, a.Returns, a.Legs = "", "", true, returns, nil
		a.State, a.ReservedAt, a.ServedAt, a.EndedAt, a.Bot = attempt.Ended, &end, &end, &end, "anna"
		a.Result = &attempt.Result{Disposition: "sold"}
		change(&a)
		w.commit(journal.Write{Attempts: []attempt.Attempt{a}})
		return a.ID
	}
	called := func() (contact.Contact, engine.AttemptID) {
		c := w.contact()
		a, end := w.attempt(c), at()
		a.State, a.EndedAt, a.Legs = attempt.Ended, &end, nil
		w.commit(w.write(func(x *journal.Write) {
			x.Contacts, x.Attempts = []contact.Contact{c}, []attempt.Attempt{a}
		}))
		return c, a.ID
	}
	plain := func(*attempt.Attempt) {}
	var calls []engine.AttemptID
	for _, change := range []func(*attempt.Attempt){plain,
		func(a *attempt.Attempt) { a.State, a.EndedAt = attempt.Connected, nil },
		func(a *attempt.Attempt) { a.Result = nil },
		func(a *attempt.Attempt) { a.ServedAt = nil },
		func(a *attempt.Attempt) { a.Bot = "" },
		func(a *attempt.Attempt) {
			a.Bot, a.Result, a.Ending = "", nil, &attempt.Ending{Outcome: engine.OutcomeCompleted, OptedOut: true}
		}} {
		_, of := called()
		calls = append(calls, call(of, change))
	}
	c, of := called()
	three := []engine.AttemptID{call(of, plain), call(of, plain), call(of, plain)}
	slices.Sort(three)
	asked := call(of, func(a *attempt.Attempt) { // the first of them
		a.ID, a.Result.DoNotCall = three[0][:12]+engine.AttemptID(strings.Repeat("0", 20)), true
	})
	call(engine.AttemptID(id()), plain) // of another dialler's past
	want := func(ids ...engine.AttemptID) {
		t.Helper()
		list, err := store.CallsBackUntold(t.Context(), since, 100)
		must(t, err)
		var got []engine.AttemptID
		for i := range list {
			got = append(got, list[i].ID)
		}
		slices.Sort(ids)
		if slices.Sort(got); !slices.Equal(got, ids) {
			t.Errorf("untold %v, want %v", got, ids)
		}
	}
	want(append([]engine.AttemptID{calls[0], calls[5], asked}, three...)...)
	soon := at()
	for _, until := range []*time.Time{&soon, nil} {
		c.Version, c.CallsBack, c.CallsBackUntil = c.Version+1, three[1], until
		w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
		// Who asked not to be called is told of, whatever calls came later.
		open := []engine.AttemptID{calls[0], calls[5], asked}
		for _, id := range three {
			if !c.KnowsCallBack(id) {
				open = append(open, id)
			}
		}
		want(open...)
	}
	c.Version, c.Choice = c.Version+1, contact.ChoiceAsked // the contact has heard of it
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	want(calls[0], calls[5], three[2])
}
