package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

// refill asks for due contacts, unless none can be due yet.
func (s *State) refill() {
	if s.Reading || s.Sweep != nil || (s.NextDue != nil && s.NextDue.After(s.now)) {
		return
	}
	s.Reading = true
	// A contact with a live call is rarely due in the table; dueRead
	// leaves out the few whose intent is not stored yet.
	except := s.Queue.IDs(make([]engine.ContactID, 0, s.Queue.Len()+len(s.Loads)))
	for id := range s.Lines {
		s.LiveWhileReading[id] = struct{}{}
	}
	for id := range s.Loads {
		except = append(except, id)
		s.LiveWhileReading[id] = struct{}{}
	}
	if s.Round != nil {
		for i := range s.Round.Candidates {
			except = append(except, s.Round.Candidates[i].Row.ID)
		}
	}
	slices.Sort(except) // always the same question
	s.emit(ReadDue{Run: s.M.C.Run, Order: s.order(), Limit: max(s.Config.LookAhead-s.Queue.Len(), s.Config.LookAhead/2),
		Except: except,
		Ends:   !s.M.C.Settings.AlwaysOn})
}

// dueRead takes due contacts into the look-ahead and says when to ask again.
func (s *State) dueRead(m *DueRead) {
	s.Reading = false
	expected := s.Expected
	s.Expected = nil
	touched := s.LiveWhileReading
	s.LiveWhileReading = map[engine.ContactID]struct{}{}
	if m.Err != nil {
		s.emit(Failed{"look-ahead not loaded", m.Err})
		retry := s.now.Add(time.Second)
		s.NextDue = &retry
		s.setWake()
		return
	}
	if s.ReadStale || s.Sweep != nil || s.over() {
		s.ReadStale, s.ReadAgain, s.NextDue = false, false, nil // read before a change of all contacts
		return
	}
	added := 0
	for i := range m.Rows {
		row := &m.Rows[i]
		if _, ok := touched[row.ID]; ok || s.Lines[row.ID] != nil || s.Loads[row.ID] != nil {
			continue
		}
		if s.Excluded.Covers(row) {
			if !s.excluding(row) {
				// The exclusion is stored, but a crash came before its contact was changed.
				reason, _ := s.Excluded.Reason(row.Number, nil)
				s.touchRow(*row, &call.Exclude{Reason: reason})
			}
			continue
		}
		s.Queue.Push(*row)
		added++
	}
	if s.ReadAgain {
		s.ReadAgain = false
		s.NextDue = nil
		return
	}
	if m.Open < 0 { // the page was full: more are due now
		s.NextDue = nil
		return
	}
	s.OpenRows = m.Open
	s.NextDue = nil
	if s.DueNext = m.Next; expected != nil && (m.Next == nil || expected.Before(*m.Next)) {
		s.DueNext = expected
	}
	// What is due now is in the queue or lives; the next look is when something
	// else becomes due, or soon, while a number hold delays a due contact.
	next := s.now.Add(time.Second)
	if m.Next != nil && m.Next.After(next) {
		next = *m.Next
	}
	if m.Next == nil {
		next = s.now.Add(5 * time.Second)
	}
	if expected != nil && expected.Before(next) {
		next = *expected
	}
	s.NextDue = &next
	s.setWake()
	if m.Open == 0 {
		s.maybeExhausted(m.Exhausted)
	}
}

// lookAgain makes the next pump ask the database, whatever it said before.
func (s *State) lookAgain() {
	s.NextDue = nil
	if s.Reading {
		s.ReadAgain = true
	}
}

// dropLookAhead forgets the queued rows, whose contacts the database is about
// to change.
func (s *State) dropLookAhead() {
	s.Queue.Clear()
	if s.Round != nil {
		for i := range s.Round.Candidates {
			if c := &s.Round.Candidates[i]; c.Trigger == nil {
				s.Round.touch(c.Row.ID)
			}
		}
	}
	s.lookAgain()
	s.ReadStale = s.Reading
}

// maybeExhausted completes the run when no contact will ever be due again.
// exhausted says whether any of them used up its attempts.
func (s *State) maybeExhausted(exhausted bool) {
	if s.M.C.State != campaign.Running || s.OpenRows != 0 || s.Queue.Len() > 0 || len(s.Lines) > 0 ||
		len(s.Loads) > 0 || len(s.Triggers) > 0 || s.Round != nil || len(s.Ops) > 0 || s.Activation != nil ||
		s.Sweep != nil || s.Adding > 0 {
		return
	}
	// A running campaign takes it.
	_ = s.applyCampaign(campaign.Event{Kind: campaign.Exhausted, At: s.now, Reason: campaign.Complete(s.Tally.C,
		exhausted)})
}
