package contact

import (
	"maps"
	"time"

	"dialler/engine"
)

// Reasons that are not the name of an outcome.
const (
	// ReasonExhausted: every attempt was used.
	ReasonExhausted = "attempts_exhausted"
	// ReasonReadmitted: added again while the attempt that an exclusion
	// cancelled is not over yet; it is due as soon as that is.
	ReasonReadmitted = "readmitted"
	// ReasonNeverOpens: no time is left at which the contact may be called.
	ReasonNeverOpens = "window_never_opens"
)

func (m *Machine) reserve(ev Event) {
	// The result of a short conversation is waited for no longer; it may still come.
	m.C.Attempt, m.C.DueAt, m.C.ResultDueAt = ev.Attempt.ID, nil, nil
	if waits(m.C.Reason) {
		m.C.Reason = ""
	}
	if ev.Attempt.From != "" {
		m.C.CalledFrom = ev.Attempt.From
	}
}

func (m *Machine) reach(Event) { m.C.ConnectedOnce = true }

// --- the end of an attempt ----------------------------------------------------

// books is what the end of every attempt does to the books.
func (m *Machine) books(ev Event) {
	a, c := ev.Attempt, &m.C
	c.Attempt, c.DueAt, c.ResultDueAt = "", nil, nil
	c.LastOutcome, c.Max = a.Outcome, ev.Policy.MaxAttempts
	if a.Consumed {
		c.Used++
		c.Unconsumed = 0
		c.RangUnanswered = a.Rang && !answeredAs(a.Outcome)
	} else {
		c.Unconsumed++
	}
	if c.Reason == ReasonReadmitted {
		c.Reason = ""
	}
	if a.Connected {
		c.ConnectedOnce, c.LastTalk, c.LongestTalk = true, a.Talk, max(c.LongestTalk, a.Talk)
		if a.HasResult {
			c.HasResult, c.LastDisposition = true, a.Disposition
		}
	}
}

// answeredAs: outcomes that only an answered call can have.
func answeredAs(o engine.Outcome) bool {
	switch o {
	case engine.OutcomeCompleted, engine.OutcomeConnectedNoResult, engine.OutcomeAbandoned,
		engine.OutcomeMachine, engine.OutcomeFax, engine.OutcomeCallerHungUp:
		return true
	// The far side never picked up.
	case engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeRejected, engine.OutcomeBlocked,
		engine.OutcomeCongestion, engine.OutcomeThrottled, engine.OutcomeTrunkError:
	// They end calls before and after the answer.
	case engine.OutcomeInvalidNumber, engine.OutcomeMediaError, engine.OutcomeCancelled, engine.OutcomeExcluded,
		engine.OutcomeLost, engine.OutcomeSystemError:
	}
	return false
}

// attempted is the end of an attempt after which no callback is to come but
// one that it brings itself.
func (m *Machine) attempted(ev Event) {
	m.books(ev)
	m.C.ExcludeAfterCall = false
	m.callbackOver(ev)
}

// callbackOver: the callback whose attempt this was is done, one that only was
// wished for does not come about.
func (m *Machine) callbackOver(ev Event) {
	c := &m.C
	switch {
	case c.Callback == CallbackPending && ev.Attempt.Consumed:
		c.Callback = CallbackCompleted
	case c.Callback == CallbackPending, c.Callback == CallbackRequested:
		c.Callback = CallbackCancelled
	}
	c.CallbackExtra = false
	m.refuseWish(ev)
}

// refuseWish keeps a record of a wish that is not granted.
func (m *Machine) refuseWish(ev Event) {
	if a := ev.Attempt; a.Callback == nil || !a.Connected || !ev.Policy.Callbacks {
		return
	}
	t := ev.At.Add(ev.Policy.RetryDelay)
	if ev.Attempt.Callback.At != nil {
		t = *ev.Attempt.Callback.At
	}
	m.C.Callback, m.C.CallbackAt, m.C.CallbackExtra = CallbackCancelled, &t, false
}

// again: the contact goes back unchanged, with a back-off of 2, 8, 32 s, or
// what the network asked for.
func (m *Machine) again(ev Event) {
	m.books(ev)
	if m.C.Callback == CallbackRequested {
		m.C.Callback = CallbackCancelled // it was judged, and not granted
	}
	wait := 2 * time.Second << (2 * min(m.C.Unconsumed-1, 2))
	m.due(ev, m.C.DueClass, ev.Attempt.EndedAt.Add(max(wait, ev.Attempt.RetryAfter)))
}

