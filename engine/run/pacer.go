package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// Pacer decides how many dials there may be now, has the bot's sockets stand for them, and
// says what holds the next one back.
type Pacer struct {
	Floor
	Reading     bool           // due contacts are being read
	NextDue     *time.Time     // when due contacts are read again
	DueNext     *time.Time     // when the next contact becomes due, as far as known
	LeavesUntil time.Time      // another node is taking over the campaign: nothing new is dialled until then
	LastTrunk   engine.TrunkID // that a line was granted
	// supplies are the trunks and numbers last reported.
	supplies *campaign.Supplies `snapshot:"-"`
}

// holdPace stops requesting what was refused until it is worth asking again, and wakes the run
// then.
func (s *Pacer) holdPace(c engine.Constraint, until time.Time) {
	s.Pace.hold(c, until, s.now)
	s.later(s.Pace.HeldUntil.Sub(s.now), &woken{})
}

// keepEvery is how often the learnt pacing state is stored. A crash loses at most that much: the
// abandons that the cap depends on are counted again from the attempts.
const keepEvery = 30 * time.Second

// keepPacing stores what pacing has learnt since the last save.
func (s *Pacer) keepPacing() {
	p := &s.Pace
	if p.Model == nil || s.now.Sub(p.KeptAt) < keepEvery || !s.Rates.LastDial().After(p.KeptAt) {
		return
	}
	p.KeptAt = s.now
	s.emit(SavePacing{s.M.C.Epoch, p.Model.State()})
}

// lead is how long a line reserved now can count towards the rate: its INVITE waits for the intent,
// it rings, it is listened to, and its answer waits for the bot.
func lead(s *campaign.Settings, sendWithin time.Duration) time.Duration {
	return sendWithin + ringing(s) + attempt.BridgeBudget + time.Second
}

// ringing is how long a line can take to want a seat: with sequential classification it is listened
// to first.
func ringing(s *campaign.Settings) time.Duration {
	d := time.Duration(s.RingTimeoutSec) * time.Second
	if s.AMD == engine.AMDSequential {
		d += attempt.ScreenLimit
	}
	return d
}

// forecaster is the model for the campaign's current settings; it inherits what an earlier model
// has learnt about the contacts.
func (s *Pacer) forecaster() *pacing.Model {
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

// left is the time until dialling ends for today: when the window closes, or when the day's ledger
// ends.
func (s *Pacer) left() time.Duration {
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
func (s *Pacer) decide() pacing.Decision {
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
	in.Left = s.left() // after windowOpen, which computes the window's end
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

// unknown says that "nobody is due" or "there is no seat" cannot be claimed before the answer has
// come.
func (s *Pacer) unknown(c engine.Constraint) bool {
	switch c { //nolint:exhaustive // the others are known
	case engine.ConstraintNoDueContacts, engine.ConstraintRetryDelay:
		return s.Reading || s.NextDue == nil
	case engine.ConstraintSeats:
		return s.Seats == 0 && s.DemandOpen != 0 && s.Outage == nil && s.Answered == 0
	}
	return false
}

// ahead counts the contacts that wait for their first attempt, and for a retry.
func (s *Record) ahead() (first, retries int) {
	for i := range s.Tally.C.Passes {
		if p := &s.Tally.C.Passes[i]; p.Number == 1 {
			first += p.Waiting
		} else {
			retries += p.Waiting
		}
	}
	return first, retries
}

// beginLedger starts a new ledger for the run: answers served in an earlier run earn no credit for
// the next.
func (s *Pacer) beginLedger() {
	s.roll() // a draft has no ticks
	s.Pace.Books.Begin(s.now)
}

func (s *Pacer) roll() {
	c := &s.M.C
	if s.Pace.Begun {
		s.Pace.Books.Roll(s.now, campaign.NextMidnight(c, s.now))
	}
}
