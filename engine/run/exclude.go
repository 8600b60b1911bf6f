package run

import (
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

func (s *Intake) exclude(m *Exclude, from engine.Request) {
	if !s.known(from) {
		return
	}
	if s.past(m.Command.Deadline, from) {
		return
	}
	// From now on look-ahead, reservations and additions are covered.
	if m.Command.Reason == "" { // an exclusion without a reason keeps the recorded one
		m.Command.Reason, _ = s.Excluded.Reason(m.Command.Number, m.Command.Match)
	}
	x := journal.Exclusion{Campaign: s.ID, Number: m.Command.Number, Match: m.Command.Match, Reason: m.Command.Reason,
		CreatedAt: s.now}
	s.Excluded.Add(&x)
	s.OpSeq++
	n := s.OpSeq
	s.Ops[n] = &ExcludeOp{Command: m.Command, Who: m.Who, Request: from}
	s.overtakeTriggers(&m.Command)
	if s.LookUps > 0 {
		s.Newer = append(s.Newer, NewerExclusion{Command: m.Command, Behind: s.LastRead})
	}
	if s.Readmission.Running > 0 {
		s.Readmission.Newer = append(s.Readmission.Newer, m.Command)
	}
	s.write(journal.Write{Exclusions: []journal.Exclusion{x}})
	// The tables are queried after the writes queued for them, so that a contact that a trigger has
	// just written is among those found.
	s.afterWrites(Continuation{Do: thenFindExcluded, Op: n})
}

// refuseTrigger refuses a trigger that matches a sticky exclusion. When its variables match, the
// contact with that number may be open with different variables: it is excluded as well.
func (s *Intake) refuseTrigger(cmd *campaign.Trigger, from engine.Request) {
	s.reply(from, nil, call.ErrContactExcluded)
	if _, byNumber := s.Excluded.Reason(cmd.Number, nil); byNumber {
		return
	}
	s.OpSeq++
	who := cmd.Who
	reason, _ := s.Excluded.Met(cmd.Variables)
	op := &ExcludeOp{Command: campaign.Exclude{Campaign: s.ID, Number: cmd.Number, Reason: reason}, Who: &who,
		Persisted: true, OfTrigger: true}
	s.Ops[s.OpSeq] = op
	s.overtakeTriggers(&op.Command)
	if s.LookUps > 0 {
		s.Newer = append(s.Newer, NewerExclusion{Command: op.Command, Behind: s.LastRead})
	}
	s.afterWrites(Continuation{Do: thenFindExcluded, Op: s.OpSeq})
}

// findContacts asks for the contacts that an exclusion, or a lift, is about.
func (s *Intake) findContacts(n int) {
	q := FindContacts{Op: n}
	switch op, lift := s.Ops[n], s.Lifts[n]; {
	case op != nil:
		q.Number, q.Match = op.Command.Number, op.Command.Match
	case lift != nil:
		q.Number, q.Match = lift.Command.Number, lift.Command.Match
	default:
		return
	}
	q.Read = s.beginRead()
	s.emit(q)
}

func (s *Intake) contactsFound(m *ContactsFound) {
	defer s.endRead(m.Read)
	if op := s.Ops[m.Op]; op != nil {
		s.excludeFound(op, m)
	} else if lift := s.Lifts[m.Op]; lift != nil {
		s.liftFound(lift, m)
	}
}

func (s *Intake) exclusionsImported(cmd *campaign.ExclusionsImported, from engine.Request) {
	if !s.known(from) || s.past(cmd.Deadline, from) {
		return
	}
	s.write(journal.Write{Events: []journal.Event{{At: s.now, Type: journal.ExclusionsImported, Version: 1,
		Data: journal.Data{Who: &cmd.Who, Reason: cmd.Reason, Count: cmd.Numbers}}}})
	s.afterWrites(Continuation{Do: thenReply, Request: from})
}

// overtakeTriggers refuses triggers that wait for room, or for a reservation, when their contacts
// are not stored yet.
func (s *Intake) overtakeTriggers(cmd *campaign.Exclude) {
	keep := s.Triggers[:0]
	for _, t := range s.Triggers {
		if exclusion.Concerns(cmd.Number, cmd.Match, t.Row.Number, t.Row.Alternates, t.Row.Variables) {
			delete(s.TriggersOf, t.Row.Number)
			s.settled(t.Row.Number)
			s.reply(t.Trigger.Request, nil, call.ErrContactExcluded)
			continue
		}
		if !t.LookedUp {
			t.Newer = append(t.Newer, *cmd)
		}
		keep = append(keep, t)
	}
	clear(s.Triggers[len(keep):])
	s.Triggers = keep
	s.overtakeParked(cmd)
	for _, epoch := range slices.Sorted(maps.Keys(s.Later)) { // triggers that wait for another of the same number
		held := s.Later[epoch]
		t, ok := held.Event.(*Trigger)
		if !ok {
			continue
		}
		if exclusion.Concerns(cmd.Number, cmd.Match, t.Command.Number, t.Command.Alternates, t.Command.Variables) {
			delete(s.Later, epoch)
			s.reply(held.From, nil, call.ErrContactExcluded)
			continue
		}
		held.Event = t.olderThan(cmd)
		s.Later[epoch] = held
	}
	if s.Round == nil {
		return
	}
	for i := range s.Round.Candidates {
		c := &s.Round.Candidates[i]
		c.Overtaken = c.Overtaken || c.Trigger != nil && exclusion.Concerns(cmd.Number, cmd.Match, c.Row.Number,
			c.Row.Alternates, c.Row.Variables)
	}
}

// NewerExclusion is an exclusion that came while triggers were being looked up or written. It is
// newer than the triggers whose Read is From to Behind, and older than the rest.
type NewerExclusion struct {
	Command      campaign.Exclude
	From, Behind Read
}

// olderThan is a waiting trigger that remembers an exclusion: the tables may know its number as one of
// the person who is excluded by another.
func (m *Trigger) olderThan(cmd *campaign.Exclude) *Trigger {
	later := *m // the waiting command itself is not modified
	later.Newer = append(slices.Clip(m.Newer), *cmd)
	return &later
}

// remember keeps the exclusions that came while a trigger waited, until its look-up or write is over.
func (s *Intake) remember(r Read, newer []campaign.Exclude) {
	for i := range newer {
		s.Newer = append(s.Newer, NewerExclusion{newer[i], r, r})
	}
}

// newerThan ends the look-up or the write of a trigger: it returns the exclusions that came since. They
// stand, even where exclusions are not sticky.
func (s *Intake) newerThan(r Read) (list []campaign.Exclude) {
	if _, mine := s.Reads[r]; !mine {
		return nil
	}
	for i := range s.Newer {
		if x := &s.Newer[i]; x.From <= r && r <= x.Behind {
			list = append(list, x.Command)
		}
	}
	if s.LookUps--; s.LookUps == 0 {
		s.Newer = nil
	}
	return list
}

// concern says whether one of the exclusions applies to a contact with these numbers and variables.
func concern(list []campaign.Exclude, n engine.PhoneNumber, others contact.Alternates, vars map[string]string) bool {
	return slices.ContainsFunc(list, func(x campaign.Exclude) bool {
		return exclusion.Concerns(x.Number, x.Match, n, others, vars)
	})
}

func (s *Intake) excludeFound(op *ExcludeOp, m *ContactsFound) {
	if journal.Temporary(m.Err) {
		// The exclusion is stored, so it is carried out in full, whether or not anybody still
		// waits.
		s.later(time.Second, &findAgain{m.Op})
		return
	}
	if m.Err != nil {
		delete(s.Ops, m.Op)
		s.reply(op.Request, nil, journal.Unavailable(m.Err))
		return
	}
	seen := map[engine.ContactID]bool{}
	for i := range m.Rows {
		seen[m.Rows[i].ID] = true
	}
	// Contacts that have an actor but are not stored yet (a trigger in progress).
	for _, l := range s.linesInOrder() {
		if exclusion.Concerns(op.Command.Number, op.Command.Match, l.Number, l.Alternates, l.Variables) && !seen[l.ID] {
			op.Reply.Matched++
			op.Awaited++
			s.touch(l.ID, &call.Exclude{Reason: op.Command.Reason, Who: op.Who, Op: m.Op})
		}
	}
	for i := range m.Rows {
		if op.OfTrigger && m.Rows[i].State == contact.Excluded {
			continue
		}
		op.Reply.Matched++
		op.Awaited++
		s.touchFound(m.Read, m.Rows[i], &call.Exclude{Reason: op.Command.Reason, Who: op.Who, Op: m.Op})
	}
	op.Found = true
	s.finishExclude(m.Op)
}
