package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// pace is the run's side of engine/pacing: its ledgers, its last decision, and
// what a reservation was refused for.
type pace struct {
	books pacing.Books
	hours pacing.Hours // for the rates that are shown and not guaranteed
	begun bool
	last  pacing.Decision

	held      engine.Constraint // a reservation was refused for this …
	heldUntil time.Time         // … and is not worth repeating before
	ledgers   []pacing.Ledger
	// model is told what happens to lines and seats; nil until the first
	// decision of a running campaign.
	model *pacing.Model
	// learnt is what an earlier life of the campaign's actors knew, for the model
	// to begin with; keptAt when it was last stored.
	learnt *pacing.State
	keptAt time.Time
	brake  pacing.Brake
	pulse  pulsing
	// batch is how many contacts the next round asks for: what a trunk at its
	// cap has to give is a few tokens at a time.
	batch int
}

// holdDefault is how long a refusal without a time stands: until a call ends
// somewhere, which the next look will see.
const holdDefault = 250 * time.Millisecond

func (p *pace) restore(l *ledgers, learnt *pacing.State, now time.Time) {
	p.books, p.hours, p.begun, p.learnt, p.keptAt = l.books, l.hours, true, learnt, now
}

// ledgers are what the attempts of earlier lives say.
type ledgers struct {
	books pacing.Books
	hours pacing.Hours
}

// keepEvery is how often what pacing has learnt is stored. A crash loses so
// much of it at most, and no more than that: the abandons that the cap is about
// are counted anew from the attempts.
const keepEvery = 30 * time.Second

// keepPacing stores what pacing has learnt since the last time.
func (r *run) keepPacing() {
	p := &r.pace
	if p.model == nil || r.now.Sub(p.keptAt) < keepEvery || !r.live.LastDial().After(p.keptAt) {
		return
	}
	p.keptAt = r.now
	d, id, epoch, state, now := r.d, r.id, r.m.C.Epoch, p.model.State(), r.now
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		if err := d.store.SavePacing(ctx, id, epoch, state, now); err != nil && !passes(err) {
			d.log.Warn().Err(err).Str("campaign_id", string(id)).Msg("what pacing has learnt was not stored; it is tried again")
		}
	}()
}

// loadLedgers reads the counts of the guaranteed periods, and those by the hour.
func loadLedgers(ctx context.Context, s Store, c *campaign.Campaign, now time.Time) (l ledgers, err error) {
	l.books, err = campaign.Books(c, now, func(since time.Time) (pacing.Counts, error) { return s.AbandonLedger(ctx, c.ID, since) })
	if err != nil || c.StartedAt == nil {
		return l, err
	}
	hours, err := s.AbandonHours(ctx, c.ID, now.Add(-pacing.ThirtyDays))
	for hour, c := range hours {
		l.hours.Put(hour, c)
	}
	return l, err
}

// holdLeast is the least time between two rounds of which the first was
// refused: a trunk makes good what comes late by no more than that, and the
// tokens of a round that waited share its cost.
const holdLeast = 10 * time.Millisecond

// holdMost is how long a refusal stands but for that of the number pool: a trunk
// may be edited, or come back, before the time that it gave.
const holdMost = time.Second

// hold notes why a reservation got less than it asked for.
func (p *pace) hold(c engine.Constraint, until, now time.Time) {
	if until.IsZero() {
		until = now.Add(holdDefault)
	}
	if most := now.Add(holdMost); c != engine.ConstraintNumberPool && until.After(most) {
		until = most
	}
	if least := now.Add(holdLeast); until.Before(least) {
		until = least
	}
	p.held, p.heldUntil = c, until
}

// poolChanged: a number may be used that could not.
func (p *pace) poolChanged() {
	if p.held == engine.ConstraintNumberPool {
		p.held = engine.ConstraintNone
	}
}

// granted learns from what became of a round's reservations.
func (p *pace) granted(asked, got int) {
	if got < asked {
		p.batch = max(got+1, roundLeast)
		return
	}
	p.batch = min(2*max(p.batch, roundLeast), roundCap)
}

