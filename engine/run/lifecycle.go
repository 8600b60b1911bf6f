package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/window"
)

// act handles a lifecycle command. Start and Resume need a preflight, whose facts come from the
// database.
func (s *State) act(m *Act, from engine.Request) {
	if !s.known(from) {
		return
	}
	switch m.Command.Action {
	case campaign.ActionStart, campaign.ActionResume:
	default:
		s.actReady(&ActReady{Command: m.Command, Request: from})
		return
	}
	s.emit(CheckStart{Command: m.Command, Request: from, Run: s.M.C.Run, Pool: s.M.C.Settings.Numbers})
}

var actionKind = map[campaign.Action]campaign.Kind{
	campaign.ActionStart: campaign.Start, campaign.ActionPause: campaign.Pause, campaign.ActionResume: campaign.Resume,
	campaign.ActionStop: campaign.Stop, campaign.ActionRestart: campaign.Restart,
	campaign.ActionCancelRestart: campaign.CancelRestart, campaign.ActionDelete: campaign.Delete,
	campaign.ActionEdit: campaign.Edit,
}

func (s *State) actReady(m *ActReady) {
	if m.Err != nil {
		s.reply(m.Request, nil, journal.Unavailable(m.Err))
		return
	}
	ev := campaign.Event{Kind: actionKind[m.Command.Action], At: s.now, Who: m.Command.Who, Draining: s.draining(),
		Settings: m.Command.Settings, Version: m.Command.Version, Unreached: m.Command.Unreached}
	if s.BulkOwed != nil {
		s.reply(m.Request, nil, errPreparing)
		return
	}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Resume {
		s.setBot(m.Bots)
		m.Facts.BotKnown, m.Facts.Calendars = s.Bot.ID != "", s.M.Calendars
		if err := campaign.Preflight(&s.M.C, m.Facts, s.now); err != nil && campaign.Preflighted(s.M.C.State, ev.Kind) {
			s.reply(m.Request, nil, err)
			return
		}
		if ev.Kind == campaign.Start {
			ev.WindowEndsAt = campaign.SingleDayEnd(&s.M.C, s.now)
		}
	}
	if url := s.M.C.Settings.ConfigURL; ev.Kind == campaign.Start && url != "" && s.M.C.State == campaign.Draft {
		if m.Config == nil || m.Config.Document.URL != url { // edited while it was fetched
			s.emit(FetchConfig{m, url})
			return
		}
		ev = campaign.Configure(ev, s.M.C, m.Config.Document, m.Config.Err, m.Facts)
	}
	if err := s.applyCampaign(ev); err != nil {
		s.reply(m.Request, nil, err)
		return
	}
	if s.Preparing {
		s.PreparedFor = append(s.PreparedFor, m.Request) // answered by resetDone
		return
	}
	if s.Sweep != nil {
		s.Sweep.Waiting = append(s.Sweep.Waiting, m.Request)
		return
	}
	// The reply follows what was recorded: the writer keeps the order.
	s.afterWrites(Continuation{Do: thenReplyDetail, Request: m.Request})
}

// applyCampaign takes an event through the campaign's machine and carries out
// its effects.
func (s *State) applyCampaign(ev campaign.Event) error {
	before := s.concurrency()
	effects, err := s.M.Apply(ev, nil)
	if err != nil {
		return err
	}
	if s.M.C.Settings.Concurrency < before {
		s.keepSeats(before)
	}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Restart {
		s.beginLedger()
	}
	var w journal.Write
	var stored campaign.Effect
	for _, e := range effects {
		switch e := e.(type) {
		case campaign.CloseWaiting:
			w.Bulk = s.closeWaiting(e.As)
			s.settleTriggers(string(engine.ConstraintPaused))
		case campaign.Record:
			who := e.Who
			row := s.M.C
			w.CampaignRow = &row
			w.Events = append(w.Events, journal.Event{At: s.now, Type: journal.Type("campaign." + e.Action), Version: 1,
				Data: journal.Data{Who: &who, Reason: e.Reason, Changes: e.Changes}})
		case campaign.Retune:
			w.Retune = &journal.Retune{MaxAttempts: e.MaxAttempts, Sweep: s.sweep()}
		case campaign.Pump:
			s.lookAgain()
		case campaign.CancelRinging:
			s.broadcast(&call.End{})
		case campaign.HangUpCalls:
			s.broadcast(&call.End{HangUp: true})
		case campaign.ResetContacts, campaign.RestoreContacts, campaign.Remove:
			stored = e
		}
	}
	s.makeRules()
	s.broadcast(s.rules)
	s.setPool()
	s.WindowUntil = time.Time{} // the window may have changed
	if w.CampaignRow != nil {
		s.sequence(&w)
		w.CampaignRow.Seq = s.M.C.Seq
		s.emit(Write{Write: &w})
	}
	if stored != nil {
		s.prepare(stored)
	}
	if w.Bulk != nil {
		s.endContacts(w.Bulk.To)
		s.awaitSweep(&w.Bulk.Sweep)
	}
	if w.Retune != nil {
		s.awaitSweep(&w.Retune.Sweep)
	}
	s.startTicking()
	return nil
}

