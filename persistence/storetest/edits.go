package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// retune holds the statement against the machine of a contact.
func retune(t *testing.T, w *world) {
	later := w.now.Add(time.Hour)
	live := engine.AttemptID(id())
	kinds := map[string]func(*contact.Contact){
		"pending":      func(*contact.Contact) {},
		"a retry left": func(c *contact.Contact) { c.State, c.Used, c.DueClass = contact.Unanswered, 1, contact.DueRetry },
		"used up":      func(c *contact.Contact) { c.State, c.Used, c.DueClass = contact.Unanswered, 2, contact.DueRetry },
		"used up, redial": func(c *contact.Contact) {
			c.State, c.Used, c.HasResult, c.DueClass = contact.Connected, 2, true, contact.DueRetry
		},
		"callback": func(c *contact.Contact) {
			c.State, c.DueAt, c.DueClass, c.Used = contact.Connected, &later, contact.DueCallback, 2
			c.Callback, c.CallbackAt = contact.CallbackPending, &later
		},
		"wish": func(c *contact.Contact) {
			c.State, c.Used, c.Callback, c.CallbackAt = contact.Unanswered, 2, contact.CallbackRequested, &later
		},
		"result owed":  func(c *contact.Contact) { c.State, c.Used, c.DueAt, c.ResultDueAt = contact.Connected, 3, nil, &later },
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
	x := w.write(func(x *journal.Write) { x.Retune = &journal.Retune{MaxAttempts: 2, At: at} })
	w.commit(x)
	w.commit(x)
	for name, c := range all {
		m := contact.Machine{C: c}
		if c.Attempt == "" { // that one has an actor
			must(t, m.Apply(contact.Event{Kind: contact.Retuned, At: at, Policy: contact.Policy{MaxAttempts: 2}}))
		}
		m.C.Version = c.Version
		t.Run(name, func(t *testing.T) { sameFields(t, w.stored(c.ID), m.C) })
	}
	if got := w.stored(theirs.ID); got.Max != theirs.Max {
		t.Errorf("a contact of another campaign has %d attempts", got.Max)
	}
}
