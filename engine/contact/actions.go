package contact

import (
	"maps"
	"time"

	"dialler/engine"
)

// Reasons that are not the name of an outcome.
const (
	// ReasonExhausted says that every attempt was used.
	ReasonExhausted = "attempts_exhausted"
	// ReasonReadmitted says that the contact was added again while an attempt cancelled by an
	// exclusion is not over yet; the contact is due as soon as it is.
	ReasonReadmitted = "readmitted"
	// ReasonHeard says that during a live attempt the result of an earlier one came and requires
	// nothing more.
	ReasonHeard = "result_heard"
	// ReasonNeverOpens says that no time is left at which the contact may be called.
	ReasonNeverOpens = "window_never_opens"
	// ReasonCallsBack says that the person has called us back: the contact waits for the end of that call, or
	// for its result.
	ReasonCallsBack = "calls_back"
)

func (m *Machine) reserve(ev Event) {
	// The result of a short conversation is no longer awaited, though it may still come.
	m.C.Attempt, m.C.DueAt, m.C.ResultDueAt = ev.Attempt.ID, nil, nil
	m.C.CallingBack = m.C.DueClass == DueCallback
	if waits(m.C.Reason) {
		m.C.Reason = ""
	}
	if ev.Attempt.From != "" {
		m.C.CalledFrom = ev.Attempt.From
	}
}

func (m *Machine) reach(Event) { m.C.ConnectedOnce = true }

// --- the end of an attempt ----------------------------------------------------

// books updates the counts at the end of every attempt.
func (m *Machine) books(ev Event) {
	a, c := ev.Attempt, &m.C
	c.Attempt, c.DueAt, c.ResultDueAt = "", nil, nil
	c.LastOutcome, c.Max = a.Outcome, ev.Policy.MaxAttempts
	c.Tries, c.Choice = m.counted(ev), m.chosen(ev)
	if a.Consumed {
		c.Used++
		c.Unconsumed = 0
		c.RangUnanswered = a.Rang && !a.Outcome.Row().Answered
	} else {
		c.Unconsumed++
	}
	if c.Reason == ReasonReadmitted || c.Reason == ReasonHeard {
		c.Reason = ""
	}
	if a.Connected {
		c.ConnectedOnce, c.LastConversation = true, a.ID
		c.LastTalk, c.LongestTalk = a.Talk, max(c.LongestTalk, a.Talk)
		if a.HasResult {
			c.HasResult, c.LastDisposition = true, a.Disposition
		}
	}
}

// attempted handles the end of an attempt after which no callback follows, except one that the
// attempt itself requests.
func (m *Machine) attempted(ev Event) {
	m.books(ev)
	m.C.ExcludeAfterCall = false
	m.callbackOver(ev)
}

// callbackOver completes the callback that the attempt was for, and cancels one that was only
// requested.
func (m *Machine) callbackOver(ev Event) {
	c := &m.C
	if c.CallingBack && c.Callback != CallbackPending && !ev.Attempt.Consumed {
		c.CallbacksCancelled++ // another replaced it while it was being dialled
	}
	switch {
	case c.Callback == CallbackPending && ev.Attempt.Consumed:
		c.Callback = CallbackCompleted
	case c.Callback == CallbackRequested && m.fate == fateCallback:
	case c.Callback == CallbackPending, c.Callback == CallbackRequested:
		c.Callback = CallbackCancelled
	}
	c.CallbackExtra, c.CallingBack = false, false
	m.refuseWish(ev)
}

// newest sets the callback that counts from now on, with the attempt whose result requested it. An
// earlier one that was not dialled and is not being dialled is counted as cancelled, unless it is
// the same request, repeated.
func (m *Machine) newest(s CallbackState, of engine.AttemptID, at time.Time) {
	c := &m.C
	dialled := c.Callback == CallbackCompleted || c.Callback == CallbackPending && c.CallingBack
	same := of != "" && of == c.CallbackOf
	if c.Callback != CallbackNone && !dialled && !same {
		c.CallbacksCancelled++
	}
	c.Callback, c.CallbackOf, c.CallbackAt = s, of, &at
}

