package contact

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// fate is what an event comes to, judged once per event and used as the guard
// of the transition table.
type fate string

const (
	fateNone      fate = ""
	fateExcluded  fate = "excluded meanwhile"
	fateAgain     fate = "unconsumed"
	fateAwait     fate = "result owed"
	fateCompleted fate = "result stored"
	fateRedial    fate = "disposition listed"
	fateCallback  fate = "callback wished"
	fateAbandoned fate = "abandoned"
	fateRetry     fate = "outcome listed, attempts left"
	fateMachine   fate = "machine"
	fateStopped   fate = "run stopped"
	fateClosed    fate = "window closed"
	fateBusy      fate = "attempt lives"
	fateInCall    fate = "in conversation"
	fateWaiting   fate = "waits for a dial"
)

func (m *Machine) judge(ev Event) fate {
	switch ev.Kind {
	case Attempted:
		return m.judgeAttempt(ev)
	case ResultStored:
		return m.judgeResult(ev)
	case ResultTimedOut:
		switch {
		case m.C.ExcludeAfterCall:
			return fateExcluded
		case m.C.Attempt != "":
			return fateBusy
		case m.mayRedial(ev, m.lastTalk(ev)) && listed(ev.Policy.RetryOnSystem, engine.OutcomeConnectedNoResult):
			return fateRetry
		}
	case ExcludedBy:
		if ev.InCall {
			return fateInCall
		}
	case WindowEnded, RunStopped:
		if m.C.DueAt != nil && m.C.Attempt == "" {
			return fateWaiting
		}
	case Reserved, Reached, Readmitted, Triggered, RunReset, CallbackDropped:
	}
	return fateNone
}

func (m *Machine) judgeAttempt(ev Event) fate {
	a, p := ev.Attempt, &ev.Policy
	if m.C.ExcludeAfterCall && a.Connected && !a.HasResult {
		return fateAwait // left alone, its result stored, then excluded
	}
	if m.C.ExcludeAfterCall || a.Outcome == engine.OutcomeExcluded {
		return fateExcluded
	}
	if !a.Consumed && p.ClosedAs == "" {
		return fateAgain
	}
	if a.Outcome == engine.OutcomeAbandoned {
		return fateAbandoned
	}
	if a.Connected {
		switch {
		case !a.HasResult && a.Outcome != engine.OutcomeMediaError && a.Outcome != engine.OutcomeLost:
			return fateAwait
		case a.HasResult:
			return m.judgeDisposition(ev, a)
		}
	}
	if f := closedFate(p.ClosedAs); f != fateNone && a.Outcome == engine.OutcomeCancelled {
		return f
	}
	used := m.C.Used
	if a.Consumed {
		used++
	}
	if listed(p.RetryOnSystem, a.Outcome) && used < m.ceiling(p) && m.redialRules(p, a) {
		if f := closedFate(p.ClosedAs); f != fateNone {
			return f
		}
		if _, ok := p.clip(ev.At); ok {
			return fateRetry
		}
		return fateClosed
	}
	if a.Outcome == engine.OutcomeMachine {
		return fateMachine
	}
	return fateNone
}

func (m *Machine) judgeResult(ev Event) fate {
	a := ev.Attempt
	switch {
	case m.C.Attempt != "":
		return fateBusy
	case m.C.ExcludeAfterCall:
		return fateExcluded
	}
	return m.judgeDisposition(ev, a)
}

// judgeDisposition: what a stored result asks for.
func (m *Machine) judgeDisposition(ev Event, a *Attempt) fate {
	p := &ev.Policy
	if p.ClosedAs != "" {
		return fateCompleted
	}
	if a.Callback != nil && p.Callbacks {
		if _, ok := callbackTime(ev.At, p, a.Callback); ok {
			return fateCallback
		}
	}
	used := m.C.Used
	if ev.Kind == Attempted && a.Consumed {
		used++
	}
	if listedCustom(p.RetryOnCustom, a.Disposition) && used < m.ceiling(p) && m.redialRules(p, a) {
		if _, ok := p.clip(ev.At); ok {
			return fateRedial
		}
	}
	return fateCompleted
}

// ceiling is Max Attempts, one more for a callback that was granted.
func (m *Machine) ceiling(p *Policy) int { return p.MaxAttempts }

// redialRules are Stop Redials After and Redial Only Under; Stop wins.
func (m *Machine) redialRules(p *Policy, a *Attempt) bool {
	if !a.Connected {
		return true
	}
	if p.StopRedialsAfter > 0 && a.Talk >= p.StopRedialsAfter {
		return false
	}
	if p.RedialOnlyUnder > 0 && a.Talk >= p.RedialOnlyUnder {
		return false
	}
	return true
}

func (m *Machine) lastTalk(ev Event) *Attempt {
	if ev.Attempt != nil {
		return ev.Attempt
	}
	return &Attempt{Connected: true}
}

func (m *Machine) mayRedial(ev Event, a *Attempt) bool {
	p := &ev.Policy
	if p.ClosedAs != "" || m.C.Used >= m.ceiling(p) || !m.redialRules(p, a) {
		return false
	}
	_, ok := p.clip(ev.At)
	return ok
}

func closedFate(s State) fate {
	switch s {
	case ManuallyStopped:
		return fateStopped
	case WindowClosed:
		return fateClosed
	}
	return fateNone
}

func listed(list []engine.Outcome, o engine.Outcome) bool { return slices.Contains(list, o) }

// listedCustom compares dispositions trimmed and without regard to case.
func listedCustom(list []string, disposition string) bool {
	d := strings.TrimSpace(disposition)
	return d != "" && slices.ContainsFunc(list, func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), d)
	})
}

// callbackTime clips a wish into the window; ok is false beyond the horizon or
// when the window never opens again before.
func callbackTime(now time.Time, p *Policy, w *CallbackWish) (time.Time, bool) {
	t := now.Add(p.RetryDelay)
	if w.At != nil {
		t = *w.At
	}
	if t.Before(now) {
		t = now
	}
	if t.After(now.Add(CallbackHorizon)) {
		return time.Time{}, false
	}
	return p.clip(t)
}
