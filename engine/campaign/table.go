package campaign

import (
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
func finite(m *Machine, _ Event) bool   { return !m.C.Settings.AlwaysOn }

var table = fsm.New("campaign", States, Kinds, []row{
	{From: []State{Draft}, On: Start, To: Running, Do: (*Machine).start, Why: "dialling begins"},
	{From: []State{Draft, Paused}, On: Edit, Do: (*Machine).edit, Why: "settings editable"},
	{From: []State{Draft}, On: Delete, Guard: "never run", When: neverRun, Do: (*Machine).remove, Why: "campaign and contacts permanently deleted"},
	{From: []State{Draft}, On: AddRows, Guard: "never run", When: neverRun},
	{From: []State{Running}, On: AddRows, Do: (*Machine).pump, Why: "new contacts join the live pool"},
	{From: []State{Running}, On: Pause, To: Paused, Do: (*Machine).pause, Why: "no new calls placed; in-flight calls may finish"},
	{From: []State{Paused}, On: Resume, To: Running, Do: (*Machine).resume},
	{From: []State{Running, Paused}, On: Stop, To: Completed, Do: (*Machine).stop, Why: "waiting contacts become manually_stopped"},
	{From: []State{Running, Paused}, On: WindowEnded, To: Completed, Do: (*Machine).windowEnded, Why: "paused ones too"},
	{From: []State{Running}, On: Exhausted, Guard: "not always-on", When: finite, To: Completed, Do: (*Machine).exhausted},
	{From: []State{Running}, On: Exhausted, Ignore: true, Why: "always-on never completes by itself"},
	{From: []State{Running, Paused}, On: Broke, To: Failed, Do: (*Machine).broke, Why: "ringing legs are cancelled, conversations finish"},
	{From: []State{Draft, Completed, Failed}, On: Broke, Ignore: true},
	{From: []State{Completed, Failed}, On: Restart, Guard: "drained", When: drained, To: Draft, Do: (*Machine).restart, Why: "dialling does not start"},
	{From: []State{Draft}, On: CancelRestart, Guard: "prepared restart", When: prepared, To: Completed, Do: (*Machine).cancelRestart, Why: "previous completed run restored"},
	{From: []State{Draft, Paused, Completed, Failed}, On: Exhausted, Ignore: true, Why: "late news of a run that is not running"},
	{From: []State{Draft, Completed, Failed}, On: WindowEnded, Ignore: true},
})

func (m *Machine) start(ev Event) {
	c := &m.C
	c.EverRun, c.Prepared = true, false
	c.CompletionReason, c.FailureReason, c.CompletedAt = "", "", nil
	t := ev.At
	c.StartedAt, c.WindowEndsAt = &t, ev.WindowEndsAt
	m.record("started", ev, "")
	m.emit(Pump{})
}

func (m *Machine) edit(ev Event) {
	s := *ev.Settings
	if m.C.EverRun {
		// Locks after the first run.
		s.Name, s.Bot = m.C.Settings.Name, m.C.Settings.Bot
	}
	m.C.Settings = s
	m.C.Version++
	m.record("edited", ev, "")
}

func (m *Machine) remove(Event)   { m.emit(Remove{}) }
func (m *Machine) pump(Event)     { m.emit(Pump{}) }
func (m *Machine) pause(ev Event) { m.record("paused", ev, "") }

func (m *Machine) resume(ev Event) {
	m.record("resumed", ev, "")
	m.emit(Pump{})
}

func (m *Machine) complete(ev Event, why CompletionReason) {
	t := ev.At
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
	m.complete(ev, ev.Reason)
	m.record("completed", ev, string(ev.Reason))
}

func (m *Machine) broke(ev Event) {
	t := ev.At
	m.C.FailureReason, m.C.CompletedAt = ev.Failure, &t
	m.record("failed", ev, ev.Failure)
	m.emit(CancelRinging{})
}

func (m *Machine) restart(ev Event) {
	c := &m.C
	t, who := ev.At, ev.Who
	c.Run++
	c.Prepared, c.RestartedAt, c.RestartedBy = true, &t, &who
	m.emit(ResetContacts{})
	m.record("restarted", ev, "")
}

func (m *Machine) cancelRestart(ev Event) {
	c := &m.C
	c.Run--
	c.Prepared, c.RestartedAt, c.RestartedBy = false, nil, nil
	if c.CompletionReason == "" {
		c.CompletionReason = ReasonManuallyStopped // the previous run had failed
	}
	m.emit(RestoreContacts{})
	m.record("restart_cancelled", ev, "")
}

func (m *Machine) record(action string, ev Event, reason string) {
	who := ev.Who
	if who == (engine.Who{}) {
		who = engine.System
	}
	m.emit(Record{Action: action, Who: who, Reason: reason})
}
