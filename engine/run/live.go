package run

import (
	"math"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// liveView is what the campaign does now, from the run's own state.
func (s *Pacer) liveView() *campaign.Live {
	now := s.now
	s.decide() // the constraint on the last dial may not be the current one
	v := &campaign.Live{
		Dialling: s.Phases[phaseIndex(attempt.PhaseDialling)], Ringing: s.Phases[phaseIndex(attempt.PhaseRinging)],
		Waiting: len(s.Waiting), InProgress: s.Phases[phaseIndex(attempt.PhaseServed)],
		Seats: s.seatCap(), FreeSeats: s.seatCap() - s.Busy, At: now,
		Credit: float64(s.Pace.Last.Why.Credit), CreditHeld: s.Pace.Last.Why.Held(),
		Ledgers: s.ledgerViews(), Rolling: s.rollingViews(),
	}
	v.Indicator = campaign.Indicate(s.M.C.State, s.windowOpen(), s.Rates.LastDial(), now)
	v.ETASeconds = s.eta()
	s.Rates.Show(v, now)
	s.explain(v)
	return v
}

// explain says why no more dials are placed: which constraint was binding over the last seconds. An
// outage takes precedence over whatever the campaign would otherwise wait for.
func (s *Pacer) explain(v *campaign.Live) {
	r := s.reason()
	switch s.M.C.State {
	case campaign.Running:
		if r.Stopped {
			v.Indicator, v.ETASeconds = campaign.IndicatorStopped, nil
		}
	case campaign.Completed, campaign.Failed:
		if s.draining() {
			v.EndingAfterStop()
		}
	case campaign.Paused, campaign.Draft:
	}
	if r.Constraint == engine.ConstraintAbandonCredit {
		campaign.MarkStrictest(v.Ledgers)
	}
	v.Explain(&s.M.C, &r)
}

// tell says which constraint was binding over the last seconds. It runs at every tick, so that the
// start time does not depend on who looks.
func (s *Pacer) tell() (constraint engine.Constraint, share float64) {
	constraint, share, since := s.Pace.Binding.Tell(s.boot, s.outage())
	if p := &s.Pace; p.ToldAt != since {
		p.ToldAt, p.ToldSince = since, s.now
	}
	return constraint, math.Round(share*100) / 100
}

// reason is what is known about the constraint that holds the campaign back.
func (s *Pacer) reason() campaign.Reason {
	r := campaign.Reason{Supplies: s.supplies, Late: s.Pace.Brake.String(), Doubted: s.Pace.Proof != pacing.Proof{}}
	if st := s.M.C.State; st != campaign.Running && st != campaign.Paused {
		return r
	}
	r.Constraint, r.Share = s.tell()
	r.Since = s.Pace.ToldSince
	r.Stopped = stopped(r.Constraint) || r.Constraint == engine.ConstraintSeats && s.outage() == engine.ConstraintSeats
	if s.Bot.ID != "" {
		r.Bot = &s.Bot
	}
	if s.Outage != nil {
		r.BotDown = s.Outage.String()
	}
	first, retries := s.ahead()
	c := &s.Tally.C
	r.NobodyLeft = !s.M.C.Settings.AlwaysOn && first+retries+c.RetriesLeft+c.Callbacks.Pending+len(s.Triggers) == 0 &&
		s.Queue.Len() == 0
	r.Waits = retries
	if r.Constraint == engine.ConstraintNoDueContacts {
		r.Waits = max(first-s.Queue.Len(), 0)
	}
	r.Until = s.until(r.Constraint)
	if r.Constraint == engine.ConstraintWindow && !s.M.C.Settings.Window.ContactZone {
		r.ClosedBy = s.M.C.Settings.Window.ClosedBy(s.now)
	}
	return r
}

// until is when the constraint ends by itself, nil when that is not known.
func (s *Pacer) until(c engine.Constraint) *time.Time {
	at := s.DueNext
	switch {
	case c == engine.ConstraintWindow && s.M.C.Settings.Window.ContactZone:
		at = &s.Opens
	case c == engine.ConstraintWindow:
		if opens, ok := s.M.C.Settings.Window.NextOpening(s.now); ok {
			return &opens
		}
		return nil
	case c == engine.ConstraintNumberPool && s.Pace.Held == c:
		at = &s.Pace.HeldUntil
	case c != engine.ConstraintRetryDelay && c != engine.ConstraintNoDueContacts:
		return nil
	}
	if at == nil || !at.After(s.now) {
		return nil
	}
	until := *at
	return &until
}

// stopped says that nothing can be dialled at all, and not by anybody's decision.
func stopped(c engine.Constraint) bool {
	switch c { //nolint:exhaustive // the others are decisions, or only slow the campaign down
	case engine.ConstraintTrunkHealth, engine.ConstraintDatabase, engine.ConstraintNodeFenced, engine.ConstraintKeeperAway:
		return true
	}
	return false
}

// outage is the reason why nothing, or less, could be dialled whoever is due; none when there is no
// outage, or when the campaign would not dial anyway.
func (s *Pacer) outage() engine.Constraint {
	switch {
	case s.M.C.State != campaign.Running || !s.windowOpen() || pacing.Immediate(s.Pace.Last.Constraint):
	case s.proc.TrunksDown():
		return engine.ConstraintTrunkHealth
	case s.Outage != nil || s.Bot.ID != "" && !s.Bot.Active:
		return engine.ConstraintSeats
	}
	return engine.ConstraintNone
}

// etaSpan is the period over which the estimate measures the current rate.
const etaSpan = 5 * time.Minute

// eta estimates when the run ends, nil when no estimate is possible.
func (s *Pacer) eta() *float64 {
	c := &s.M.C
	if c.State != campaign.Running || c.Settings.AlwaysOn || c.RunningSince == nil {
		return nil
	}
	n := s.Tally.Counters()
	from := s.now.Add(-etaSpan)
	if c.RunningSince.After(from) {
		from = *c.RunningSince
	}
	o := tally.Outlook{Now: s.now, Counters: &n, MaxAttempts: c.Settings.MaxAttempts, Dials: s.Rates.Dials(s.now, etaSpan),
		Span: c.Settings.Window.OpenBetween(from, s.now), Window: c.Settings.Window, Ends: c.WindowEndsAt}
	if s.Queue.Len() == 0 && s.engagedLines() == 0 && s.NextDue != nil {
		o.NotBefore = *s.NextDue
	}
	eta, ok := tally.ETA(&o)
	if !ok {
		return nil
	}
	sec := eta.Seconds()
	return &sec
}

// ledgerViews are the ledgers over which the cap is kept, with the counters' counts; their credit
// is based on what can no longer change.
func (s *Pacer) ledgerViews() []campaign.LedgerView {
	settings, b := &s.M.C.Settings, &s.Pace.Books
	list := make([]campaign.LedgerView, 0, 3)
	ahead := s.toldAhead()
	for _, l := range b.All() {
		shown := l.Counts
		shown.Add(ahead)
		list = append(list, campaign.ViewLedger(l, shown, settings))
	}
	return list
}

// rollingViews are the rates that are shown without a guarantee.
func (s *Pacer) rollingViews() campaign.Rolling {
	h := &s.Pace.Hours
	return campaign.Rolling{Day: campaign.ViewCounts(h.Over(s.now, 24*time.Hour)),
		Month: campaign.ViewCounts(h.Over(s.now, pacing.ThirtyDays))}
}

// publish gives the campaign's figures for the metrics.
func (s *Pacer) publish() {
	if !s.Ready || s.Tally == nil || !s.needsTick() {
		s.emit(Publish{})
		return
	}
	c := s.Tally.Counters()
	f := &Figures{Campaign: s.ID, Dialling: s.Phases[phaseIndex(attempt.PhaseDialling)],
		Ringing: s.Phases[phaseIndex(attempt.PhaseRinging)],
		Waiting: len(s.Waiting), InProgress: s.Phases[phaseIndex(attempt.PhaseServed)], Seats: s.seatCap(),
		Contacts: c.States, Pending: c.Pending, RetriesLeft: c.RetriesLeft, AbandonRates: map[pacing.Period]float64{},
		AbandonCap: float64(s.M.C.Settings.AbandonCapPPM) / 1e6, Due: s.Queue.Len(), Constraint: s.Pace.Last.Constraint}
	switch s.M.C.State {
	case campaign.Running:
	case campaign.Paused:
		f.Constraint = engine.ConstraintPaused
	case campaign.Draft, campaign.Completed, campaign.Failed:
		f.Constraint = engine.ConstraintNone
	}
	for _, l := range s.Pace.Books.All() {
		if rate, ok := l.Rate(); ok {
			f.AbandonRates[l.Period] = rate
		}
	}
	s.emit(Publish{f})
}

// draining says whether calls are live, or waiting contacts are still being closed.
func (s *Pacer) draining() bool { return s.engagedLines() > 0 || s.Sweep != nil }

func (s *Pacer) detail() campaign.Detail {
	d := campaign.Detail{Campaign: s.M.C, Counters: s.Tally.Counters()}
	switch s.M.C.State {
	case campaign.Completed, campaign.Failed:
		d.Draining = s.draining()
	case campaign.Running, campaign.Paused, campaign.Draft:
	}
	d.Live = s.liveView()
	return d
}
