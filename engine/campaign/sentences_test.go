package campaign

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine/window"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/fsm"
)

// --- the sentences ---------------------------------------------------------------

func completedCampaign(t *testing.T) *world { return newWorld(t).must(ev(Start), ev(Stop)) }

func TestStartPauseResume(t *testing.T) {
	w := newWorld(t).must(ev(Start)).effects("Record(started) Pump")
	w.must(ev(Pause)).effects("Record(paused)") // in-flight calls may finish
	w.must(ev(Resume)).effects("Record(resumed) Pump")
	w.refused(ev(Resume), "illegal_state")
	w.refused(ev(Start), "illegal_state")
}

func TestStopCompletesAtOnce(t *testing.T) {
	for _, path := range [][]Event{{ev(Start)}, {ev(Start), ev(Pause)}} {
		w := newWorld(t).must(path...).must(ev(Stop)).effects("CloseWaiting(manually_stopped) Record(stopped) CancelRinging")
		if w.m.C.State != Completed || w.m.C.CompletionReason != ReasonManuallyStopped {
			t.Errorf("%+v", w.m.C)
		}
		w.refused(ev(Start), "illegal_state") // irreversible for that run
	}
	newWorld(t, func(s *Settings) { s.StopEndsCalls = true }).must(ev(Start), ev(Stop)).
		effects("CloseWaiting(manually_stopped) Record(stopped) CancelRinging HangUpCalls")
}

func TestTheEndOfASingleDayWindowCompletesPausedOnesToo(t *testing.T) {
	for _, path := range [][]Event{{ev(Start)}, {ev(Start), ev(Pause)}} {
		w := newWorld(t).must(path...).must(ev(WindowEnded)).effects("CloseWaiting(window_closed) Record(completed)")
		if w.m.C.CompletionReason != ReasonWindowEnded {
			t.Error(w.m.C.CompletionReason)
		}
	}
}

func TestARunThatHasNothingLeftCompletesUnlessAlwaysOn(t *testing.T) {
	for _, why := range []CompletionReason{ReasonAllFinal, ReasonRetriesDone, ReasonNoCallable} {
		w := newWorld(t).must(ev(Start), Event{Kind: Exhausted, Reason: why}).effects("Record(completed)")
		if w.m.C.State != Completed || w.m.C.CompletionReason != why {
			t.Errorf("%+v", w.m.C)
		}
	}
	w := newWorld(t, func(s *Settings) { s.AlwaysOn = true }).must(ev(Start), ev(Exhausted)).effects("")
	if w.m.C.State != Running {
		t.Error("always-on never auto-completes")
	}
	if w := newWorld(t).must(ev(Start), ev(Pause), ev(Exhausted)); w.m.C.State != Paused {
		t.Error("a paused campaign completed by itself")
	}
}

func TestAFailureCancelsRingingLegsAndConversationsFinish(t *testing.T) {
	w := newWorld(t).must(ev(Start), Event{Kind: Broke, Failure: "bot_deleted"}).effects("Record(failed) CancelRinging")
	if w.m.C.State != Failed || w.m.C.FailureReason != "bot_deleted" {
		t.Errorf("%+v", w.m.C)
	}
}

func TestRestartAndDeleteAnswerCallsInProgressWhileLegsLive(t *testing.T) {
	for _, w := range []*world{completedCampaign(t), newWorld(t).must(ev(Start), ev(Broke))} {
		w.refused(Event{Kind: Restart, Draining: true}, "calls_in_progress")
		w.refused(Event{Kind: Delete, Draining: true}, "calls_in_progress")
		w.must(ev(Restart)).effects("ResetContacts Record(restarted)") // dialling does not start
	}
	// A running campaign has calls too; that is not why it cannot be restarted.
	newWorld(t).must(ev(Start)).refused(Event{Kind: Restart, Draining: true}, "illegal_state")
}

