package contact

import (
	"time"

	"dialler/engine"
	"dialler/engine/redial"
)

// fate is the consequence of an event, decided once per event and used as the guard of the
// transition table.
type fate string

const (
	fateNone      fate = ""
	fateNotOurs   fate = "not the live attempt"
	fateExcluded  fate = "excluded meanwhile"
	fateReadmit   fate = "readmitted meanwhile"
	fateAgain     fate = "unconsumed"
	fateCapped    fate = "number called too often"
	fateAwait     fate = "result owed"
	fateShort     fate = "short conversation, result owed"
	fateCompleted fate = "result stored"
	fateRedial    fate = "disposition listed"
	fateCallback  fate = "callback wished"
	fateKeep      fate = "callback active"
	fateAbandoned fate = "abandoned"
	fateRetry     fate = "outcome listed, attempts left"
	fateMachine   fate = "machine"
	fateStopped   fate = "run stopped"
	fateClosed    fate = "window closed"
	fateBusy      fate = "attempt lives"
	fateUnheard   fate = "no conversation of this run"
	fateAsked     fate = "asked elsewhere not to be called"
	fateBefore    fate = "older than its reopening"
	fateEarly     fate = "not due"
	fateInCall    fate = "in conversation"
	fateReason    fate = "excluded, another reason"
	fateRepeated  fate = "excluded, no other reason"
	fateWaiting   fate = "waits for a dial"
	fateWished    fate = "callback to come"
	fateOpen      fate = "window open"
	fateNever     fate = "window never opens"
	fateNoCall    fate = "window never opens for its callback"
	fateReached   fate = "connected before"
	fateAnswered  fate = "connected before, result stored"
	fateUsedUp    fate = "waits, no attempt left"
	fateHeard     fate = "waits, no attempt left, result stored"
	fateGranted   fate = "granted"
	fateNext      fate = "number invalid, another left"
	fateSkip      fate = "number suppressed, another left"
	fateKnown     fate = "known already"
)

func (m *Machine) judge(ev Event) fate {
	switch ev.Kind {
	case Attempted:
		return m.judgeHeard(ev, m.judgeAttempt(ev))
	case ResultStored:
		return m.judgeResult(ev)
	case ResultTimedOut:
		return m.judgeTimeout(ev)
	case ExcludedBy:
		return m.judgeExclusion(ev)
	case Reserved:
		return m.judgeWaiting()
	case WindowEnded, RunStopped:
		if m.C.DueAt != nil && m.C.ResultDueAt != nil {
			return fateAwait
		}
		return m.judgeWaiting()
	case CallbackDropped:
		return m.judgeDropped(ev)
	case Suppressed:
		if m.barsOne(ev) {
			return fateSkip
		}
		return m.judgeSuppression()
	case Deferred:
		return m.judgeDeferral(ev)
	case Retuned:
		return m.judgeCeiling(ev)
	case Lapsed:
		return m.judgeExpiry(ev)
	case CalledUs:
		return m.judgeCallBack(ev)
	case RunReset:
		return m.judgeReset(ev)
	case Hastened, CallbackSet:
		if m.Refusal(ev) == nil {
			return fateGranted
		}
	case Reached, Readmitted, Triggered:
		if m.C.Attempt != "" {
			return fateBusy
		}
	}
	return fateNone
}

// judgeWaiting closes a contact that waits with its run; one that does not wait may still lose a
// callback that is to come.
func (m *Machine) judgeWaiting() fate {
	switch {
	case m.C.Attempt == "" && m.C.DueAt != nil:
		return fateWaiting
	case m.C.Callback == CallbackRequested:
		return fateWished
	}
	return fateNone
}

// judgeDropped returns a contact that waits for a callback requested by its result to the state
// that the result gave it; operators may also promise callbacks to others.
func (m *Machine) judgeDropped(ev Event) fate {
	c := &m.C
	switch f := m.judgeWaiting(); {
	case f != fateWaiting:
		return f
	case c.Callback != CallbackPending:
		return fateNone
	case c.HasResult:
		return fateNoCall
	case c.Used >= ev.Policy.MaxAttempts:
		return fateUsedUp
	}
	return fateWaiting
}

// judgeExclusion excludes a contact once, also when the exclusion takes effect after the call. A
// newer reason replaces the old one, but an empty one does not.
func (m *Machine) judgeExclusion(ev Event) fate {
	c := &m.C
	inCall := ev.InCall && c.Attempt != ""
	switch again := c.State == Excluded || c.ExcludeAfterCall && inCall; {
	case again && ev.Reason != "" && ev.Reason != c.Reason:
		return fateReason
	case again:
		return fateRepeated
	case inCall:
		return fateInCall
	}
	return fateNone
}

// judgeSuppression ends the wait for a dial; an awaited result is still stored. The end of a live
// attempt is judged before.
func (m *Machine) judgeSuppression() fate {
	c := &m.C
	switch f := m.judgeWaiting(); {
	case f != fateWaiting:
		return f
	case c.ResultDueAt != nil:
		return fateAwait
	case c.State == Connected && c.HasResult:
		return fateHeard
	}
	return fateWaiting
}

