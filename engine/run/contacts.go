package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
)

// Contacts brings contacts up, tells them what is meant for them, and lets them rest; it
// knows which rows are on their way, and which changes of contacts are not done yet.
type Contacts struct {
	Pacer
	// Loads are the commands that wait for a contact's row.
	Loads            map[engine.ContactID][]any
	ReadAgain        bool
	ReadStale        bool // what is being read predates a change of all contacts
	LiveWhileReading map[engine.ContactID]struct{}
	Expected         *time.Time // the earliest due time that became known during a read
	OpenRows         int        // contacts of the run that are not final, as last read
	Expiry           Expiry

	BulkOwed    campaign.Effect // reset, restore or removal of the contacts, until it is done
	OwedAt      time.Time       // when it was decided
	Preparing   bool            // that change is in progress
	PreparedFor []engine.Request
	AwaitsRest  bool          // the change begins once no contact actor is running
	HeldBack    []HeldCommand // for contacts that are being changed as a whole

	Ops   map[int]*ExcludeOp
	Lifts map[int]*LiftOp
	// TakingBack is the import that is being taken back, nil when there is none.
	TakingBack *TakingBack
	OpSeq      int
	Excluded   exclusion.Book

	// Additions, and the switch of an import, which must not overlap with any of them.
	Activation *Activation
	Adding     int // lists of contacts being added
	Additions  int // counts the switches, to tell older triggers from newer ones
	// Fresh are contacts that triggers created and that are not stored yet, with the value of
	// Additions then.
	Fresh map[engine.PhoneNumber]int
	// TriggersOf are the numbers with a trigger in progress, from the look-up until the contact has
	// an actor or is stored: another trigger of the number waits.
	TriggersOf map[engine.PhoneNumber]struct{}
}

// touch delivers a message to a contact and starts its actor if it is at rest, from the look-ahead
// if the contact is there, else from the database. While the contacts are moving to another run the
// message waits: what a contact wrote then would be overwritten, or would move it back. A run
// without a campaign has no contacts.
func (s *Contacts) touch(id engine.ContactID, msg any) {
	if err := s.missing(); err != nil {
		s.refuse(msg, err)
		return
	}
	if s.Preparing || s.Sweep != nil && s.Lines[id] == nil && s.Loads[id] == nil {
		s.HeldBack = append(s.HeldBack, HeldCommand{id, msg})
		return
	}
	if l := s.Lines[id]; l != nil {
		s.send(l, msg)
		return
	}
	if row, ok := s.Queue.Take(id); ok {
		s.spawn(row, nil, []any{msg})
		return
	}
	if waiting, loading := s.Loads[id]; loading {
		s.Loads[id] = append(waiting, msg)
		return
	}
	s.Loads[id] = []any{msg}
	s.emit(ReadContact{Contact: id})
}

// touchFound delivers to a contact whose row a read has found. A row that may be
// outdated is read again.
func (s *Contacts) touchFound(r Read, row contact.Contact, msg any) {
	if !s.current(r, row.ID) {
		s.touch(row.ID, msg)
		return
	}
	s.touchRow(row, msg)
}

// atRest says that no actor runs for the contact and none is about to start.
func (s *Contacts) atRest(id engine.ContactID) bool {
	return !s.Preparing && s.Sweep == nil && !s.over() && s.Lines[id] == nil && s.Loads[id] == nil && !s.Queue.Has(id)
}

// touchRow is touch for a contact whose current row is known.
func (s *Contacts) touchRow(row contact.Contact, msg any) {
	if !s.atRest(row.ID) {
		s.touch(row.ID, msg)
		return
	}
	s.spawn(row, nil, []any{msg})
}