// capped: the number was called as often as is allowed within the period. That
// says nothing of the contact, whose attempts in a row it does not touch.
func (m *Machine) capped(ev Event) {
	row := m.C.Unconsumed
	m.again(ev)
	m.C.Unconsumed, m.C.Reason = row, engine.CodeCalleeCap
}

// readmitted: the exclusion's attempt is over, so that the contact that was
// added again meanwhile can be dialled. It does not count.
func (m *Machine) readmitted(ev Event) {
	class := m.C.DueClass
	m.books(ev)
	m.callbackOver(ev)
	m.C.Used, m.C.Unconsumed, m.C.LastTalk, m.C.LongestTalk = 0, 0, 0, 0
	m.due(ev, class, ev.At)
}

func (m *Machine) await(ev Event) {
	exclude := m.C.ExcludeAfterCall
	m.attempted(ev)
	m.C.ExcludeAfterCall = exclude
	t := ev.Attempt.EndedAt.Add(ev.Policy.ResultTimeout)
	m.C.ResultDueAt = &t
}

// redialShort: a short conversation is redialled without waiting for its result,
// which is stored when it comes and may ask for something else.
func (m *Machine) redialShort(ev Event) {
	m.await(ev)
	m.due(ev, DueRetry, ev.Policy.redial().At(ev.Attempt.EndedAt, ev.Attempt.RetryAfter))
}

func (m *Machine) abandoned(ev Event) {
	m.attempted(ev)
	t := ev.Attempt.EndedAt
	m.C.AbandonedAt = &t
}

// retry: Retry Delay counts from the end of the attempt.
func (m *Machine) retry(ev Event) {
	m.attempted(ev)
	m.due(ev, DueRetry, ev.Policy.redial().At(ev.Attempt.EndedAt, ev.Attempt.RetryAfter))
}

func (m *Machine) toCallback(ev Event) {
	t, _ := m.wished(ev)
	m.attempted(ev)
	m.callback(ev, t)
}

// callback schedules a wish that was granted; it takes the place of an older
// one.
func (m *Machine) callback(ev Event, wish time.Time) {
	t, _ := callbackTime(ev.At, &ev.Policy, wish)
	c := &m.C
	c.Callback, c.CallbackAt, c.CallbackExtra = CallbackPending, &t, c.Used >= ev.Policy.MaxAttempts
	c.DueAt, c.DueClass, c.DuePass, c.ResultDueAt, c.Reason = &t, DueCallback, c.Used+1, nil, ""
}

// failed: the attempts are used up, or the last outcome forbids a retry.
func (m *Machine) failed(ev Event) {
	m.attempted(ev)
	m.C.Reason = m.failure(ev, ev.Attempt.Outcome, ev.Attempt)
}

func (m *Machine) failure(ev Event, o engine.Outcome, a *Attempt) string {
	if a.Refusal != "" {
		return a.Refusal
	}
	if m.redials(&ev.Policy, o, a) && m.C.Used >= ev.Policy.MaxAttempts {
		return ReasonExhausted
	}
	return string(o)
}

// due sets the next dial, clipped into the window. When that does not open
// again the contact waits for the end of the run, which closes it.
func (m *Machine) due(ev Event, class DueClass, t time.Time) {
	if t.Before(ev.At) {
		t = ev.At
	}
	if clipped, ok := ev.Policy.clip(t); ok {
		t = clipped
	} else if end := ev.Policy.Ends; end != nil && t.Before(*end) {
		t = *end
	}
	m.C.DueAt, m.C.DueClass, m.C.DuePass = &t, class, m.C.Used+1
}

// --- results ------------------------------------------------------------------

// heard stores what a result says of the contact.
func (m *Machine) heard(ev Event) {
	m.C.HasResult, m.C.LastDisposition = true, ev.Attempt.Disposition
}

func (m *Machine) result(ev Event) {
	m.heard(ev)
	if ev.Attempt.Outcome != "" {
		m.C.LastOutcome = ev.Attempt.Outcome
	}
	m.C.DueAt, m.C.ResultDueAt, m.C.ExcludeAfterCall = nil, nil, false
	if m.fate != fateExcluded {
		m.C.Reason = "" // else it is the exclusion's note
	}
	if ev.Attempt.DoNotCall {
		m.dropCallback(ev)
	}
	m.refuseWish(ev)
}

