package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

// ExcludeOp is an exclusion or suppression in progress: it is answered once it is committed and
// every live attempt concerned has confirmed.
type ExcludeOp struct {
	Command   campaign.Exclude
	Who       *engine.Who
	Request   engine.Request
	Reply     campaign.ExcludeReply
	Awaited   int // contacts that have not confirmed
	Persisted bool
	Found     bool
	// OfTrigger says that a refused trigger's variables matched an exclusion; its contact, if there
	// is one, is excluded from then on.
	OfTrigger bool
}

// excluding says whether an exclusion in progress already counts the contact.
func (s *Contacts) excluding(c *contact.Contact) bool {
	for _, op := range s.Ops {
		if exclusion.Concerns(op.Command.Number, op.Command.Match, c.Number, c.Alternates, c.Variables) {
			return true
		}
	}
	return false
}

func (s *Contacts) excludeDone(m *call.Excluded) {
	op := s.Ops[m.Op]
	if op == nil {
		return
	}
	op.Awaited--
	if m.Excluded {
		op.Reply.Excluded++
	}
	if m.Cancelled {
		op.Reply.CancelledRinging++
	}
	if m.InCall {
		op.Reply.InCall++
	}
	s.finishExclude(m.Op)
}

func (s *Contacts) finishExclude(n int) {
	op := s.Ops[n]
	if !op.Found || !op.Persisted || op.Awaited > 0 {
		return
	}
	delete(s.Ops, n)
	if op.Command.Idempotency.Present() {
		rep := op.Reply
		s.write(journal.Write{Reply: journal.StoredReply(op.Command.Idempotency, 200, rep, s.now)})
		s.afterWrites(Continuation{Do: thenReply, Request: op.Request, Value: rep})
		return
	}
	s.reply(op.Request, op.Reply, nil)
}

// LiftOp is an exclusion being lifted: it is answered once the lift and the confirmation of every
// contact concerned are stored.
type LiftOp struct {
	Command campaign.Lift
	Was     bool // the campaign had the exclusion
	Request engine.Request
	Reply   campaign.LiftReply
	Awaited int // contacts that have not confirmed
}

func (s *Contacts) liftDone(m *call.Lifted) {
	op := s.Lifts[m.Op]
	if op == nil {
		return
	}
	op.Awaited--
	if m.Readmitted {
		op.Reply.Readmitted++
	}
	s.finishLift(m.Op)
}

func (s *Contacts) finishLift(n int) {
	if op := s.Lifts[n]; op.Awaited == 0 {
		delete(s.Lifts, n)
		s.reply(op.Request, op.Reply, nil)
	}
}

// Activation is the switch of an import that is under way.
type Activation struct {
	Import engine.ImportID
	// Before is the number of the first trigger that need not be stored before the switch begins:
	// older triggers must be stored, and no list may be being added.
	Before int
	Begin  engine.Request // the request that waits for the start, "" once answered
	Since  time.Time
	Gated  bool
}

// drainTimeout bounds how long a switch waits for additions in progress; after that, at worst a
// trigger waits for the switch.
const drainTimeout = 5 * time.Second

// drained lets the switch begin once no addition is in progress that was not checked against the
// staged rows.
func (s *Contacts) drained() {
	a := s.Activation
	if a == nil || a.Begin == "" || s.takingPage() {
		return
	}
	if s.now.Sub(a.Since) < drainTimeout {
		if s.Adding > 0 {
			return
		}
		for _, n := range s.Fresh {
			if n < a.Before {
				return
			}
		}
	}
	to := a.Begin
	a.Begin = ""
	s.afterWrites(Continuation{Do: thenBegin, Request: to})
}

// settled notes that a trigger's contact is stored, or will not be.
func (s *Contacts) settled(n engine.PhoneNumber) {
	if _, ok := s.Fresh[n]; ok {
		delete(s.Fresh, n)
		s.drained()
	}
}
