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
func (s *State) liveView() *campaign.Live {
	now := s.now
	if s.M.C.State != campaign.Running {
		s.decide() // the pump does not; what held the last dial back is not what does now
	}
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

// explain says why no more dials are placed: what bound over the last seconds. An
// outage wins over what the campaign would wait for without it.
func (s *State) explain(v *campaign.Live) {
	if state := s.M.C.State; state != campaign.Running && state != campaign.Paused {
		v.Explanation = s.M.C.Standing()
		return
	}
	constraint, share, since := s.Pace.Binding.Tell(s.boot, s.outage())
	if stopped(constraint) || constraint == engine.ConstraintSeats && s.outage() == engine.ConstraintSeats {
		v.Indicator, v.ETASeconds = campaign.IndicatorStopped, nil
	}
	if p := &s.Pace; p.ToldAt != since {
		p.ToldAt, p.ToldSince = since, s.now
	}
	from := s.Pace.ToldSince
	v.Constraint, v.ConstraintShare, v.ConstraintSince = constraint, math.Round(share*100)/100, &from
	switch {
	case constraint == engine.ConstraintOverload:
		v.Explanation = s.Pace.Brake.String()
	case constraint == engine.ConstraintSeats && s.Bot.ID != "" && !s.Bot.Active:
		v.Explanation = botInactive
	case constraint == engine.ConstraintSeats && s.Outage != nil:
		v.Explanation = s.Outage.String()
	default:
		v.Explanation = s.Pace.Last.Why.String()
	}
}

// stopped: nothing can be dialled at all, and nobody decided so.
func stopped(c engine.Constraint) bool {
	switch c { //nolint:exhaustive // the others are decisions, or only slow the campaign down
	case engine.ConstraintTrunkHealth, engine.ConstraintDatabase, engine.ConstraintNodeFenced, engine.ConstraintKeeperAway:
		return true
	}
	return false
}

// outage is why nothing, or less, could be dialled whoever is due; none when there is
// no such thing, or when nobody wants to dial.
func (s *State) outage() engine.Constraint {
	c := s.Pace.Last.Constraint
	waits := c == engine.ConstraintNoDueContacts || c == engine.ConstraintRetryDelay
	switch {
	case s.M.C.State != campaign.Running || !s.windowOpen() || pacing.Immediate(c):
	case s.proc.TrunksDown():
		return engine.ConstraintTrunkHealth
	case s.Outage != nil || s.Bot.ID != "" && !s.Bot.Active:
		return engine.ConstraintSeats
	case s.Pace.Brake.Shown(s.boot) && c != engine.ConstraintSeats && !waits:
		return engine.ConstraintOverload
	}
	return engine.ConstraintNone
}

// etaSpan is the time of which the present rate is taken for the estimate.
const etaSpan = 5 * time.Minute

// eta estimates when the run ends, nil when that cannot be told.
func (s *State) eta() *float64 {
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

// ledgerViews are the ledgers that the cap is kept over.
func (s *State) ledgerViews() []campaign.LedgerView {
	settings, b := &s.M.C.Settings, &s.Pace.Books
	list := make([]campaign.LedgerView, 0, 3)
	for _, l := range []*pacing.Ledger{&b.Run, &b.Day, &b.Thirty} {
		list = append(list, campaign.ViewLedger(l, settings))
	}
	return list
}

// rollingViews are the rates that are shown and not guaranteed.
func (s *State) rollingViews() campaign.Rolling {
	h := &s.Pace.Hours
	return campaign.Rolling{Day: campaign.ViewCounts(h.Over(s.now, 24*time.Hour)),
		Month: campaign.ViewCounts(h.Over(s.now, pacing.ThirtyDays))}
}

// botInactive is why a bot that was deactivated has no seats.
const botInactive = "the bot is inactive; nothing is dialled before it is activated, live calls go on"

// publish gives the campaign's figures for the metrics.
func (s *State) publish() {
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
	for _, l := range s.ledgerViews() {
		if l.AbandonRate != nil {
			f.AbandonRates[l.Period] = *l.AbandonRate
		}
	}
	s.emit(Publish{f})
}
