package sim

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
)

// contactLine is a contact that has something to do: what its actor knows, and what
// its run knows of it.
type contactLine struct {
	r        *desk
	i        int32
	m        contact.Machine
	call     *phoneCall
	watching int // legs of a lost attempt that are not over
	pending  int // writes that are not durable
	step     int

	older     map[engine.AttemptID]*attempt.Attempt // earlier attempts whose results are on their way
	reserving [2]*contact.Facts
	refused   []journal.Event

	attempt             engine.AttemptID
	phase               attempt.Phase
	seated, held        bool
	counted, machine    bool
	dialledAt, seatedAt time.Time
}

func attemptID(n uint64) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", n)) }

// line brings a contact up from its row.
func (r *desk) line(i int32) *contactLine {
	if l := r.lines[i]; l != nil {
		return l
	}
	l := &contactLine{r: r, i: i, m: contact.Machine{C: r.d.book.get(i)}, phase: attempt.PhaseOver}
	r.lines[i] = l
	return l
}

// rest lets a contact that has nothing to do be a row again.
func (l *contactLine) rest() {
	if l.pending > 0 || l.watching > 0 || l.call != nil && l.call.m.A.Live() || l.r.lines[l.i] != l {
		return
	}
	delete(l.r.lines, l.i)
	l.r.agenda.note(l.i)
}

// order lists the lines by their place.
func (r *desk) order() []*contactLine {
	list := make([]*contactLine, 0, len(r.lines))
	for _, l := range r.lines {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *contactLine) int { return int(a.i - b.i) })
	return list
}

// persist sends a write through the run.
func (l *contactLine) persist(x *write) {
	x.line = l
	l.step++
	x.step = l.step
	l.pending++
	if x.contact == nil {
		c := l.m.C
		x.contact = &c
	}
	l.r.write(x)
}

func (l *contactLine) durable(x *write, err error) {
	l.pending--
	if err != nil {
		l.r.revoke(x)
		if x.intent {
			l.refused = x.events
		}
	}
	if x.then != nil {
		x.then(err)
	}
	if l.call != nil {
		l.call.durable(x.step, err)
	}
	if l.refused != nil { // the attempt had been given up before
		e := l.refused
		l.refused = nil
		l.persist(&write{events: e})
	}
	l.rest()
}

func (r *desk) revoke(x *write) {
	for i := range x.events {
		if e := &x.events[i]; e.Run == r.m.C.Run {
			r.tally.Revoke(e)
		}
	}
}

func (l *contactLine) event(t journal.Type, data journal.Data) journal.Event {
	e := journal.Event{Run: l.m.C.Run, At: l.r.w.mono(), Type: t, Version: 1, Contact: l.m.C.ID, Data: data}
	if l.call != nil {
		e.Attempt = l.call.m.A.ID
	}
	return e
}

// change applies an event to the contact.
func (l *contactLine) change(ev contact.Event) (before, after *contact.Facts, ok bool) {
	ev.At, ev.Policy = l.r.w.wall(), l.r.policyFor(l.m.C.Number)
	b := l.m.C.Facts()
	if err := l.m.Apply(ev); err != nil {
		l.r.w.check.illegal(l.r.d, err)
		return nil, nil, false
	}
	n := l.m.C.Facts()
	return &b, &n, true
}

// dial begins an attempt whose leases are held.
func (l *contactLine) dial(id engine.AttemptID, t engine.TrunkID, from engine.PhoneNumber, within time.Duration) {
	r, c := l.r, &l.m.C
	before, after, ok := l.change(contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: id, From: from}})
	if !ok {
		return
	}
	l.reserving = [2]*contact.Facts{before, after}
	callback := c.DueClass == contact.DueCallback
	at := attempt.Attempt{ID: id, Campaign: c.Campaign, Contact: c.ID, Run: r.m.C.Run, Pass: c.Used + 1, Number: c.Used + 1,
		Bot: "bot", To: c.Number, From: from, Trunk: t, Callback: callback, Epoch: r.m.C.Epoch, State: attempt.Reserved,
		SendBy: r.w.mono().Add(within)}
	if callback {
		at.CallbackAt = c.CallbackAt
	}
	l.call = &phoneCall{l: l, w: r.w, r: r, m: attempt.Machine{A: at, Config: r.rules.Attempt}, last: l.step, acked: l.step,
		sendBy: r.w.now + within, chance: r.chanceOf(l)}
	l.call.m.Config.MustConsume = c.Unconsumed >= contact.MaxUnconsumed
	l.attempt, l.counted, l.machine = id, false, false
	r.engaged++
	l.setPhase(attempt.PhaseDialling)
	l.call.apply(attempt.Event{Kind: attempt.Began, At: r.w.mono()})
}

