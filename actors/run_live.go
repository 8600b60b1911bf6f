package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// liveView is what the campaign does now, from the run's own state.
func (r *run) liveView() *campaign.Live {
	now := r.now
	if r.m.C.State != campaign.Running {
		r.decide() // the pump does not; what held the last dial back is not what does now
	}
	v := &campaign.Live{
		Dialling: r.phases[phaseIndex(attempt.PhaseDialling)], Ringing: r.phases[phaseIndex(attempt.PhaseRinging)],
		Waiting: len(r.waiting), InProgress: r.phases[phaseIndex(attempt.PhaseServed)],
		Seats: r.seatCap(), FreeSeats: r.seatCap() - r.busy, At: now,
		Constraint: r.pace.last.Constraint, Explanation: r.pace.explain(), Credit: float64(r.pace.last.Why.Credit), CreditHeld: r.pace.last.Why.Held(),
		Ledgers: r.ledgerViews(), Rolling: r.rollingViews(),
	}
	switch v.Constraint {
	case engine.ConstraintNone, engine.ConstraintConcurrency, engine.ConstraintAbandonCredit, engine.ConstraintTrunkCPS,
		engine.ConstraintTrunkChannels, engine.ConstraintNumberPool:
		if r.pace.brake.Shown(r.d.clock.Boot()) {
			v.Constraint, v.Explanation = engine.ConstraintOverload, r.pace.brake.String()
		}
	case engine.ConstraintSeats:
		switch {
		case r.bot.ID != "" && !r.bot.Active:
			v.Explanation = botInactive
		case r.outage != nil:
			v.Explanation = r.outage.String()
		}
	}
	v.Indicator = campaign.Indicate(r.m.C.State, r.windowOpen(), r.live.LastDial(), now)
	r.live.Show(v, now)
	v.ETASeconds = r.eta()
	return v
}

// etaSpan is the time of which the present rate is taken for the estimate.
const etaSpan = 5 * time.Minute

// eta estimates when the run ends, nil when that cannot be told.
func (r *run) eta() *float64 {
	c := &r.m.C
	if c.State != campaign.Running || c.Settings.AlwaysOn || c.RunningSince == nil {
		return nil
	}
	n := r.tally.Counters()
	from := r.now.Add(-etaSpan)
	if c.RunningSince.After(from) {
		from = *c.RunningSince
	}
	o := tally.Outlook{Now: r.now, Counters: &n, MaxAttempts: c.Settings.MaxAttempts, Dials: r.live.Dials(r.now, etaSpan),
		Span: c.Settings.Window.OpenBetween(from, r.now), Window: c.Settings.Window, Ends: c.WindowEndsAt}
	if r.queue.Len() == 0 && r.engagedLines() == 0 && r.nextDue != nil {
		o.NotBefore = *r.nextDue
	}
	eta, ok := tally.ETA(&o)
	if !ok {
		return nil
	}
	s := eta.Seconds()
	return &s
}

// ledgerViews are the ledgers that the cap is kept over.
func (r *run) ledgerViews() []campaign.LedgerView {
	s, b := &r.m.C.Settings, &r.pace.books
	list := make([]campaign.LedgerView, 0, 3)
	for _, l := range []*pacing.Ledger{&b.Run, &b.Day, &b.Thirty} {
		list = append(list, campaign.ViewLedger(l, s))
	}
	return list
}

// rollingViews are the rates that are shown and not guaranteed.
func (r *run) rollingViews() campaign.Rolling {
	h := &r.pace.hours
	return campaign.Rolling{Day: campaign.ViewCounts(h.Over(r.now, 24*time.Hour)), Month: campaign.ViewCounts(h.Over(r.now, pacing.ThirtyDays))}
}

// botInactive is why a bot that was deactivated has no seats.
const botInactive = "the bot is inactive; nothing is dialled before it is activated, live calls go on"

// storeAction carries out what only the database can: reset, restore, remove.
func (r *run) storeAction(e campaign.Effect) {
	d, self, id, n, now, c := r.d, r.self, r.id, r.m.C.Run, r.now, r.m.C
	r.queue.Clear()
	r.storing, r.owed = true, e
	r.whenAtRest(func() {
		r.afterWrites(func() {
			// Behind everything that the contacts of the run before still had to say.
			ev := r.tell(journal.ContactsReset, r.now)
			if _, ok := e.(campaign.RestoreContacts); ok {
				ev.Type = journal.ContactsRestored
			}
			go func() {
				ctx, cancel := context.WithTimeout(d.ctx, 6*d.cfg.CommitTimeout)
				defer cancel()
				var err error
				switch e := e.(type) {
				case campaign.ResetContacts:
					err = d.store.ResetContacts(ctx, id, n, e.Unreached, now, ev)
				case campaign.RestoreContacts:
					err = d.store.RestoreContacts(ctx, id, n, ev)
				case campaign.Remove:
					err = d.store.RemoveCampaign(ctx, id, e.Who)
				}
				_, removed := e.(campaign.Remove)
				m := &resetDone{of: e, err: err, removed: removed}
				if err == nil && !removed {
					m.counters, m.err = d.store.Counters(ctx, id, n)
				}
				if _, restored := e.(campaign.RestoreContacts); restored && m.err == nil {
					m.ledgers, m.err = loadLedgers(ctx, d.store, &c, now)
				}
				d.root.Send(self, m)
			}()
		})
	})
}

// resetDone answers whoever waits for the contacts to be prepared, restored or
// removed.
func (r *run) resetDone(m *resetDone) {
	waiting := r.storingFor
	r.storing, r.storingFor = false, nil
	var d campaign.Detail
	var err error
	switch {
	case m.err != nil:
		r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("contacts not prepared for the run")
		err = unavailable(m.err)
		r.storeLater(m.of)
	case m.removed:
		d = campaign.Detail{Campaign: r.m.C}
		r.leave()
	default:
		r.owed = nil
		r.tally = tally.From(m.counters)
		if _, restored := m.of.(campaign.RestoreContacts); restored {
			r.pace.books.Run = m.ledgers.books.Run
		}
		r.lookAgain()
		d = r.detail()
	}
	for _, to := range waiting {
		reply(r.d, to, d, err)
	}
	r.letGo(m.removed)
}

// storeAgainAfter is how long what the database did not do waits.
const storeAgainAfter = time.Second

type storeAgain struct{ effect campaign.Effect }

// storeLater tries again what the campaign's row says already: its contacts are
// owed the step into its run. A deletion is no such thing.
func (r *run) storeLater(e campaign.Effect) {
	if _, removal := e.(campaign.Remove); removal {
		r.owed = nil
		return
	}
	r.d.after(storeAgainAfter, r.self, &storeAgain{e})
}