// contactRead handles the row that commands wait for.
func (s *Contacts) contactRead(m *ContactRead) {
	msgs := s.Loads[m.Contact]
	if m.Err != nil {
		// Commands wait for the row: ask until the database answers.
		s.emit(ReadContact{Contact: m.Contact, After: time.Second})
		return
	}
	if m.OK && s.BulkOwed == nil && s.missing() == nil && m.Row.Run != s.M.C.Run {
		// It was read before the contacts moved to this run.
		s.emit(ReadContact{Contact: m.Contact, After: 100 * time.Millisecond})
		return
	}
	delete(s.Loads, m.Contact)
	if s.Preparing {
		for _, msg := range msgs {
			s.HeldBack = append(s.HeldBack, HeldCommand{m.Contact, msg})
		}
		return
	}
	err := s.missing() // the contact may have been removed meanwhile
	if err == nil && !m.OK {
		err = errContactGone
	}
	if err != nil {
		for _, msg := range msgs {
			if r, ok := msg.(*call.Reopen); ok && s.Swept > 0 && s.missing() == nil {
				// It went with its file since the trigger found it: the trigger adds it anew.
				s.owe(0, &Trigger{Command: r.Trigger.Command, LookUp: true}, r.Trigger.Request)
				continue
			}
			s.refuse(msg, err)
		}
		return
	}
	s.spawn(m.Row, nil, msgs)
}

func (s *Contacts) newLine(id engine.ContactID, n engine.PhoneNumber) *Line {
	l := &Line{ID: id, Number: n, Phase: attempt.PhaseOver}
	s.Lines[id], s.ByNumber[n] = l, id
	s.Phases[phaseIndex(attempt.PhaseOver)]++
	if _, triggered := s.TriggersOf[n]; triggered {
		for _, t := range s.Triggers {
			t.Outdated = t.Outdated || t.Stored != nil && t.Row.ID == id
		}
	}
	return l
}

// removeLine forgets a line whose actor has stopped.
func (s *Contacts) removeLine(l *Line) {
	s.dropLine(l)
	s.Phases[phaseIndex(attempt.PhaseOver)]--
	delete(s.Lines, l.ID)
	if len(s.Reads) > 0 {
		s.StoppedSince[l.ID] = s.LastRead
	}
	if s.ByNumber[l.Number] == l.ID {
		delete(s.ByNumber, l.Number)
	}
	s.settled(l.Number)
	if len(s.Lines) == 0 {
		s.nowAtRest()
	}
}

// HeldCommand waits until the change of all contacts is done.
type HeldCommand struct {
	Contact engine.ContactID
	Command any
}

// restPatience is how long contacts are given to become idle before they are asked again.
const restPatience = 2 * time.Second

// whenAtRest continues with the change of all contacts once none of them can write its row any more: their actors
// have stopped, or only watch the legs of a lost call. Those that wait for a result are put to rest.
func (s *Contacts) whenAtRest() {
	s.AwaitsRest = true
	if len(s.Lines) == 0 {
		s.nowAtRest()
		return
	}
	for _, l := range s.linesInOrder() {
		l.Watches = false
	}
	s.askToRest()
}

func (s *Contacts) askToRest() {
	s.arm(TimerRest, restPatience, Deferred{Event: &restLate{}})
	for _, l := range s.linesInOrder() {
		if !l.Watches {
			s.send(l, &call.Rest{})
		}
	}
}

// restLate goes on unless a contact still has something to write, however long the database takes for it: a write
// that came after the change would move its contact back.
func (s *Contacts) restLate() {
	switch {
	case !s.AwaitsRest:
	case slices.ContainsFunc(s.linesInOrder(), func(l *Line) bool { return !l.Watches }):
		s.askToRest()
	default:
		s.nowAtRest()
	}
}

// nowAtRest ends this run's waits for results, and tells each contact, before the contacts move to
// the next run.
func (s *Contacts) nowAtRest() {
	if !s.AwaitsRest {
		return
	}
	s.AwaitsRest = false
	if _, reset := s.BulkOwed.(campaign.ResetContacts); reset {
		s.emit(ReadOverdue{Read: s.beginRead(), All: true})
		return
	}
	s.afterWrites(Continuation{Do: thenPrepare, Effect: s.BulkOwed})
}

