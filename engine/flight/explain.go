package flight

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/run"
)

// Events are the events that the effects write, in their order.
func Events(effects []run.Effect) (list []journal.Event) {
	for _, e := range effects {
		switch e := e.(type) {
		case run.PassOn:
			list = append(list, e.Write.Events...)
		case run.Write:
			list = append(list, e.Write.Events...)
			if b := e.Write.Bulk; b != nil {
				list = append(list, b.Event)
			}
			if r := e.Write.Retune; r != nil {
				list = append(list, r.Event)
			}
		case run.AddContacts:
			list = append(list, e.Insert.Event)
		case run.Prepare:
			list = append(list, e.Event)
		}
	}
	return slices.DeleteFunc(list, func(e journal.Event) bool { return e.Type == "" })
}

// Detail is what the campaign shows after the last step. Nothing can be replayed after it.
func (p *Player) Detail() (campaign.Detail, bool) {
	in := run.Input{Now: p.in.now, Boot: p.in.boot, From: "replay", Event: &run.Detail{}, Process: silent{}}
	effects, err := p.State.Apply(in, nil)
	for _, e := range effects {
		if r, ok := e.(run.Reply); ok && err == nil {
			d, ok := r.Value.(campaign.Detail)
			return d, ok
		}
	}
	return campaign.Detail{}, false
}

// silent is a process of which nothing is known.
type silent struct{}

func (silent) Draining() bool                               { return false }
func (silent) DatabaseAway() bool                           { return false }
func (silent) Fenced() bool                                 { return false }
func (silent) TrunksDown() bool                             { return false }
func (silent) NeedsSeat(engine.PhoneNumber, time.Time) bool { return false }
func (silent) Owned(engine.AttemptID) bool                  { return false }
func (silent) CommitLate() time.Duration                    { return 0 }
func (silent) BotLate(engine.BotID) time.Duration           { return 0 }
func (silent) Carrier(engine.TrunkID) engine.Incarnation    { return 0 }

// Watch follows one contact through a replay.
type Watch struct {
	Contact engine.ContactID // "" until the number is seen
	Number  engine.PhoneNumber
	row     *contact.Contact
	last    string
}

// NewWatch follows a contact, given by its identifier or by its number.
func NewWatch(contact string) *Watch {
	if contact != "" && contact[0] == '+' {
		return &Watch{Number: engine.PhoneNumber(contact)}
	}
	return &Watch{Contact: engine.ContactID(contact)}
}

// See says where the contact stands after a step, and whether that is new.
func (w *Watch) See(s *Step, state *run.State) (standing string, changed bool) {
	for _, e := range s.Effects {
		if e, ok := e.(run.Spawn); ok {
			w.note(&e.Row)
		}
	}
	switch e := s.Input.Event.(type) {
	case *run.DueRead:
		w.noteAll(e.Rows)
	case *run.ContactRead:
		w.note(&e.Row)
	case *call.Stopped:
		w.note(&e.Row)
	}
	if w.Contact == "" {
		return "", false
	}
	standing = w.standing(state)
	changed = standing != w.last
	w.last = standing
	return standing, changed
}

func (w *Watch) noteAll(rows []contact.Contact) {
	for i := range rows {
		w.note(&rows[i])
	}
}

func (w *Watch) note(row *contact.Contact) {
	if row.ID != "" && (row.ID == w.Contact || w.Contact == "" && row.HasNumber(w.Number)) {
		copied := *row
		w.Contact, w.row = row.ID, &copied
	}
}

func (w *Watch) standing(s *run.State) string {
	if l := s.Lines[w.Contact]; l != nil {
		if l.Attempt == "" {
			return "its actor is running, without a call"
		}
		text := fmt.Sprintf("in a call: %s, attempt %s", l.Phase, l.Attempt)
		if l.Seated {
			text += ", with a seat"
		}
		return text
	}
	if s.Round != nil {
		for i := range s.Round.Candidates {
			if s.Round.Candidates[i].Row.ID == w.Contact {
				return "chosen; a trunk and a caller ID are being reserved"
			}
		}
	}
	if s.Queue.Has(w.Contact) {
		return fmt.Sprintf("due, and not dialled: %s", s.Pace.Last.Constraint)
	}
	if _, reading := s.Loads[w.Contact]; reading {
		return "its row is being read"
	}
	switch st := s.M.C.State; {
	case w.row == nil:
		return "not seen by the run yet"
	case st != "" && st != campaign.Running:
		return fmt.Sprintf("not dialled: the campaign is %s", st)
	case w.row.DueAt != nil:
		return fmt.Sprintf("waits until %s: %s, %d of %d attempts", w.row.DueAt.UTC().Format(time.RFC3339), w.row.State,
			w.row.Used, w.row.Max)
	}
	text := fmt.Sprintf("not dialled: %s, %d of %d attempts", w.row.State, w.row.Used, w.row.Max)
	if w.row.Reason != "" {
		text += ", " + w.row.Reason
	}
	return text
}
