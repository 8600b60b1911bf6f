package run

import (
	"errors"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// persist gives a contact's events their places in the campaign's sequence, folds
// them, and passes the write on.
func (s *State) persist(m *call.Persist) {
	if l := s.Lines[m.Contact]; l != nil && !l.Accepted.Add(m.Step) {
		return // repeated after a crash of this run; the first is on its way
	}
	s.sequence(m.Write)
	s.emit(PassOn{m})
}

// sequence numbers and folds a write's events and stamps the owner's epoch.
func (s *State) sequence(w *journal.Write) {
	w.Campaign, w.Epoch = s.ID, s.M.C.Epoch
	// Their events are counted once the store has made them.
	if w.Bulk != nil {
		w.Bulk.Event = s.bulkEvent(journal.ContactsClosed, w.Bulk.At)
	}
	if w.Retune != nil {
		w.Retune.Event = s.bulkEvent(journal.ContactsRetuned, w.Retune.At)
	}
	for i := range w.Events {
		e := &w.Events[i]
		s.M.C.Seq++
		e.Campaign, e.Seq = s.ID, s.M.C.Seq
		if e.Run == 0 {
			e.Run = s.M.C.Run
		}
		if e.Run == s.M.C.Run {
			s.Tally.Apply(e)
			s.counted(e)
		}
		s.Rates.Note(e)
	}
}

// refused takes back what was folded of a write that the database did not take. A
// write of an earlier life was never folded into this one.
func (s *State) refused(m *WriteRefused) {
	if m.Write.Epoch != s.M.C.Epoch || s.Tally == nil {
		return
	}
	for i := range m.Write.Events {
		if e := &m.Write.Events[i]; e.Run == s.M.C.Run {
			s.Tally.Revoke(e)
		}
	}
}

// write persists something of the run's own.
func (s *State) write(w journal.Write) {
	s.sequence(&w)
	s.emit(Write{Write: &w, Revoke: true})
}

// Continuation is what follows a write, or everything written before.
type Continuation struct {
	Do      Then
	Request engine.Request
	Value   any
	Op      int   // of an exclusion or lift
	Seq     int64 // of a write to all contacts
	Number  engine.PhoneNumber
	// Contacts were put off.
	Contacts []engine.ContactID
	Import   engine.ImportID
	Trigger  *call.Trigger
	Read     Read // what a trigger's write finds
	Effect   campaign.Effect
}

// Then names a Continuation.
type Then string

// What follows once everything before is durable.
const (
	thenLoad          Then = "load"
	thenReply         Then = "reply"
	thenReplyDetail   Then = "reply_detail"
	thenPutOff        Then = "put_off"
	thenTriggerStored Then = "trigger_stored"
	thenFindExcluded  Then = "find_excluded"
	thenFindLifted    Then = "find_lifted"
	thenBegin         Then = "begin_activation"
	thenPassGate      Then = "pass_gate"
	thenReadBulk      Then = "read_bulk"
	thenPrepare       Then = "prepare"
	// What follows one write: the queued trigger's answer.
	thenAnswerTrigger Then = "answer_trigger"
)

func (s *State) ticket(c Continuation) int64 {
	s.Tickets++
	s.Pending[s.Tickets] = c
	return s.Tickets
}

// afterWrites has the run go on once everything written so far is durable.
func (s *State) afterWrites(c Continuation) { s.emit(Fence{s.ticket(c)}) }

// follow goes on. err is that of the write, if it was one that the continuation
// waited for.
func (s *State) follow(c Continuation, err error) {
	switch c.Do {
	case thenLoad:
		s.load()
	case thenReply:
		s.reply(c.Request, c.Value, nil)
	case thenReplyDetail:
		s.reply(c.Request, s.detail(), nil)
	case thenPutOff:
		s.putOff(c.Contacts)
	case thenTriggerStored:
		delete(s.TriggersOf, c.Number)
		s.settled(c.Number)
	case thenAnswerTrigger:
		overtaken := s.overtaken(c.Read, &c.Trigger.Command)
		s.endRead(c.Read)
		switch {
		case !errors.Is(err, journal.ErrContactExists):
			s.reply(c.Request, c.Value, err)
		case overtaken:
			s.reply(c.Request, nil, call.ErrContactExcluded)
		default:
			s.owe(0, &Trigger{Command: c.Trigger.Command, LookUp: true}, c.Request)
		}
	case thenFindExcluded:
		if op := s.Ops[c.Op]; op != nil {
			op.Persisted = true
			s.finishExclude(c.Op)
		}
		s.findContacts(c.Op)
	case thenFindLifted:
		s.findContacts(c.Op)
	case thenBegin:
		s.reply(c.Request, ActivationStart{Run: s.M.C.Run, Max: s.M.C.Settings.MaxAttempts,
			Sticky: s.M.C.Settings.StickyExclusion, At: s.now}, nil)
	case thenPassGate:
		s.M.C.Seq++
		s.reply(c.Request, GatePass{Epoch: s.M.C.Epoch, Seq: s.M.C.Seq, At: s.now}, nil)
	case thenReadBulk:
		s.emit(ReadBulk{c.Seq, s.M.C.Epoch})
	case thenPrepare:
		s.prepareNow(c.Effect)
	}
}