// chanceOf draws for the contact's next dial: campaigns that are paced
// otherwise meet the same people.
func (r *desk) chanceOf(l *contactLine) chance {
	c := &l.m.C
	thing := uint64(r.d.i)<<56 | uint64(c.Run&0xff)<<48 | uint64(c.Used&0xff)<<40 | uint64(c.Unconsumed&0xf)<<36 | uint64(r.d.book.place(l.i))&(1<<36-1) //nolint:gosec // mixed anyway
	return chanceOf(r.w.seed, thing)
}

var recorded = map[attempt.What]journal.Type{
	attempt.WhatReserved: journal.AttemptReserved, attempt.WhatLeg: journal.LegAdded, attempt.WhatAnswered: journal.AttemptAnswered,
	attempt.WhatConnected: journal.AttemptConnected, attempt.WhatAbandoned: journal.AttemptAbandoned,
}

func (l *contactLine) record(what attempt.What) int {
	at := l.call.snapshot()
	if what == attempt.WhatResult {
		l.recordResult(at)
		return l.step
	}
	x := &write{attempt: at}
	data := journal.Data{Trunk: at.Trunk, Number: at.Number, Pass: at.Pass}
	switch what {
	case attempt.WhatReserved:
		x.intent = true
		data.Before, data.After = l.reserving[0], l.reserving[1]
	case attempt.WhatConnected:
		data.Before, data.After, _ = l.change(contact.Event{Kind: contact.Reached})
	case attempt.WhatAbandoned:
		data.Cause = at.Ending.Cause
	case attempt.WhatLeg, attempt.WhatAnswered, attempt.WhatRevised, attempt.WhatEnded, attempt.WhatResult, attempt.WhatOptedOut:
	}
	x.events = []journal.Event{l.event(recorded[what], data)}
	l.persist(x)
	return l.step
}

// summary is what the contact's machine needs to know of an attempt.
func (w *office) summary(at *attempt.Attempt) *contact.Attempt {
	s := &contact.Attempt{ID: at.ID, Run: at.Run, Outcome: at.Outcome, Consumed: at.Consumed, Connected: at.WasConnected(),
		Rang: at.RangUnanswered(), Talk: at.Talk(), RetryAfter: at.RetryAfter}
	if at.EndedAt != nil {
		s.EndedAt = at.EndedAt.Add(w.offset)
	}
	if x := at.Result; x != nil {
		s.HasResult, s.Disposition, s.DoNotCall = true, x.Disposition, x.DoNotCall
		if x.Callback != nil && x.Callback.Requested {
			s.Callback = &contact.CallbackWish{At: x.Callback.At}
		}
	}
	return s
}

// over: the attempt has ended; the contact decides what that means.
func (l *contactLine) over() {
	w := l.r.w
	at := l.call.snapshot()
	before, after, ok := l.change(contact.Event{Kind: contact.Attempted, Attempt: w.summary(at)})
	data := journal.Data{Outcome: at.Outcome, Cause: at.Cause, Consumed: at.Consumed, Pass: at.Pass, Number: at.Number, Trunk: at.Trunk,
		Answered: at.AnsweredAt != nil, Connected: at.WasConnected(), ReservedAt: at.ReservedAt}
	if at.WasConnected() {
		data.TalkMS = at.TalkMS()
	}
	if ms, is := at.CallbackDelayMS(); is {
		data.CallbackDelayMS = &ms
	}
	if ok {
		data.Before, data.After = before, after
	}
	x := &write{attempt: at, held: true, events: []journal.Event{l.event(journal.AttemptEnded, data)}}
	if l.call.m.Owed() {
		x.until = max(at.HoldBound(&l.call.m.Config).Sub(w.mono())+w.now, 1)
	}
	if l.refused != nil {
		x.events = append(slices.Clip(l.refused), x.events...)
		l.refused = nil
	}
	l.persist(x)
}

