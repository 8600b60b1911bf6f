package campaign

import (
	"bytes"
	"errors"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/contact"
	"dialler/engine/fsm"
)

// Kind names an event of the machine: an operator's command that may be
// refused, or something that happened.
type Kind string

const (
	Start         Kind = "start"
	Pause         Kind = "pause"
	Resume        Kind = "resume"
	Stop          Kind = "stop"
	Restart       Kind = "restart"
	CancelRestart Kind = "cancel_restart"
	Edit          Kind = "edit"
	Delete        Kind = "delete"
	AddRows       Kind = "add_contacts"
	WindowEnded   Kind = "window_ended" // the single-day window closed
	Exhausted     Kind = "exhausted"    // no contact will ever be due again in this run
	Broke         Kind = "broke"        // a failure that does not pass by waiting
)

// Kinds lists every event kind.
var Kinds = []Kind{Start, Pause, Resume, Stop, Restart, CancelRestart, Edit, Delete, AddRows, WindowEnded, Exhausted,
	Broke}

// Event is one input of the machine.
type Event struct {
	Kind         Kind
	At           time.Time
	Who          engine.Who
	Draining     bool             // calls of the run still live
	Reason       CompletionReason // of Exhausted
	Failure      string           // for Broke; for Start, why its configuration could not be fetched
	Settings     *Settings        // for Edit; for Start, with what the Config URL set
	External     *External        // for Start: what the Config URL set
	Version      int64            // for Edit: the version that was edited, 0 = any
	WindowEndsAt *time.Time       // for Start, with a single-day window
	Unreached    bool             // for Restart: only contacts that were never connected are dialled again
}

// OnlyUnreached is the recorded reason of a restart for contacts that no call has reached.
const OnlyUnreached = "only_unreached"

// Effect is what the run's actor carries out.
type Effect interface{ effect() }

type (
	// Record makes the campaign durable in its current state, with the named activity.
	Record struct {
		Action string // started, paused, … : journal type "campaign.<action>"
		Who    engine.Who
		Reason string
		// Changes are what an edit changed.
		Changes []Change
	}
	// Pump makes the run look for contacts to dial.
	Pump struct{}
	// CancelRinging cancels the legs that have not been answered.
	CancelRinging struct{}
	// HangUpCalls ends the conversations too (option of Stop).
	HangUpCalls struct{}
	// CloseWaiting moves the waiting contacts to a final state.
	CloseWaiting struct{ As contact.State }
	// ResetContacts prepares the contacts for the next run: all, or those that
	// no call has reached.
	ResetContacts struct{ Unreached bool }
	// RestoreContacts brings back the contacts as the previous run left them.
	RestoreContacts struct{}
	// Retune gives the contacts the current Max Attempts; those that wait for an attempt beyond it
	// become final.
	Retune struct{ MaxAttempts int }
	// Remove deletes the campaign and its contacts.
	Remove struct{ Who engine.Who }
)

func (Record) effect()          {}
func (Pump) effect()            {}
func (CancelRinging) effect()   {}
func (HangUpCalls) effect()     {}
func (CloseWaiting) effect()    {}
func (ResetContacts) effect()   {}
func (RestoreContacts) effect() {}
func (Retune) effect()          {}
func (Remove) effect()          {}

// Machine drives one campaign. C is its whole state.
type Machine struct {
	C Campaign
	// Calendars are those of the installation, which its window is within where it names them. Whoever
	// changes them narrows C.
	Calendars []calendar.Named
	out       []Effect `snapshot:"-"` // of the Apply under way
}

// Apply takes one event and appends the effects to dst. A refused command returns an engine.Error
// of kind conflict that says what is possible; nothing has changed then.
func (m *Machine) Apply(ev Event, dst []Effect) ([]Effect, error) {
	if ev.Kind == Edit && ev.Settings == nil {
		return dst, engine.Invalid("settings_missing", "the edit contains no settings")
	}
	m.out = dst
	to, err := table.Step(m.C.State, ev.Kind, m, ev)
	dst, m.out = m.out, nil
	if err != nil {
		var illegal *fsm.IllegalError
		if errors.As(err, &illegal) {
			return dst, m.refusal(ev)
		}
		return dst, err
	}
	m.C.State = to
	return dst, nil
}

// refusal says why no row accepted a command.
func (m *Machine) refusal(ev Event) error {
	ended := m.C.State == Completed || m.C.State == Failed
	switch {
	case ev.Draining && ended && (ev.Kind == Restart || ev.Kind == Delete):
		return engine.Conflict("calls_in_progress", "")
	case ev.Kind == Delete:
		return engine.Conflict("campaign_was_run", "")
	case ev.Kind == AddRows:
		return engine.Conflict("contacts_locked",
			"contacts can be added to a draft that never ran and to a running campaign; this one is "+m.standing())
	case ev.Kind == Edit && m.editable() && !m.newest(ev):
		e := engine.Conflict("version_conflict", "")
		e.Current = m.C
		return e
	case ev.Kind == Edit && m.editable() && len(m.locked(ev)) == 0:
		e := engine.Conflict("externally_managed", "")
		for _, f := range m.external(ev) {
			e.Fields = append(e.Fields, engine.FieldError{Field: f, Code: "externally_managed",
				Message: "comes from the Config URL"})
		}
		return e
	case ev.Kind == Edit && m.editable():
		e := engine.Conflict("field_locked", "")
		for _, f := range m.locked(ev) {
			e.Fields = append(e.Fields, engine.FieldError{Field: f, Code: "locked",
				Message: "cannot be changed once the campaign has run"})
		}
		return e
	}
	if ev.Kind == Edit {
		return engine.Conflict("illegal_state", "settings can be edited in a draft and while paused; this campaign is "+
			m.standing()+": "+m.remedy())
	}
	return engine.Conflict("illegal_state", "a campaign that is "+m.standing()+" cannot take "+string(ev.Kind))
}

// standing is the state in words.
func (m *Machine) standing() string {
	if m.C.State == Draft && m.C.Prepared {
		return "prepared for its next run"
	}
	return string(m.C.State)
}

// remedy says how an edit becomes possible.
func (m *Machine) remedy() string {
	if m.C.State == Running {
		return "pause it first"
	}
	return "restart it to prepare the next run, or clone it"
}

func (m *Machine) editable() bool { return m.C.State == Draft || m.C.State == Paused }

// newest says that an edit is based on the current settings.
func (m *Machine) newest(ev Event) bool { return ev.Version == 0 || ev.Version == m.C.Version }

// locked lists the fields that an edit must leave alone: after the first run these are name, bot,
// and whatever the table of settings marks as locked.
func (m *Machine) locked(ev Event) []string {
	if !m.C.EverRun {
		return nil
	}
	var fields []string
	for i := range Fields {
		f := &Fields[i]
		if f.Locked && !bytes.Equal(encoded(f.Value(ev.Settings)), encoded(f.Value(&m.C.Settings))) {
			fields = append(fields, f.Name)
		}
	}
	return fields
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }
