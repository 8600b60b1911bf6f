package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// Pace is what the run keeps for engine/pacing: its ledgers, its last decision, and
// what a reservation was refused for.
type Pace struct {
	Books pacing.Books
	Hours pacing.Hours // for the rates that are shown and not guaranteed
	Begun bool
	Last  pacing.Decision

	Held      engine.Constraint // a reservation was refused for this …
	HeldUntil time.Time         // … and is not worth repeating before
	// Model is told what happens to lines and seats; nil until the first decision.
	Model *pacing.Model
	// Learnt is what an earlier life knew, for the model to begin with; KeptAt when it
	// was last stored.
	Learnt  *pacing.State
	KeptAt  time.Time
	Brake   pacing.Brake
	Proof   pacing.Proof // of the bot
	Binding pacing.Binding
	// ToldAt is since when what bound is told, ToldSince the same by the wall clock.
	ToldAt    engine.BootTime
	ToldSince time.Time
	Pulses    Pulses
	// Batch is how many contacts the next round asks for: what a trunk at its cap has
	// to give is a few tokens at a time.
	Batch int

	ledgers []pacing.Ledger `snapshot:"-"` // room for those of a decision
}

// Ledgers are what the attempts of earlier lives say.
type Ledgers struct {
	Books pacing.Books
	Hours pacing.Hours
}

func (p *Pace) restore(l *Ledgers, learnt *pacing.State, now time.Time) {
	p.Books, p.Hours, p.Begun, p.Learnt, p.KeptAt = l.Books, l.Hours, true, learnt, now
}

// holdDefault is how long a refusal without a time stands: until a call ends
// somewhere, which the next look will see.
const holdDefault = 250 * time.Millisecond

// keepEvery is how often what pacing has learnt is stored. A crash loses so
// much of it at most, and no more than that: the abandons that the cap is about
// are counted again from the attempts.
const keepEvery = 30 * time.Second

// keepPacing stores what pacing has learnt since the last time.
func (s *State) keepPacing() {
	p := &s.Pace
	if p.Model == nil || s.now.Sub(p.KeptAt) < keepEvery || !s.Rates.LastDial().After(p.KeptAt) {
		return
	}
	p.KeptAt = s.now
	s.emit(SavePacing{s.M.C.Epoch, p.Model.State()})
}

// holdLeast is the least time between two rounds of which the first was
// refused: a trunk makes good what comes late by no more than that, and the
// tokens of a round that waited share its cost.
const holdLeast = 10 * time.Millisecond

// holdMost is how long a refusal stands but for that of the number pool: a trunk
// may be edited, or come back, before the time that it gave.
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

// poolChanged: a number may be used that could not.
func (p *Pace) poolChanged() {
	if p.Held == engine.ConstraintNumberPool {
		p.Held = engine.ConstraintNone
	}
}

// granted learns from what became of a round's reservations.
func (p *Pace) granted(asked, got int) {
	if got < asked {
		p.Batch = max(got+1, roundLeast)
		return
	}
	p.Batch = min(2*max(p.Batch, roundLeast), roundCap)
}

// lead is how long a line reserved now may take until it is over for the rate:
// its INVITE waits for the intent, it rings, it is listened to, and its answer
// waits for the bot.
func lead(s *campaign.Settings, sendWithin time.Duration) time.Duration {
	return sendWithin + ringing(s) + attempt.BridgeBudget + time.Second
}

// ringing is how long a line may take until it wants a seat: with sequential
// classification it is listened to first.
func ringing(s *campaign.Settings) time.Duration {
	d := time.Duration(s.RingTimeoutSec) * time.Second
	if s.AMD == engine.AMDSequential {
		d += attempt.ScreenLimit
	}
	return d
}

// forecaster is the model of the campaign as it is set; what an earlier one has
// learnt of its people stays.
func (s *State) forecaster() *pacing.Model {
	p, ring := &s.Pace, ringing(&s.M.C.Settings)
	if p.Model == nil || p.Model.Ring() != ring {
		state := p.Learnt
		if p.Model != nil {
			s := p.Model.State()
			state = &s
		}
		p.Model = pacing.NewModel(s.now, ring, attempt.BridgeBudget, state)
	}
	return p.Model
}

// left is the time until dialling ends for today: the window closes, or the
// day's ledger does.
func (s *State) left() time.Duration {
	end := s.WindowEnds
	if day := s.Pace.Books.Day.Until; s.Pace.Begun && (end.IsZero() || day.Before(end)) {
		end = day
	}
	if end.IsZero() {
		return 0
	}
	return max(end.Sub(s.now), 0)
}

