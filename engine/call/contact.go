package call

import (
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Contact is one person in a running campaign with something in progress: a dial, a call, an
// awaited result, a write.
type Contact struct {
	Machine contact.Machine
	Rules   *Rules
	Call    Call

	// Loading says that the durable state is being loaded after a crash. Stash are the events that
	// wait until the contact is loaded; the shell takes them with Next and hands them in.
	Loading bool
	Stash   []any

	Trigger *Trigger // that is answered with the intent, or with the end of an attempt whose intent was refused
	// Reopened are the facts from before a trigger reopened the contact, until that is written.
	Reopened *contact.Facts
	// ReopensAt is the contact's version when a dial that reopens it came: any later change, while
	// the hook was asked, is newer than the trigger.
	ReopensAt   int64
	Asking      bool // waits for the answer whether it may be dialled
	Suppressed  bool // its number was suppressed since its actor started
	Lingering   bool // waits for the result of the call that has ended
	LingerEpoch int
	Reserving   journal.Data // data of the live attempt's reservation
	// Kept is the contact as earlier runs left it, where a late result has changed that.
	Kept map[int]contact.Contact
}

// NewContact returns a contact in the state of its row, with the events that wait for it. Its first
// event is Started, or Restarted if the previous shell crashed; stash is then the Stash of that
// contact.
func NewContact(row contact.Contact, rules *Rules, limits Limits, stash []any) *Contact {
	return &Contact{Machine: contact.Machine{C: row}, Rules: rules, Call: Call{Limits: limits}, Stash: stash}
}

// Apply takes one event and appends the effects to dst.
func (c *Contact) Apply(in Input, dst []Effect) []Effect {
	c.Call.enter(in, dst, c)
	if c.handle(in.Event) && !c.Call.Closed && c.Call.Attaching == nil {
		c.settleSuppressed()
		c.idle()
	}
	return c.Call.leave()
}

// Next returns the event that has waited longest for the contact to be loaded. The shell takes them
// one by one, each after the previous one's effects are carried out.
func (c *Contact) Next() (event any, ok bool) {
	if c.Loading || c.Call.Attaching != nil || len(c.Stash) == 0 {
		return nil, false
	}
	event = c.Stash[0]
	c.Stash = slices.Delete(c.Stash, 0, 1)
	if len(c.Stash) == 0 {
		c.Stash = nil
	}
	return event, true
}

// handle returns false when nothing remains to be settled after the event.
func (c *Contact) handle(event any) bool {
	switch e := event.(type) {
	case *Started:
		c.start(e.Lost)
		return true
	case *Restarted:
		c.Loading = true
		c.Call.Step = int(c.Call.in.Boot) // never a step from before the crash, of which news may still come
		c.emit(&LoadContact{c.Machine.C.ID})
		return false
	case *Reload:
		c.Loading = true
		c.emit(&LoadContact{c.Machine.C.ID})
		return false
	case *ContactLoaded:
		c.loaded(e)
		return true
	case *TimerFired:
		if e.Timer == TimerLoad {
			c.emit(&LoadContact{c.Machine.C.ID})
			return false
		}
	case *LegsAttached: // part of the loading
		c.Call.receive(e)
		return true
	}
	if c.Loading {
		switch event.(type) {
		case *engine.LegEvent, *engine.MediaEvent:
			if !c.Call.Has() { // replayed in order once the attempt is taken over
				return false
			}
		}
		c.Stash = append(c.Stash, event)
		return false
	}
	switch e := event.(type) {
	case *Stop:
		if c.Busy() {
			c.emit(&NotIdle{c.Machine.C.ID})
		} else {
			c.emit(&Stopped{c.Machine.C})
		}
		return false
	case *Durable:
		c.Call.durable(e)
	case *Dial:
		c.dial(e)
	case *EligibilityKnown:
		c.eligible(e)
	case *SeatGranted:
		if c.Call.is(e.Attempt) {
			c.Call.receive(e)
		} else {
			c.line(e.Attempt, attempt.Line{Phase: attempt.PhaseOver}, c.Call.in.Now)
		}
	case *Reattached:
		c.reattached(e)
	case *Exclude:
		c.exclude(e)
	case *Forget:
		c.forget(e)
	case *Reopen:
		c.reopen(e.Trigger)
	case *Operate:
		c.operate(e)
	case *Readmit:
		c.readmit(e)
	case *StoreResult:
		if e.CalledBack != nil {
			c.calledBack(e)
		} else {
			c.Call.result(e)
		}
	case *ResultTimeout:
		c.resultTimeout(e)
	case *Rest:
		c.rest()
	case *RunEnded:
		c.runEnded(e)
	case *End:
		c.end(e)
	case *Keys:
		c.Call.keys(e)
	case *Transfer:
		c.Call.transfer(e)
	case *LegsGone:
		c.Call.legsGone(e.Attempt)
	case *Show:
		if c.Call.is(e.Attempt) {
			c.Call.show(e.Request)
		} else {
			c.Call.answer(e.Request, nil, ErrCallNotFound)
		}
	case *Rules:
		c.Rules = e
		c.retune()
		c.pause()
	case *Report:
		c.Asking = false // the run that was to be asked is gone
		c.report()
		c.Call.persistAgain() // writes that the run's crash may have lost
	case *TimerFired:
		if e.Timer == TimerLinger {
			c.lingered(e.Epoch)
		} else {
			c.Call.receive(e)
		}
	default:
		c.Call.receive(e)
	}
	return true
}

func (c *Contact) emit(e Effect) { c.Call.emit(e) }

// Busy says whether the contact holds or awaits something that is not stored.
func (c *Contact) Busy() bool {
	return c.Loading || c.Lingering || c.Asking || len(c.Stash) > 0 || c.Call.waits()
}

func (c *Contact) idle() {
	if !c.Busy() {
		c.emit(&Idle{c.Machine.C.ID})
	}
}

// --- coming up -------------------------------------------------------------------

func (c *Contact) start(lost *attempt.Attempt) {
	c.emit(&Up{c.Machine.C.ID})
	c.retune() // the row may predate an edit
	if lost != nil {
		c.recover(lost)
	}
}

// recover takes over an attempt of the campaign's previous owner: either a node that still has its
// legs, or an earlier process that lost them. An attempt that had already been closed there has
// legs that were still watched.
func (c *Contact) recover(at *attempt.Attempt) {
	c.adopt(*at)
	if !at.Live() {
		c.Call.recoverLegs()
		return
	}
	c.emit(CountRecovered)
	c.Call.reattach("")
}

// loadAgain is the delay before loading a contact is retried.
const loadAgain = time.Second

// loaded resumes from the durable state: after a crash, when everything else is lost, or in another
// run, into which the contact takes the legs that it watches.
func (c *Contact) loaded(m *ContactLoaded) {
	if m.Err != nil && engine.ErrorCode(m.Err) != "contact_not_found" {
		c.emit(&Arm{After: loadAgain, Fired: TimerFired{Timer: TimerLoad}})
		return
	}
	c.Loading = false
	if m.Err == nil {
		c.Machine.C, c.Kept = m.Row, nil
	}
	switch at := m.Attempt; {
	case c.Call.Has():
		return
	case at.Live():
		c.adopt(*at)
		c.Call.reattach("gone")
		return
	case at != nil && at.OpenLeg():
		c.adopt(*at)
		c.Call.recoverLegs()
	}
	c.report()
}

// report tells the run where the contact stands.
func (c *Contact) report() {
	r := &Reported{Row: c.Machine.C}
	if m := &c.Call.Machine; c.Call.Live() {
		r.Attempt, r.To, r.Phase, r.Seated = m.A.ID, m.A.To, m.PhaseNow(), m.A.Seated
		r.Tentative = m.A.RevisableUntil != nil
		r.Stands = r.Tentative && !m.Tentative()
	}
	c.emit(r)
}

func (c *Contact) reattached(m *Reattached) {
	if !c.Call.is(m.Attempt) {
		return
	}
	if m.Seated && !c.Call.Machine.A.Seated {
		c.Call.apply(attempt.Event{Kind: attempt.SeatGranted, At: c.Call.in.Now})
	}
	c.Call.Replays = false
	c.emit(&AttachMedia{m.Attempt})
}

// --- the contact's own changes ---------------------------------------------------

// change applies an event to the contact and returns what goes into the history: the facts before
// and after, and the attempt whose result is no longer awaited although none came.
func (c *Contact) change(ev contact.Event) (d journal.Data, ok bool) {
	ev.At, ev.Policy = c.Call.in.Now, c.policy()
	if ev.Restarted {
		ev.Policy.ClosedAs = c.Rules.Before // that run no longer dials anybody
	}
	before, awaited := c.Machine.C.Facts(), c.Machine.C.Awaited()
	if err := c.Machine.Apply(ev); err != nil {
		c.emit(&Refused{Contact: c.Machine.C.ID, Err: err})
		return journal.Data{}, false
	}
	after := c.Machine.C.Facts()
	d.Before, d.After = &before, &after
	if awaited != c.Machine.C.Awaited() && !(ev.Kind == contact.ResultStored && ev.Attempt.ID == awaited) {
		d.NoResult = awaited
	}
	return d, true
}

func (c *Contact) policy() contact.Policy {
	return c.Rules.PolicyFor(c.Machine.C.NextNumber(), c.Call.in.Process.Home)
}

// write writes the contact in its current state, with one event.
func (c *Contact) write(t journal.Type, d journal.Data, then Then) {
	e := c.event(t)
	e.Data = d
	c.Call.persist(&journal.Write{Contacts: []contact.Contact{c.Machine.C}, Events: []journal.Event{e}}, then)
}

// retune applies an edit of Max Attempts.
func (c *Contact) retune() {
	if c.Machine.C.Max == c.Rules.Policy.MaxAttempts || !c.Machine.C.Open() {
		return
	}
	if d, ok := c.change(contact.Event{Kind: contact.Retuned}); ok {
		c.write(journal.ContactChanged, d, Then{})
	}
}

// pause ends the wait for another trunk: no INVITE leaves while the campaign is paused. The outcome
// on the first trunks decides.
func (c *Contact) pause() {
	if c.Rules.Paused && c.Call.Has() && c.Call.Machine.A.State == attempt.Dialling {
		c.Call.apply(attempt.Event{Kind: attempt.TrunkRefused, At: c.Call.in.Now})
	}
}

// runEnded closes a contact that waits; any other is left as it is.
func (c *Contact) runEnded(m *RunEnded) {
	version := c.Machine.C.Version
	d, ok := c.change(contact.Event{Kind: m.Kind})
	if ok && c.Machine.C.Version != version {
		d.Reason = string(m.Kind)
		c.write(journal.ContactChanged, d, Then{})
	}
}

// settleSuppressed handles a suppressed number whose contact may wait for a dial.
func (c *Contact) settleSuppressed() {
	if !c.Suppressed {
		return
	}
	version := c.Machine.C.Version
	d, ok := c.change(contact.Event{Kind: contact.Suppressed})
	if ok && c.Machine.C.Version != version {
		d.Reason = engine.CodeSuppressed
		c.write(journal.ContactChanged, d, Then{})
	}
}

func (c *Contact) resultTimeout(m *ResultTimeout) {
	if due := c.Machine.C.ResultDueAt; due == nil || !m.Restarted && due.After(c.Call.in.Now) {
		return
	}
	if d, ok := c.change(contact.Event{Kind: contact.ResultTimedOut, Restarted: m.Restarted}); ok {
		d.DueAt, d.Reason = c.Machine.C.DueAt, journal.ReasonResultTimeout
		if c.Machine.C.LastOutcome == engine.OutcomeConnectedNoResult {
			d.Outcome = engine.OutcomeConnectedNoResult
		}
		if m.Restarted {
			d.Reason = journal.ReasonRestarted
		}
		c.write(journal.ContactChanged, d, Then{})
	}
}

// rest ends the wait for a result.
func (c *Contact) rest() {
	if c.Lingering {
		c.Lingering = false
		c.emit(&Disarm{TimerLinger})
	}
	if c.Call.watchesOnly() && !c.Asking {
		c.emit(&Watches{c.Machine.C.ID})
	}
}

func (c *Contact) linger() {
	wait := c.Call.Limits.ResultLinger
	if due := c.Machine.C.DueAt; due != nil { // a short conversation: the run dials contacts at rest
		wait = min(wait, due.Sub(c.Call.in.Now))
	}
	c.Lingering = true
	c.LingerEpoch++
	c.emit(&Arm{After: wait, Fired: TimerFired{Timer: TimerLinger, Epoch: c.LingerEpoch}})
}

func (c *Contact) lingered(epoch int) {
	if c.Lingering && epoch == c.LingerEpoch {
		c.Lingering = false
	}
}

// forget handles the erasure of the person.
func (c *Contact) forget(m *Forget) {
	c.rest()
	row := &c.Machine.C
	row.Number, row.Alternates, row.Choice, row.Variables = m.Tombstone, "", 0, nil
	if row.State == contact.Excluded {
		row.Reason = ""
	}
	if c.Call.Has() && !c.Call.Live() {
		scrub(&c.Call.Machine.A, m.Tombstone)
	}
	for id, at := range c.Call.Results {
		scrub(&at, m.Tombstone)
		c.Call.Results[id] = at
	}
}

// --- what contact and dialout decide each for themselves ---------------------------

func (c *Contact) number() engine.PhoneNumber            { return c.Machine.C.Number }
func (c *Contact) contact() engine.ContactID             { return c.Machine.C.ID }
func (c *Contact) config() attempt.Config                { return c.Rules.Attempt }
func (c *Contact) awaitsResult(id engine.AttemptID) bool { return c.Machine.C.AwaitsResult(id) }
func (c *Contact) triggerRefused(t *Trigger)             { c.Trigger = t }
func (c *Contact) variables() map[string]string          { return c.Machine.C.Variables }

func (c *Contact) identify(p map[string]string) {
	p["campaign_id"], p["contact_id"] = string(c.Machine.C.Campaign), string(c.Machine.C.ID)
	p["run"] = strconv.Itoa(c.Rules.Run)
}

func (c *Contact) stamp(w *journal.Write) { w.Campaign, w.Epoch = c.Rules.Campaign, c.Rules.Epoch }

func (c *Contact) event(t journal.Type) journal.Event {
	return journal.Event{Campaign: c.Rules.Campaign, Run: c.Machine.C.Run, At: c.Call.in.Now, Type: t, Version: 1,
		Contact: c.Machine.C.ID, Attempt: c.Call.Machine.A.ID}
}

// about is an event of the contact itself; it names the attempt only while that lives.
func (c *Contact) about(t journal.Type) journal.Event {
	e := c.event(t)
	if !c.Call.Live() {
		e.Attempt = ""
	}
	return e
}

func (c *Contact) adopt(at attempt.Attempt) {
	c.Call.own(at, c.Rules.Attempt, c.Rules.Bot)
	c.Call.Machine.Config.MustConsume = c.Machine.C.Unconsumed >= contact.MaxUnconsumed
}

// adopted grants the seat first, since replayed media events presume it.
func (c *Contact) adopted() {
	c.report()
	if c.Machine.C.State == contact.Excluded && c.Call.Machine.A.AnsweredAt == nil {
		c.Call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: c.Call.in.Now})
	}
}