func (s *State) addRows(m *AddRows, from engine.Request) {
	if !s.known(from) {
		return
	}
	cmd := m.Command
	if err := s.applyCampaign(campaign.Event{Kind: campaign.AddRows, At: s.now, Who: cmd.Who}); err != nil {
		s.reply(from, nil, engine.Conflict("contacts_locked",
			"contacts can be added to a draft that never ran and to a running campaign; this one is "+string(s.M.C.State)))
		return
	}
	ins := journal.ContactInsert{Campaign: s.ID, Epoch: s.M.C.Epoch, Run: s.M.C.Run, Source: cmd.Source,
		Max: s.M.C.Settings.MaxAttempts, At: s.now, DueClass: contact.DueFirst}
	became, added := make([]campaign.BatchResult, len(cmd.Contacts)), cmd.Contacts[:0:0]
	sticky := s.M.C.Settings.StickyExclusion
	for i, c := range cmd.Contacts {
		if s.Excluded.Refuses(c.Number, c.Alternates, c.Variables, sticky) ||
			concern(m.Newer, c.Number, c.Alternates, c.Variables) {
			became[i].Status = campaign.RowExcluded
			continue
		}
		added = append(added, c)
		ins.Contacts = append(ins.Contacts, journal.IdentifiedContact{ID: s.newContactID(), NewContact: c})
	}
	if !sticky {
		// Lift first: the look-ahead must not treat the new contacts as excluded.
		s.liftAll(added)
		s.Readmission.Running++
		s.Readmission.Newer = append(s.Readmission.Newer, m.Newer...)
	}
	who := cmd.Who
	s.M.C.Seq++
	after := contact.Fresh(ins.Max)
	ins.Event = journal.Event{Campaign: s.ID, Seq: s.M.C.Seq, Run: s.M.C.Run, At: s.now, Type: journal.ContactsAdded,
		Version: 1,
		Data:    journal.Data{Who: &who, After: &after}}
	s.Adding++
	s.emit(AddContacts{Read: s.beginRead(), Request: from, Command: cmd, Batch: m.Batch, Insert: ins, Became: became,
		Lifting: !sticky})
}

func (s *State) rowsAdded(m *RowsAdded) {
	s.Adding--
	defer s.drained()
	defer s.endRead(m.Read)
	if m.Lifting && s.Readmission.Running > 0 {
		s.readmitRows(m.Read, m.Again, m.Command.Contacts)
		s.readmitted()
	}
	if m.Err != nil {
		s.reply(m.Request, nil, journal.Unavailable(m.Err))
		return
	}
	// A run that was loaded since then has already counted them from the tables.
	if m.Report.Added > 0 && m.Epoch == s.M.C.Epoch {
		s.Tally.Apply(&m.Event)
	}
	if m.Report.Added > 0 && s.over() {
		s.closeAgain() // the run ended meanwhile
	}
	m.Report.Total = s.Tally.C.Total
	s.lookAgain()
	for i := range m.Command.Contacts {
		s.expectExpiryAt(m.Command.Contacts[i].Times.ExpiresAt)
	}
	if m.Batch != nil {
		s.reply(m.Request, *m.Batch, nil)
		return
	}
	s.reply(m.Request, m.Report, nil)
}

