package run

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/window"
)

// refill asks for due contacts unless none can be due yet.
func (s *Contacts) refill() {
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
	slices.Sort(except) // makes the question deterministic
	s.emit(ReadDue{Run: s.M.C.Run, Order: s.order(), Limit: max(s.lookAhead()-s.Queue.Len(), s.lookAhead()/2),
		Except: except,
		Ends:   !s.M.C.Settings.AlwaysOn})
}

// dueRead takes due contacts into the look-ahead and says when to ask again; none: the
// tables have no open contact.
func (s *Contacts) dueRead(m *DueRead) (none bool) {
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
		return false
	}
	if s.ReadStale || s.Sweep != nil || s.over() {
		s.ReadStale, s.ReadAgain, s.NextDue = false, false, nil // read before a change of all contacts
		return false
	}
	added := 0
	for i := range m.Rows {
		row := &m.Rows[i]
		if _, ok := touched[row.ID]; ok || s.Lines[row.ID] != nil || s.Loads[row.ID] != nil {
			continue
		}
		if s.Excluded.Covers(row) {
			if !s.excluding(row) {
				// The exclusion is stored, but a crash prevented the change of its contact.
				s.touchRow(*row, &call.Exclude{Reason: s.Excluded.ReasonOf(row)})
			}
			continue
		}
		s.Queue.Push(*row)
		added++
	}
	if s.ReadAgain {
		s.ReadAgain = false
		s.NextDue = nil
		return false
	}
	if m.Open < 0 { // the page was full: more are due now
		s.NextDue = nil
		return false
	}
	s.OpenRows = m.Open
	s.NextDue = nil
	if s.DueNext = m.Next; expected != nil && (m.Next == nil || expected.Before(*m.Next)) {
		s.DueNext = expected
	}
	// Contacts due now are in the queue or have an actor; the next query is when another contact
	// becomes due, or soon while a number hold delays a due contact.
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
	return m.Open == 0
}

// lookAgain makes the next pump query the database, whatever the last answer said.
func (s *Contacts) lookAgain() {
	s.NextDue = nil
	if s.Reading {
		s.ReadAgain = true
	}
}

// dropLookAhead forgets the queued rows because the database is about to change their contacts.
func (s *Contacts) dropLookAhead() {
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

// expect notes when a contact becomes due, so that the look-ahead asks again then.
func (s *Contacts) expect(due time.Time) {
	due = due.Round(0) // by the wall clock, even if it is stepped
	if s.Reading && (s.Expected == nil || due.Before(*s.Expected)) {
		s.Expected = &due
	}
	if s.DueNext == nil || due.Before(*s.DueNext) || !s.DueNext.After(s.now) {
		s.DueNext = &due
	}
	if s.NextDue == nil || due.Before(*s.NextDue) {
		s.NextDue = &due
		s.setWake()
	}
}

func (s *Contacts) setWake() {
	if s.NextDue == nil {
		s.disarm(TimerWake)
		return
	}
	s.arm(TimerWake, s.NextDue.Sub(s.now), Deferred{Event: &woken{}})
}

// awaitedContacts lists the contacts whose rows are being read, always in the same
// order.
func (s *Contacts) awaitedContacts() []engine.ContactID {
	list := make([]engine.ContactID, 0, len(s.Loads))
	for id := range s.Loads {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

// Windows by the clocks of the contacts (SEMANTICS §8, option contact zone). A contact whose turn
// comes while its own window is closed is durably given the time of its next opening, and is not
// considered until then: at most one write a contact and day, whatever the size of the list.

// deferBatch bounds how many contacts are put off at once, so that one write does it and the run's
// turn stays short.
const deferBatch = 512

// deferClosed puts off the contacts whose window is closed, and ends those that expired. Until that is
// durable they count as being loaded: a command for one of them waits for its new row.
func (s *Contacts) deferClosed() {
	if len(s.Closed) == 0 {
		return
	}
	rows := s.Closed
	s.Closed = nil
	var w journal.Write
	var ids []engine.ContactID
	policy := byHome(s.rules.PolicyFor)
	for i := range rows {
		c := contact.Machine{C: rows[i]}
		before := c.C.Facts()
		changed := contact.Event{Kind: contact.Deferred, At: s.now, Policy: policy(rows[i].NextNumber())}
		if c.C.Expired(s.now) {
			changed.Kind = contact.Lapsed
		}
		if err := c.Apply(changed); err != nil {
			s.emit(Illegal{})
			continue
		}
		if c.C.Version == rows[i].Version { // its window has just opened
			s.Queue.Push(rows[i])
			continue
		}
		after := c.C.Facts()
		ev := journal.Event{At: s.now, Type: journal.ContactChanged, Version: 1, Contact: c.C.ID,
			Data: journal.Data{Before: &before, After: &after, DueAt: c.C.DueAt, Reason: "outside_window"}}
		if changed.Kind == contact.Lapsed {
			ev.Data.Reason = journal.ReasonExpired
		}
		if c.C.State == contact.Expired {
			ev.Type, ev.Data.Reason = journal.ContactExpired, ""
		}
		w.Contacts, w.Events = append(w.Contacts, c.C), append(w.Events, ev)
		ids = append(ids, c.C.ID)
		s.Loads[c.C.ID] = []any{}
		if s.Reading {
			s.LiveWhileReading[c.C.ID] = struct{}{}
		}
		if due := c.C.DueAt; due != nil {
			s.expect(*due)
			if !s.now.Before(s.Opens) || due.Before(s.Opens) {
				s.Opens = *due
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	s.write(w)
	s.afterWrites(Continuation{Do: thenPutOff, Contacts: ids})
}

// byHome gives the contacts of a turn their rules, which make each search for an opening once for all who
// are at home in the same place: one for an opening that never comes goes over 400 days.
func byHome(policyFor func(engine.PhoneNumber, func(engine.PhoneNumber) window.Home) contact.Policy) func(
	engine.PhoneNumber) contact.Policy {
	policies := map[string]contact.Policy{}
	return func(n engine.PhoneNumber) contact.Policy {
		home := number.HomeOf(n)
		place := home.Country + " " + strings.Join(home.Zones, " ")
		p, ok := policies[place]
		if !ok {
			p = policyFor(n, func(engine.PhoneNumber) window.Home { return home })
			p.Clip = clippedOnce(p.Clip)
			policies[place] = p
		}
		return p
	}
}

func clippedOnce(clip func(time.Time) (time.Time, bool)) func(time.Time) (time.Time, bool) {
	type opening struct {
		at time.Time
		ok bool
	}
	known := map[time.Time]opening{}
	return func(t time.Time) (time.Time, bool) {
		o, ok := known[t]
		if !ok {
			o.at, o.ok = clip(t)
			known[t] = o
		}
		return o.at, o.ok
	}
}

// putOff handles contacts that were put off, or have expired, which is now durable. What a read
// that began before has found of them is out of date.
func (s *Contacts) putOff(ids []engine.ContactID) {
	for _, id := range ids {
		if len(s.Reads) > 0 {
			s.StoppedSince[id] = s.LastRead
		}
		if len(s.Loads[id]) > 0 {
			s.emit(ReadContact{Contact: id})
		} else {
			delete(s.Loads, id)
		}
	}
	s.lookAgain()
	s.lookForExpired()
}
