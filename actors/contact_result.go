package actors

import (
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// result stores what a bot reports; it may come before the call's end, after
// it, or late.
func (a *contactActor) result(msg *storeResult) {
	if a.m.C.Number.Erased() {
		if msg.fetched {
			a.fetching--
		}
		reply(a.d, msg.ReplyTo, nil, errPersonErased)
		return
	}
	id, _ := msg.Call.Attempt()
	if a.call == nil || a.call.m.A.ID != id {
		if !msg.fetched {
			// What the sender saw of the attempt may be older than its end.
			a.fetching++
			a.d.fetchAttempt(id, a.self, msg)
			return
		}
		a.fetching--
		if newer, ok := a.older[id]; ok && msg.Attempt != nil {
			msg.Attempt = &newer
		}
		switch {
		case msg.Attempt == nil:
			reply(a.d, msg.ReplyTo, nil, msg.err)
			return
		case a.call != nil && a.call.m.A.Live(), a.watching > 0, msg.Attempt.State != attempt.Ended:
			a.olderResult(msg)
			return
		}
		a.adopt(*msg.Attempt)
	} else if msg.fetched {
		a.fetching--
	}
	a.rest()
	a.pendingResult = msg
	r := msg.Result
	a.call.apply(attempt.Event{Kind: attempt.ResultStored, At: a.now, Result: &r})
}

// olderResult: a result of an earlier attempt while a newer one lives.
func (a *contactActor) olderResult(msg *storeResult) {
	at := *msg.Attempt
	m := attempt.Machine{A: at, Config: a.rules.Attempt}
	r := msg.Result
	if _, err := m.Apply(attempt.Event{Kind: attempt.ResultStored, At: a.now, Result: &r}, nil); err != nil {
		reply(a.d, msg.ReplyTo, nil, err)
		return
	}
	if a.older == nil {
		a.older = map[engine.AttemptID]attempt.Attempt{}
	}
	a.older[at.ID] = m.A
	a.pendingResult = msg
	a.recordResult(journal.Write{Attempts: []attempt.Attempt{m.A}}, journal.Data{Connected: m.A.CountsResult(), Disposition: r.Disposition})
}

func (a *contactActor) recordResult(w journal.Write, data journal.Data) int {
	at := &w.Attempts[0]
	sum := summary(at)
	if at.EndedAt == nil {
		sum.EndedAt = a.now
	}
	data.Before, data.After, _ = a.change(contact.Event{Kind: contact.ResultStored, Attempt: sum})
	data.DueAt = a.m.C.DueAt
	data.Outcome = at.Outcome
	w.Contacts = []contact.Contact{a.m.C}
	ev := a.event(journal.ResultStored, data)
	ev.Attempt = at.ID
	if at.Run != ev.Run { // late, of a run before: nothing here changes
		ev.Run, ev.Data.Before, ev.Data.After = at.Run, nil, nil
	}
	w.Events = []journal.Event{ev}
	if at.Result.DoNotCall {
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByResult, CreatedAt: a.now}}
	}
	msg := a.pendingResult
	a.pendingResult = nil
	if msg == nil { // answered and counted when it came; now it is that of a conversation
		return a.persist(w, nil)
	}
	a.d.stats.Results.Add(1)
	to, doNotCall := at.To, at.Result.DoNotCall
	return a.persist(w, func(err error) { a.d.resultStored(msg.ReplyTo, to, doNotCall, err) })
}

func (a *contactActor) resultTimeout() {
	if a.m.C.ResultDueAt == nil || a.m.C.ResultDueAt.After(a.now) {
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.ResultTimedOut})
	if !ok {
		return
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Reason: "result_timeout"})}}, nil)
}
