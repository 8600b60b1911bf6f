package pacing

import (
	"time"

	"dialler/engine"
)

const (
	// BindingSpan is the time over which what bound is told, by whole seconds: one decision is an instant,
	// and says little.
	BindingSpan = 10 * time.Second
	// bindingStill is how long an answer stands, so that it can be read. An outage is told at
	// once, and until it has been over for so long; one of the trunks, where nobody is to be
	// dialled now, ends at once, and so does what an operator or the clock decides.
	bindingStill = 3 * time.Second
	// brakedLeast is the part of BindingSpan from which on the brake is called an outage: it
	// comes and goes several times a second.
	brakedLeast = 5

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
	ToldAt engine.BootTime   // when that was told first, 0: nothing was
	Out    engine.Constraint // the outage that is told, ConstraintNone: none is
	OutAt  engine.BootTime   // when it was there last
	// BrakedAt is when the brake was on last.
	BrakedAt engine.BootTime
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
	if b.Now == engine.ConstraintOverload || c == engine.ConstraintOverload {
		b.BrakedAt = at
	}
	if b.Out != engine.ConstraintNone && b.Now == b.Out {
		b.OutAt = at
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
	switch c { //nolint:exhaustive // the others wait for their share
	case engine.ConstraintDatabase,
		engine.ConstraintNodeFenced,
		engine.ConstraintKeeperAway,
		engine.ConstraintTrunkHealth:
		return true
	}
	return decided(c)
}

// decided: by an operator or by the clock.
func decided(c engine.Constraint) bool {
	return c == engine.ConstraintPaused || c == engine.ConstraintWindow || c == engine.ConstraintNodeDraining
}

// resting: nobody is to be dialled now.
func resting(c engine.Constraint) bool {
	return c == engine.ConstraintRetryDelay || c == engine.ConstraintNoDueContacts
}

// Tell says what bound for most of the last BindingSpan, and its share of it; since is
// when it was told first. An outage, ConstraintNone when there is none, wins.
func (b *Binding) Tell(at engine.BootTime, outage engine.Constraint) (c engine.Constraint, share float64,
	since engine.BootTime) {
	b.Note(at, b.Now)
	by, all, braked := b.shares(at)
	most := b.Now.Index() // a tie, and the first moment, is the present one's
	for k := range by {
		if by[k] > by[most] {
			most = k
		}
	}
	c = engine.ConstraintAt(most)
	seen := at
	if outage == engine.ConstraintNone && Immediate(b.Now) {
		outage = b.Now
	}
	if outage == engine.ConstraintNone && b.BrakedAt != 0 && at-b.BrakedAt < engine.BootTime(bindingStill) &&
		braked*brakedLeast >= all+braked {
		outage, seen = engine.ConstraintOverload, b.BrakedAt
	}
	over := false
	switch {
	case decided(outage):
		b.Out = engine.ConstraintNone
	case outage != engine.ConstraintNone:
		b.Out, b.OutAt = outage, seen
	case b.Out == engine.ConstraintNone:
	case b.Out == engine.ConstraintTrunkHealth && resting(b.Now):
		over, b.Out = b.Told == b.Out, engine.ConstraintNone
	case at-b.OutAt < engine.BootTime(bindingStill):
		outage = b.Out
	default:
		b.Out = engine.ConstraintNone
	}
	if outage != engine.ConstraintNone {
		c = outage
	}
	if b.ToldAt == 0 && c == engine.ConstraintTrunkCPS && all < bindingStep {
		return engine.ConstraintNone, 1, max(at, 1) // a bucket is empty for a moment when a campaign begins
	}
	if c != b.Told && (b.ToldAt == 0 || outage != engine.ConstraintNone || decided(b.Told) || over ||
		at-b.ToldAt >= engine.BootTime(bindingStill)) {
		b.Told, b.ToldAt = c, max(at, 1)
	}
	share = 1
	if all > 0 && outage == engine.ConstraintNone {
		share = float64(by[b.Told.Index()]) / float64(all)
	}
	return b.Told, share, b.ToldAt
}

// shares are how long each constraint bound recently, and the brake. What is immediate and
// over is left out.
func (b *Binding) shares(at engine.BootTime) (by [engine.ConstraintCount]time.Duration, all, braked time.Duration) {
	for i := range b.Steps {
		s := &b.Steps[i]
		if s.N <= int64(at)/int64(bindingStep)-bindingSteps {
			continue
		}
		for k, d := range s.By {
			switch c := engine.ConstraintAt(k); {
			case c == engine.ConstraintOverload:
				braked += d
			case c == b.Now || !Immediate(c):
				by[k] += d
				all += d
			}
		}
	}
	return by, all, braked
}