// endWaits ends the waits for results, page by page.
func (s *Contacts) endWaits(m *OverdueRead) {
	_, reset := s.BulkOwed.(campaign.ResetContacts)
	_, mine := s.Reads[m.Read]
	switch {
	case !s.Preparing || !reset || !mine: // from an earlier instance
	case m.Err != nil:
		s.AwaitsRest = true
		s.arm(TimerRest, time.Second, Deferred{Event: &restLate{}})
	case len(m.Rows) == 0:
		s.afterWrites(Continuation{Do: thenPrepare, Effect: s.BulkOwed})
	default:
		s.AwaitsRest = true
		s.arm(TimerRest, restPatience, Deferred{Event: &restLate{}})
		for i := range m.Rows {
			if !s.current(m.Read, m.Rows[i].ID) {
				continue // its wait may have ended since: the next page tells
			}
			end := &call.ResultTimeout{Restarted: true}
			if l := s.Lines[m.Rows[i].ID]; l != nil { // it watches the legs of a lost call
				s.send(l, end)
			} else {
				s.spawn(m.Rows[i], nil, []any{end})
			}
		}
	}
}

// refuse answers a message that will not reach a contact.
func (s *Contacts) refuse(msg any, err error) {
	switch m := msg.(type) {
	case *call.StoreResult:
		s.reply(m.Request, nil, err)
	case *call.Keys:
		s.reply(m.Request, nil, err)
	case *call.Transfer:
		s.reply(m.Request, nil, err)
	case *call.Reopen:
		s.reply(m.Trigger.Request, nil, err)
	case *call.Exclude:
		s.excludeDone(&call.Excluded{Op: m.Op})
	case *call.End:
		s.excludeDone(&call.Excluded{Op: m.Op})
	case *call.Operate:
		s.reply(m.Request, nil, err)
	case *call.Readmit:
		s.liftDone(&call.Lifted{Op: m.Op})
	}
}

// spawn starts a contact actor with its first messages.
func (s *Contacts) spawn(row contact.Contact, lost *attempt.Attempt, first []any) *Line {
	l := s.newLine(row.ID, row.Number)
	l.Alternates = row.Alternates
	if s.Reading {
		s.LiveWhileReading[row.ID] = struct{}{}
	}
	if s.Round != nil {
		s.Round.touch(row.ID)
	}
	s.emit(Spawn{Row: row, Lost: lost, Rules: s.rules, First: first})
	return l
}

func (s *Contacts) contactUp(m *call.Up) {
	if l := s.Lines[m.Contact]; l != nil {
		l.Up = true
		s.flush(l)
	}
}

// contactIdle handles a contact that has nothing to do: it is asked to stop unless a message is on
// its way to it. Until it answers, messages for it are held.
func (s *Contacts) contactIdle(m *call.Idle) {
	l := s.Lines[m.Contact]
	if l == nil || l.Stopping || !l.Up || len(l.Buffer) > 0 {
		return
	}
	l.Stopping = true
	s.emit(Tell{l.ID, &call.Stop{}})
}

func (s *Contacts) contactWatches(m *call.Watches) {
	if l := s.Lines[m.Contact]; l != nil {
		l.Watches = true
	}
}

func (s *Contacts) contactNotIdle(m *call.NotIdle) {
	if l := s.Lines[m.Contact]; l != nil {
		l.Stopping = false
		s.flush(l)
	}
}

// lookSoon is how soon the tables are queried again after a contact stopped that waits for nothing.
const lookSoon = 500 * time.Millisecond

// contactStopped handles a contact that has become a row again; messages that came meanwhile start
// its actor again.
func (s *Contacts) contactStopped(m *call.Stopped) {
	l := s.Lines[m.Row.ID]
	if l == nil {
		return
	}
	s.removeLine(l)
	if s.Reading {
		s.LiveWhileReading[m.Row.ID] = struct{}{}
	}
	if s.Preparing {
		for _, msg := range l.Buffer {
			s.touch(m.Row.ID, msg)
		}
		return
	}
	if len(l.Buffer) > 0 {
		s.spawn(m.Row, nil, l.Buffer)
		return
	}
	s.expectExpiry(&m.Row)
	switch due := m.Row.DueAt; {
	case due == nil && len(s.Lines) == 0:
		s.lookAgain() // there may be no open contact left
	case due == nil:
		s.expect(s.now.Add(lookSoon))
	case !due.After(s.now) && m.Row.DueClass <= contact.DueTrigger && s.Sweep == nil && !s.over():
		s.Queue.Push(m.Row) // goes before the rows of the look-ahead, which may be full
	default:
		s.expect(*due)
	}
}