func (c *Contact) recorded(what attempt.What, w *journal.Write) (then Then) {
	e := &w.Events[0]
	e.Data.Pass = w.Attempts[0].Pass
	switch what {
	case attempt.WhatReserved:
		w.Contacts = []contact.Contact{c.Machine.C}
		r := &c.Reserving
		e.Data.Before, e.Data.After, e.Data.NoResult = r.Before, r.After, r.NoResult
		if t := c.Trigger; t != nil {
			c.Trigger = nil
			then.Trigger = c.attach(t, w, "dialled", w.Attempts[0].ID)
			w.Events = []journal.Event{c.triggered(t, journal.Data{After: e.Data.Before}), *e}
		}
	case attempt.WhatConnected:
		d, _ := c.change(contact.Event{Kind: contact.Reached})
		e.Data.Before, e.Data.After = d.Before, d.After
		w.Contacts = []contact.Contact{c.Machine.C}
	case attempt.WhatResult:
		at := &w.Attempts[0]
		sum := summary(at)
		if at.EndedAt == nil {
			sum.EndedAt = c.Call.in.Now
		}
		if at.Run != e.Run {
			c.resultBefore(w, sum)
			return then
		}
		d, _ := c.change(contact.Event{Kind: contact.ResultStored, Attempt: sum})
		c.endOther(sum)
		e.Data.Before, e.Data.After, e.Data.NoResult, e.Data.DueAt = d.Before, d.After, d.NoResult, c.Machine.C.DueAt
		w.Contacts = []contact.Contact{c.Machine.C}
	case attempt.WhatLeg, attempt.WhatRinging, attempt.WhatAnswered, attempt.WhatRevised, attempt.WhatAbandoned,
		attempt.WhatOptedOut, attempt.WhatEnded:
	}
	return then
}