// watched follows the legs of a lost attempt: with the last one's end the
// number is free again, if that is proven.
func (l *contactLine) watched(e engine.LegEvent) {
	if !e.Kind.Final() {
		return
	}
	l.watching--
	l.call.m.Watched(&e)
	l.persist(&write{attempt: l.call.snapshot(), held: l.watching == 0 && !l.call.m.Owed(), events: []journal.Event{l.event(journal.LegClosed, journal.Data{Leg: e.Leg, Proof: e.Proves()})}})
}

func (l *contactLine) numberFree(strike bool) {
	at := &l.call.m.A
	end := numberpool.End{NotDialled: at.InviteAt == nil, Strike: strike, Answered: at.AnsweredAt != nil}
	for i, s := range l.r.w.slots {
		if l.r.w.in.Numbers[i].Number == at.From {
			s.Release(l.r.w.mono(), at.ID, end)
		}
	}
}

// --- what the run hears ----------------------------------------------------------

// moved: the run hears where the line stands.
func (l *contactLine) moved(id engine.AttemptID, e attempt.Line, machine bool) {
	r := l.r
	if l.attempt != id || l.phase == attempt.PhaseOver && e.Phase != attempt.PhaseOver {
		return
	}
	l.setPhase(e.Phase)
	switch e.Phase {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
	case attempt.PhaseWaiting:
		if l.seated {
			l.useHeld()
			l.grant()
		} else if !slices.Contains(r.waiting, l) {
			r.waiting = append(r.waiting, l)
		}
		r.grantSeats()
	case attempt.PhaseServed:
		l.count(false, e.Cause)
	case attempt.PhaseAbandoned:
		l.count(true, e.Cause)
		r.freeSeat(l)
	case attempt.PhaseReleased:
		if machine && !l.machine && !l.counted {
			l.machine = true
			r.books.Machine()
			if r.model != nil {
				r.model.Machine()
			}
		}
		r.freeSeat(l)
	case attempt.PhaseOver:
		r.freeSeat(l)
		r.engaged--
		l.attempt, l.counted, l.machine = "", false, false
	}
}

func inFlight(p attempt.Phase) bool {
	return p == attempt.PhaseDialling || p == attempt.PhaseRinging || p == attempt.PhaseListening
}

// setPhase moves the line and tells the model.
func (l *contactLine) setPhase(p attempt.Phase) {
	r := l.r
	if inFlight(l.phase) {
		r.ringing--
	}
	if inFlight(p) {
		r.ringing++
	}
	l.phase = p
	m, now := r.model, r.w.mono()
	if m == nil || l.held {
		return
	}
	switch {
	case inFlight(p):
		if l.dialledAt.IsZero() {
			l.dialledAt = now
			m.Dialled(now)
		}
		return
	case l.dialledAt.IsZero():
	case p == attempt.PhaseWaiting:
		m.Answered(now, now.Sub(l.dialledAt))
	default:
		m.Failed(now, now.Sub(l.dialledAt))
	}
	l.dialledAt = time.Time{}
}

func (l *contactLine) useHeld() {
	if l.held {
		l.held = false
		l.r.held--
		l.seatedAt = l.r.w.mono()
		if l.r.model != nil {
			l.r.model.Seated(l.seatedAt)
		}
	}
}

// grant tells the contact of its seat.
func (l *contactLine) grant() {
	id := l.attempt
	l.r.w.after(0, func() {
		if c := l.call; c != nil && c.m.A.ID == id {
			c.apply(attempt.Event{Kind: attempt.SeatGranted, At: l.r.w.mono()})
		}
	})
}

// count adds a live answer to the ledgers, once.
func (l *contactLine) count(abandoned bool, cause engine.AbandonCause) {
	if l.counted {
		return
	}
	l.counted = true
	r := l.r
	if abandoned {
		r.books.Abandoned()
		r.w.abandoned[l.m.C.Number] = r.w.mono()
		if r.model != nil {
			r.model.Abandoned()
		}
	} else {
		r.books.Served()
		if r.model != nil {
			r.model.Served()
		}
	}
	r.w.check.live(r, abandoned, cause)
}