// refuseWish records a request that is not granted; a repetition is not recorded again.
func (m *Machine) refuseWish(ev Event) {
	if m.fate == fateCallback || !ev.wishes() || ev.Kind == ResultStored && ev.Attempt.Repeated {
		return
	}
	t := ev.At.Add(ev.Policy.Redial.Delay)
	if ev.Attempt.Callback.At != nil {
		t = *ev.Attempt.Callback.At
	}
	m.newest(CallbackCancelled, ev.Attempt.ID, t)
	m.C.CallbackExtra = false
}

// wishes says whether a conversation's result requests a callback, granted or not.
func (ev *Event) wishes() bool {
	a := ev.Attempt
	return a.Callback != nil && a.Connected && ev.Policy.Callbacks
}

// countRefused counts a request that is not granted and leaves the newest callback unchanged.
func (m *Machine) countRefused(ev Event) {
	if ev.wishes() && !ev.Attempt.Repeated {
		m.C.CallbacksCancelled++
	}
}

// again returns the contact unchanged to the queue, with a back-off of 2, 8, 32 s, or the wait that
// the network requested.
func (m *Machine) again(ev Event) {
	c := &m.C
	m.books(ev)
	wait := 2 * time.Second << (2 * min(c.Unconsumed-1, 2))
	m.due(ev, c.DueClass, ev.Attempt.EndedAt.Add(max(wait, ev.Attempt.RetryAfter)))
	switch {
	case c.CallingBack && c.Callback != CallbackPending: // its replacement was not granted, so it is still to come
		at := *c.DueAt
		c.Callback, c.CallbackOf, c.CallbackAt = CallbackPending, "", &at
		c.CallbacksCancelled++
	case c.Callback == CallbackRequested:
		c.Callback = CallbackCancelled // it was judged, and not granted
	}
	c.CallingBack = false
}

// capped handles a number that was called as often as is allowed within the period. That is
// independent of the contact, whose count of unconsumed attempts in a row stays the same.
func (m *Machine) capped(ev Event) {
	row := m.C.Unconsumed
	m.again(ev)
	m.C.Unconsumed, m.C.Reason = row, engine.CodeCalleeCap
}

// readmitted handles the end of an exclusion's attempt: the contact, which was added again
// meanwhile, can be dialled. The attempt does not count.
func (m *Machine) readmitted(ev Event) {
	class := m.C.DueClass
	m.books(ev)
	m.callbackOver(ev)
	m.C.Used, m.C.Unconsumed, m.C.Tries, m.C.LastTalk, m.C.LongestTalk = 0, 0, 0, 0, 0
	m.due(ev, class, ev.At)
}

func (m *Machine) await(ev Event) {
	exclude := m.C.ExcludeAfterCall
	m.attempted(ev)
	m.C.ExcludeAfterCall = exclude
	t := ev.Attempt.EndedAt.Add(ev.Policy.ResultTimeout)
	m.C.ResultDueAt = &t
}

// redialShort redials a short conversation without waiting for its result, which is stored when it
// comes and may change the decision.
func (m *Machine) redialShort(ev Event) {
	m.await(ev)
	m.due(ev, DueRetry, m.next(ev, ev.Attempt.Outcome, ev.Attempt))
}

func (m *Machine) abandoned(ev Event) {
	m.attempted(ev)
	t := ev.Attempt.EndedAt
	m.C.AbandonedAt = &t
}

func (m *Machine) retry(ev Event) {
	m.attempted(ev)
	m.due(ev, DueRetry, m.next(ev, ev.Attempt.Outcome, ev.Attempt))
}

