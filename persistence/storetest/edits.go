package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// retune compares the statement with the machine of a contact.
func retune(t *testing.T, w *world) {
	later := w.now.Add(time.Hour)
	live := engine.AttemptID(id())
	kinds := map[string]func(*contact.Contact){
		"pending":      func(*contact.Contact) {},
		"a retry left": func(c *contact.Contact) { c.State, c.Used, c.DueClass = contact.Waiting, 1, contact.DueRetry },
		"used up":      func(c *contact.Contact) { c.State, c.Used, c.DueClass = contact.Waiting, 2, contact.DueRetry },
		"used up, redial": func(c *contact.Contact) {
			c.State, c.Used, c.HasResult, c.DueClass = contact.Connected, 2, true, contact.DueRetry
		},
		"callback": func(c *contact.Contact) {
			c.State, c.DueAt, c.DueClass, c.Used = contact.Connected, &later, contact.DueCallback, 2
			c.Callback, c.CallbackAt = contact.CallbackPending, &later
		},
		"wish": func(c *contact.Contact) {
			c.State, c.Used, c.Callback, c.CallbackAt = contact.Waiting, 2, contact.CallbackRequested, &later
		},
		"result owed": func(c *contact.Contact) {
			c.State, c.Used, c.DueAt, c.ResultDueAt = contact.Connected, 3, nil, &later
		},
		"short, result owed": func(c *contact.Contact) {
			c.State, c.Used, c.ResultDueAt, c.DueClass = contact.Connected, 2, &later, contact.DueRetry
		},
		"attempt live": func(c *contact.Contact) { c.DueAt, c.Attempt = nil, live },
		"completed":    func(c *contact.Contact) { c.State, c.DueAt = contact.Completed, nil },
		"excluded":     func(c *contact.Contact) { c.State, c.DueAt = contact.Excluded, nil },
	}
	foreign := newWorld(t, w.store)
	theirs := foreign.contact()
	foreign.commit(foreign.write(func(x *journal.Write) { x.Contacts = []contact.Contact{theirs} }))
	at := w.now.Add(time.Minute)
	all := map[string]contact.Contact{}
	w.commit(w.write(func(x *journal.Write) {
		for name, k := range kinds {
			c := w.contact(k)
			all[name] = c
			x.Contacts = append(x.Contacts, c)
		}
	}))
	fold := tally.New()
	for _, c := range all {
		f := c.Facts()
		fold.Contacts(&f, 1)
	}
	mine := all["a retry left"]
	x := w.write(func(x *journal.Write) {
		ev := w.event(journal.ContactsRetuned, "", "")
		ev.At = at
		x.Retune = &journal.Retune{MaxAttempts: 2, Sweep: journal.Sweep{At: at, Except: []engine.ContactID{mine.ID},
			Event: ev}}
	})
	w.commit(x)
	w.commit(x)
	told := w.events()
	fold.Apply(&told[len(told)-1])
	got, err := w.store.Counters(t.Context(), w.c.ID, 1)
	must(t, err)
	for _, d := range tally.Compare(fold.Counters(), got) {
		t.Errorf("%s: events %s, tables %s", d.Figure, d.A, d.B)
	}
	for name, c := range all {
		m := contact.Machine{C: c}
		if c.Attempt == "" && c.ID != mine.ID { // those have an actor
			must(t, m.Apply(contact.Event{Kind: contact.Retuned, At: at, Policy: contact.Policy{MaxAttempts: 2}}))
		}
		t.Run(name, func(t *testing.T) { sameFields(t, w.stored(c.ID), m.C) })
	}
	if got := w.stored(theirs.ID); got.Max != theirs.Max {
		t.Errorf("a contact of another campaign has %d attempts", got.Max)
	}
}