// putAway frees the memory that a campaign's contacts took: an ended campaign may stay loaded for
// long, and maps never shrink.
func (s *State) putAway() {
	if s.Queue.Len() == 0 {
		s.Queue.Clear()
	}
	if len(s.Lines) == 0 {
		s.Lines, s.ByNumber = map[engine.ContactID]*Line{}, map[engine.PhoneNumber]engine.ContactID{}
	}
	if len(s.Loads) == 0 {
		s.Loads = map[engine.ContactID][]any{}
	}
	if !s.Reading {
		s.LiveWhileReading = map[engine.ContactID]struct{}{}
	}
}

// tick runs the periodic checks: windows, day changes, overdue results, seat renewal.
func (s *State) tick() {
	s.Ticking = false
	s.startTicking()
	s.publish()
	if !s.Ready || s.Tally == nil {
		return
	}
	if !s.Ticking {
		s.putAway()
	}
	if s.Pace.Model != nil {
		s.Pace.Model.Tick(s.now)
		s.keepPacing()
	}
	s.watchClock()
	c := &s.M.C
	if c.WindowEndsAt != nil && !s.now.Before(*c.WindowEndsAt) && !s.gated() && (c.State == campaign.Running ||
		c.State == campaign.Paused) {
		_ = s.applyCampaign(campaign.Event{Kind: campaign.WindowEnded, At: s.now})
	}
	s.missBot()
	s.lookForExpired()
	s.roll()
	if c.State == campaign.Paused {
		s.decide() // the pump does not decide
	}
	s.tell()
	if s.now.Sub(s.LastReconcile) >= s.Config.Reconcile {
		s.LastReconcile = s.now
		s.emit(ReadOpen{s.Life})
	}
	if s.now.Sub(s.LastOverdue) >= 2*time.Second {
		s.LastOverdue = s.now
		if s.Asked > 0 {
			since := s.FewerSince
			s.wantSeats(s.Asked) // renews the allotment
			s.FewerSince = since
		}
		if s.Tally.C.States[contact.Connected] > 0 {
			s.emit(ReadOverdue{Read: s.beginRead()})
		}
	}
}

func (s *State) overdueRead(m *OverdueRead) {
	defer s.endRead(m.Read)
	if m.All {
		s.endWaits(m)
		return
	}
	for i := range m.Rows { // no rows if they could not be read: they are asked for again in a moment
		s.touchFound(m.Read, m.Rows[i], &call.ResultTimeout{})
	}
}

func (s *State) botsChanged(m *BotsChanged) {
	s.setBot(m.Bots)
	s.broadcast(s.rules)
	s.missBot()
}

// missBot fails a campaign whose bot was deleted, since waiting does not help. It does nothing
// while rows of an import are being switched on: the next tick checks again.
func (s *State) missBot() {
	if s.Bot.ID == "" && !s.gated() && (s.M.C.State == campaign.Running || s.M.C.State == campaign.Paused) {
		_ = s.applyCampaign(campaign.Event{Kind: campaign.Broke, At: s.now, Failure: campaign.FailureBotDeleted})
	}
}

// maybeExhausted completes the run when no contact will ever be due again.
// exhausted says whether any of them used up its attempts.
func (s *State) maybeExhausted(exhausted bool) {
	if s.M.C.State != campaign.Running || s.OpenRows != 0 || s.Queue.Len() > 0 || len(s.Lines) > 0 ||
		len(s.Loads) > 0 || len(s.Triggers) > 0 || s.Round != nil || len(s.Ops) > 0 || s.Activation != nil ||
		s.Sweep != nil || s.Adding > 0 {
		return
	}
	// A running campaign accepts this event.
	_ = s.applyCampaign(campaign.Event{Kind: campaign.Exhausted, At: s.now, Reason: campaign.Complete(s.Tally.C,
		exhausted)})
}

// watchClock checks whether the wall clock was stepped (SEMANTICS §8). Due times and windows follow
// that clock, so earlier conclusions no longer hold: whether the window is open, who is due, and
// when to look again.
func (s *State) watchClock() {
	before := s.Clocks
	s.Clocks = window.Reading{Wall: s.now, Boot: time.Duration(s.boot)}
	step := s.Clocks.Stepped(before)
	if step == 0 {
		return
	}
	s.emit(ClockStepped{step})
	s.WindowFrom, s.WindowUntil, s.Opens = time.Time{}, time.Time{}, time.Time{}
	s.LastOverdue, s.Expiry.From = time.Time{}, time.Time{}
	s.Queue.Clear()
	s.lookAgain()
	s.ReadStale = s.Reading
}