// judgeDeferral makes a contact whose window is closed wait until it opens, until the end of a
// single-day run, or for an edit of its calendars; no contact waits for a window that never opens.
func (m *Machine) judgeDeferral(ev Event) fate {
	first, _ := m.C.Earliest(ev.notBefore())
	t, ok := ev.Policy.clip(first)
	switch {
	case m.C.Attempt != "" || m.C.DueAt == nil:
		return fateNone
	case ok && !t.After(ev.At):
		return fateOpen
	case ok || ev.Policy.Ends != nil || ev.Policy.reopens(first):
		return fateWaiting
	case m.C.Callback == CallbackPending && m.C.HasResult:
		return fateNoCall
	}
	return fateNever
}

// notBefore is the earliest time at which a deferred contact may be called, apart from its window.
func (ev *Event) notBefore() time.Time {
	if ev.Until.After(ev.At) {
		return ev.Until
	}
	return ev.At
}

func (m *Machine) judgeAttempt(ev Event) fate {
	a, p := ev.Attempt, &ev.Policy
	over := closedFate(p.ClosedAs)
	switch {
	case m.C.Attempt != a.ID:
		return fateNotOurs
	case m.C.ExcludeAfterCall && a.owesResult():
		return fateAwait // left alone, its result stored, then excluded
	case m.C.ExcludeAfterCall:
		return fateExcluded
	case a.Outcome == engine.OutcomeExcluded && m.C.Reason == ReasonReadmitted:
		if over != fateNone {
			return over
		}
		return fateReadmit
	case a.Outcome == engine.OutcomeExcluded:
		return fateExcluded
	case a.Outcome == engine.OutcomeAbandoned:
		return fateAbandoned
	case m.callbackGranted(ev):
		return fateCallback
	case m.goesOn(ev):
		if over != fateNone {
			return over
		}
		if a.Consumed {
			return fateNext
		}
		return fateSkip
	case !a.Consumed && a.Outcome != engine.OutcomeBlocked && !m.nowhere(ev):
		if over != fateNone {
			return over
		}
		if a.Refusal == engine.CodeCalleeCap {
			return fateCapped
		}
		return fateAgain
	case a.Connected && a.HasResult:
		return m.judgeDisposition(ev)
	case a.owesResult():
		if over == fateNone && m.redials(p, "", a) && m.left(ev, a.Outcome) {
			return fateShort
		}
		return fateAwait
	case (m.redials(p, a.Outcome, a) || a.Refusal == engine.CodeBotLost) && m.left(ev, a.Outcome):
		if over != fateNone {
			return over
		}
		return fateRetry
	case a.Outcome == engine.OutcomeCancelled && over != fateNone:
		return over
	case a.Outcome == engine.OutcomeMachine:
		return fateMachine
	}
	return fateNone
}

// judgeHeard applies when an earlier attempt's result, which requires nothing more, came during
// this attempt. If this attempt reached nobody, that result decides, as it would if it came a
// moment later. f is the fate without it.
func (m *Machine) judgeHeard(ev Event, f fate) fate {
	if m.C.Reason != ReasonHeard || ev.Attempt.Connected {
		return f
	}
	switch f {
	case fateAgain, fateCapped:
		if m.C.Callback == CallbackPending || m.C.CallingBack {
			return f // the callback is still to come, also one whose replacement was withdrawn
		}
		return fateCompleted
	case fateRetry, fateNext, fateSkip, fateStopped, fateClosed, fateNone:
		return fateCompleted
	default: // not changed by a late result, or a callback
		return f
	}
}

func (m *Machine) judgeResult(ev Event) fate {
	switch {
	case !ev.Attempt.Connected && ev.Attempt.CalledBack && m.chosen(ev) != m.C.Choice:
		return fateAsked
	case !ev.Attempt.Connected:
		return fateUnheard
	case ev.Attempt.Run != 0 && ev.Attempt.Run != m.C.Run:
		switch {
		case !m.C.Open() && m.C.DuePass == 0:
			return fateCompleted // a run for the unreached carried it over unchanged
		case m.chosen(ev) != m.C.Choice:
			return fateAsked
		}
		return fateUnheard
	case m.C.Attempt != "":
		return fateBusy
	case m.C.Used == 0 && !ev.Attempt.CalledBack:
		return fateBefore
	case m.C.ExcludeAfterCall:
		return fateExcluded
	case m.callbackGranted(ev):
		return fateCallback
	case m.C.Callback == CallbackPending && !ev.Attempt.DoNotCall:
		return fateKeep
	}
	return m.judgeDisposition(ev)
}

// judgeDisposition decides what a stored result requires, callbacks aside.
func (m *Machine) judgeDisposition(ev Event) fate {
	p, a := &ev.Policy, ev.Attempt
	if p.ClosedAs == "" && m.redialsResult(p, a) && m.left(ev, engine.OutcomeCompleted) {
		return fateRedial
	}
	return fateCompleted
}

