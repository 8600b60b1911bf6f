package actors

import (
	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// runEnded tells a contact that nothing is dialled any more.
type runEnded struct{ Kind contact.Kind }

// runEnded closes a contact that waits; one that does not is left as it is.
func (a *contactActor) runEnded(msg *runEnded) {
	version := a.m.C.Version
	before, after, ok := a.change(contact.Event{Kind: msg.Kind})
	if !ok || a.m.C.Version == version {
		return
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, Reason: string(msg.Kind)})}}, nil)
}

// settleSuppressed: the number was suppressed, and the contact may wait for a dial.
func (a *contactActor) settleSuppressed() {
	if !a.suppressed {
		return
	}
	version := a.m.C.Version
	before, after, ok := a.change(contact.Event{Kind: contact.Suppressed})
	if !ok || a.m.C.Version == version {
		return
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, Reason: engine.CodeSuppressed})}}, nil)
}
