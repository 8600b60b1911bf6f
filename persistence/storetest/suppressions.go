package storetest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func suppressedContacts(t *testing.T, w *world) {
	later := w.now.Add(time.Hour)
	first := w.contact()
	var list []contact.Contact
	for range 3 { // in the order of their identifiers
		list = append(list, w.contact(func(c *contact.Contact) {
			c.State, c.DueAt, c.DueClass = contact.Waiting, &later, contact.DueRetry
		}))
	}
	slices.SortFunc(list, func(a, b contact.Contact) int { return cmp.Compare(a.ID, b.ID) })
	called := w.contact()
	final := w.contact(func(c *contact.Contact) { c.State, c.Reason, c.DueAt = contact.Failed, "busy", nil })
	past := w.contact(func(c *contact.Contact) { c.Run = 2 })
	x, _ := w.intent(&called)
	w.commit(x, w.write(func(x *journal.Write) { x.Contacts = append([]contact.Contact{first, final, past}, list...) }))
	var listed []journal.Suppression
	for _, c := range append([]contact.Contact{called, final, past}, list...) {
		listed = append(listed, journal.Suppression{Number: c.Number, Reason: "asked", CreatedAt: w.now})
	}
	w.commit(journal.Write{Suppressions: listed})
	f := func(numbers []engine.PhoneNumber, after engine.ContactID, limit int, want ...contact.Contact) {
		t.Helper()
		got, err := w.store.SuppressedContacts(t.Context(), w.c.ID, w.c.Run, numbers, after, limit)
		must(t, err)
		same := func(a, b contact.Contact) bool { return a.ID == b.ID && a.Variables["plan"] == b.Variables["plan"] }
		if len(got) != len(want) || !slices.EqualFunc(got, want, same) {
			t.Errorf("%d contacts of %v behind %q, want %d", len(got), numbers, after, len(want))
		}
	}
	f(nil, "", 9, list...)
	f(nil, "", 2, list[0], list[1])
	f(nil, list[1].ID, 2, list[2])
	f([]engine.PhoneNumber{list[2].Number, first.Number, called.Number, number()}, "", 9, list[2])
	f([]engine.PhoneNumber{first.Number}, "", 9)
}

func suppressions(t *testing.T, w *world) {
	who := engine.Who{User: "u1", Name: "ada@example.org"}
	a, b, c := number(), number(), number()
	add := func(want int, reason string, numbers ...engine.PhoneNumber) {
		t.Helper()
		added, err := w.pg.Suppress(w.ctx, numbers, reason, who)
		must(t, err)
		if added != want {
			t.Errorf("%d added, want %d", added, want)
		}
	}
	add(1, "first", a)
	add(2, "second", a, b, c, b)
	add(0, "third", a, b)
	list, total, err := w.pg.Suppressions(w.ctx, "", campaign.Page{Number: 1, Size: 2})
	must(t, err)
	if total != 3 || len(list) != 2 || list[0].Reason != "second" {
		t.Errorf("%d of %d: %+v", len(list), total, list)
	}
	list, total, err = w.pg.Suppressions(w.ctx, a, campaign.Page{Number: 1, Size: 2})
	must(t, err)
	if total != 1 || len(list) != 1 || list[0].Number != a || list[0].Reason != "first" || list[0].CreatedAt.IsZero() {
		t.Errorf("%+v", list)
	}
	if ok, err := w.pg.Unsuppress(w.ctx, a, who); err != nil || !ok {
		t.Error(ok, err)
	}
	if ok, err := w.pg.Unsuppress(w.ctx, a, who); err != nil || ok {
		t.Error("lifted twice", err)
	}
	found, err := w.store.Suppressed(w.ctx, a, b, number())
	must(t, err)
	if _, ok := found[b]; !ok || len(found) != 1 {
		t.Errorf("%d found", len(found))
	}
	events, n, err := w.pg.Lists.Activity(
		w.ctx,
		"",
		[]journal.Type{journal.SuppressionAdded, journal.SuppressionLifted},
		campaign.Page{Number: 1, Size: 10},
	)
	must(t, err)
	if n != 3 || events[0].Type != journal.SuppressionLifted || events[1].Data.Count != 2 || events[2].Data.Count != 1 ||
		*events[2].Data.Who != who {
		t.Fatalf("%d events: %+v", n, events)
	}
	if said := events[2].Data.Reason; said == "" || said == a.E164() {
		t.Errorf("the history names %q", said)
	}
}
