package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

type (
	runLoaded struct {
		of         *run // the life that asked
		campaign   campaign.Campaign
		counters   campaign.Counters
		contacts   int // the run that they are in
		exclusions []journal.Exclusion
		bots       []engine.Bot
		open       []attempt.Attempt
		ledgers    ledgers
		learnt     *pacing.State
		suppressed map[engine.PhoneNumber]journal.Suppression // of those who are called
		err        error
	}
	recovered struct {
		of   *run // likewise
		rows []recoveredContact
	}
	recoveredContact struct {
		row contact.Contact
		at  attempt.Attempt
	}
	// roster asks for the actors of the contacts, each of which is asked to report.
	roster struct {
		of      *run
		ReplyTo *actor.PID
	}
	rosterCalled struct {
		of   *run
		PIDs []*actor.PID
	}
	rosterLate struct{ of *run }
	// openListed brings the attempts that the database calls open.
	openListed struct {
		of   *run
		open []attempt.Attempt
	}
	reload struct{}
)

// load takes ownership and reads what is durable. It runs behind a barrier in
// the writer's queue, so that nothing queued by an earlier life of this run is
// missed, and dialled a second time.
func (r *run) load() {
	if r.loading || r.tally != nil {
		return // asked for by an earlier life
	}
	r.loading = true
	d, id, self, now, lives := r.d, r.id, r.self, r.now, r.lives
	go func() {
		lives.one.Lock()
		defer lives.one.Unlock()
		if lives.newest.Load() != r {
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &runLoaded{of: r}
		m.campaign, m.err = d.store.AcquireCampaign(ctx, id)
		if m.err == nil {
			m.counters, m.err = d.store.Counters(ctx, id, m.campaign.Run)
		}
		if m.err == nil {
			m.contacts, m.err = d.store.RunOfContacts(ctx, id)
		}
		if m.err == nil {
			m.exclusions, m.err = d.store.Exclusions(ctx, id)
		}
		if m.err == nil {
			m.bots, m.err = d.store.Bots(ctx)
		}
		if m.err == nil {
			m.open, m.err = d.store.OpenAttempts(ctx)
		}
		if m.err == nil {
			var watched []attempt.Attempt
			watched, m.err = d.store.OpenLegs(ctx)
			m.open = append(m.open, watched...)
		}
		if m.err == nil {
			d.adoptLegs(ctx, m.campaign.Epoch, ofCampaign(id, m.open))
			m.suppressed, m.err = d.suppressedAmong(ctx, ofCampaign(id, m.open))
		}
		if m.err == nil {
			m.ledgers, m.err = loadLedgers(ctx, d.store, &m.campaign, now)
		}
		if m.err == nil {
			var s pacing.State
			var ok bool
			if s, ok, m.err = d.store.Pacing(ctx, id); ok {
				m.learnt = &s
			}
		}
		d.root.Send(self, m)
	}()
}

func (r *run) loaded(m *runLoaded) {
	if m.err != nil {
		switch engine.ErrorCode(m.err) {
		case "campaign_not_found":
			r.becomeReady()
			r.leave()
			return
		case "not_owner":
			r.absent = m.err
			r.becomeReady()
			r.leave()
			return
		}
		if !passes(m.err) { // else it is said of the database
			r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("campaign not loaded; trying again")
		}
		r.d.after(time.Second, r.self, &reload{})
		return
	}
	r.m.C = m.campaign
	r.owed = campaign.Owed(&m.campaign, m.contacts)
	r.tally = tally.From(m.counters)
	r.excluded = exclusion.NewBook(m.exclusions)
	r.pace.restore(&m.ledgers, m.learnt, r.now)
	r.setBot(m.bots)
	r.makeRules()
	r.tellPool()
	r.openAttempts(m.open)
	r.unwanted = m.suppressed
	r.presumeSeats()
	if n := max(int(r.lives.seats.Load()), r.seats); n > 0 {
		r.wantSeats(n) // those of the life before: they are used, or given back
	}
	// Where do the contacts stand that outlived a crash of this run?
	r.d.root.Send(r.contacts, &roster{of: r, ReplyTo: r.self})
	r.d.after(2*time.Second, r.self, &rosterLate{of: r})
}

// presumeSeats: where several nodes share a bot, the calls that were taken over
// have the seats that their dials relied on: whoever counts the seats has every
// open call in its book, by the database. It may have left together with the
// campaign's owner before, and then takes seconds to be replaced, which nobody who
// picks up meanwhile can wait. Nothing new is dialled before it has answered. Of
// lines that went out on the chance that not everybody answers, only answered ones
// are sure of a seat.
func (r *run) presumeSeats() {
	if r.d.keepers == nil {
		return
	}
	for i := range r.orphans {
		if a := &r.orphans[i]; a.Live() && (r.m.C.Settings.PacingMode != campaign.PacingHybrid || a.AnsweredAt != nil) {
			r.seats++
		}
	}
	r.seats = min(r.seats, max(r.bot.Seats, 0))
	r.seatTarget, r.seatsAway = r.seats, true
}

// openAttempts keeps, for after the roster, the attempts that the database
// calls open, or lost with a leg that is still watched: those that no contact
// actor reports are of an earlier life.
func (r *run) openAttempts(open []attempt.Attempt) {
	r.orphans = append(r.orphans[:0], ofCampaign(r.id, open)...)
}

// rosterKnown: these are the actors of the contacts. Some may have reported
// already.
func (r *run) rosterKnown(m *rosterCalled) {
	r.awaited = make(map[string]struct{}, len(m.PIDs))
	for _, pid := range m.PIDs {
		if _, ok := r.heard[pid.Id]; !ok {
			r.awaited[pid.Id] = struct{}{}
		}
	}
	r.heard, r.rostered = nil, true
	r.settle()
}

func (r *run) reported(m *call.Reported, pid *actor.PID) {
	l := r.lines[m.Row.ID]
	if l == nil {
		l = r.newLine(m.Row.ID, m.Row.Number)
	}
	// A restarted contact numbers its writes anew.
	l.pid, l.stopping, l.accepted = pid, false, map[int]struct{}{}
	if m.Attempt != "" {
		l.attempt = m.Attempt
		r.setPhase(l, m.Phase)
		switch {
		case m.Phase == attempt.PhaseServed:
			r.takeSeat(l)
			l.counted = !m.Tentative
			if m.Stands {
				r.count(l, false, "")
			}
		case m.Seated:
			r.takeSeat(l)
		case m.Phase == attempt.PhaseWaiting && !l.seated:
			r.enqueueWaiting(l)
		case m.Phase != attempt.PhaseOver && !l.seated && r.d.abandons.needsSeat(l.number, r.now) && r.busy < r.m.C.Settings.Concurrency:
			r.busy++
			r.holdSeat(l)
		}
		r.d.root.Send(pid, &call.Reattached{Attempt: m.Attempt, Seated: l.seated})
	} else if l.attempt != "" {
		r.dropLine(l)
	}
	if !r.ready {
		if r.rostered {
			delete(r.awaited, pid.Id)
		} else {
			r.heard[pid.Id] = struct{}{}
		}
		r.settle()
		return
	}
	r.flush(l)
	r.pump()
}

// settle ends the loading once every contact has reported and every attempt of
// an earlier process life has its contact's actor: whatever concerns such a
// contact (its bot's result comes first of all) finds the attempt there.
func (r *run) settle() {
	if r.ready || r.recovering || !r.rostered || len(r.awaited) > 0 || r.tally == nil {
		return
	}
	var lost []attempt.Attempt
	for i := range r.orphans {
		// One whose contact is only slow to report has an owner all the same.
		if l := r.lines[r.orphans[i].Contact]; (l == nil || l.attempt != r.orphans[i].ID) && !r.d.owners.owned(r.orphans[i].ID) {
			lost = append(lost, r.orphans[i])
		}
	}
	r.orphans = nil
	if len(lost) > 0 {
		r.recovering = true
		r.recoverLost(lost)
		return
	}
	r.becomeReady()
}

func (r *run) becomeReady() {
	r.ready, r.unwanted = true, nil
	r.startTicking()
	if r.tally != nil && r.over() && r.waitingRows() > 0 {
		r.closeAgain() // a crash came between the end of the run and theirs
	}
	if r.tally != nil {
		r.findSuppressed(nil, "") // a crash may have come between the list and the contacts
	}
	stash := r.stash
	r.stash = nil
	for _, s := range stash {
		r.handle(s.msg, s.sender)
	}
	if r.owed != nil {
		r.storeAction(r.owed) // a crash came between the step into the run and the contacts'
	}
	r.pump()
}

// waitingRows counts the contacts that wait for a dial.
func (r *run) waitingRows() (n int) {
	for i := range r.tally.C.Passes {
		n += r.tally.C.Passes[i].Waiting
	}
	return n
}

// recoverLost closes the attempts of an earlier process life: it loads their
// contacts and gives each to an actor of its own.
func (r *run) recoverLost(lost []attempt.Attempt) {
	r.d.log.Info().Str("campaign_id", string(r.id)).Int("attempts", len(lost)).Msg("closing attempts of an earlier process life")
	d, self := r.d, r.self
	go func() {
		m := &recovered{of: r}
		for _, at := range lost {
			for {
				ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
				row, ok, err := d.store.ContactByID(ctx, at.Contact)
				if err == nil {
					// It may have ended since it was listed.
					var still bool
					at, still, err = d.store.Attempt(ctx, at.ID)
					ok = ok && still && (at.State != attempt.Ended || at.OpenLeg())
				}
				cancel()
				if err == nil {
					if ok {
						m.rows = append(m.rows, recoveredContact{row, at})
					}
					break
				}
				select {
				case <-d.ctx.Done():
					return
				case <-time.After(time.Second):
				}
			}
		}
		d.root.Send(self, m)
	}()
}

// listOpen asks for what reconcile compares.
func (r *run) listOpen() {
	d, self := r.d, r.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		if open, err := d.store.OpenAttempts(ctx); err == nil {
			d.root.Send(self, &openListed{of: r, open: open})
		}
	}()
}

