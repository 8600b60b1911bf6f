package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

// Turn is one Apply: the moment, the process, and the effects that come of it, with what
// leads a later input back to what asked for it. All other parts of a run rest on it.
type Turn struct {
	Life    int64 // of this instance, in time order
	Tickets int64
	Pending map[int64]Continuation
	Reads   map[Read]struct{} // under way
	// LastRead is the newest that began.
	LastRead Read
	// StoppedSince are the contacts that came to rest during one of these reads, with the newest
	// read that had begun by then.
	StoppedSince map[engine.ContactID]Read
	// Swept is the newest read that had begun when contacts were last deleted.
	Swept Read

	Timers map[Timer]int64    // of single timers, the current epoch
	Later  map[int64]Deferred // deferred events, by the epoch of their timer
	Epochs int64
	Seed   [32]byte
	Draws  uint64 // identifiers given

	// For the Apply in progress.
	now  time.Time       `snapshot:"-"`
	boot engine.BootTime `snapshot:"-"`
	proc Process         `snapshot:"-"`
	out  []Effect        `snapshot:"-"`
}

func (s *Turn) emit(e Effect) { s.out = append(s.out, e) }

func (s *Turn) reply(to engine.Request, value any, err error) {
	if to != "" {
		s.emit(Reply{to, value, err})
	}
}

// current says whether a row that a read has found is the contact's latest.
func (s *Turn) current(r Read, id engine.ContactID) bool {
	_, mine := s.Reads[r] // false for reads from before a crash of the run
	last, gone := s.StoppedSince[id]
	return mine && (!gone || last < r) && r > s.Swept
}

func (s *Turn) beginRead() Read {
	s.LastRead++
	s.Reads[s.LastRead] = struct{}{}
	return s.LastRead
}

func (s *Turn) endRead(r Read) {
	delete(s.Reads, r)
	if len(s.Reads) == 0 {
		clear(s.StoppedSince)
	}
}

// Deferred is an event that waits, with the request that it answers.
type Deferred struct {
	Event any
	From  engine.Request
}

func (s *Turn) ticket(c Continuation) int64 {
	s.Tickets++
	s.Pending[s.Tickets] = c
	return s.Tickets
}

// afterWrites continues once everything written so far is durable.
func (s *Turn) afterWrites(c Continuation) { s.emit(Fence{s.ticket(c)}) }

// Continuation is what follows a write, or all writes so far.
type Continuation struct {
	Do      Then
	Request engine.Request
	Value   any
	Op      int   // of an exclusion or lift
	Seq     int64 // of a write to all contacts
	Number  engine.PhoneNumber
	// Contacts are the contacts that were put off.
	Contacts []engine.ContactID
	Import   engine.ImportID
	Trigger  *call.Trigger
	Read     Read // numbers what a trigger's write finds
	Effect   campaign.Effect
}

// Then names a Continuation.
type Then string

// What follows once everything written before is durable.
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
	thenTakeBack      Then = "take_back"
	// What follows one write: the queued trigger's answer.
	thenAnswerTrigger Then = "answer_trigger"
)