func TestRestartPreparesTheNextRun(t *testing.T) {
	w := completedCampaign(t)
	who := engine.Who{User: "u", Name: "u@example.com"}
	w.must(Event{Kind: Restart, Who: who})
	c := &w.m.C
	if c.State != Draft || c.Run != 2 || !c.Prepared || *c.RestartedBy != who || !c.RestartedAt.Equal(w.now) {
		t.Errorf("%+v", c)
	}
	w.refused(ev(AddRows), "contacts_locked")
	w.refused(ev(Delete), "campaign_was_run")
	w.must(ev(Start))
	if c.State != Running || c.Run != 2 || c.Prepared {
		t.Errorf("%+v", c)
	}
}

func TestCancelRestartShowsThePreviousRunAgainAsItWas(t *testing.T) {
	w := completedCampaign(t).must(ev(Restart), ev(Start), Event{Kind: Exhausted, Reason: ReasonRetriesDone})
	before := w.m.C
	w.must(ev(Restart))
	s := w.m.C.Settings
	s.MaxAttempts = 9
	w.must(Event{Kind: Edit, Settings: &s, Version: w.m.C.Version})
	w.must(ev(CancelRestart)).effects("RestoreContacts Record(restart_cancelled)")
	after := w.m.C
	after.Version = before.Version // it only grows
	if !reflect.DeepEqual(after, before) {
		t.Errorf("\n got %+v\nwant %+v", after, before)
	}
	w.refused(ev(CancelRestart), "illegal_state")
	// After a failed run, too, the state is completed, with the failure as its reason: nobody
	// stopped the run.
	w = newWorld(t).must(ev(Start), Event{Kind: Broke, Failure: "bot_deleted"}, ev(Restart), ev(CancelRestart))
	if w.m.C.State != Completed || w.m.C.FailureReason != "bot_deleted" || w.m.C.CompletionReason != "" {
		t.Errorf("%+v", w.m.C)
	}
}

func TestDeleteOnlyWhenNeverRun(t *testing.T) {
	newWorld(t).must(ev(Delete)).effects("Remove")
	newWorld(t).must(ev(Start)).refused(ev(Delete), "campaign_was_run")
	completedCampaign(t).refused(ev(Delete), "campaign_was_run")
	completedCampaign(t).must(ev(Restart), ev(CancelRestart)).refused(ev(Delete), "campaign_was_run")
}

func TestAddContactsToADraftThatNeverRanAndToARunningCampaign(t *testing.T) {
	newWorld(t).must(ev(AddRows)).effects("")
	w := newWorld(t).must(ev(Start), ev(AddRows)).effects("Pump")
	w.must(ev(Pause)).refused(ev(AddRows), "contacts_locked")
	completedCampaign(t).refused(ev(AddRows), "contacts_locked")
}

func TestNameAndBotAreLockedAfterTheFirstRun(t *testing.T) {
	edit := func(w *world, f func(*Settings)) Event {
		s := w.m.C.Settings
		f(&s)
		return Event{Kind: Edit, Settings: &s, Version: w.m.C.Version}
	}
	rename := func(s *Settings) { s.Name = "new" }
	w := newWorld(t)
	w.must(edit(w, rename)).effects("Record(edited)")
	w.must(ev(Start)).refused(edit(w, func(*Settings) {}), "illegal_state")
	w.must(ev(Pause))
	if e := w.refusal(edit(w, func(s *Settings) { s.Name, s.Bot = "newer", "other" }),
		"field_locked"); len(e.Fields) != 2 {
		t.Errorf("%+v", e.Fields)
	}
	w.must(edit(w, func(s *Settings) { s.Numbers = []engine.PhoneNumber{"+4930123456"} }))
	w.must(ev(Stop), ev(Restart)) // prepared for the next run: still locked
	w.refused(edit(w, func(s *Settings) { s.Name = "newer" }), "field_locked")
	w.must(edit(w, func(s *Settings) { s.MaxAttempts = 5 }))
}

func TestTheNumberPoolMayBeRotatedBeforeEveryStart(t *testing.T) {
	rotated := func(w *world, pool ...engine.PhoneNumber) {
		t.Helper()
		s := w.m.C.Settings
		s.Numbers = pool
		w.must(Event{Kind: Edit, Settings: &s, Version: w.m.C.Version})
		if !slices.Equal(w.m.C.Settings.Numbers, pool) {
			t.Errorf("run %d: %v", w.m.C.Run, w.m.C.Settings.Numbers)
		}
	}
	w := newWorld(t)
	rotated(w, "+4930123456")
	w.must(ev(Start), ev(Stop), ev(Restart))
	rotated(w, "+4930123457", "+4930123458")
	w.must(ev(Start))
}

