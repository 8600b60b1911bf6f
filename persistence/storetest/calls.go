package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// callsByCursor checks that every query returns each call once, newest first.
func callsByCursor(t *testing.T, w *world) {
	other := w.campaign()
	one, two := w.contact(), w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{one, two} }))
	begun := time.Now().Truncate(time.Millisecond).Add(-time.Hour)
	var all []attempt.Attempt
	for i := range 24 {
		c := one
		if i%2 == 1 {
			c = two
		}
		a := w.attempt(c)
		at := begun.Add(time.Duration(i) * time.Minute)
		end := at.Add(time.Second)
		a.ID = engine.AttemptID(fmt.Sprintf("%012x%s", at.UnixMilli(), id()[12:]))
		a.Legs = nil
		a.ReservedAt, a.EndedAt, a.State, a.Outcome = &at, &end, attempt.Ended, engine.OutcomeBusy
		switch i % 6 {
		case 1:
			a.Outcome, a.Trunk = engine.OutcomeNoAnswer, "t2"
		case 2: // of nobody's campaign
			a.Campaign, a.Contact = "", ""
		case 3:
			a.Campaign, a.Contact = other.ID, ""
		case 4: // of somebody who called us
			a.Campaign, a.Contact, a.Inbound = "", "", true
		}
		all = append(all, a)
		x := journal.Write{Campaign: a.Campaign, Attempts: []attempt.Attempt{a}}
		switch a.Campaign {
		case w.c.ID:
			x.Epoch = w.c.Epoch
		case other.ID:
			x.Epoch = other.Epoch
		}
		w.commit(x)
	}
	slices.Reverse(all)
	f := func(what string, q attempt.Query, belongs func(*attempt.Attempt) bool) {
		t.Helper()
		var want, got []engine.AttemptID
		for i := range all {
			if belongs(&all[i]) {
				want = append(want, all[i].ID)
			}
		}
		for q.Limit = 3; ; {
			list, next, err := w.pg.Lists.Calls(t.Context(), q)
			must(t, err)
			for i := range list {
				got = append(got, list[i].ID)
			}
			if next == "" {
				break
			}
			if len(got) > len(all) {
				t.Fatalf("%s: no end", what)
			}
			q.Before = next
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("all", attempt.Query{}, func(*attempt.Attempt) bool { return true })
	f("of a campaign", attempt.Query{Campaign: w.c.ID}, func(a *attempt.Attempt) bool { return a.Campaign == w.c.ID })
	f("of a contact", attempt.Query{Contact: one.ID}, func(a *attempt.Attempt) bool { return a.Contact == one.ID })
	f("to a number", attempt.Query{To: two.Number}, func(a *attempt.Attempt) bool { return a.To == two.Number })
	inbound := func(a *attempt.Attempt) bool { return a.Inbound }
	f("to us", attempt.Query{Direction: attempt.Inbound}, inbound)
	f("to us by a number", attempt.Query{Direction: attempt.Inbound, To: one.Number}, inbound)
	f("by us", attempt.Query{Direction: attempt.Outbound}, func(a *attempt.Attempt) bool { return !a.Inbound })
	f("over a trunk", attempt.Query{Trunk: "t2"}, func(a *attempt.Attempt) bool { return a.Trunk == "t2" })
	f("with an outcome", attempt.Query{Campaign: w.c.ID, State: attempt.Ended, Outcome: engine.OutcomeBusy},
		func(a *attempt.Attempt) bool {
			return a.Campaign == w.c.ID && a.Outcome == engine.OutcomeBusy
		})
	from, until := begun.Add(5*time.Minute), begun.Add(15*time.Minute)
	between := func(a *attempt.Attempt) bool { return !a.ReservedAt.Before(from) && a.ReservedAt.Before(until) }
	f("of a time", attempt.Query{From: from, Until: until}, between)
	f("of a campaign and a time", attempt.Query{Campaign: w.c.ID, From: from, Until: until},
		func(a *attempt.Attempt) bool { return a.Campaign == w.c.ID && between(a) })

	for _, q := range []attempt.Query{{Contact: "x", Limit: 1}, {State: attempt.Ringing, Limit: 1},
		{Campaign: "cmp_none", Limit: 1}, {Direction: attempt.Inbound, Campaign: w.c.ID, Limit: 1},
		{Direction: attempt.Inbound, Contact: one.ID, Limit: 1}} {
		if list, next, err := w.pg.Lists.Calls(t.Context(), q); len(list) > 0 || next != "" || err != nil {
			t.Errorf("%+v: %v %q %v", q, list, next, err)
		}
	}
	for _, before := range []engine.AttemptID{"x", engine.AttemptID(id())} {
		if _, _, err := w.pg.Lists.Calls(t.Context(), attempt.Query{Before: before, Limit: 1}); code(
			err,
		) != "cursor_not_found" {
			t.Errorf("behind %s: %v", before, err)
		}
	}
}