// --- exclusion, results, windows ---------------------------------------------------

// deferDial puts a contact off whose window is closed.
func (l *contactLine) deferDial() {
	v := l.m.C.Version
	before, after, ok := l.change(contact.Event{Kind: contact.Deferred})
	if ok && l.m.C.Version != v {
		l.persist(&write{events: []journal.Event{l.event(journal.ContactChanged, journal.Data{Before: before, After: after})}})
	}
}

// exclude suppresses the contact; done is told once that is durable.
func (l *contactLine) exclude(reason string, done func()) {
	live := l.call != nil && l.call.m.A.Live()
	inCall := live && l.call.m.A.AnsweredAt != nil && l.call.m.A.Ending == nil
	was := l.m.C.State
	before, after, ok := l.change(contact.Event{Kind: contact.ExcludedBy, Reason: reason, InCall: inCall})
	if live && !inCall {
		l.call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: l.r.w.mono()})
	}
	if !ok || was == contact.Excluded {
		if done != nil {
			done()
		}
		return
	}
	l.persist(&write{events: []journal.Event{l.event(journal.ContactExcluded, journal.Data{Before: before, After: after, Reason: reason})},
		then: func(error) {
			if done != nil {
				done()
			}
		}})
}

func (l *contactLine) trigger() {
	before, after, ok := l.change(contact.Event{Kind: contact.Triggered})
	if ok {
		l.persist(&write{events: []journal.Event{l.event(journal.ContactTriggered, journal.Data{Before: before, After: after})}})
	}
}

func (l *contactLine) resultTimeout() {
	if l.m.C.ResultDueAt == nil || l.m.C.ResultDueAt.After(l.r.w.wall()) {
		return
	}
	if before, after, ok := l.change(contact.Event{Kind: contact.ResultTimedOut}); ok {
		l.persist(&write{events: []journal.Event{l.event(journal.ContactChanged, journal.Data{Before: before, After: after, Reason: "result_timeout"})}})
	}
}

// result stores what a bot reports of an attempt.
func (l *contactLine) result(id engine.AttemptID, x attempt.Result) {
	ev := attempt.Event{Kind: attempt.ResultStored, At: l.r.w.mono(), Result: &x}
	if l.call != nil && l.call.m.A.ID == id {
		l.call.apply(ev)
		return
	}
	at := l.r.d.kept[id]
	if at == nil {
		at = l.r.d.live[id]
	}
	if at == nil {
		l.r.w.check.broke(l.r.d, "the attempt of a result is not stored")
		return
	}
	if l.call == nil || !l.call.m.A.Live() && l.watching == 0 {
		if at.State == attempt.Ended && !at.OpenLeg() {
			l.call = &phoneCall{l: l, w: l.r.w, r: l.r, m: attempt.Machine{A: *at, Config: l.r.rules.Attempt}, last: l.step, acked: l.step}
			l.call.apply(ev)
			return
		}
	}
	if newer := l.older[id]; newer != nil { // on its way to the table
		at = newer
	}
	m := attempt.Machine{A: *at, Config: l.r.rules.Attempt}
	if _, err := m.Apply(ev, nil); err != nil {
		l.r.w.check.illegal(l.r.d, err)
		return
	}
	a := m.A
	if l.older == nil {
		l.older = map[engine.AttemptID]*attempt.Attempt{}
	}
	l.older[id] = &a
	l.recordResult(&a)
}

func (l *contactLine) recordResult(at *attempt.Attempt) {
	w := l.r.w
	sum := w.summary(at)
	if at.EndedAt == nil {
		sum.EndedAt = w.wall()
	}
	data := journal.Data{Connected: at.CountsResult(), Disposition: at.Result.Disposition, Outcome: at.Outcome}
	data.Before, data.After, _ = l.change(contact.Event{Kind: contact.ResultStored, Attempt: sum})
	ev := l.event(journal.ResultStored, data)
	if at.Run != ev.Run { // late, of a run before: nothing here changes
		ev.Run, ev.Data.Before, ev.Data.After = at.Run, nil, nil
	}
	x := &write{attempt: at, events: []journal.Event{ev}}
	if at.Result.DoNotCall {
		x.block = at.To
	}
	l.persist(x)
}