func TestEditsCarryAVersionAndAConflictShowsTheCurrentOne(t *testing.T) {
	w := newWorld(t)
	s := w.m.C.Settings
	s.Concurrency++
	w.must(Event{Kind: Edit, Settings: &s, Version: 1})
	e := w.refusal(Event{Kind: Edit, Settings: &s, Version: 1}, "version_conflict")
	if c, ok := e.Current.(Campaign); !ok || c.Version != 2 {
		t.Errorf("%+v", e.Current)
	}
}

func TestWhoGaveTheCommandIsRecorded(t *testing.T) {
	who := engine.Who{Key: "k", Name: "crm"}
	w := newWorld(t).must(Event{Kind: Start, Who: who})
	if r := w.last[0].(Record); r.Who != who {
		t.Errorf("%+v", r)
	}
	w.must(ev(WindowEnded))
	if r := w.last[1].(Record); r.Who != engine.System || r.Reason != string(ReasonWindowEnded) {
		t.Errorf("%+v", r)
	}
}

func TestClosedContactsBecomeFinal(t *testing.T) {
	for _, s := range []contact.State{contact.ManuallyStopped, contact.WindowClosed} {
		if !s.Processed() {
			t.Errorf("%s is not final", s)
		}
	}
}

func TestARefusalIsNeverAPanicOfTheTable(t *testing.T) {
	w := newWorld(t)
	w.m.C.State = "nowhere"
	if _, err := w.m.Apply(ev(Start), nil); errors.Is(err, fsm.ErrIllegal) || engine.ErrorCode(err) != "illegal_state" {
		t.Error(err)
	}
}

func TestARestartMayBeForTheUnreachedOnly(t *testing.T) {
	w := completedCampaign(t).must(Event{Kind: Restart, Unreached: true})
	if e, ok := w.last[0].(ResetContacts); !ok || !e.Unreached || !w.m.C.Previous.Unreached {
		t.Errorf("%+v, %+v", w.last, w.m.C.Previous)
	}
	if r := w.last[1].(Record); r.Reason != "only_unreached" {
		t.Errorf("%+v", r)
	}
}

func TestCancelRestartShowsTheRunBeforeAsItWas(t *testing.T) {
	w := completedCampaign(t)
	before := w.m.C
	s := before.Settings
	s.MaxAttempts++
	w.must(ev(Restart), Event{Kind: Edit, Settings: &s}, ev(CancelRestart))
	after := w.m.C
	after.Version = before.Version // an edit of the discarded run must not apply
	if !reflect.DeepEqual(after, before) {
		t.Errorf("%+v\n%+v", after, before)
	}
}

