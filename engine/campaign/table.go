package campaign

import (
	"time"

	"slices"
	"strings"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/fsm"
)

type row = fsm.Row[State, Kind, *Machine, Event]

// Table is the machine's transition table: the one place that assigns the
// state of a campaign.
func Table() *fsm.Table[State, Kind, *Machine, Event] { return table }

func prepared(m *Machine, _ Event) bool { return m.C.Prepared }
func neverRun(m *Machine, _ Event) bool { return !m.C.EverRun && !m.C.Prepared }
func drained(_ *Machine, ev Event) bool { return !ev.Draining }
func mayEdit(m *Machine, ev Event) bool {
	return m.newest(ev) && len(m.locked(ev)) == 0 && len(m.external(ev)) == 0
}
func unconfigured(_ *Machine, ev Event) bool { return ev.Failure != "" }
func finite(m *Machine, _ Event) bool        { return !m.C.Settings.AlwaysOn }

var table = fsm.New("campaign", States, Kinds, []row{
	{From: []State{Draft}, On: Start, Guard: "its configuration could not be fetched", When: unconfigured, To: Failed,
		Do:  (*Machine).startFailed,
		Why: "the Config URL is unreachable or its content invalid; nothing is dialled"},
	{From: []State{Draft}, On: Start, To: Running, Do: (*Machine).start, Why: "dialling begins"},
	{From: []State{Draft, Paused}, On: Edit,
		Guard: "newest version; once run, name and bot unchanged; nothing from the Config URL", When: mayEdit,
		Do:  (*Machine).edit,
		Why: "settings editable"},
	{From: []State{Draft}, On: Delete, Guard: "never run", When: neverRun, Do: (*Machine).remove,
		Why: "campaign and contacts permanently deleted"},
	{From: []State{Draft}, On: AddRows, Guard: "never run", When: neverRun},
	{From: []State{Running}, On: AddRows, Do: (*Machine).pump, Why: "new contacts join the live pool"},
	{From: []State{Running}, On: Pause, To: Paused, Do: (*Machine).pause,
		Why: "no new calls placed; in-flight calls may finish"},
	{From: []State{Paused}, On: Resume, To: Running, Do: (*Machine).resume},
	{From: []State{Running, Paused}, On: Stop, To: Completed, Do: (*Machine).stop,
		Why: "waiting contacts become manually_stopped"},
	{From: []State{Running, Paused}, On: WindowEnded, To: Completed, Do: (*Machine).windowEnded, Why: "paused ones too"},
	{From: []State{Running}, On: Exhausted, Guard: "not always-on", When: finite, To: Completed, Do: (*Machine).exhausted},
	{From: []State{Running}, On: Exhausted, Ignore: true, Why: "always-on never completes by itself"},
	{From: []State{Running, Paused}, On: Broke, To: Failed, Do: (*Machine).broke,
		Why: "ringing legs are cancelled, conversations finish"},
	{From: []State{Draft, Completed, Failed}, On: Broke, Ignore: true},
	{From: []State{Completed, Failed}, On: Restart, Guard: "drained", When: drained, To: Draft, Do: (*Machine).restart,
		Why: "dialling does not start"},
	{From: []State{Draft}, On: CancelRestart, Guard: "prepared restart", When: prepared, To: Completed,
		Do: (*Machine).cancelRestart, Why: "previous completed run restored"},
	{From: []State{Draft, Paused, Completed, Failed}, On: Exhausted, Ignore: true,
		Why: "late event of a run that is not running"},
	{From: []State{Draft, Completed, Failed}, On: WindowEnded, Ignore: true},
})

func (m *Machine) start(ev Event) {
	c := &m.C
	c.EverRun, c.Prepared, c.Previous = true, false, nil
	c.CompletionReason, c.FailureReason, c.CompletedAt = "", "", nil
	t := ev.At
	c.StartedAt, c.WindowEndsAt = &t, ev.WindowEndsAt
	c.Dialled, c.RunningSince = 0, &t
	changes := m.configure(ev)
	m.record("started", ev, "", changes...)
	m.emit(Pump{})
}

// configure applies what the Config URL set for the run.
func (m *Machine) configure(ev Event) []Change {
	c := &m.C
	c.External = ev.External
	if ev.Settings == nil {
		return nil
	}
	before := c.Settings
	c.Settings = *ev.Settings
	c.Narrow(m.Calendars)
	changes := Changes(&before, &c.Settings)
	if len(changes) > 0 {
		c.Version++
	}
	if c.Settings.MaxAttempts != before.MaxAttempts {
		m.emit(Retune{MaxAttempts: c.Settings.MaxAttempts})
	}
	return changes
}

