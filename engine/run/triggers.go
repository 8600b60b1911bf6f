package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// Intake is who comes into the campaign, and who is kept out of it: triggers, exclusions and
// their lifts, and what waits for the switch of an import.
type Intake struct {
	Contacts
	// LookUpNext is how many triggers still look their number up first, because a
	// recent one matched an existing contact.
	LookUpNext  int
	LookUps     int              // triggers that are being looked up, or written
	Newer       []NewerExclusion // that came meanwhile
	Readmission Readmission
	Parked      []Parked
	Erasing     map[engine.PhoneNumber]time.Time // numbers being erased, until when at most
}

// PendingTrigger is a contact whose trigger waits for the decision whether it is dialled now. The
// contact is either new, or final and reopened with the dial.
type PendingTrigger struct {
	Row     contact.Contact
	Stored  *contact.Contact // as in the tables; nil for a new one
	Trigger *call.Trigger
	// LookedUp says that the tables were asked for the contact, so it may be dialled.
	LookedUp bool
	Newer    []campaign.Exclude // exclusions that came while the tables were not asked
	// Outdated says that the contact's actor was started after that.
	Outdated bool
}

// lookFirst is how many triggers look up their number first after a trigger whose number the
// campaign already had.
const lookFirst = 8

// trigger adds one contact and dials or queues it. It runs no preflight. A trigger that is only
// queued asks nothing beforehand: its write is refused when the number is suppressed or known
// (journal.Write.Fresh), which the tables are then asked for, or its Idempotency-Key was used.
func (s *Intake) trigger(m *Trigger, from engine.Request) {
	if !s.known(from) || s.past(m.Command.Deadline, from) {
		return
	}
	if s.M.C.State != campaign.Running && s.M.C.State != campaign.Paused {
		s.reply(from, nil, s.notRunning())
		return
	}
	if err := s.tooLate(&m.Command); err != nil {
		s.reply(from, nil, err)
		return
	}
	if s.refuses(&m.Command) {
		s.refuseTrigger(&m.Command, from)
		return
	}
	if until, ok := s.Erasing[m.Command.Number]; ok && s.now.Before(until) {
		s.reply(from, nil, errBeingErased)
		return
	}
	// The same number may just have been triggered.
	if _, ok := s.TriggersOf[m.Command.Number]; ok {
		s.owe(20*time.Millisecond, m, from)
		return
	}
	l := s.lineOf(m.Command.Number)
	lifts := s.Excluded.Refuses(m.Command.Number, m.Command.Alternates, nil, true)
	switch {
	case l != nil && concern(m.Newer, l.Number, l.Alternates, l.Variables):
		s.reply(from, nil, call.ErrContactExcluded)
	case l != nil && m.Command.Idempotency.Present() && !m.Unanswered:
		s.lookForTrigger(m, from, true)
	case l != nil:
		s.touch(l.ID, &call.Reopen{Trigger: &call.Trigger{Command: m.Command, Request: from}})
	case m.LookUp || len(m.Newer) > 0 || s.LookUpNext > 0 || s.Activation != nil || lifts:
		s.lookForTrigger(m, from, false)
	default:
		s.addTriggered(&m.Command, &call.Trigger{Command: m.Command, Request: from}, false)
	}
}

// refuses says whether a sticky exclusion refuses a trigger.
func (s *Intake) refuses(cmd *campaign.Trigger) bool {
	return s.Excluded.Refuses(cmd.Number, cmd.Alternates, cmd.Variables, s.M.C.Settings.StickyExclusion)
}

// tooLate refuses a trigger whose person a single-day campaign cannot call any more, or not yet.
func (s *Intake) tooLate(cmd *campaign.Trigger) error {
	if !s.M.C.Settings.SingleDay {
		return nil
	}
	if !s.windowOf(cmd.Number).Open(s.now) {
		return engine.Conflict("outside_window",
			"the calling window is closed and a single-day campaign queues nothing for another day")
	}
	if from := cmd.Times.NotBefore; from != nil && from.After(s.now) {
		policy := s.rules.PolicyFor(cmd.Number, number.HomeOf)
		if _, ok := policy.Clip(*from); !ok {
			return engine.Conflict("outside_window",
				"the calling window of this single-day campaign ends before not_before")
		}
	}
	return nil
}

