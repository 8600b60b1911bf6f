package run

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/exclusion"
)

// The run's side of imports (ADR 11). While rows of a file are being inserted, their numbers are
// locked in the database: a write that inserted one of them would wait for the switch, and with it
// the group commit of every campaign of its writer. So the run holds such additions until the
// switch is over: lists of contacts, and triggers whose number is staged. Between the gate and the
// end, a few milliseconds, it also holds commands that would miss the new rows: exclusions and
// lifecycle commands.

// Parked is a command that waits for the end of a switch.
type Parked struct {
	Event any
	From  engine.Request
	Until time.Time
}

const (
	// parkTimeout is how long a command without a deadline waits; a command with a deadline is
	// answered a little before it.
	parkTimeout = 8 * time.Second
	parkMargin  = 200 * time.Millisecond
)

// mayAdd says whether contacts can be added now: the campaign's table decides.
func (s *Intake) mayAdd() error {
	switch {
	case s.M.C.ID == "":
		return ErrCampaignNotFound
	case s.Preparing:
		return engine.Conflict("contacts_locked", "the contacts are being prepared or removed; nothing can be added now")
	}
	m := s.M
	_, err := m.Apply(campaign.Event{Kind: campaign.AddRows, At: s.now}, nil)
	return err
}

func (s *Intake) beginActivation(m *BeginActivation, from engine.Request) {
	err := s.mayAdd()
	if err == nil && s.Activation != nil && s.Activation.Import != m.Import {
		err = engine.Conflict("import_in_progress", "")
	}
	if err != nil {
		s.reply(from, nil, err)
		return
	}
	if a := s.Activation; a != nil {
		s.reply(a.Begin, nil, errImportActivating) // a client that asks again has given up the first request
		a.Begin = from
	} else {
		s.Additions++
		s.Activation = &Activation{Import: m.Import, Before: s.Additions, Begin: from, Since: s.now}
		s.later(drainTimeout, &activationDue{m.Import})
	}
	s.drained()
}

// closeGate requires the campaign to be in the run for which the rows were made. A pause since then
// does not matter: the new contacts wait with the others.
func (s *Intake) closeGate(m *CloseGate, from engine.Request) {
	a := s.Activation
	err := s.mayAdd()
	if s.M.C.State == campaign.Paused {
		err = nil
	}
	switch {
	case err != nil:
	case a == nil || a.Import != m.Import:
		err = engine.Unavailable("import_unknown",
			"", time.Second)
	case s.M.C.Run != m.Run:
		err = engine.Conflict("contacts_locked", "the campaign is in another run now; nothing was added")
	}
	if err != nil {
		s.reply(from, nil, err)
		return
	}
	a.Gated = true
	s.afterWrites(Continuation{Do: thenPassGate, Request: from})
}

// gated says whether commands wait that would miss new contacts, or meet some that are going.
func (s *Intake) gated() bool { return s.Activation != nil && s.Activation.Gated || s.takingPage() }

// park holds a command that must wait for the end of the switch.
func (s *Intake) park(msg any, from engine.Request) bool {
	switch msg.(type) {
	case *AddRows:
		if s.Activation == nil {
			return false
		}
	case *Act, *ActReady, *Exclude, *Lift:
		if !s.gated() {
			return false
		}
	default:
		return false
	}
	s.parkNow(msg, from)
	return true
}

func (s *Intake) parkNow(msg any, from engine.Request) {
	var deadline time.Time
	switch m := msg.(type) {
	case *Exclude:
		deadline = m.Command.Deadline
	case *Lift:
		deadline = m.Command.Deadline
	case *Trigger:
		deadline = m.Command.Deadline
	}
	until := deadline.Add(-parkMargin)
	if deadline.IsZero() {
		until = s.now.Add(parkTimeout)
	}
	s.Parked = append(s.Parked, Parked{msg, from, until})
	s.later(until.Sub(s.now), &parkedLate{})
}

func (s *Intake) refuseLate() {
	keep := s.Parked[:0]
	for _, p := range s.Parked {
		if s.now.Before(p.Until) {
			keep = append(keep, p)
			continue
		}
		s.refuseParked(p)
	}
	clear(s.Parked[len(keep):])
	s.Parked = keep
}

// overtakeParked refuses the triggers held for a switch that an exclusion concerns, and drops the
// contacts it concerns from held lists.
func (s *Intake) overtakeParked(cmd *campaign.Exclude) {
	keep := s.Parked[:0]
	for _, p := range s.Parked {
		if add, ok := p.Event.(*AddRows); ok {
			later := *add // the queued command itself is not modified
			later.Newer = append(slices.Clip(add.Newer), *cmd)
			p.Event = &later
		}
		if t, ok := p.Event.(*Trigger); ok {
			if exclusion.Concerns(cmd.Number, cmd.Match, t.Command.Number, t.Command.Alternates, t.Command.Variables) {
				s.reply(p.From, nil, call.ErrContactExcluded)
				continue
			}
			p.Event = t.olderThan(cmd)
		}
		keep = append(keep, p)
	}
	clear(s.Parked[len(keep):])
	s.Parked = keep
}

var errImportOver = engine.Unavailable("import_over",
	"", time.Second)

var errImportActivating = engine.Unavailable("import_activating",
	"", time.Second)

// asks is the request that waits for the answer.
func (p *Parked) asks() engine.Request {
	if m, ok := p.Event.(*ActReady); ok {
		return m.Request
	}
	return p.From
}

func (s *Intake) refuseParked(p Parked) { s.reply(p.asks(), nil, errImportActivating) }

// activating is the import whose numbers are locked, "" when there is none.
func (s *Intake) activating() engine.ImportID {
	if s.Activation == nil {
		return ""
	}
	return s.Activation.Import
}
