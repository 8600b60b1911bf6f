package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/exclusion"
	"dialler/engine/pacing"
	"dialler/engine/tally"
)

// started begins an instance of the run. Its reads queue behind the writer, so that nothing queued
// by an earlier instance is missed and then dialled a second time.
func (s *State) started(e *Started) {
	s.Seed, s.Life = e.Seed, s.now.UnixNano()
	// Numbers of an earlier instance are never reused: its timers may still fire, and its questions
	// may still be answered.
	s.Tickets, s.LastRead, s.Epochs = s.Life, Read(s.Life), s.Life //nolint:gosec // a time after 1970
	s.Rounds, s.OpSeq, s.Demands = int(s.Life), int(s.Life), int(s.Life)
	s.emit(CloseSockets{})
	s.afterWrites(Continuation{Do: thenLoad})
}

// load takes ownership and reads the durable state.
func (s *State) load() {
	if s.Loading || s.Tally != nil {
		return
	}
	s.Loading = true
	s.emit(Load{s.Life})
}

func (s *State) loaded(m *Loaded) {
	if m.Err != nil {
		switch engine.ErrorCode(m.Err) {
		case "campaign_not_found":
			s.becomeReady()
			s.leave()
			return
		case "not_owner":
			s.Absent = m.Err
			s.becomeReady()
			s.leave()
			return
		}
		s.emit(Failed{"campaign not loaded; trying again", m.Err})
		s.later(time.Second, &loadAgain{})
		return
	}
	s.M.C = m.Campaign
	s.BulkOwed = campaign.Owed(&m.Campaign, m.Contacts)
	s.Tally = tally.From(m.Counters)
	s.Excluded = exclusion.NewBook(m.Exclusions)
	s.Pace.restore(&m.Ledgers, m.Learnt, s.now)
	s.Cadences, s.M.Calendars, s.Hours = m.Cadences, m.Calendars, m.Hours
	s.carryOn(m.TakingBack)
	s.setBot(m.Bots)
	s.setPool()
	s.openAttempts(m.Open)
	s.Unwanted = m.Suppressed
	s.presumeSeats()
	if m.Seats > s.M.C.Settings.Concurrency {
		s.InFlightCap = m.Seats // lines in flight were dialled with a higher concurrency
	}
	if n := max(m.Seats, s.Seats); n > 0 {
		s.wantSeats(n) // seats of the previous instance: they are used, or given back
	}
	// Ask the contacts that survived a crash of this run where they stand.
	s.callRoster()
}

// reportPatience is how long a run waits for the reports of its contacts' actors.
const reportPatience = 2 * time.Second

func (s *State) callRoster() {
	s.emit(CallRoster{s.Life})
	s.later(reportPatience, &rosterLate{})
}

// presumeSeats applies where several nodes share a bot. It assumes that calls taken over have the
// seats that their dials relied on: the node that counts the seats knows every open call from the
// database. That node may have died with the campaign's last owner, and replacing it takes seconds,
// longer than a callee who picks up will wait. Nothing new is dialled before it has answered. Of
// the lines that were dialled on the chance that not everybody answers, only answered ones are sure
// of a seat.
func (s *State) presumeSeats() {
	if !s.Config.Shared {
		return
	}
	for i := range s.Orphans {
		if a := &s.Orphans[i]; a.Live() && s.sureOfSeat(a) {
			s.Seats++
		}
	}
	s.Seats = min(s.Seats, max(s.Bot.Seats, 0))
	s.SeatTarget, s.SeatsAway = s.Seats, true
}

// sureOfSeat says whether a call was dialled with a seat of its own, or has been answered.
func (s *State) sureOfSeat(a *attempt.Attempt) bool {
	return s.M.C.Settings.PacingMode != campaign.PacingHybrid || a.AnsweredAt != nil
}

// openAttempts stores, until the roster is known, the attempts that are open in the database, or
// lost with a leg that is still watched: those that no contact actor reports belong to an earlier
// process.
func (s *State) openAttempts(open []attempt.Attempt) {
	s.Orphans = append(s.Orphans[:0], OfCampaign(s.ID, open)...)
}