func TestAnEditIsRecordedFieldByField(t *testing.T) {
	w := newWorld(t)
	s := w.m.C.Settings
	s.Concurrency, s.AbandonCapPPM, s.Window.End = 7, 25_000, 18*60
	s.ConfigURL = "https://user:secret@example.org/c.json?token=secret"
	s.EligibilityURL = "https://crm.example.org/may?token=secret"
	w.must(Event{Kind: Edit, Settings: &s, Version: 1})
	got, err := json.Marshal(w.last[0].(Record).Changes)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"field":"abandon_cap_pct","from":0,"to":2.5},{"field":"concurrency","from":1,"to":7},` +
		`{"field":"config_url","from":null,"to":"https://example.org/c.json"},` +
		`{"field":"eligibility_url","from":null,"to":"https://crm.example.org/may"},` +
		`{"field":"window.end","from":"00:00","to":"18:00"}]`
	if string(got) != want {
		t.Errorf("%s", got)
	}
}

func TestAnEditThatChangesNothingMakesNoNewVersion(t *testing.T) {
	w := newWorld(t)
	s := w.m.C.Settings
	w.must(Event{Kind: Edit, Settings: &s, Version: 1}).effects("")
	if w.m.C.Version != 1 {
		t.Errorf("version %d", w.m.C.Version)
	}
}

func TestAnEditOfMaxAttemptsReachesTheContacts(t *testing.T) {
	w := newWorld(t).must(ev(Start), ev(Pause))
	s := w.m.C.Settings
	s.MaxAttempts = 5
	w.must(Event{Kind: Edit, Settings: &s, Version: 1}).effects("Record(edited) Retune")
}

func TestARunningOrFinishedCampaignSaysWhatMakesItEditable(t *testing.T) {
	edit := func(w *world) Event { s := w.m.C.Settings; return Event{Kind: Edit, Settings: &s} }
	w := newWorld(t).must(ev(Start))
	if e := w.refusal(edit(w), "illegal_state"); !strings.Contains(e.Detail, "pause it first") {
		t.Error(e.Detail)
	}
	w.must(ev(Stop))
	if e := w.refusal(edit(w), "illegal_state"); !strings.Contains(e.Detail, "restart it") {
		t.Error(e.Detail)
	}
}

// The day of a single-day campaign that is edited while paused is that of the window that is open
// then, else of the next one.
func TestAPausedSingleDayEndsWithTheWindowThatWasEdited(t *testing.T) {
	day := func(hour, minute int) window.TimeOfDay { return window.TimeOfDay(hour*60 + minute) }
	w := newWorld(t, func(s *Settings) {
		s.SingleDay, s.Window = true, window.Window{Zone: "UTC", Start: day(9, 0), End: day(18, 0)}
	})
	six := m0.Add(8 * time.Hour) // m0 is at 10:00
	w.must(Event{Kind: Start, WindowEndsAt: &six}, ev(Pause))
	edit := func(f func(*Settings), want *time.Time) {
		t.Helper()
		s := w.m.C.Settings
		f(&s)
		w.must(Event{Kind: Edit, Settings: &s, Version: w.m.C.Version})
		if got := w.m.C.WindowEndsAt; (got == nil) != (want == nil) || got != nil && !got.Equal(*want) {
			t.Fatalf("ends at %v, want %v", got, want)
		}
	}
	at := func(d time.Duration) *time.Time { x := m0.Add(d); return &x }
	edit(func(s *Settings) { s.Concurrency = 9 }, &six)
	edit(func(s *Settings) { s.Window.End = day(20, 0) }, at(10*time.Hour))
	edit(func(s *Settings) { s.Window.End = day(16, 0) }, at(6*time.Hour))
	// Over for today: the next window counts.
	edit(func(s *Settings) { s.Window.Start, s.Window.End = day(8, 0), day(9, 30) }, at(23*time.Hour+30*time.Minute))
	edit(func(s *Settings) { s.SingleDay = false }, nil)
	edit(func(s *Settings) { s.SingleDay = true }, at(23*time.Hour+30*time.Minute))
}

func TestOnlyACommandThatTheStateTakesIsPreflighted(t *testing.T) {
	for _, s := range States {
		for _, k := range []Kind{Start, Resume} {
			w := newWorld(t)
			w.m.C.State = s
			_, err := w.m.Apply(ev(k), nil)
			if Preflighted(s, k) != (err == nil) {
				t.Errorf("%s in %s: preflighted %v, %v", k, s, Preflighted(s, k), err)
			}
		}
	}
}

func TestContactsThatWereLeftInAnotherRunAreOwedTheStepIntoTheCampaigns(t *testing.T) {
	w := completedCampaign(t).must(Event{Kind: Restart, Unreached: true})
	for contacts, want := range map[int]Effect{0: nil, 1: ResetContacts{Unreached: true}, 2: nil} {
		if got := Owed(&w.m.C, contacts); got != want {
			t.Errorf("contacts in run %d of a prepared run 2: %v", contacts, got)
		}
	}
	w.must(ev(CancelRestart))
	for contacts, want := range map[int]Effect{1: nil, 2: RestoreContacts{}} {
		if got := Owed(&w.m.C, contacts); got != want {
			t.Errorf("contacts in run %d of run 1: %v", contacts, got)
		}
	}
}