func (m *Machine) judgeTimeout(ev Event) fate {
	c, p := &m.C, &ev.Policy
	switch {
	case c.ResultDueAt == nil || !ev.Restarted && ev.At.Before(*c.ResultDueAt):
		return fateEarly
	case c.ExcludeAfterCall:
		return fateExcluded
	case c.DueAt != nil:
		return fateShort
	case m.redials(p, engine.OutcomeConnectedNoResult, m.lastConversation()) &&
		m.left(ev, engine.OutcomeConnectedNoResult):
		if over := closedFate(p.ClosedAs); over != fateNone {
			return over
		}
		return fateRetry
	}
	return fateNone
}

// judgeReset leaves contacts that a call of an earlier run reached, whatever its result, out of a
// run for the unreached.
func (m *Machine) judgeReset(ev Event) fate {
	switch {
	case m.C.Attempt != "":
		return fateBusy
	case !ev.Unreached || !m.C.ConnectedOnce || m.C.State == Excluded:
		return fateNone
	case m.C.HasResult:
		return fateAnswered
	}
	return fateReached
}

// judgeCeiling drops a waiting retry when the new Max Attempts are already used; a promised
// callback stays.
func (m *Machine) judgeCeiling(ev Event) fate {
	c := &m.C
	switch {
	case c.Attempt != "" || c.DueAt == nil || c.Used < ev.Policy.MaxAttempts || c.Callback == CallbackPending:
		return fateNone
	case c.ResultDueAt != nil:
		return fateAwait
	case c.State == Connected && c.HasResult:
		return fateHeard
	}
	return fateUsedUp
}

// usedAfter is the number of consumed attempts including the event.
func (m *Machine) usedAfter(ev Event) int {
	if ev.Kind == Attempted && ev.Attempt.Consumed {
		return m.C.Used + 1
	}
	return m.C.Used
}

func (m *Machine) lastConversation() *Attempt { return &Attempt{Connected: true, Talk: m.C.LastTalk} }

// redials says whether the outcome, or the short conversation, calls for another dial, regardless
// of the attempts left.
func (m *Machine) redials(p *Policy, o engine.Outcome, a *Attempt) bool {
	of := m.redialOf(a)
	of.Outcome = o
	return p.Redial.Again(of)
}

// redialsResult says whether the stored result does.
func (m *Machine) redialsResult(p *Policy, a *Attempt) bool {
	of := m.redialOf(a)
	of.HasResult, of.Disposition = true, a.Disposition
	return p.Redial.Again(of)
}

// redialOf is what the rule needs to know about an attempt. Rows from before LongestTalk was stored
// have only the last conversation.
func (m *Machine) redialOf(a *Attempt) redial.Attempt {
	return redial.Attempt{DoNotCall: a.DoNotCall, Connected: a.Connected, Talk: a.Talk,
		Longest: max(m.C.LongestTalk, m.C.LastTalk)}
}

func closedFate(s State) fate {
	switch s {
	case ManuallyStopped:
		return fateStopped
	case WindowClosed:
		return fateClosed
	default: // the run is not over
		return fateNone
	}
}

// --- callbacks ---------------------------------------------------------------

// wished says whether the event, or a result that came during the attempt, requests a callback, and
// for when.
func (m *Machine) wished(ev Event) (t time.Time, ok bool) {
	a := ev.Attempt
	switch {
	case !ev.Policy.Callbacks || m.C.ExcludeAfterCall || a.DoNotCall || m.C.Choice.Stopped():
	case a.Callback != nil && a.Callback.At != nil && a.Connected:
		return *a.Callback.At, true
	case a.Callback != nil && a.Connected:
		return ev.At.Add(ev.Policy.Redial.Delay), true
	case ev.Kind == Attempted && m.C.Callback == CallbackRequested && m.C.CallbackAt != nil:
		return *m.C.CallbackAt, true
	}
	return time.Time{}, false
}

// callbackGranted grants a request while the run is open, within the horizon, if the window opens
// for it, with at most one attempt beyond Max Attempts.
func (m *Machine) callbackGranted(ev Event) bool {
	t, ok := m.wished(ev)
	if !ok || ev.Policy.ClosedAs != "" || m.usedAfter(ev) > ev.Policy.MaxAttempts {
		return false
	}
	_, ok = m.callbackTime(&ev, t)
	return ok
}

// callbackTime clips a request into the contact's times and the window; ok is false beyond the
// horizon, when the window does not open again in time, or when the contact has expired by then. It stays
// as it is while only the calendars keep the window closed for good.
func (m *Machine) callbackTime(ev *Event, t time.Time) (time.Time, bool) {
	if t.Before(ev.At) {
		t = ev.At
	}
	if t.After(ev.At.Add(CallbackHorizon)) {
		return time.Time{}, false
	}
	t, _ = m.C.Earliest(t)
	at, ok := ev.Policy.clip(t)
	if !ok && ev.Policy.reopens(t) {
		at, ok = t, true
	}
	return at, ok && !m.C.Expired(at)
}