func (m *Machine) toCallback(ev Event) {
	t, _ := m.wished(ev)
	of := ev.Attempt.ID
	if ev.Attempt.Callback == nil {
		of = m.C.CallbackOf // from a result that came during the attempt
	}
	m.attempted(ev)
	m.callback(ev, of, t)
}

// callback schedules a granted request, which replaces an older one.
func (m *Machine) callback(ev Event, of engine.AttemptID, wish time.Time) {
	t, _ := m.callbackTime(&ev, wish)
	c := &m.C
	m.newest(CallbackPending, of, t)
	c.CallbackExtra = c.Used >= ev.Policy.MaxAttempts
	c.DueAt, c.DueClass, c.DuePass, c.ResultDueAt, c.Reason = &t, DueCallback, c.Used+1, nil, ""
}

// failed handles used-up attempts, or a last outcome that forbids a retry.
func (m *Machine) failed(ev Event) {
	m.attempted(ev)
	m.C.Reason = m.failure(ev, ev.Attempt.Outcome, ev.Attempt)
}

func (m *Machine) failure(ev Event, o engine.Outcome, a *Attempt) string {
	lost := a.Refusal == engine.CodeBotLost
	if a.Refusal != "" && !lost {
		return a.Refusal
	}
	if (lost || m.redials(&ev.Policy, o, a)) && m.C.Used >= ev.Policy.MaxAttempts {
		return ReasonExhausted
	}
	return string(o)
}

// due sets the next dial: not before the contact's time, a redial on a day that the cadence allows,
// and in the window. If that does not open again the contact waits for the end of the run, which
// closes it; one that expires first waits for that.
func (m *Machine) due(ev Event, class DueClass, t time.Time) {
	t = m.callable(ev, class, t)
	m.C.DueAt, m.C.DueClass, m.C.DuePass = &t, class, m.C.Used+1
}

// callable is when a dial may come that is due at a time, as far as that is known.
func (m *Machine) callable(ev Event, class DueClass, t time.Time) time.Time {
	if t.Before(ev.At) {
		t = ev.At
	}
	t, _ = m.C.Earliest(t)
	if c := ev.Policy.Cadence; c != nil && class == DueRetry {
		t = c.Allowed(t, m.C.Tries, &ev.Policy.Window)
	}
	if clipped, ok := ev.Policy.clip(t); ok {
		t = clipped
	} else if end := ev.Policy.Ends; end != nil && t.Before(*end) {
		t = *end
	}
	return t
}

// --- results ------------------------------------------------------------------

