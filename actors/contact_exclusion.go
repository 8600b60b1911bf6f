package actors

import (
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func (a *contactActor) exclude(msg *excludeContact) {
	done := &excludeDone{Op: msg.Op}
	live := a.call != nil && a.call.m.A.Live()
	done.InCall = live && a.call.m.A.AnsweredAt != nil && a.call.m.A.Ending == nil
	was, version := a.m.C.State == contact.Excluded || a.m.C.ExcludeAfterCall, a.m.C.Version
	before, after, ok := a.change(contact.Event{Kind: contact.ExcludedBy, Reason: msg.Reason, InCall: done.InCall})
	tell := a.settled(msg.ReplyTo, done)
	changed := ok && a.m.C.Version != version
	done.Excluded = changed && !was
	if changed { // before the end of the call, which may come at once and tells of the contact as it is then
		w := journal.Write{Contacts: []contact.Contact{a.m.C}}
		// The reason is somebody's own words, which may be erased some day: they
		// stand in rows, not in the history.
		if !was || *before != *after {
			w.Events = []journal.Event{a.event(journal.ContactExcluded, journal.Data{Before: before, After: after, Who: msg.Who})}
		}
		a.persist(w, func(error) { tell() })
	}
	if live && !done.InCall {
		done.Cancelled = a.call.m.A.Ending == nil
		// From here on the INVITE is known not to have left, or its CANCEL is owed.
		a.call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: a.now})
	}
	if !changed {
		tell()
	}
}

// readmit: the contact was added again on purpose, or its exclusion was lifted.
func (a *contactActor) readmit(msg *readmitContact) {
	done := &liftDone{Op: msg.Op}
	tell := func() {
		if msg.ReplyTo != nil {
			a.d.root.Send(msg.ReplyTo, done)
		}
	}
	excluded := a.m.C.State == contact.Excluded || msg.Lifted && a.m.C.ExcludeAfterCall
	if a.rules.Sticky && !msg.Lifted || !excluded {
		tell()
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.Readmitted, Variables: msg.Variables})
	if !ok {
		tell()
		return
	}
	done.Readmitted = true
	reason := "readmitted"
	if msg.Lifted {
		reason = "lifted"
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Reason: reason})}}, func(error) { tell() })
}