// rosterKnown handles the list of the contacts' actors. Some may have reported already.
func (s *State) rosterKnown(m *RosterCalled) {
	if s.Ready {
		s.forgetSilent(m)
		return
	}
	s.ReportsDue = make(map[string]ContactActor, len(m.Actors))
	for _, a := range m.Actors {
		if _, ok := s.EarlyReports[a.Actor]; !ok {
			s.ReportsDue[a.Actor] = a
		}
	}
	s.EarlyReports, s.RosterKnown = nil, true
	s.settle()
}

// reportsLate goes on without the reports that are missing. A contact that crashed while
// the run was down cannot report before the run is ready, because what it loads it loads
// behind the writes that wait for the run. Its line is kept for it: a second actor of the
// same contact would act on what the first one changes.
func (s *State) reportsLate() {
	if s.Ready {
		if len(s.Silent) > 0 {
			s.callRoster()
		}
		return
	}
	s.Silent = slices.SortedFunc(maps.Values(s.ReportsDue),
		func(a, b ContactActor) int { return cmp.Compare(a.Actor, b.Actor) })
	for _, a := range s.Silent {
		if s.Lines[a.Contact] == nil {
			s.newLine(a.Contact, a.Number)
		}
	}
	if len(s.Silent) > 0 {
		s.later(reportPatience, &rosterLate{})
	}
	s.ReportsDue, s.EarlyReports, s.RosterKnown = nil, nil, true
	s.settle()
}

// forgetSilent removes the lines of actors that have stopped without a word.
func (s *State) forgetSilent(m *RosterCalled) {
	s.Silent = slices.DeleteFunc(s.Silent, func(a ContactActor) bool {
		l := s.Lines[a.Contact]
		if l == nil || l.Up {
			return true
		}
		if slices.ContainsFunc(m.Actors, func(up ContactActor) bool { return up.Contact == a.Contact }) {
			return false
		}
		s.removeLine(l)
		for _, msg := range l.Buffer {
			s.touch(a.Contact, msg)
		}
		s.expect(s.now)
		return true
	})
	s.pump()
}

func (s *State) reported(m *Reported) {
	l := s.Lines[m.Row.ID]
	if l == nil {
		l = s.newLine(m.Row.ID, m.Row.Number)
	}
	l.Alternates = m.Row.Alternates
	// A restarted contact numbers its writes from a new first step.
	l.Up, l.Stopping, l.Watches, l.Accepted = true, false, false, Steps{}
	s.heard(l, m.Phase)
	if m.Attempt != "" {
		if l.Attempt != m.Attempt {
			l.begun(m.Attempt)
		}
		l.Called = m.To
		s.setPhase(l, m.Phase)
		switch {
		case m.Phase == attempt.PhaseServed:
			s.takeSeat(l)
			l.Counted = l.Counted || !m.Tentative // by this instance, or in the tables
			if l.Told = (pacing.Counts{Live: 1}); l.Counted {
				l.Ledger = l.Told
			}
			if m.Stands {
				s.countAnswer(l, false, "")
			}
		case m.Phase == attempt.PhaseAbandoned:
			l.Ledger = pacing.Counts{Live: 1, Abandoned: 1} // by this instance, or in the tables
		case m.Seated:
			s.takeSeat(l)
		case m.Phase == attempt.PhaseWaiting && !l.Seated:
			s.enqueueWaiting(l)
		case m.Phase != attempt.PhaseOver && !l.Seated && s.needsSeat(l.called()) && s.Busy < s.concurrency():
			s.Busy++
			s.holdSeat(l)
		}
		s.emit(Tell{l.ID, &call.Reattached{Attempt: m.Attempt, Seated: l.Seated}})
	} else if l.Attempt != "" {
		s.dropLine(l)
	}
	if !s.Ready {
		if s.RosterKnown {
			delete(s.ReportsDue, m.Actor)
		} else {
			s.EarlyReports[m.Actor] = struct{}{}
		}
		s.settle()
		return
	}
	s.flush(l)
	s.pump()
}

