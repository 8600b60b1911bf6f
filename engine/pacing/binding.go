package pacing

import (
	"time"

	"dialler/engine"
)

const (
	// BindingSpan is the time over which what bound is told, by whole seconds: one decision is an instant,
	// and says little.
	BindingSpan = 10 * time.Second
	// bindingStill is how long an answer stands, so that it can be read. An outage, and
	// what an operator or the clock decides, is told at once.
	bindingStill = 3 * time.Second

	bindingStep  = time.Second
	bindingSteps = int64(BindingSpan / bindingStep)
)

// Binding keeps what bound a campaign's dials over the last BindingSpan, by the share of
// that time: the answer to "why is it not dialling (more)?" (SEMANTICS §6). Like Brake
// it runs on the boot clock.
type Binding struct {
	Now   engine.Constraint // since At
	At    engine.BootTime
	Begun bool
	Steps [bindingSteps]BindingStep

	Told   engine.Constraint
	ToldAt engine.BootTime // when that was told first, 0: nothing was
}

// BindingStep is one step of time.
type BindingStep struct {
	N  int64                                 // of the step, from the boot on
	By [engine.ConstraintCount]time.Duration // how long each constraint bound, by its Index
}

// Note takes a decision in.
func (b *Binding) Note(at engine.BootTime, c engine.Constraint) {
	if b.Begun && at > b.At {
		b.add(b.At, at, b.Now.Index())
	}
	b.Now, b.At, b.Begun = c, at, true
}

func (b *Binding) add(from, to engine.BootTime, i int) {
	from = max(from, to-engine.BootTime(BindingSpan))
	for from < to {
		n := int64(from) / int64(bindingStep)
		end := min(to, engine.BootTime((n+1)*int64(bindingStep)))
		s := &b.Steps[n%bindingSteps]
		if s.N != n {
			*s = BindingStep{N: n}
		}
		s.By[i] += time.Duration(end - from)
		from = end
	}
}

// Immediate: it holds whatever was before, and nobody waits to hear of it: an
// operator's or the clock's decision, or an outage.
func Immediate(c engine.Constraint) bool {
	switch c {
	case engine.ConstraintPaused, engine.ConstraintWindow, engine.ConstraintDatabase, engine.ConstraintNodeDraining,
		engine.ConstraintNodeFenced, engine.ConstraintKeeperAway, engine.ConstraintTrunkHealth, engine.ConstraintOverload:
		return true
	case engine.ConstraintNone, engine.ConstraintConcurrency, engine.ConstraintSeats, engine.ConstraintAbandonCredit,
		engine.ConstraintTrunkCPS, engine.ConstraintTrunkChannels, engine.ConstraintNumberPool,
		engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
	}
	return false
}

// Tell says what bound for most of the last BindingSpan, and its share of it; since is
// when it was told first. An outage, ConstraintNone when there is none, wins.
func (b *Binding) Tell(at engine.BootTime, outage engine.Constraint) (c engine.Constraint, share float64,
	since engine.BootTime) {
	b.Note(at, b.Now)
	var by [engine.ConstraintCount]time.Duration
	var all time.Duration
	for i := range b.Steps {
		if s := &b.Steps[i]; s.N > int64(at)/int64(bindingStep)-bindingSteps {
			for k, d := range s.By {
				if c := engine.ConstraintAt(k); c == b.Now || !Immediate(c) { // what is over, is over
					by[k] += d
					all += d
				}
			}
		}
	}
	most := b.Now.Index() // a tie, and the first moment, is the present one's
	for k := range by {
		if by[k] > by[most] {
			most = k
		}
	}
	c = engine.ConstraintAt(most)
	if outage == engine.ConstraintNone && Immediate(b.Now) {
		outage = b.Now
	}
	if outage != engine.ConstraintNone {
		c = outage
	}
	if c != b.Told && (b.ToldAt == 0 || outage != engine.ConstraintNone || at-b.ToldAt >= engine.BootTime(bindingStill)) {
		b.Told, b.ToldAt = c, max(at, 1)
	}
	share = 1
	if all > 0 && outage == engine.ConstraintNone {
		share = float64(by[b.Told.Index()]) / float64(all)
	}
	return b.Told, share, b.ToldAt
}
