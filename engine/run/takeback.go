package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// An import is taken back by deleting its contacts, in the way in which the end of a run reaches the
// contacts at rest: one transaction changes a page of them and leaves out who has an actor, and until it
// is done no contact actor is started. They are deleted, not excluded or closed: a person who was never
// meant to be in the campaign is not kept in it, a restart does not bring them back, and the right file
// can add the same number again, with exclusions sticky or not.
//
// Pages follow the order of the list, which is the order of first attempts: what would be dialled next
// goes first. Between two of them the run dials on. What was asked for is durable with the first page,
// and whoever owns the campaign next carries it on.

const (
	takeBackPage  = 5000
	takeBackPause = 100 * time.Millisecond // between two pages, in which the run dials
)

// TakingBack is the import that is being taken back.
type TakingBack struct {
	Import  engine.ImportID
	Who     engine.Who
	Waiting []engine.Request  // until the end of a page
	Page    *journal.TakeBack // under way, or to be repeated; nil between two pages
}

var errUndoInProgress = engine.TemporaryConflict("import_undo_in_progress", "", time.Second)

func (s *State) takeBack(m *UndoImport, from engine.Request) {
	if !s.known(from) || s.past(m.Command.Deadline, from) {
		return
	}
	t := s.TakingBack
	switch {
	case t != nil && t.Import == m.Command.Import:
		t.Waiting = append(t.Waiting, from)
	case t != nil:
		s.reply(from, nil, errUndoInProgress)
	case s.over():
		s.reply(from, nil, errRunIsOver)
	case s.Preparing:
		s.reply(from, nil, errPreparing)
	default:
		s.TakingBack = &TakingBack{Import: m.Command.Import, Who: m.Command.Who, Waiting: []engine.Request{from}}
		s.nextPage()
	}
}

// carryOn takes up what an earlier owner, or an earlier instance of the run, had begun.
func (s *State) carryOn(id engine.ImportID) {
	if id != "" && s.TakingBack == nil {
		s.TakingBack = &TakingBack{Import: id}
		s.later(takeBackPause, &takeBackAgain{})
	}
}

// nextPage takes back a page as soon as no other change of many contacts is under way.
func (s *State) nextPage() {
	t := s.TakingBack
	switch {
	case t == nil || s.missing() != nil:
		return
	case t.Page != nil: // its outcome is not known
		s.emit(TakeBack{*t.Page})
		return
	case s.Sweep != nil || s.Preparing || s.Activation != nil || s.Adding > 0:
		s.later(takeBackPause, &takeBackAgain{})
		return
	}
	s.Adding++ // a file that is being switched on must not count on contacts that go
	except := s.sweep().Except
	s.Sweep = &Sweep{}
	t.Page = &journal.TakeBack{Campaign: s.ID, Epoch: s.M.C.Epoch, Run: s.M.C.Run, Import: t.Import, Who: t.Who,
		At: s.now, Seq: s.M.C.Seq + 1, Except: except, Limit: takeBackPage}
	s.M.C.Seq += 2
	s.afterWrites(Continuation{Do: thenTakeBack})
}

// takingPage says whether a page is under way: what then changes many contacts, or excludes some, waits.
func (s *Contacts) takingPage() bool { return s.TakingBack != nil && s.TakingBack.Page != nil }

func (s *State) tookBack(m *TookBack) error {
	t := s.TakingBack
	if t == nil || t.Page == nil || t.Page.Seq != m.Page.Seq {
		return nil // of an earlier instance, which has counted what it found
	}
	if journal.Temporary(m.Err) {
		s.later(time.Second, &takeBackAgain{})
		return nil
	}
	if m.Err == nil && m.Page.Epoch == s.M.C.Epoch && s.Tally != nil {
		s.Tally.Apply(&m.Out.Event)
	}
	t.Page = nil
	s.Adding--
	s.Swept = s.LastRead // rows that are being read may be of contacts that are gone
	c := s.Sweep
	s.Sweep = nil
	s.letGo(false)
	s.lookAgain()
	s.Expiry.From = time.Time{}
	for _, to := range c.Waiting {
		s.reply(to, s.detail(), nil)
	}
	for _, to := range t.Waiting {
		s.reply(to, m.Out.Undo, m.Err)
	}
	t.Waiting = nil
	if m.Err != nil || m.Out.Undo.State == campaign.UndoDone {
		s.TakingBack = nil
	} else {
		s.later(takeBackPause, &takeBackAgain{})
	}
	s.drained()
	return s.goOn()
}