// heard stores a result's data on the contact.
func (m *Machine) heard(ev Event) {
	m.C.HasResult, m.C.LastDisposition = true, ev.Attempt.Disposition
	m.C.Choice = m.reachable(ev)
	m.backHeard(ev)
	if ev.Attempt.CalledBack { // the talk of an attempt counts at its end
		m.C.LongestTalk = max(m.C.LongestTalk, ev.Attempt.Talk)
	}
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

// resultWhileBusy leaves the decision to the end of the live attempt. A callback request is kept
// until then, and so is the fact that an earlier attempt requires nothing more.
func (m *Machine) resultWhileBusy(ev Event) {
	m.heard(ev)
	own := ev.Attempt.ID == m.C.Attempt
	if c := &m.C; !own && (c.Used > 0 || ev.Attempt.CalledBack) && (c.Reason == "" || c.Reason == ReasonHeard) {
		c.Reason = ""
		if m.judgeDisposition(ev) == fateCompleted {
			c.Reason = ReasonHeard
		}
	}
	switch t, ok := m.wished(ev); {
	case ok && ev.Policy.ClosedAs == "":
		m.newest(CallbackRequested, ev.Attempt.ID, t)
	case own && m.C.Callback == CallbackRequested:
		m.C.Callback = CallbackCancelled // withdrawn by the newer result
	case !own:
		m.countRefused(ev)
	}
}

// resultLate stores a result of an earlier attempt that cannot change the contact's end.
func (m *Machine) resultLate(ev Event) { m.heard(ev); m.refuseWish(ev) }

// resultKept keeps the callback that an earlier result requested.
func (m *Machine) resultKept(ev Event) {
	m.heard(ev)
	m.countRefused(ev)
}

func (m *Machine) resultCallback(ev Event) {
	t, _ := m.wished(ev)
	m.result(ev)
	m.callback(ev, ev.Attempt.ID, t)
}

// resultRedial does not bring forward a retry that already waits because of an earlier attempt's
// result.
func (m *Machine) resultRedial(ev Event) {
	a := &Attempt{DialledAt: ev.Attempt.DialledAt, EndedAt: ev.Attempt.EndedAt}
	t := m.next(ev, engine.OutcomeCompleted, a)
	if due := m.C.DueAt; due != nil && due.After(t) {
		t = *due
	}
	m.result(ev)
	m.due(ev, DueRetry, t)
}

func (m *Machine) noResult(Event) {
	m.C.ResultDueAt, m.C.ExcludeAfterCall = nil, false
}

// noResultRetry counts from the end of the attempt, not from the end of the wait for its result.
func (m *Machine) noResultRetry(ev Event) {
	ended := &Attempt{EndedAt: m.C.ResultDueAt.Add(-ev.Policy.ResultTimeout)}
	m.noResult(ev)
	m.due(ev, DueRetry, m.next(ev, engine.OutcomeConnectedNoResult, ended))
}

func (m *Machine) noResultFailed(ev Event) {
	m.noResult(ev)
	m.C.Reason = m.failure(ev, engine.OutcomeConnectedNoResult, m.lastConversation())
}

// --- exclusion and trigger ------------------------------------------------------

// suppressed makes the contact final: its number is not called again.
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
	m.C.Ends |= EndOf(m.C.State)
	m.dropCallback(ev)
}

func (m *Machine) newReason(ev Event) { m.C.Reason = ev.Reason }

// merge handles a contact that is already open; adding it again also withdraws an exclusion that
// waits for the end of its call.
func (m *Machine) merge(ev Event) {
	m.mergeVariables(ev)
	m.C.TakeNumbers(ev.Number, ev.Alternates)
	m.keep(ev)
	m.retime(ev)
}

func (m *Machine) keep(Event) {
	if m.C.ExcludeAfterCall {
		m.C.ExcludeAfterCall, m.C.Reason = false, ""
	}
}

func (m *Machine) mergeVariables(ev Event) { m.C.Variables = Merged(m.C.Variables, ev.Variables) }

// Merged returns a contact's variables updated with newer ones: a new map if there are any, since
// copies of the contact share the old one.
func Merged(old, newer map[string]string) map[string]string {
	if len(newer) == 0 {
		return old
	}
	merged := make(map[string]string, len(old)+len(newer))
	maps.Copy(merged, old)
	maps.Copy(merged, newer)
	return merged
}

// reopen gives a final or excluded contact fresh attempts. Its earlier results in this run stay in
// the counters, which count facts of the run.
func (m *Machine) reopen(ev Event) {
	m.mergeVariables(ev)
	m.fresh(ev)
	m.C.TakeNumbers(ev.Number, ev.Alternates)
	m.C.TakeAnew(ev.At, ev.Times)
	class := DueTrigger
	if ev.Kind == Readmitted {
		class = DueFirst
	}
	m.due(ev, class, ev.At)
}

// reopenLater reopens a contact whose cancelled attempt is not over yet.
func (m *Machine) reopenLater(ev Event) {
	m.reopen(ev)
	m.C.DueAt, m.C.Reason = nil, ReasonReadmitted
}

