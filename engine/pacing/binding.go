package pacing

import (
	"time"

	"dialler/engine"
)

const (
	// BindingSpan is the period over which the binding constraint is determined, in whole seconds:
	// a single decision is only a snapshot.
	BindingSpan = 10 * time.Second
	// bindingStill is how long an answer stays, so that it can be read. An outage is shown at once,
	// and until it has been over for this long; an outage of the trunks while nobody is to be
	// dialled ends at once, and so does a decision of an operator or the clock.
	bindingStill = 3 * time.Second
	// brakedLeast is the fraction of BindingSpan from which the brake counts as an outage: it goes
	// on and off several times a second.
	brakedLeast = 5

	bindingStep  = time.Second
	bindingSteps = int64(BindingSpan / bindingStep)
)

// Binding records which constraints bound a campaign's dials over the last BindingSpan, by share of
// time: the answer to "why is it not dialling (more)?" (SEMANTICS §6). Like Brake it uses the boot
// clock.
type Binding struct {
	Now   engine.Constraint // since At
	At    engine.BootTime
	Begun bool
	Steps [bindingSteps]BindingStep

	Told   engine.Constraint
	ToldAt engine.BootTime   // when that was first shown, 0 means never
	Out    engine.Constraint // the outage shown, ConstraintNone if there is none
	OutAt  engine.BootTime   // when it last existed
	// BrakedAt is when the brake was last on.
	BrakedAt engine.BootTime
}

// BindingStep is one step of time.
type BindingStep struct {
	N  int64                                 // of the step, counted from boot
	By [engine.ConstraintCount]time.Duration // how long each constraint bound, by its Index
}

// Note records a decision.
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

// Immediate says that a constraint is shown at once, regardless of earlier ones: a decision of an
// operator or the clock, or an outage.
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

// decided says that a constraint is a decision of an operator or the clock.
func decided(c engine.Constraint) bool {
	return c == engine.ConstraintPaused || c == engine.ConstraintWindow || c == engine.ConstraintNodeDraining
}

// resting says that nobody is to be dialled now.
func resting(c engine.Constraint) bool {
	return c == engine.ConstraintRetryDelay || c == engine.ConstraintNoDueContacts
}

// Tell returns the constraint that bound for most of the last BindingSpan, and its share; since is
// when it was first shown. An outage takes precedence; ConstraintNone means that there is none.
func (b *Binding) Tell(at engine.BootTime, outage engine.Constraint) (c engine.Constraint, share float64,
	since engine.BootTime) {
	b.Note(at, b.Now)
	by, all, braked := b.shares(at)
	most := b.Now.Index() // the current one wins a tie, and at the first moment
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
		return engine.ConstraintNone, 1, max(at, 1) // a bucket is briefly empty when a campaign begins
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

// shares are how long each constraint bound recently, and the brake. Immediate constraints that are
// over are left out.
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
