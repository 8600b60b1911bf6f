package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/pacing"
)

// Pace is what the run stores for engine/pacing: its ledgers, its last decision, and why a
// reservation was refused.
type Pace struct {
	Books pacing.Books
	Hours pacing.Hours // for the rates that are shown without a guarantee
	Begun bool
	Last  pacing.Decision

	Held      engine.Constraint // a reservation was refused for this …
	HeldUntil time.Time         // … and is not worth repeating before
	// Model is told what happens to lines and seats; nil until the first decision.
	Model *pacing.Model
	// Learnt is what an earlier instance had learnt, as a start for the model; KeptAt is when it
	// was last stored.
	Learnt  *pacing.State
	KeptAt  time.Time
	Brake   pacing.Brake
	Proof   pacing.Proof // of the bot
	Binding pacing.Binding
	// ToldAt is since when the constraint has been shown, ToldSince the same by the wall clock.
	ToldAt    engine.BootTime
	ToldSince time.Time
	Pulses    Pulses
	// Batch is how many contacts the next round requests: a trunk at its cap has only a few tokens
	// at a time.
	Batch int

	ledgers []pacing.Ledger `snapshot:"-"` // reusable buffer for a decision's ledgers
}

func (p *Pace) restore(l *Ledgers, learnt *pacing.State, now time.Time) {
	p.Books, p.Hours, p.Begun, p.Learnt, p.KeptAt = l.Books, l.Hours, true, learnt, now
}

// holdDefault is how long a refusal without a time holds: until a call ends somewhere, which the
// next decision will see.
const holdDefault = 250 * time.Millisecond

// holdLeast is the least time between two rounds of which the first was refused: a trunk makes up
// for no more lateness than that, and the tokens of a round that waited share its cost.
const holdLeast = 10 * time.Millisecond

// holdMost limits how long a refusal holds, except one of the number pool: a trunk may be edited,
// or recover, before the time it gave.
const holdMost = time.Second

// hold notes why a reservation got less than it asked for.
func (p *Pace) hold(c engine.Constraint, until, now time.Time) {
	if until.IsZero() {
		until = now.Add(holdDefault)
	}
	if most := now.Add(holdMost); c != engine.ConstraintNumberPool && until.After(most) {
		until = most
	}
	if least := now.Add(holdLeast); until.Before(least) {
		until = least
	}
	p.Held, p.HeldUntil = c, until
}

// poolChanged lifts a hold by the number pool: a number may have become usable.
func (p *Pace) poolChanged() {
	if p.Held == engine.ConstraintNumberPool {
		p.Held = engine.ConstraintNone
	}
}

// granted adapts the batch size to the result of a round's reservations.
func (p *Pace) granted(asked, got int) {
	if got < asked {
		p.Batch = max(got+1, roundLeast)
		return
	}
	p.Batch = min(2*max(p.Batch, roundLeast), roundCap)
}

// Pulses are what the run knows by the messages that it sends itself.
type Pulses struct {
	Sent     engine.BootTime // when the last pulse was sent
	OnItsWay bool
	Took     time.Duration
	CheckAt  engine.BootTime // when the run checks the brake again
}