func (m *Machine) fresh(ev Event) {
	c := &m.C
	c.Used, c.Unconsumed, c.Max, c.DuePass = 0, 0, ev.Policy.MaxAttempts, 1
	c.Reason, c.ResultDueAt, c.ExcludeAfterCall = "", nil, false
	c.Tries, c.LastTalk, c.LongestTalk, c.Choice = 0, 0, 0, c.Choice&ChoiceKept
	m.newest(CallbackNone, "", time.Time{})
	c.CallbackAt, c.CallbackExtra = nil, false
	c.Ends |= EndOf(c.State)
}

// deferred moves the due time to the next opening of the contact's window, and not before the time
// that somebody else requested. One that never opens, as its calendars are, is looked at again the next day.
func (m *Machine) deferred(ev Event) {
	m.due(ev, m.C.DueClass, ev.notBefore())
	if !m.C.DueAt.After(ev.At) && ev.Policy.Ends == nil {
		m.due(ev, m.C.DueClass, ev.At.Add(lookAgain))
		if m.C.Callback == CallbackPending {
			at := *m.C.DueAt
			m.C.CallbackAt = &at
		}
	}
	if ev.Reason != "" || waits(m.C.Reason) {
		m.C.Reason = ev.Reason
	}
}

// waits says whether a reason only explains a wait, and is cleared by the next attempt.
func waits(reason string) bool {
	return reason == engine.CodeCalleeCap || reason == engine.CodeNotEligible || reason == engine.CodeEligibilityUnknown ||
		reason == ReasonCallsBack
}

func (m *Machine) neverOpens(ev Event) {
	m.C.DueAt, m.C.ResultDueAt, m.C.Reason = nil, nil, ReasonNeverOpens
	m.dropCallback(ev)
}

// --- the run --------------------------------------------------------------------

func (m *Machine) closeWaiting(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
}

// dropRedial keeps the wait for the result, whose end is reported as usual.
func (m *Machine) dropRedial(Event) { m.C.DueAt = nil }

// dropCallback cancels a callback that is still to come.
func (m *Machine) dropCallback(Event) {
	c := &m.C
	if c.Callback == CallbackRequested || (c.Callback == CallbackPending && c.Attempt == "") {
		c.Callback = CallbackCancelled
	}
	c.CallbackExtra = c.CallbackExtra && c.Callback == CallbackPending
}

// dropWish cancels a callback that is to come, but not one that is being dialled.
func (m *Machine) dropWish(ev Event) { m.dropCallback(ev) }

// callbackDropped leaves the contact, without its callback, in the state that its result gave it.
func (m *Machine) callbackDropped(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
}

func (m *Machine) reset(ev Event) {
	m.resetExcluded(ev)
	t, _ := m.C.Earliest(ev.At)
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
	c.LastConversation = ""
	c.DueAt = nil
	m.begins()
}

// begins resets the counted facts of the previous run.
func (m *Machine) begins() {
	c := &m.C
	c.Callback, c.CallbackOf, c.CallbackAt, c.CallbackExtra, c.CallingBack = CallbackNone, "", nil, false, false
	c.CallbacksCancelled, c.Ends = 0, 0
}

// retune applies the current Max Attempts.
func (m *Machine) retune(ev Event) {
	m.C.Max = ev.Policy.MaxAttempts
	m.C.CallbackExtra = m.C.Callback == CallbackPending && m.C.Used >= m.C.Max
}

// usedUp handles a contact that waited for an attempt that is no longer allowed.
func (m *Machine) usedUp(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
	m.C.Max, m.C.Reason = ev.Policy.MaxAttempts, ""
	if m.fate == fateUsedUp {
		m.C.Reason = ReasonExhausted
	}
}

// awaitOnly handles a short conversation that may no longer be redialled; its result is awaited
// like any other.
func (m *Machine) awaitOnly(ev Event) {
	m.C.DueAt, m.C.Max = nil, ev.Policy.MaxAttempts
	m.dropCallback(ev)
}

// leaveOut carries a previously connected contact over into a run for the unreached as final: it is
// in the run's Total, and is not dialled.
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
	m.begins()
}