// settle ends the loading once every contact has reported and every attempt of an earlier process
// has a contact actor. Messages for such a contact (above all its bot's result) then find the
// attempt there.
func (s *State) settle() {
	if s.Ready || s.Recovering || !s.RosterKnown || len(s.ReportsDue) > 0 || s.Tally == nil {
		return
	}
	var lost []attempt.Attempt
	for i := range s.Orphans {
		a := &s.Orphans[i]
		switch l := s.Lines[a.Contact]; {
		case l != nil && l.Attempt == a.ID:
		case l != nil && !l.Up: // its contact is only slow to report
			s.presumed(l, a)
		case !s.proc.Owned(a.ID):
			lost = append(lost, *a)
		}
	}
	s.Orphans = nil
	if len(lost) > 0 {
		s.Recovering = true
		s.recoverLost(lost)
		return
	}
	s.becomeReady()
}

func (s *State) becomeReady() {
	s.Ready, s.Unwanted = true, nil
	s.startTicking()
	if s.Tally != nil && s.over() && s.waitingRows() > 0 {
		s.closeAgain() // a crash came after the end of the run, before theirs
	}
	if s.Tally != nil {
		s.findSuppressed(nil, "") // a crash may have come after the list was stored, before its contacts were handled
	}
	stash := s.Stash
	s.Stash = nil
	for _, held := range stash {
		if err := s.handle(held.Event, held.From); err != nil {
			s.emit(Failed{"an event was not understood", err})
		}
	}
	if s.BulkOwed != nil {
		s.prepare(s.BulkOwed) // a crash came after the campaign's change of run, before that of its contacts
	}
	if s.InFlightCap > 0 {
		s.keepSeats(s.InFlightCap)
	}
	s.pump()
}

// waitingRows counts the contacts that wait for a dial.
func (s *State) waitingRows() (n int) {
	for i := range s.Tally.C.Passes {
		n += s.Tally.C.Passes[i].Waiting
	}
	return n
}

// recoverLost closes the attempts of an earlier process: it loads their contacts and gives each an
// actor of its own.
func (s *State) recoverLost(lost []attempt.Attempt) {
	s.emit(Closing{len(lost)})
	s.emit(Recover{s.Life, lost})
}

// reconcile closes attempts that are open in the database and have no contact actor: whatever went
// wrong, nothing stays in progress. What is open once another owner acts is that one's.
func (s *State) reconcile(m *OpenListed) {
	if m.Epoch != s.M.C.Epoch {
		s.Replaced = true
		return
	}
	var lost []attempt.Attempt
	for i := range m.Open {
		a := &m.Open[i]
		if a.Campaign != s.ID || a.ReservedAt == nil || s.now.Sub(*a.ReservedAt) < s.Config.Reconcile {
			continue
		}
		if l := s.Lines[a.Contact]; l == nil && s.Loads[a.Contact] == nil {
			lost = append(lost, *a)
		}
	}
	if len(lost) > 0 {
		s.recoverLost(lost)
	}
}

func (s *State) recovered(m *Recovered) {
	for i := range m.Rows {
		c := &m.Rows[i]
		if s.Lines[c.Row.ID] != nil || s.Loads[c.Row.ID] != nil {
			continue // the next reconciliation checks again
		}
		l := s.spawn(c.Row, &c.Attempt, nil)
		if !c.Attempt.Live() {
			continue
		}
		if _, ok := s.Unwanted[c.Attempt.To]; ok {
			s.send(l, &call.End{Reason: engine.CodeSuppressed, Number: c.Attempt.To})
		}
		s.presumed(l, &c.Attempt)
	}
	s.Recovering = false
	s.settle()
}

// presumed gives a line the attempt that the database has of its contact. It holds no
// line any more, and its seat until it is heard of; what it comes to counts, unless the
// ledgers were loaded with it.
func (s *State) presumed(l *Line, a *attempt.Attempt) {
	if !a.Live() {
		return
	}
	l.Attempt = a.ID
	l.Called = a.To
	s.setPhase(l, attempt.PhaseReleased)
	l.Counted = a.ServedAt != nil && a.RevisableUntil == nil || a.Ending != nil &&
		a.Ending.Outcome == engine.OutcomeAbandoned
	l.Machine = a.Verdict != "" && !a.Verdict.Live()
	if !l.Machine && a.Ending == nil && s.sureOfSeat(a) {
		l.Unheard, l.Seated = true, true
		s.Busy++
	}
}

// OfCampaign filters the attempts of one campaign.
func OfCampaign(id engine.CampaignID, open []attempt.Attempt) (list []attempt.Attempt) {
	for i := range open {
		if open[i].Campaign == id {
			list = append(list, open[i])
		}
	}
	return list
}