// addTriggered creates a contact that waits for the decision whether it is dialled now, or until it may
// be called; looked says that the tables were asked for it.
func (s *Intake) addTriggered(cmd *campaign.Trigger, t *call.Trigger, looked bool) {
	row := s.newContact(cmd)
	s.TriggersOf[row.Number] = struct{}{}
	p := &PendingTrigger{Row: row, Trigger: t, LookedUp: looked}
	if row.NotYet(s.now) {
		s.queueTrigger(p)
		return
	}
	s.pend(p)
}

// pend puts a trigger among those that wait for the decision, in dialling order.
func (s *Intake) pend(t *PendingTrigger) {
	i := len(s.Triggers)
	for i > 0 && s.order().Before(&t.Row, &s.Triggers[i-1].Row) {
		i--
	}
	s.Triggers = slices.Insert(s.Triggers, i, t)
}

// newContact is the contact that a trigger creates; a switch that has not begun waits until it is
// stored.
func (s *Intake) newContact(cmd *campaign.Trigger) contact.Contact {
	now := s.now
	s.Fresh[cmd.Number] = s.Additions
	c := contact.Contact{
		ID: s.newContactID(), Campaign: s.ID, Number: cmd.Number, Alternates: cmd.Alternates, Variables: cmd.Variables,
		Position: now.UnixMicro(),
		Source:   "trigger", Run: s.M.C.Run, State: contact.Pending, Max: s.M.C.Settings.MaxAttempts, DueAt: &now,
		DueClass: contact.DueTrigger, DuePass: 1, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
	c.Take(cmd.Times)
	return c
}

// lookForTrigger asks the tables what a trigger must know before its contact is touched or dialled;
// live asks only whether it was answered.
func (s *Intake) lookForTrigger(m *Trigger, from engine.Request, live bool) {
	s.TriggersOf[m.Command.Number] = struct{}{}
	s.LookUps++
	r := s.beginRead()
	s.remember(r, m.Newer)
	s.emit(FindTrigger{Read: r, Request: from, Command: m.Command, Live: live, Unanswered: m.Unanswered,
		Importing: s.activating()})
}

func (s *Record) notRunning() error {
	return engine.Conflict("campaign_not_running",
		"a trigger needs a running or paused campaign; this one is "+string(s.M.C.State))
}

func (s *Intake) triggerFound(m *TriggerFound) {
	defer s.endRead(m.Read)
	delete(s.TriggersOf, m.Command.Number)
	newer := s.newerThan(m.Read)
	if m.Err != nil {
		s.reply(m.Request, nil, journal.Unavailable(m.Err))
		return
	}
	with, overtaken := m.Command, concern(newer, m.Command.Number, m.Command.Alternates, m.Command.Variables)
	if m.OK {
		with.Variables = contact.Merged(m.Row.Variables, with.Variables)
		overtaken = overtaken || concern(newer, m.Row.Number, m.Row.Alternates, with.Variables)
	}
	if overtaken {
		s.reply(m.Request, nil, call.ErrContactExcluded)
		return
	}
	if m.Live {
		s.trigger(&Trigger{Command: m.Command, Unanswered: true, Newer: newer}, m.Request)
		return
	}
	if s.past(m.Command.Deadline, m.Request) {
		return
	}
	if s.M.C.State != campaign.Running && s.M.C.State != campaign.Paused { // ended while the database was asked
		s.reply(m.Request, nil, s.notRunning())
		return
	}
	if s.refuses(&m.Command) {
		s.refuseTrigger(&m.Command, m.Request) // excluded while the database was asked
		return
	}
	t := &call.Trigger{Command: m.Command, Request: m.Request}
	s.LookUpNext = max(s.LookUpNext-1, 0)
	if m.OK {
		s.LookUpNext = lookFirst
		if m.Row.State != contact.Excluded &&
			s.refuses(&with) {
			s.refuseTrigger(&with, m.Request)
			return
		}
		if m.Row.State == contact.Excluded {
			s.liftAll([]campaign.NewContact{{Number: m.Row.Number, Alternates: m.Row.Alternates}})
		}
		if !s.reopenTriggered(m, t) {
			s.touchFound(m.Read, m.Row, &call.Reopen{Trigger: t})
		}
		return
	}
	if l := s.lineOf(m.Command.Number); l != nil { // its actor started while the database was asked
		if concern(newer, l.Number, l.Alternates, l.Variables) {
			s.reply(m.Request, nil, call.ErrContactExcluded)
			return
		}
		s.touch(l.ID, &call.Reopen{Trigger: t})
		return
	}
	switch {
	case m.Importing != s.activating(): // the switch began or ended while the database was asked
		s.trigger(&Trigger{Command: m.Command, LookUp: true, Newer: newer}, m.Request)
		return
	case m.Staged:
		s.parkNow(&Trigger{Command: m.Command, LookUp: true, Newer: newer}, m.Request)
		return
	}
	s.liftAll([]campaign.NewContact{{Number: m.Command.Number, Alternates: m.Command.Alternates}})
	s.addTriggered(&m.Command, t, true)
}

// reopenTriggered makes a final contact wait for the decision whether it is dialled now; false when
// the row that was found may not be the current one.
func (s *Intake) reopenTriggered(m *TriggerFound, t *call.Trigger) bool {
	_, twice := s.TriggersOf[m.Row.Number] // by another of its numbers
	if m.Row.Open() || m.Row.State == contact.Excluded && s.M.C.Settings.StickyExclusion || twice ||
		m.Row.StopsWith(t.Command.Alternates) || !s.current(m.Read, m.Row.ID) || !s.atRest(m.Row.ID) {
		return false
	}
	row, now := m.Row, s.now
	row.State, row.DueAt, row.DueClass, row.DuePass = contact.Pending, &now, contact.DueTrigger, 1
	row.Variables = contact.Merged(row.Variables, t.Command.Variables)
	row.Choice &= contact.ChoiceKept
	row.TakeNumbers(t.Command.Number, t.Command.Alternates)
	if row.TakeAnew(s.now, t.Command.Times); row.NotYet(s.now) {
		return false
	}
	s.TriggersOf[row.Number] = struct{}{}
	s.pend(&PendingTrigger{Row: row, Stored: &m.Row, Trigger: t, LookedUp: true})
	return true
}

// queueTrigger writes a new contact that is not dialled now; contact, idempotency key and response
// commit together. A stored contact is reopened instead.
func (s *Intake) queueTrigger(t *PendingTrigger) {
	row := t.Row
	if st := s.M.C.State; st != campaign.Running && st != campaign.Paused { // ended during its reservation
		delete(s.TriggersOf, row.Number)
		s.settled(row.Number)
		s.reply(t.Trigger.Request, nil, s.notRunning())
		return
	}
	if t.Stored != nil {
		delete(s.TriggersOf, row.Number)
		s.touch(row.ID, &call.Reopen{Trigger: t.Trigger})
		return
	}
	first, _ := row.Earliest(s.now)
	policy := s.rules.PolicyFor(row.NextNumber(), number.HomeOf)
	if at, ok := policy.Clip(first); ok {
		row.DueAt = &at
	}
	if row.NotYet(s.now) {
		t.Trigger.Reason = campaign.ReasonNotBefore
	}
	rep := campaign.TriggerReply{Status: "queued", ContactID: row.ID, CampaignID: s.ID, NextEligibleAt: row.DueAt,
		Reason: t.Trigger.Reason}
	f := row.Facts()
	w := journal.Write{Fresh: true, Contacts: []contact.Contact{row}, Events: []journal.Event{{At: s.now,
		Type: journal.ContactTriggered, Version: 1,
		Contact: row.ID, Data: journal.Data{After: &f, Reason: t.Trigger.Reason, Times: call.TimesOf(&t.Trigger.Command)}}}}
	w.Status = journal.StatusOf(string(row.ID), t.Trigger.Command.Status, s.now)
	if t.Trigger.Command.Idempotency.Present() {
		w.Reply = journal.StoredReply(t.Trigger.Command.Idempotency, 200, rep, s.now)
	}
	s.sequence(&w)
	s.LookUps++ // the write reveals whether the campaign had the number
	r := s.beginRead()
	s.remember(r, t.Newer)
	s.emit(Write{Write: &w, Revoke: true, Then: &Continuation{Do: thenAnswerTrigger, Request: t.Trigger.Request,
		Value: rep, Trigger: t.Trigger, Read: r}})
	s.afterWrites(Continuation{Do: thenTriggerStored, Number: row.Number})
	s.expect(*row.DueAt)
	s.expectExpiry(&row)
}