// resultWhileBusy: the end of the live attempt decides; a wish is kept for it.
func (m *Machine) resultWhileBusy(ev Event) {
	m.heard(ev)
	own := ev.Attempt.ID == m.C.Attempt
	if t, ok := m.wished(ev); ok && ev.Policy.ClosedAs == "" {
		m.C.Callback, m.C.CallbackAt = CallbackRequested, &t
	} else if own && m.C.Callback == CallbackRequested {
		m.C.Callback = CallbackCancelled // withdrawn by the newer word
	}
}

// resultLate: a result of an earlier attempt of a contact whose end it cannot
// change.
func (m *Machine) resultLate(ev Event) { m.heard(ev); m.refuseWish(ev) }

// resultKept: the callback that an earlier result asked for stays.
func (m *Machine) resultKept(ev Event) { m.heard(ev) }

func (m *Machine) resultCallback(ev Event) {
	t, _ := m.wished(ev)
	m.result(ev)
	m.callback(ev, t)
}

// resultRedial: the result of an earlier attempt does not hurry a retry that
// waits already.
func (m *Machine) resultRedial(ev Event) {
	t := ev.Policy.redial().At(ev.Attempt.EndedAt, 0)
	if due := m.C.DueAt; due != nil && due.After(t) {
		t = *due
	}
	m.result(ev)
	m.due(ev, DueRetry, t)
}

func (m *Machine) noResult(Event) {
	m.C.ResultDueAt, m.C.ExcludeAfterCall = nil, false
	m.C.LastOutcome = engine.OutcomeConnectedNoResult
}

// noResultRetry: Retry Delay counts from the end of the attempt, not from the
// end of the wait for its result.
func (m *Machine) noResultRetry(ev Event) {
	ended := m.C.ResultDueAt.Add(-ev.Policy.ResultTimeout)
	m.noResult(ev)
	m.due(ev, DueRetry, ev.Policy.redial().At(ended, 0))
}

func (m *Machine) noResultFailed(ev Event) {
	m.noResult(ev)
	m.C.Reason = m.failure(ev, engine.OutcomeConnectedNoResult, m.lastConversation())
}

// --- exclusion and trigger ------------------------------------------------------

// suppressed: whoever has its number is not called again.
func (m *Machine) suppressed(ev Event) {
	m.C.DueAt, m.C.Reason = nil, ""
	if m.fate == fateWaiting {
		m.C.Reason = engine.CodeSuppressed
	}
	m.dropCallback(ev)
}

func (m *Machine) excludeLater(ev Event) {
	m.C.ExcludeAfterCall, m.C.Reason = true, ev.Reason
	m.dropWish(ev)
}

func (m *Machine) exclude(ev Event) {
	m.C.DueAt, m.C.ResultDueAt, m.C.Reason = nil, nil, ev.Reason
	m.C.ExcludeAfterCall = false
	m.dropCallback(ev)
}

func (m *Machine) newReason(ev Event) { m.C.Reason = ev.Reason }

// merge: the contact is open already; adding it again also withdraws an
// exclusion that waits for the end of its call.
func (m *Machine) merge(ev Event) {
	m.mergeVariables(ev)
	m.keep(ev)
}

func (m *Machine) keep(Event) {
	if m.C.ExcludeAfterCall {
		m.C.ExcludeAfterCall, m.C.Reason = false, ""
	}
}

func (m *Machine) mergeVariables(ev Event) { m.C.Variables = Merged(m.C.Variables, ev.Variables) }

// Merged gives a contact's variables with newer ones: a new map where there are any,
// since copies of the contact share the old one.
func Merged(old, newer map[string]string) map[string]string {
	if len(newer) == 0 {
		return old
	}
	merged := make(map[string]string, len(old)+len(newer))
	maps.Copy(merged, old)
	maps.Copy(merged, newer)
	return merged
}

// reopen gives a final or excluded contact fresh attempts. What it came to
// before in this run stays in the counters: they count facts of the run.
func (m *Machine) reopen(ev Event) {
	m.mergeVariables(ev)
	m.fresh(ev)
	class := DueTrigger
	if ev.Kind == Readmitted {
		class = DueFirst
	}
	m.due(ev, class, ev.At)
}