// decide asks engine/pacing how many dials to place now.
func (s *State) decide() pacing.Decision {
	c := &s.M.C.Settings
	p := &s.Pace
	p.ledgers = p.Books.Active(s.now, lead(c, s.Config.SendBy), p.ledgers[:0])
	in := pacing.Input{
		Mode:     pacing.Mode(c.PacingMode),
		Paused:   s.M.C.State != campaign.Running,
		Draining: s.proc.Draining() || s.now.Before(s.LeavesUntil), DatabaseAway: s.proc.DatabaseAway(),
		Fenced: s.proc.Fenced(), KeeperAway: s.keeperAway(),
		Overload:      !p.Brake.Admits(s.late()),
		OutsideWindow: !s.windowOpen(),
		Concurrency:   c.Concurrency, Seats: min(s.Seats, s.SeatTarget), Busy: s.Busy, Ringing: s.flying(),
		Waiting: len(s.Waiting),
		CapPPM:  c.AbandonCapPPM, PhiPPM: c.FalsePositivePPM, Ledgers: p.ledgers, LineCap: c.MaxLines,
		TrunkTokens: pacing.Unlimited, NumberSlots: pacing.Unlimited,
		Held: s.Held, Proof: p.Proof, Unserved: s.Phases[phaseIndex(attempt.PhaseWaiting)] - len(s.Waiting),
		Sockets: s.hasSockets(), Standing: s.Standing, Bare: s.Bare, Withdrawn: s.Withdrawn,
		Kept:        s.socketSeats(),
		DueContacts: s.Queue.Len() + len(s.Triggers), SeatedOnly: s.Queue.SeatedOnly(),
		Model: s.forecaster(), DialsLeft: s.Tally.C.RetriesLeft + len(s.Triggers),
	}
	in.Left = s.left() // after windowOpen, which finds the window's end
	_, in.LaterContacts = s.ahead()
	if p.Held != engine.ConstraintNone {
		if s.now.Before(p.HeldUntil) {
			if p.Held == engine.ConstraintNumberPool {
				in.NumberSlots = 0
			} else {
				in.TrunkTokens, in.TrunkConstraint = 0, p.Held
			}
		} else {
			p.Held = engine.ConstraintNone
		}
	}
	p.Last = pacing.Decide(&in)
	if !s.unknown(p.Last.Constraint) {
		p.Binding.Note(s.boot, p.Last.Constraint)
	}
	return p.Last
}

// unknown: that nobody is due, or that there is no seat, is not known before the answer.
func (s *State) unknown(c engine.Constraint) bool {
	switch c { //nolint:exhaustive // the others are known
	case engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
		return s.Reading || s.NextDue == nil
	case engine.ConstraintSeats:
		return s.Seats == 0 && s.DemandOpen != 0 && s.Outage == nil && s.Answered == 0
	}
	return false
}

// ahead counts the contacts that are in line for their first attempt, and for another one.
func (s *State) ahead() (first, retries int) {
	for i := range s.Tally.C.Passes {
		if p := &s.Tally.C.Passes[i]; p.Number == 1 {
			first += p.Waiting
		} else {
			retries += p.Waiting
		}
	}
	return first, retries
}

// beginLedger starts a new ledger for the run: what an earlier run served earns the
// next one no credit.
func (s *State) beginLedger() {
	s.roll() // a draft does not tick
	s.Pace.Books.Begin(s.now)
}

func (s *State) roll() {
	c := &s.M.C
	if s.Pace.Begun {
		s.Pace.Books.Roll(s.now, campaign.NextMidnight(c, s.now))
	}
}

// The model hears of a line when it is placed, when it wants a seat, or when it
// ends without, and of every seat that is taken and given back.

func (s *State) modelLine(l *Line, p attempt.Phase) {
	m := s.Pace.Model
	if m == nil || l.Held {
		return
	}
	switch p {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
		if l.DialledAt.IsZero() {
			l.DialledAt = s.now
			m.Dialled(s.now)
		}
		return
	case attempt.PhaseWaiting:
		if !l.DialledAt.IsZero() {
			m.Answered(s.now, s.now.Sub(l.DialledAt))
		}
	case attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver:
		if !l.DialledAt.IsZero() {
			m.Failed(s.now, s.now.Sub(l.DialledAt))
		}
	}
	l.DialledAt = time.Time{}
}

func (s *State) modelSeat(l *Line, taken bool) {
	m := s.Pace.Model
	switch {
	case m == nil:
	case taken:
		l.SeatedAt = s.now
		m.Seated(s.now)
	case !l.SeatedAt.IsZero():
		m.Ended(s.now, s.now.Sub(l.SeatedAt))
		l.SeatedAt = time.Time{}
	}
}

// modelAnswer tells what an answered call came to.
func (s *State) modelAnswer(abandoned bool) {
	switch m := s.Pace.Model; {
	case m == nil:
	case abandoned:
		m.Abandoned()
	default:
		m.Served()
	}
}

// countMachine counts a call that classification took off as no person.
func (s *State) countMachine(l *Line) {
	if l.Machine || l.Counted {
		return
	}
	l.Machine = true
	s.Pace.Books.Machine()
	s.Pace.Hours.Count(s.now, pacing.Counts{Machines: 1})
	if s.Pace.Model != nil {
		s.Pace.Model.Machine()
	}
}
