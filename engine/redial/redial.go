// Package redial decides whether a contact is dialled again after an attempt, and when (SEMANTICS
// §4) unless its campaign has a cadence (engine/cadence). It must not know contacts, callbacks or
// windows: a contact's machine calls it, and clips the resulting time into the window.
//
// The order of the rules: do_not_call and a meaningful conversation stop everything; a short
// conversation is redialled whatever its result; otherwise a list decides, Retry On Custom if there
// is a result and Retry On System if there is none.
package redial

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// Rule is a campaign's redial settings.
type Rule struct {
	Delay    time.Duration    // Retry Delay
	OnSystem []engine.Outcome // Retry On System
	OnCustom []string         // Retry On Custom: dispositions, compared trimmed and case-insensitively
	// StopAfter is the length from which a conversation makes the contact final for the run.
	// OnlyUnder is the length below which a conversation is redialled. 0 turns a rule off.
	StopAfter, OnlyUnder time.Duration
}

// Attempt is what the rule needs to know about an ended attempt.
type Attempt struct {
	Outcome     engine.Outcome
	HasResult   bool // its disposition then counts, not the outcome
	Disposition string
	DoNotCall   bool
	Connected   bool
	Talk        time.Duration // of its conversation
	Longest     time.Duration // of the earlier conversations in the run
}

// Again says whether another attempt follows, apart from the attempts left and callbacks.
func (r *Rule) Again(a Attempt) bool {
	switch {
	case a.DoNotCall || r.Meaningful(a):
		return false
	case a.Connected && a.Talk < r.OnlyUnder:
		return true
	case a.HasResult:
		return listed(r.OnCustom, a.Disposition)
	}
	return slices.Contains(r.OnSystem, a.Outcome)
}

// Meaningful says whether this conversation, or an earlier one in the run, was at least as long as
// Stop Redials After.
func (r *Rule) Meaningful(a Attempt) bool {
	longest := a.Longest
	if a.Connected {
		longest = max(longest, a.Talk)
	}
	return r.StopAfter > 0 && longest >= r.StopAfter
}

// At is when the next attempt follows one that ended, apart from the window: after Retry Delay, or
// after the wait that the network requested if that is longer.
func (r *Rule) At(ended time.Time, retryAfter time.Duration) time.Time {
	return ended.Add(max(r.Delay, retryAfter))
}

// listed compares dispositions trimmed and case-insensitively.
func listed(list []string, disposition string) bool {
	d := strings.TrimSpace(disposition)
	return d != "" && slices.ContainsFunc(list, func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), d)
	})
}

// DefaultOnSystem is the value of an omitted Retry On System; an empty one stays empty and redials
// no consumed attempt.
func DefaultOnSystem() (list []engine.Outcome) {
	for _, r := range engine.OutcomeRows {
		if r.Redial == engine.RedialDefault {
			list = append(list, r.Outcome)
		}
	}
	return list
}

// Listable says whether Retry On System may contain an outcome.
func Listable(o engine.Outcome) bool { return o.Row().Redial != engine.RedialNever }

// ListableOutcomes lists what Retry On System accepts, in the order of
// engine.Outcomes.
func ListableOutcomes() []engine.Outcome {
	var list []engine.Outcome
	for _, o := range engine.Outcomes {
		if Listable(o) {
			list = append(list, o)
		}
	}
	return list
}
