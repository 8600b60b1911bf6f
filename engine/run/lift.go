package run

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

var (
	errNoExclusion = engine.NotFound("exclusion_not_found",
		"")
	errRunIsOver = engine.Conflict("run_over",
		"")
	errExcluding = engine.TemporaryConflict("exclusion_in_progress",
		"", time.Second)
)

func (s *Intake) lift(m *Lift, from engine.Request) {
	if !s.known(from) || s.past(m.Command.Deadline, from) {
		return
	}
	switch {
	case s.over():
		s.reply(from, nil, errRunIsOver)
		return
	case s.Preparing:
		s.reply(from, nil, errPreparing)
		return
	}
	for _, op := range s.Ops {
		if op.Command.Number == m.Command.Number && maps.Equal(op.Command.Match, m.Command.Match) {
			s.reply(from, nil, errExcluding)
			return
		}
	}
	op := &LiftOp{Command: m.Command, Was: s.Excluded.Has(m.Command.Number, m.Command.Match), Request: from}
	s.OpSeq++
	n := s.OpSeq
	s.Lifts[n] = op
	if op.Was {
		x := journal.Exclusion{Campaign: s.ID, Number: m.Command.Number, Match: m.Command.Match, Lifted: true,
			CreatedAt: s.now}
		s.Excluded.Add(&x)
		s.write(journal.Write{Exclusions: []journal.Exclusion{x}, Events: []journal.Event{s.liftedBy(&m.Command)}})
	}
	s.afterWrites(Continuation{Do: thenFindLifted, Op: n})
}

// liftedBy is the history entry. Metadata values are personal data and stay out of it.
func (s *Intake) liftedBy(cmd *campaign.Lift) journal.Event {
	what := cmd.Number.String() // masked
	if cmd.Number == "" {
		what = strings.Join(slices.Sorted(maps.Keys(cmd.Match)), ", ")
	}
	return journal.Event{At: s.now, Type: journal.ExclusionLifted, Version: 1, Data: journal.Data{Who: &cmd.Who,
		Reason: what}}
}

func (s *Intake) liftFound(op *LiftOp, m *ContactsFound) {
	switch {
	case journal.Temporary(m.Err) && op.Was:
		// The lift is stored, so it is carried out in full, whether or not anybody still waits.
		s.later(time.Second, &findAgain{m.Op})
		return
	case m.Err != nil:
		delete(s.Lifts, m.Op)
		s.reply(op.Request, nil, journal.Unavailable(m.Err))
		return
	}
	kept := false
	for i := range m.Rows {
		row := &m.Rows[i]
		switch {
		case row.State != contact.Excluded && !row.ExcludeAfterCall:
		case s.Excluded.Refuses(row.Number, row.Alternates, row.Variables, true):
			kept = true // by another exclusion, or by a newer one
		case s.over():
		default:
			op.Awaited++
			s.touchFound(m.Read, *row, &call.Readmit{LiftedExclusion: true, Op: m.Op})
		}
	}
	if !op.Was && op.Awaited == 0 && !kept {
		delete(s.Lifts, m.Op)
		s.reply(op.Request, nil, errNoExclusion)
		return
	}
	s.finishLift(m.Op)
}