// calledBack applies what is told of a call in which the contact called us back. Its result is stored with that
// call, which is no attempt: of the contact only its end changes, or when it is dialled again.
func (c *Contact) calledBack(m *StoreResult) {
	back, row := m.CalledBack, &c.Machine.C
	switch {
	case c.number().Erased():
		c.Call.answer(m.Request, nil, ErrPersonErased)
		return
	case m.Late && row.HeardOf(back.Attempt, back.OptedOut || m.Result.DoNotCall):
		c.Call.answer(m.Request, nil, nil)
		return
	}
	before, version, due := row.Facts(), row.Version, row.DueAt
	var awaited engine.AttemptID
	apply := func(ev contact.Event) {
		if d, ok := c.change(ev); ok && awaited == "" {
			awaited = d.NoResult
		}
	}
	d := journal.Data{Reason: contact.ReasonCallsBack}
	sum := &contact.Attempt{ID: back.Attempt, To: back.From, CalledBack: true, DoNotCall: back.OptedOut}
	if back.News == "" {
		d.Reason, sum = journal.ReasonCalledBack, c.backSummary(m)
		sum.DoNotCall = sum.DoNotCall || back.OptedOut
	} else {
		wait := back.AtMost
		if back.News == contact.BackOwes {
			wait = c.Rules.Policy.ResultTimeout
		}
		apply(contact.Event{Kind: contact.CalledUs, Attempt: sum, Back: back.News, Until: c.Call.in.Now.Add(wait)})
	}
	if back.News == "" || back.OptedOut {
		apply(contact.Event{Kind: contact.ResultStored, Attempt: sum})
		c.endOther(sum)
	}
	if row.Version == version {
		c.Call.answer(m.Request, nil, nil)
		return
	}
	w := &journal.Write{Contacts: []contact.Contact{*row}}
	if after := row.Facts(); back.News == "" || before != after || !sameTime(due, row.DueAt) {
		d.Before, d.After, d.NoResult, d.DueAt = &before, &after, awaited, row.DueAt
		e := c.event(journal.ContactChanged)
		e.Data = d
		w.Events = []journal.Event{e}
	}
	c.Call.persist(w, Then{Answer: &Answer{Request: m.Request}})
}

