package contact

import (
	"maps"
	"time"

	"dialler/engine"
)

func (m *Machine) reserve(ev Event) {
	m.C.Attempt, m.C.DueAt = ev.Attempt.ID, nil
}

func (m *Machine) reach(Event) { m.C.ConnectedOnce = true }

// attempted is what the end of every attempt does to the books.
func (m *Machine) attempted(ev Event) {
	a, c := ev.Attempt, &m.C
	if c.Attempt == a.ID {
		c.Attempt = ""
	}
	c.LastOutcome, c.Max = a.Outcome, ev.Policy.MaxAttempts
	if a.Consumed {
		c.Used++
		c.Unconsumed = 0
	} else {
		c.Unconsumed++
	}
	c.ConnectedOnce = c.ConnectedOnce || a.Connected
	c.RangUnanswered = a.Rang && a.Outcome == engine.OutcomeNoAnswer
	if a.HasResult {
		c.HasResult, c.LastDisposition = true, a.Disposition
	}
	if c.Callback == CallbackPending && c.CallbackExtra {
		c.Callback, c.CallbackExtra = CallbackCompleted, false
	}
	c.ExcludeAfterCall = c.ExcludeAfterCall && a.Connected && !a.HasResult
	c.DueAt, c.ResultDueAt = nil, nil
}

// again: back-off of 2, 8, 32 s, or what the network asked for.
func (m *Machine) again(ev Event) {
	class := DueRetry
	if m.C.Used == 0 {
		class = DueFirst
	}
	extra := m.C.CallbackExtra
	m.attempted(ev)
	if extra {
		class = DueCallback
		m.C.Callback, m.C.CallbackExtra = CallbackPending, true
	}
	wait := 2 * time.Second << (2 * min(m.C.Unconsumed-1, 2))
	m.due(ev, class, ev.Attempt.EndedAt.Add(max(wait, ev.Attempt.RetryAfter)))
}

func (m *Machine) await(ev Event) {
	m.attempted(ev)
	t := ev.Attempt.EndedAt.Add(ev.Policy.ResultTimeout)
	m.C.ResultDueAt = &t
}

func (m *Machine) abandoned(ev Event) {
	m.attempted(ev)
	t := ev.Attempt.EndedAt
	m.C.AbandonedAt = &t
}

// retry: Retry Delay counts from the end of the attempt.
func (m *Machine) retry(ev Event) {
	m.attempted(ev)
	m.due(ev, DueRetry, ev.Attempt.EndedAt.Add(max(ev.Policy.RetryDelay, ev.Attempt.RetryAfter)))
}

func (m *Machine) redial(ev Event) { m.retry(ev) }

func (m *Machine) toCallback(ev Event) {
	m.attempted(ev)
	m.wish(ev)
}

func (m *Machine) wish(ev Event) {
	t, _ := callbackTime(ev.At, &ev.Policy, ev.Attempt.Callback)
	c := &m.C
	c.Callback, c.CallbackAt, c.CallbackExtra = CallbackPending, &t, true
	c.DueAt, c.DueClass = &t, DueCallback
}

func (m *Machine) failed(ev Event) {
	m.attempted(ev)
	m.C.Reason = string(ev.Attempt.Outcome)
	if listed(ev.Policy.RetryOnSystem, ev.Attempt.Outcome) {
		m.C.Reason = ReasonExhausted
	}
}

// ReasonExhausted: every attempt was used.
const ReasonExhausted = "attempts_exhausted"

// due sets the next dial, clipped into the window.
func (m *Machine) due(ev Event, class DueClass, t time.Time) {
	t, ok := ev.Policy.clip(t)
	if !ok {
		// The window never opens again: the run's end will close the contact.
		t = ev.At
	}
	m.C.DueAt, m.C.DueClass = &t, class
}

func (m *Machine) result(ev Event) {
	m.C.HasResult, m.C.LastDisposition = true, ev.Attempt.Disposition
	m.C.LastOutcome = ev.Attempt.Outcome
	m.C.ResultDueAt, m.C.ExcludeAfterCall = nil, m.C.ExcludeAfterCall && m.C.Attempt != ""
	if m.C.Attempt == "" {
		m.C.DueAt, m.C.Reason = nil, ""
	}
}

func (m *Machine) resultCallback(ev Event) {
	m.result(ev)
	m.wish(ev)
}

func (m *Machine) resultRedial(ev Event) {
	m.result(ev)
	m.due(ev, DueRetry, ev.Attempt.EndedAt.Add(ev.Policy.RetryDelay))
}

func (m *Machine) noResult(Event) {
	m.C.ResultDueAt = nil
	m.C.ExcludeAfterCall = false
}

func (m *Machine) noResultRetry(ev Event) {
	m.noResult(ev)
	m.C.LastOutcome = engine.OutcomeConnectedNoResult
	m.due(ev, DueRetry, ev.At)
}

func (m *Machine) noResultFailed(ev Event) {
	m.noResult(ev)
	m.C.LastOutcome = engine.OutcomeConnectedNoResult
	m.C.Reason = string(engine.OutcomeConnectedNoResult)
}

func (m *Machine) excludeLater(ev Event) {
	m.C.ExcludeAfterCall, m.C.Reason = true, ev.Reason
	m.dropCallback(ev)
}

func (m *Machine) exclude(ev Event) {
	m.C.DueAt, m.C.ResultDueAt, m.C.Reason = nil, nil, ev.Reason
	m.dropCallback(ev)
}

func (m *Machine) readmit(ev Event) { m.reopen(ev) }

func (m *Machine) merge(ev Event) { m.mergeVariables(ev) }

func (m *Machine) mergeVariables(ev Event) {
	if len(ev.Variables) == 0 {
		return
	}
	merged := make(map[string]string, len(m.C.Variables)+len(ev.Variables))
	maps.Copy(merged, m.C.Variables)
	maps.Copy(merged, ev.Variables)
	m.C.Variables = merged
}

// reopen gives a final contact fresh attempts.
func (m *Machine) reopen(ev Event) {
	m.mergeVariables(ev)
	m.fresh(ev)
	class := DueTrigger
	if ev.Kind == Readmitted {
		class = DueFirst
	}
	m.due(ev, class, ev.At)
}

func (m *Machine) fresh(ev Event) {
	c := &m.C
	c.Used, c.Unconsumed, c.Max = 0, 0, ev.Policy.MaxAttempts
	c.LastOutcome, c.LastDisposition, c.Reason = "", "", ""
	c.ConnectedOnce, c.HasResult, c.RangUnanswered = false, false, false
	c.Callback, c.CallbackAt, c.CallbackExtra = CallbackNone, nil, false
	c.ResultDueAt, c.ExcludeAfterCall = nil, false
}

func (m *Machine) closeWaiting(ev Event) {
	m.C.DueAt = nil
	m.dropCallback(ev)
}

func (m *Machine) dropCallback(ev Event) {
	c := &m.C
	if c.Callback == CallbackRequested || c.Callback == CallbackPending {
		c.Callback, c.CallbackExtra = CallbackCancelled, false
	}
	if ev.Kind == CallbackDropped && c.DueClass == DueCallback {
		c.DueAt = nil
	}
}

func (m *Machine) reset(ev Event) {
	m.C.Run = ev.Run
	m.fresh(ev)
	t := ev.At
	m.C.DueAt, m.C.DueClass = &t, DueFirst
}

func (m *Machine) resetExcluded(ev Event) {
	m.C.Run = ev.Run
	m.fresh(ev)
	m.C.DueAt = nil
}