// startFailed begins and ends the run at once; every contact stays as it is.
func (m *Machine) startFailed(ev Event) {
	c := &m.C
	c.EverRun, c.Prepared, c.Previous, c.External = true, false, nil, nil
	c.CompletionReason, c.WindowEndsAt = "", nil
	t := ev.At
	c.StartedAt = &t
	m.broke(ev)
}

func (m *Machine) edit(ev Event) {
	c := &m.C
	changes := Changes(&c.Settings, ev.Settings)
	if len(changes) == 0 {
		return // a repeated edit does not make a new version
	}
	before := c.Settings
	c.Settings = *ev.Settings
	c.Narrow(m.Calendars)
	c.Version++
	if c.Settings.ConfigURL != before.ConfigURL {
		c.External = nil // the new URL is fetched at the next Start
	}
	if c.State == Paused && (c.Settings.SingleDay != before.SingleDay || anyWindow(changes)) {
		c.WindowEndsAt = SingleDayEnd(c, ev.At)
	}
	m.record("edited", ev, "", changes...)
	if c.Settings.MaxAttempts != before.MaxAttempts {
		m.emit(Retune{MaxAttempts: c.Settings.MaxAttempts})
	}
}

func anyWindow(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool {
		return c.Field == "calendar_ids" || strings.HasPrefix(c.Field, "window.")
	})
}

func (m *Machine) remove(ev Event) { m.emit(Remove{Who: who(ev)}) }
func (m *Machine) pump(Event)      { m.emit(Pump{}) }

// rests adds the time since the last start or resume to the dialling time: the window cannot be
// edited while the campaign runs.
func (m *Machine) rests(now time.Time) {
	c := &m.C
	if c.RunningSince != nil {
		c.Dialled += c.Settings.Window.OpenBetween(*c.RunningSince, now)
		c.RunningSince = nil
	}
}

func (m *Machine) pause(ev Event) {
	m.rests(ev.At)
	m.record("paused", ev, "")
}

func (m *Machine) resume(ev Event) {
	t := ev.At
	m.C.RunningSince = &t
	m.record("resumed", ev, "")
	m.emit(Pump{})
}

func (m *Machine) complete(ev Event, why CompletionReason) {
	t := ev.At
	m.rests(t)
	m.C.CompletionReason, m.C.CompletedAt = why, &t
}

func (m *Machine) stop(ev Event) {
	m.complete(ev, ReasonManuallyStopped)
	m.emit(CloseWaiting{As: contact.ManuallyStopped})
	m.record("stopped", ev, string(ReasonManuallyStopped))
	m.emit(CancelRinging{})
	if m.C.Settings.StopEndsCalls {
		m.emit(HangUpCalls{})
	}
}

func (m *Machine) windowEnded(ev Event) {
	m.complete(ev, ReasonWindowEnded)
	m.emit(CloseWaiting{As: contact.WindowClosed})
	m.record("completed", ev, string(ReasonWindowEnded))
}

func (m *Machine) exhausted(ev Event) {
	why := ev.Reason
	if why == "" {
		why = ReasonAllFinal
	}
	m.complete(ev, why)
	m.record("completed", ev, string(why))
}

func (m *Machine) broke(ev Event) {
	t, why := ev.At, ev.Failure
	if why == "" {
		why = "unknown"
	}
	m.rests(t)
	m.C.FailureReason, m.C.CompletedAt = why, &t
	m.record("failed", ev, why)
	m.emit(CancelRinging{})
}

func (m *Machine) restart(ev Event) {
	c := &m.C
	t, who := ev.At, ev.Who
	c.Run++
	c.Previous = &Previous{Settings: c.Settings, RestartedAt: c.RestartedAt, RestartedBy: c.RestartedBy,
		External: c.External, Unreached: ev.Unreached}
	c.Prepared, c.RestartedAt, c.RestartedBy = true, &t, &who
	m.emit(ResetContacts{Unreached: ev.Unreached})
	why := ""
	if ev.Unreached {
		why = OnlyUnreached
	}
	m.record("restarted", ev, why)
}

func (m *Machine) cancelRestart(ev Event) {
	c := &m.C
	c.Run--
	c.Prepared, c.RestartedAt, c.RestartedBy = false, nil, nil
	if p := c.Previous; p != nil {
		c.Settings, c.RestartedAt, c.RestartedBy, c.Previous = p.Settings, p.RestartedAt, p.RestartedBy, nil
		c.External = p.External
		c.Version++ // an edit of the discarded run must not apply
	}
	m.emit(RestoreContacts{})
	m.record("restart_cancelled", ev, "")
}

func (m *Machine) record(action string, ev Event, reason string, changes ...Change) {
	m.emit(Record{Action: action, Who: who(ev), Reason: reason, Changes: changes})
}

func who(ev Event) engine.Who {
	if ev.Who == (engine.Who{}) {
		return engine.System
	}
	return ev.Who
}