func (p *pace) explain() string {
	if p.last.Constraint == engine.ConstraintOverload {
		return p.brake.String()
	}
	if p.held != engine.ConstraintNone && p.last.Constraint == p.held {
		return string(p.held) + ": " + p.last.Why.String()
	}
	return p.last.Why.String()
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
func (r *run) forecaster() *pacing.Model {
	p, ring := &r.pace, ringing(&r.m.C.Settings)
	if p.model == nil || p.model.Ring() != ring {
		state := p.learnt
		if p.model != nil {
			s := p.model.State()
			state = &s
		}
		p.model = pacing.NewModel(r.now, ring, attempt.BridgeBudget, state)
	}
	return p.model
}

// left is the time until dialling ends for today: the window closes, or the
// day's ledger does.
func (r *run) left() time.Duration {
	end := r.windowEnds
	if day := r.pace.books.Day.Until; r.pace.begun && (end.IsZero() || day.Before(end)) {
		end = day
	}
	if end.IsZero() {
		return 0
	}
	return max(end.Sub(r.now), 0)
}

// decide asks engine/pacing how many dials to place now.
func (r *run) decide() pacing.Decision {
	s := &r.m.C.Settings
	p := &r.pace
	p.ledgers = p.books.Active(r.now, lead(s, r.d.cfg.SendByTimeout), p.ledgers[:0])
	in := pacing.Input{
		Mode:     pacing.Mode(s.PacingMode),
		Paused:   r.m.C.State != campaign.Running,
		Draining: r.d.draining.Load() || r.now.Before(r.leavesUntil), DatabaseAway: r.d.dbDown.Load(), Fenced: r.d.fenced(), KeeperAway: r.keeperAway(),
		Overload:      !p.brake.Admits(r.d.clock.Boot(), r.late()),
		OutsideWindow: !r.windowOpen(),
		Concurrency:   s.Concurrency, Seats: min(r.seats, r.seatTarget), Busy: r.busy, Ringing: r.flying(), Waiting: len(r.waiting),
		CapPPM: s.AbandonCapPPM, PhiPPM: s.FalsePositivePPM, Ledgers: p.ledgers, LineCap: s.MaxLines,
		TrunkTokens: pacing.Unlimited, NumberSlots: pacing.Unlimited,
		Held: r.held, DueContacts: r.queue.Len() + len(r.triggers), SeatedOnly: r.queue.Aside(),
		Model: r.forecaster(), DialsLeft: r.tally.C.RetriesLeft + len(r.triggers),
	}
	in.Left = r.left() // after windowOpen, which finds the window's end
	if r.nextDue != nil && r.openRows > 0 {
		in.LaterContacts = r.openRows
	}
	if p.held != engine.ConstraintNone {
		if r.now.Before(p.heldUntil) {
			if p.held == engine.ConstraintNumberPool {
				in.NumberSlots = 0
			} else {
				in.TrunkTokens, in.TrunkConstraint = 0, p.held
			}
		} else {
			p.held = engine.ConstraintNone
		}
	}
	p.last = pacing.Decide(&in)
	return p.last
}

// beginLedger starts the run's ledger anew: what an earlier run served earns the
// next one no credit.
func (r *run) beginLedger() {
	r.roll() // a draft does not tick
	r.pace.books.Begin(r.now)
}

func (r *run) roll() {
	c := &r.m.C
	if r.pace.begun {
		r.pace.books.Roll(r.now, campaign.NextMidnight(c, r.now))
	}
}

// The model hears of a line when it is placed, when it wants a seat, or when it
// ends without, and of every seat that is taken and given back.

func (r *run) modelLine(l *line, p attempt.Phase) {
	m := r.pace.model
	if m == nil || l.held {
		return
	}
	switch p {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
		if l.dialledAt.IsZero() {
			l.dialledAt = r.now
			m.Dialled(r.now)
		}
		return
	case attempt.PhaseWaiting:
		if !l.dialledAt.IsZero() {
			m.Answered(r.now, r.now.Sub(l.dialledAt))
		}
	case attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver:
		if !l.dialledAt.IsZero() {
			m.Failed(r.now, r.now.Sub(l.dialledAt))
		}
	}
	l.dialledAt = time.Time{}
}

func (r *run) modelSeat(l *line, taken bool) {
	m := r.pace.model
	switch {
	case m == nil:
	case taken:
		l.seatedAt = r.now
		m.Seated(r.now)
	case !l.seatedAt.IsZero():
		m.Ended(r.now, r.now.Sub(l.seatedAt))
		l.seatedAt = time.Time{}
	}
}

// modelAnswer tells what an answered call came to.
func (r *run) modelAnswer(abandoned bool) {
	switch m := r.pace.model; {
	case m == nil:
	case abandoned:
		m.Abandoned()
	default:
		m.Served()
	}
}

// machine counts a call that classification took off as no person.
func (r *run) machine(l *line) {
	if l.machine || l.counted {
		return
	}
	l.machine = true
	r.pace.books.Machine()
	r.pace.hours.Count(r.now, pacing.Counts{Machines: 1})
	if r.pace.model != nil {
		r.pace.model.Machine()
	}
}