// backSummary is a call back with its result, as a conversation of the contact.
func (c *Contact) backSummary(m *StoreResult) *contact.Attempt {
	now := c.Call.in.Now
	served := now.Add(-m.CalledBack.Talk)
	at := attempt.Attempt{ID: m.CalledBack.Attempt, To: m.CalledBack.From, Inbound: true,
		Outcome: engine.OutcomeCompleted, ServedAt: &served, BotConnectedAt: &served, EndedAt: &now, Result: &m.Result}
	return summary(&at)
}

func sameTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// endOther ends the call to another number, or the wait for one, of a person who has asked, in the call of a
// result, not to be called.
func (c *Contact) endOther(sum *contact.Attempt) {
	waits := sum.CalledBack && c.Machine.C.DueAt != nil
	if sum.DoNotCall && c.Machine.C.Choice.Stopped() && (waits || c.Call.Live()) && !c.Call.is(sum.ID) {
		c.emit(&ToSelf{&End{Reason: engine.CodeSuppressed}})
	}
}

// resultBefore handles a late result of an earlier run. It changes the contact as that run left it,
// in which nobody is dialled any more, and a contact that a run for the unreached carried over
// unchanged.
func (c *Contact) resultBefore(w *journal.Write, sum *contact.Attempt) {
	e := &w.Events[0]
	e.Run = sum.Run
	kept, ok := c.Kept[sum.Run]
	if m := c.Call.Result; m != nil && m.Kept != nil && (!ok || m.Kept.Version > kept.Version) {
		kept, ok = *m.Kept, true
	}
	if ok {
		m := contact.Machine{C: kept}
		ev := contact.Event{Kind: contact.ResultStored, At: c.Call.in.Now, Policy: c.policy(), Attempt: sum}
		ev.Policy.ClosedAs = contact.ManuallyStopped
		before := kept.Facts()
		if err := m.Apply(ev); err != nil {
			c.emit(&Refused{Contact: kept.ID, Err: err})
		} else {
			after := m.C.Facts()
			e.Data.Before, e.Data.After, e.Data.Kept = &before, &after, true
			w.Kept = []contact.Contact{m.C}
			if c.Kept == nil {
				c.Kept = map[int]contact.Contact{}
			}
			c.Kept[sum.Run] = m.C
		}
	}
	version, here := c.Machine.C.Version, *sum
	here.Callback = nil // only the other run could grant it
	d, ok := c.change(contact.Event{Kind: contact.ResultStored, Attempt: &here})
	c.endOther(&here)
	if ok && c.Machine.C.Version != version {
		x := c.event(journal.ContactChanged)
		x.Attempt, x.Data = sum.ID, d
		w.Events = append(w.Events, x)
	}
	w.Contacts = []contact.Contact{c.Machine.C}
}

