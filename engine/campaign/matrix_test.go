package campaign

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/window"
)

// The specification's table of campaign states, restated by hand: the effect of each event in each
// state. It judges the table that runs, and is not derived from it. A code is a refusal, "-" a late
// event that changes nothing.
func TestEveryStateTakesTheEventsThatTheSpecificationGivesItAndNoOther(t *testing.T) {
	const no = "illegal_state"
	columns := []Kind{Start, Pause, Resume, Stop, Restart, CancelRestart, Edit, Delete, AddRows, WindowEnded, Exhausted,
		Broke}
	f := func(name string, path []Event, want ...string) {
		t.Helper()
		for i, k := range columns {
			w := newWorld(t).must(path...)
			before := w.m.C
			e := ev(k)
			if k == Edit {
				s := before.Settings
				s.MaxAttempts = 7
				e.Settings, e.Version = &s, before.Version
			}
			got := "-"
			if err := w.apply(e); err != nil {
				got = engine.ErrorCode(err)
			} else if len(w.last) > 0 || w.m.C.State != before.State || k == AddRows {
				got = string(w.m.C.State)
				if k == Delete {
					got = "removed"
				}
			}
			if got != want[i] {
				t.Errorf("%s: %s gives %s, want %s", name, k, got, want[i])
			}
		}
	}
	running, paused := []Event{ev(Start)}, []Event{ev(Start), ev(Pause)}
	ended, broken := []Event{ev(Start), ev(Stop)}, []Event{ev(Start), ev(Broke)}
	// The columns: start, pause, resume, stop, restart, cancel, edit, delete, add contacts, window,
	// exhausted, broke.
	f("draft", nil /*     */, "running", no, no, no, no, no, "draft", "removed", "draft", "-", "-", "-")
	f("prepared", append(ended, ev(Restart)), "running", no, no, no, no, "completed", "draft", "campaign_was_run",
		"contacts_locked", "-", "-", "-")
	f("running", running, no, "paused", no, "completed", no, no, no, "campaign_was_run", "running", "completed",
		"completed", "failed")
	f("paused", paused, no, no, "running", "completed", no, no, "paused", "campaign_was_run", "contacts_locked",
		"completed", "-", "failed")
	f("completed", ended, no, no, no, no, "draft", no, no, "campaign_was_run", "contacts_locked", "-", "-", "-")
	f("failed", broken, no, no, no, no, "draft", no, no, "campaign_was_run", "contacts_locked", "-", "-", "-")
}

func TestARetryThatWouldFallOnTheEndOfTheRunsWindowIsNotDialled(t *testing.T) {
	end := m0.Add(time.Hour)
	clip := Clip(&Campaign{Settings: Settings{Window: window.Window{Zone: "UTC"}}, WindowEndsAt: &end}, window.Home{})
	if at, ok := clip(end.Add(-time.Second)); !ok || !at.Equal(end.Add(-time.Second)) {
		t.Error("the last second of the window is refused")
	}
	// Windows are half-open: the end is outside.
	if _, ok := clip(end); ok {
		t.Error("the end of the window is taken for inside")
	}
}