// reconcile closes attempts that are open in the database and that no contact
// owns: whatever went wrong, nothing stays in progress for ever.
func (r *run) reconcile(m *openListed) {
	var lost []attempt.Attempt
	for i := range m.open {
		a := &m.open[i]
		if a.Campaign != r.id || a.ReservedAt == nil || r.now.Sub(*a.ReservedAt) < r.d.cfg.Reconcile {
			continue
		}
		if l := r.lines[a.Contact]; l == nil && r.loads[a.Contact] == nil {
			lost = append(lost, *a)
		}
	}
	if len(lost) > 0 {
		r.recoverLost(lost)
	}
}

func (r *run) recovered(m *recovered) {
	for i := range m.rows {
		c := &m.rows[i]
		if r.lines[c.row.ID] != nil || r.loads[c.row.ID] != nil {
			continue // the next reconciliation looks again
		}
		l := r.spawn(c.row, &c.at, nil)
		if !c.at.Live() {
			continue
		}
		// It holds neither line nor seat any more, but what it comes to counts,
		// unless the ledgers were loaded with it.
		l.attempt = c.at.ID
		if _, ok := r.unwanted[c.at.To]; ok {
			r.send(l, &call.End{Reason: engine.CodeSuppressed})
		}
		r.setPhase(l, attempt.PhaseReleased)
		l.counted = c.at.ServedAt != nil && c.at.RevisableUntil == nil || c.at.Ending != nil && c.at.Ending.Outcome == engine.OutcomeAbandoned
		l.machine = c.at.Verdict != "" && !c.at.Verdict.Live()
	}
	r.recovering = false
	r.settle()
}

// ofCampaign are the attempts of one campaign.
func ofCampaign(id engine.CampaignID, open []attempt.Attempt) (list []attempt.Attempt) {
	for i := range open {
		if open[i].Campaign == id {
			list = append(list, open[i])
		}
	}
	return list
}