// ended lets the contact decide what the attempt's end means.
func (c *Contact) ended(w *journal.Write) Then {
	at, d := &w.Attempts[0], &w.Events[0].Data
	sum := summary(at)
	sum.Refusal = c.Call.Machine.Refusal
	if x, ok := c.change(contact.Event{Kind: contact.Attempted, Attempt: sum}); ok {
		d.Before, d.After, d.DueAt, d.AwaitsResult = x.Before, x.After, c.Machine.C.DueAt, c.Machine.C.AwaitsResult(at.ID)
		if c.Machine.C.State == contact.Failed {
			d.Reason = c.Machine.C.Reason
		}
	}
	w.Contacts = []contact.Contact{c.Machine.C}
	if c.Machine.C.ResultDueAt != nil {
		c.linger()
	}
	// An intent that the database refused holds nothing, so there is nothing to release.
	if c.Trigger != nil && sum.Refusal == engine.CodeCalleeCap {
		c.Trigger.NextAt = c.Machine.C.DueAt
	}
	return c.refusedLate(w)
}

// refusedLate answers the trigger whose intent was refused.
func (c *Contact) refusedLate(w *journal.Write) (then Then) {
	if t := c.Trigger; t != nil {
		c.Trigger = nil
		then.Trigger = c.attach(t, w, "queued", "")
	}
	return then
}

