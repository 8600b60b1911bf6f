// Package redial says when, and whether, somebody is dialled again after an attempt
// (SEMANTICS §4). It must not know contacts, callbacks or windows: a contact's machine
// asks it, and clips the time that it gives into the window.
//
// The order of the rules: do_not_call and a meaningful conversation stop everything;
// a short conversation is redialled whatever came of it; otherwise a list decides, Retry
// On Custom where there is a result and Retry On System where there is none.
package redial

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// Rule is what a campaign says of redials.
type Rule struct {
	Delay    time.Duration    // Retry Delay
	OnSystem []engine.Outcome // Retry On System
	OnCustom []string         // Retry On Custom: dispositions, compared trimmed and without regard to case
	// StopAfter: a conversation at least that long makes the contact final for the
	// run. OnlyUnder: one shorter than that is redialled. 0: the rule is off.
	StopAfter, OnlyUnder time.Duration
}

// Attempt is what the rule needs to know of one that has ended.
type Attempt struct {
	Outcome     engine.Outcome
	HasResult   bool // then its disposition counts, not the outcome
	Disposition string
	DoNotCall   bool
	Connected   bool
	Talk        time.Duration // of its conversation
	Longest     time.Duration // of the conversations before it in the run
}

// Again says whether the attempt is followed by another, attempts and callbacks aside.
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

// Meaningful says whether this conversation, or one before it in the run, was at least
// as long as Stop Redials After.
func (r *Rule) Meaningful(a Attempt) bool {
	longest := a.Longest
	if a.Connected {
		longest = max(longest, a.Talk)
	}
	return r.StopAfter > 0 && longest >= r.StopAfter
}

// At is when an attempt that ended is followed by the next, the window aside: after
// Retry Delay, or what the network asked for where that is longer.
func (r *Rule) At(ended time.Time, retryAfter time.Duration) time.Time {
	return ended.Add(max(r.Delay, retryAfter))
}

// listed compares dispositions trimmed and without regard to case.
func listed(list []string, disposition string) bool {
	d := strings.TrimSpace(disposition)
	return d != "" && slices.ContainsFunc(list, func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), d)
	})
}

// DefaultOnSystem fills a Retry On System that was omitted; an empty one stays empty
// and redials no consumed attempt.
func DefaultOnSystem() (list []engine.Outcome) {
	for _, r := range engine.OutcomeRows {
		if r.Redial == engine.RedialDefault {
			list = append(list, r.Outcome)
		}
	}
	return list
}

// Listable says whether an outcome may stand in Retry On System.
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