// reopenLater: the attempt that the exclusion cancelled is not over yet.
func (m *Machine) reopenLater(ev Event) {
	m.reopen(ev)
	m.C.DueAt, m.C.Reason = nil, ReasonReadmitted
}

func (m *Machine) fresh(ev Event) {
	c := &m.C
	c.Used, c.Unconsumed, c.Max, c.DuePass = 0, 0, ev.Policy.MaxAttempts, 1
	c.Reason, c.ResultDueAt, c.ExcludeAfterCall = "", nil, false
	c.LastTalk, c.LongestTalk = 0, 0
	c.Callback, c.CallbackAt, c.CallbackExtra = CallbackNone, nil, false
}

// deferred moves the due time to where the contact's window opens, from when on
// somebody else wants it called.
func (m *Machine) deferred(ev Event) {
	m.due(ev, m.C.DueClass, ev.notBefore())
	if ev.Reason != "" || waits(m.C.Reason) {
		m.C.Reason = ev.Reason
	}
}

// waits says whether a reason is why a contact waits, which is over with its next
// attempt.
func waits(reason string) bool {
	return reason == engine.CodeCalleeCap || reason == engine.CodeNotEligible || reason == engine.CodeEligibilityUnknown
}

func (m *Machine) neverOpens(ev Event) {
	m.C.DueAt, m.C.ResultDueAt, m.C.Reason = nil, nil, ReasonNeverOpens
	m.dropCallback(ev)
}

// --- the run --------------------------------------------------------------------

func (m *Machine) closeWaiting(ev Event) {
	m.C.DueAt, m.C.ResultDueAt = nil, nil
	m.dropCallback(ev)
}

// dropCallback: no callback is to come any more.
func (m *Machine) dropCallback(Event) {
	c := &m.C
	if c.Callback == CallbackRequested || (c.Callback == CallbackPending && c.Attempt == "") {
		c.Callback = CallbackCancelled
	}
	c.CallbackExtra = c.CallbackExtra && c.Callback == CallbackPending
}

// dropWish: a callback that is being dialled goes on, one to come does not.
func (m *Machine) dropWish(ev Event) { m.dropCallback(ev) }

// callbackDropped: without its callback the contact is what its result made it.
func (m *Machine) callbackDropped(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
}

func (m *Machine) reset(ev Event) {
	m.resetExcluded(ev)
	t := ev.At
	m.C.DueAt, m.C.DueClass = &t, DueFirst
}

func (m *Machine) resetExcluded(ev Event) {
	c := &m.C
	c.Run = ev.Run
	reason := c.Reason
	m.fresh(ev)
	if c.State == Excluded {
		c.Reason = reason
	}
	c.LastOutcome, c.LastDisposition = "", ""
	c.ConnectedOnce, c.HasResult, c.RangUnanswered = false, false, false
	c.DueAt = nil
}

// retune takes over the Max Attempts that hold now.
func (m *Machine) retune(ev Event) {
	m.C.Max = ev.Policy.MaxAttempts
	m.C.CallbackExtra = m.C.Callback == CallbackPending && m.C.Used >= m.C.Max
}

// usedUp: the contact waited for an attempt that it does not have any more.
func (m *Machine) usedUp(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
	m.C.Max, m.C.Reason = ev.Policy.MaxAttempts, ""
	if m.fate == fateUsedUp {
		m.C.Reason = ReasonExhausted
	}
}

// awaitOnly: no attempt is left for the redial of a short conversation, whose
// result is awaited like any other.
func (m *Machine) awaitOnly(ev Event) {
	m.C.DueAt, m.C.Max = nil, ev.Policy.MaxAttempts
	m.dropCallback(ev)
}

// leaveOut takes a contact that was connected before along into a run for the
// unreached, as final: it is in the run's Total, and is not dialled.
func (m *Machine) leaveOut(ev Event) {
	c := &m.C
	if c.Open() {
		c.Reason = ""
		if m.fate == fateReached {
			c.Reason = string(engine.OutcomeConnectedNoResult)
		}
	}
	c.Run, c.DuePass = ev.Run, 0
	c.DueAt, c.ResultDueAt, c.ExcludeAfterCall = nil, nil, false
	m.dropCallback(ev)
}