// summary is what the contact's machine needs to know about an attempt. A call that turned out to
// be a machine is no conversation of the contact, though it may have counted as one.
func summary(at *attempt.Attempt) *contact.Attempt {
	s := &contact.Attempt{
		ID: at.ID, To: at.To, Run: at.Run, Outcome: at.Outcome, Consumed: at.Consumed,
		Connected: at.WasConnected() && at.RevisedFrom == "", Rang: at.RangUnanswered(),
		Talk: at.Talk(), RetryAfter: at.RetryAfter, CalledBack: at.Inbound,
	}
	if at.InviteAt != nil {
		s.DialledAt = *at.InviteAt
	}
	if at.EndedAt != nil {
		s.EndedAt = *at.EndedAt
	}
	s.DoNotCall = at.Ending != nil && at.Ending.OptedOut
	if r := at.Result; r != nil {
		s.HasResult, s.Repeated, s.Disposition, s.DoNotCall = true, r.Wished, r.Disposition, r.DoNotCall || s.DoNotCall
		if r.Callback != nil && r.Callback.Requested {
			s.Callback = &contact.CallbackWish{At: r.Callback.At}
		}
	}
	return s
}

func (c *Contact) line(id engine.AttemptID, l attempt.Line, now time.Time) {
	m := &LineMoved{Contact: c.Machine.C.ID, Attempt: id, At: now,
		Phase: l.Phase, Cause: l.Cause, BotMissed: l.BotMissed, Tentative: l.Tentative}
	if a := &c.Call.Machine.A; a.ID == id {
		m.Machine = a.Verdict != "" && !a.Verdict.Live()
	}
	c.emit(m)
}
