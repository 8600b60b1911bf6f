package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/trunk"
	"dialler/engine/window"
)

// facts are preflight facts that let a campaign start.
func facts() campaign.PreflightFacts { return campaign.PreflightFacts{Trunks: 1, Callable: true} }

// start starts a draft or resumes a paused campaign, and makes that durable.
func (w *world) start() campaign.Detail {
	w.t.Helper()
	a := campaign.ActionStart
	if w.s.M.C.State == campaign.Paused {
		a = campaign.ActionResume
	}
	r := w.ask(act(a))
	q := one[CheckStart](w)
	w.do(&ActReady{Command: q.Command, Request: q.Request, Facts: facts(), Bots: []engine.Bot{{ID: "bot",
		Active: true, Seats: 100}}})
	w.durable()
	return granted[campaign.Detail](w, r)
}

func TestStartAndResumeAskWhetherTheCampaignCanDial(t *testing.T) {
	for _, c := range []struct {
		state campaign.State
		a     campaign.Action
		code  string // without trunks
	}{
		{campaign.Draft, campaign.ActionStart, "preflight_failed"},
		{campaign.Paused, campaign.ActionResume, "preflight_failed"},
		{campaign.Running, campaign.ActionStart, "illegal_state"},
		{campaign.Running, campaign.ActionResume, "illegal_state"},
	} {
		w := ready(t, in(c.state))
		r := w.ask(act(c.a))
		q := one[CheckStart](w)
		eq(w, "question", []any{q.Run, len(q.Pool)}, "[1 1]")
		w.do(&ActReady{Command: q.Command, Request: q.Request, Bots: []engine.Bot{{ID: "bot"}}})
		w.refused(r, c.code)
		eq(w, "state", w.s.M.C.State, c.state)
		r = w.ask(act(c.a))
		q = one[CheckStart](w)
		w.do(&ActReady{Command: q.Command, Request: q.Request, Err: errDown})
		w.refused(r, "database_unavailable")
	}
	w := ready(t, in(campaign.Draft))
	eq(w, "started", w.start().Campaign.State, campaign.Running)
	w.ask(act(campaign.ActionPause))
	w.durable()
	w.forget()
	eq(w, "resumed", w.start().Campaign.State, campaign.Running)
}

func TestACommandIsAnsweredOnceWhatItDidIsDurable(t *testing.T) {
	w := ready(t)
	r := w.ask(act(campaign.ActionPause))
	wr := one[Write](w)
	eq(w, "write", []any{wr.Write.CampaignRow.State, wr.Write.CampaignRow.Seq, wr.Write.Events[0].Type,
		wr.Write.Events[0].Seq, wr.Revoke},
		[]any{campaign.Paused, w.s.M.C.Seq, journal.CampaignPaused, w.s.M.C.Seq, false})
	w.waits(r)
	w.durable()
	eq(w, "state", granted[campaign.Detail](w, r).Campaign.State, campaign.Paused)
	w.refused(w.ask(act(campaign.ActionPause)), "illegal_state")
}

func TestAPauseStopsDialsAndTellsTheContacts(t *testing.T) {
	w := dialling(t, 1)
	w.s.Queue.Push(w.row("c2"))
	w.ask(act(campaign.ActionPause))
	eq(w, "told", told[*call.Rules](w, "c1")[0].Paused, true)
	eq(w, "not cancelled", len(told[*call.End](w, "c1")), 0)
	w.trunksIfAsked()
	none[Spawn](w)
}

// trunksIfAsked grants a reservation if one was requested.
func (w *world) trunksIfAsked() {
	w.t.Helper()
	for w.s.Round != nil {
		w.round()
	}
}

func TestAStopMayEndConversationsToo(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		w := dialling(t, 1, set(func(s *campaign.Settings) { s.StopEndsCalls = hangs }))
		w.ask(act(campaign.ActionStop))
		list := told[*call.End](w, "c1")
		eq(w, "hang up", list[len(list)-1].HangUp, hangs)
	}
}

func TestACampaignWhoseBotWasDeletedFails(t *testing.T) {
	for _, c := range []struct {
		state campaign.State
		bots  []engine.Bot
		want  campaign.State
	}{
		{campaign.Running, []engine.Bot{{ID: "another"}}, campaign.Failed},
		{campaign.Paused, nil, campaign.Failed},
		{campaign.Running, []engine.Bot{{ID: "bot"}}, campaign.Running},
		{campaign.Draft, nil, campaign.Draft},
	} {
		w := ready(t, in(c.state))
		w.do(&BotsChanged{Bots: c.bots})
		eq(w, "state", w.s.M.C.State, c.want)
	}
	w := ready(t, func(l *Loaded) { l.Bots = nil })
	w.pass(500 * time.Millisecond)
	eq(w, "found at the tick", []any{w.s.M.C.State, w.s.M.C.FailureReason}, []any{campaign.Failed,
		campaign.FailureBotDeleted})
}

func TestContactsGetTheCadenceThatTheCampaignNamesAndItsEdits(t *testing.T) {
	named := func(perDay int) []cadence.Named {
		return []cadence.Named{{ID: "other"}, {ID: "x", Cadence: cadence.Cadence{PerDay: perDay}}}
	}
	w := dialling(t, 1, set(func(s *campaign.Settings) { s.Cadence = "x" }), func(l *Loaded) { l.Cadences = named(2) })
	eq(w, "at the start", w.s.rules.Policy.Cadence.PerDay, 2)
	w.do(&CadencesChanged{Cadences: named(3)})
	eq(w, "edited", told[*call.Rules](w, "c1")[0].Policy.Cadence.PerDay, 3)
	w.do(&CadencesChanged{})
	eq(w, "gone", told[*call.Rules](w, "c1")[0].Policy.Cadence == nil, true)
}

func TestTheCalendarsThatTheCampaignNamesAndTheirEditsHoldAtOnce(t *testing.T) {
	never := map[window.Day][]window.Span{}
	version := int64(0)
	named := func(hours map[window.Day][]window.Span) []calendar.Named {
		version++
		return []calendar.Named{{ID: "other", Hours: window.Calendar{Hours: never}},
			{ID: "x", Name: "X", Version: version, Hours: window.Calendar{Name: "X", Hours: hours}}}
	}
	w := dialling(t, 1, set(func(s *campaign.Settings) { s.Calendars = []engine.CalendarID{"x"} }),
		func(l *Loaded) { l.Calendars = named(nil) })
	eq(w, "open", w.s.windowOpen(), true)
	w.do(&CalendarsChanged{Calendars: named(never)})
	eq(w, "closed", w.s.windowOpen(), false)
	eq(w, "nobody is called", w.s.callableFor(phone("c1")), time.Duration(0))
	policy := told[*call.Rules](w, "c1")[0].Policy
	_, ok := policy.Clip(w.s.now)
	eq(w, "nor later", ok, false)
	eq(w, "as is said", w.s.M.C.Settings.Window.ClosedBy(w.s.now), "X")
	b, err := w.s.MarshalBinary()
	var read State
	if err == nil {
		err = read.UnmarshalBinary(b)
	}
	eq(w, "written down", err, nil)
	eq(w, "and read", read.M.C.Settings.Window.Open(w.s.now), false)
	w.do(&CalendarsChanged{Calendars: named(nil)})
	eq(w, "open again", w.s.windowOpen(), true)
	w.do(&CalendarsChanged{})
	eq(w, "gone", w.s.windowOpen(), false)
}

// Every node reads the calendars anew every ten seconds.
func TestCalendarsThatDidNotChangeCostARunNothing(t *testing.T) {
	list := []calendar.Named{{ID: "x", Name: "X", Version: 2, CreatedAt: t0, File: calendar.File{ReadAt: t0,
		Holidays: []window.Holiday{{Date: window.Date{Year: 2026, Month: 12, Day: 25}}}}}}
	w := dialling(t, 1, func(l *Loaded) { l.Calendars = list })
	again := func(change func(*calendar.Named), told bool) {
		t.Helper()
		n := list[0]
		change(&n)
		w.forget()
		w.do(&CalendarsChanged{Calendars: []calendar.Named{n}})
		rules := 0
		for _, e := range w.out {
			if _, ok := e.(Tell); ok {
				rules++
			}
		}
		eq(w, "told", rules > 0, told)
		eq(w, "asked", len(sent[ReadDue](w)) > 0, told)
		list[0] = n
		if told {
			w.due(nil, 1)
		}
	}
	if w.s.Reading {
		w.due(nil, 1)
	}
	again(func(*calendar.Named) {}, false)
	again(func(n *calendar.Named) { n.Version++ }, true)
	again(func(*calendar.Named) {}, false)
	again(func(n *calendar.Named) { n.File.ReadAt = t0.Add(time.Hour) }, true)
	again(func(n *calendar.Named) { n.File.Holidays = nil }, true)
	again(func(n *calendar.Named) { n.CreatedAt = t0.Add(time.Hour) }, true) // deleted, and made again
	again(func(*calendar.Named) {}, false)
}

func TestARestartWaitsForTheCallsOfTheRunBefore(t *testing.T) {
	w := dialling(t, 1)
	w.ask(act(campaign.ActionStop))
	w.durable()
	w.bulkDone(0)
	w.refused(w.ask(act(campaign.ActionRestart)), "calls_in_progress")
	w.moved("c1", attempt.PhaseOver)
	w.waits(w.ask(act(campaign.ActionRestart)))
}

func TestAConfigURLIsFetchedAtStart(t *testing.T) {
	url := "https://example.com/c.json"
	w := ready(t, in(campaign.Draft), set(func(s *campaign.Settings) { s.ConfigURL = url }))
	r := w.ask(act(campaign.ActionStart))
	q := one[CheckStart](w)
	m := &ActReady{Command: q.Command, Request: q.Request, Facts: facts(), Bots: []engine.Bot{{ID: "bot",
		Active: true}}}
	w.do(m)
	f := one[FetchConfig](w)
	eq(w, "fetched", []any{f.URL, f.Ready.Request}, []any{url, r})
	m.Config = &FetchedConfig{Document: campaign.Document{URL: "https://example.com/old.json"}}
	w.do(m)
	one[FetchConfig](w) // it was edited meanwhile
	m.Config = &FetchedConfig{Document: campaign.Document{URL: url}, Err: errDown}
	w.do(m)
	w.durable()
	eq(w, "state", granted[campaign.Detail](w, r).Campaign.State, campaign.Failed)
}

func TestPreflightAsksEverythingAndStartsNothing(t *testing.T) {
	w := ready(t, in(campaign.Draft))
	r := w.ask(&Preflight{})
	q := one[CheckReady](w)
	w.do(&PreflightReady{Request: q.Request, Err: errDown})
	w.refused(r, "database_unavailable")
	r = w.ask(&Preflight{})
	w.do(&PreflightReady{Request: r, Facts: facts(), Bots: []engine.Bot{{ID: "bot", Active: true}}, Seats: 5, Free: 2,
		Trunks: []trunk.Candidate{{Available: true}, {Constraint: engine.ConstraintTrunkCPS},
			{Constraint: engine.ConstraintTrunkHealth}}})
	eq(w, "ready", granted[campaign.Readiness](w, r).Ready, true)
	eq(w, "state", w.s.M.C.State, campaign.Draft)
}

func TestAListOfContactsIsAddedWithoutTheExcludedOnes(t *testing.T) {
	w := ready(t, func(l *Loaded) { l.Exclusions = []journal.Exclusion{{Number: phone("c2")}} })
	list := []campaign.NewContact{{Number: phone("c1")}, {Number: phone("c2")}}
	r := w.ask(&AddRows{Command: campaign.AddContacts{Contacts: list}})
	q := one[AddContacts](w)
	eq(w, "insert", []any{len(q.Insert.Contacts), q.Insert.Max, q.Insert.Epoch, q.Insert.DueClass, q.Lifting,
		q.Became[0].Status, q.Became[1].Status},
		[]any{1, 3, 7, contact.DueFirst, false, "", campaign.RowExcluded})
	w.due(nil, 1) // an earlier answer
	w.due(nil, 1)
	w.forget()
	after := contact.Fresh(3)
	m := &RowsAdded{Read: q.Read, Request: r, Epoch: q.Insert.Epoch, Report: campaign.AddReport{Added: 1, Excluded: 1},
		Event: journal.Event{Type: journal.ContactsAdded, Run: 1, Data: journal.Data{After: &after, Count: 1}}}
	w.do(m)
	rep := granted[campaign.AddReport](w, r)
	eq(w, "report", []any{rep.Added, rep.Total, w.s.Adding}, "[1 1 0]")
	one[ReadDue](w)
}

func TestAListIsCountedByTheLifeThatAddedIt(t *testing.T) {
	for _, c := range []struct {
		what  string
		added int
		epoch int64
		total int
	}{{"this life", 2, 7, 2}, {"an earlier one", 2, 6, 0}, {"nothing came in", 0, 7, 0}} {
		w := ready(t)
		r := w.ask(&AddRows{})
		q := one[AddContacts](w)
		after := contact.Fresh(3)
		w.do(&RowsAdded{Read: q.Read, Request: r, Epoch: c.epoch, Report: campaign.AddReport{Added: c.added},
			Event: journal.Event{Type: journal.ContactsAdded, Run: 1, Data: journal.Data{After: &after, Count: 2}}})
		eq(w, c.what, granted[campaign.AddReport](w, r).Total, c.total)
	}
}

func TestWhoWasAddedWhileTheRunEndedIsClosedToo(t *testing.T) {
	for _, added := range []int{0, 2} {
		w := ready(t)
		r := w.ask(&AddRows{})
		q := one[AddContacts](w)
		w.ask(act(campaign.ActionStop))
		w.durable()
		w.bulkDone(0)
		w.forget()
		w.do(&RowsAdded{Read: q.Read, Request: r, Epoch: 7, Report: campaign.AddReport{Added: added}})
		list := sent[Write](w)
		eq(w, "closed again", len(list) == 1 && list[0].Write.Bulk != nil, added > 0)
	}
}

func TestALockedCampaignTakesNoList(t *testing.T) {
	for state, ok := range map[campaign.State]bool{campaign.Draft: true, campaign.Running: true,
		campaign.Paused: false, campaign.Completed: false, campaign.Failed: false} {
		w := ready(t, in(state))
		r := w.ask(&AddRows{})
		if ok {
			w.waits(r)
			q := one[AddContacts](w)
			w.do(&RowsAdded{Read: q.Read, Request: r, Err: errDown})
			w.refused(r, "database_unavailable")
			r = w.ask(&AddRows{})
			b := campaign.BatchReply{Added: 7}
			w.do(&RowsAdded{Read: one[AddContacts](w).Read, Request: r, Batch: &b})
			eq(w, "batch", granted[campaign.BatchReply](w, r).Added, 7)
		} else {
			w.refused(r, "contacts_locked")
		}
	}
}

func TestARunTicksWhileItRunsOrAnybodyIsUpOrAResultIsOwed(t *testing.T) {
	for _, c := range []struct {
		what   string
		state  campaign.State
		change func(*world)
		want   bool
	}{
		{"running", campaign.Running, nil, true},
		{"paused", campaign.Paused, nil, true},
		{"draft", campaign.Draft, nil, false},
		{"completed", campaign.Completed, nil, false},
		{"a contact is up", campaign.Completed, func(w *world) { w.s.newLine("c1", phone("c1")) }, true},
		{"a result is owed", campaign.Completed, func(w *world) { w.s.Tally.C.States[contact.Connected] = 1 }, true},
	} {
		w := ready(t, in(c.state))
		if c.change != nil {
			c.change(w)
		}
		eq(w, c.what, w.s.needsTick(), c.want)
		w.s.Ticking, w.alarms = false, nil
		w.s.startTicking()
		eq(w, c.what, w.s.Ticking, c.want)
	}
	w := ready(t)
	w.ask(act(campaign.ActionStop))
	w.pass(10 * time.Second)
	eq(w, "alarms", w.armed(TimerTick), 0)
	list := sent[Publish](w)
	eq(w, "the last figures", list[len(list)-1].Figures == nil, true)
}

func TestOverdueResultsAreLookedForEvery2Seconds(t *testing.T) {
	w := ready(t)
	w.pass(time.Second)
	none[ReadOverdue](w)
	w.s.Tally.C.States[contact.Connected] = 1
	w.s.LastOverdue = w.now
	w.pass(2*time.Second - 1)
	none[ReadOverdue](w)
	w.pass(1)
	q := one[ReadOverdue](w)
	w.do(&OverdueRead{Read: q.Read, Rows: w.rows(1)})
	eq(w, "told", len(told[*call.ResultTimeout](w, "c1")), 1)
}

func TestWhatPacingHasLearntIsStoredEvery30SecondsWhileItDials(t *testing.T) {
	w := ready(t)
	w.pass(40 * time.Second)
	none[SavePacing](w) // nobody was dialled
	w.do(&call.InviteLeft{At: w.now})
	w.pass(500 * time.Millisecond)
	eq(w, "stored", one[SavePacing](w).Epoch, 7)
	w.pass(time.Second)
	w.do(&call.InviteLeft{At: w.now})
	w.pass(29*time.Second - 1)
	none[SavePacing](w)
	w.pass(1)
	one[SavePacing](w)
	w.pass(time.Minute)
	none[SavePacing](w)
	// A dial at the moment of the last save is included in that save.
	w.do(&call.InviteLeft{At: w.s.Pace.KeptAt})
	w.pass(time.Minute)
	none[SavePacing](w)
}

func TestANewModelGoesOnWithWhatTheOneBeforeLearnt(t *testing.T) {
	w := ready(t, func(l *Loaded) { l.Learnt = &pacing.State{Persons: 7} })
	eq(w, "of an earlier incarnation", int(w.s.Pace.Model.State().Persons+0.5), 7)
	first := w.s.Pace.Model
	w.do(&DatabaseChanged{})
	eq(w, "the same", w.s.Pace.Model == first, true)
	w.s.M.C.Settings.RingTimeoutSec++
	w.do(&DatabaseChanged{})
	eq(w, "another ring timeout", []any{w.s.Pace.Model == first, int(w.s.Pace.Model.State().Persons + 0.5)},
		"[false 7]")
}

func TestTheTimeLeftIsThatOfTheWindowOrTheDay(t *testing.T) {
	day := 14 * time.Hour // until midnight
	for _, c := range []struct {
		what string
		end  time.Duration // of the window; 0 means none
		day  time.Duration
		want time.Duration
	}{
		{"the day ends first", 20 * time.Hour, day, day},
		{"the window does", time.Hour, day, time.Hour},
		{"only the day", 0, day, day},
		{"it is over", time.Hour, -time.Hour, 0},
	} {
		w := ready(t)
		w.s.now, w.s.WindowEnds = t0, time.Time{}
		if c.end != 0 {
			w.s.WindowEnds = t0.Add(c.end)
		}
		w.s.Pace.Books.Day.Until = t0.Add(c.day)
		eq(w, c.what, w.s.left(), c.want)
		w.s.Pace.Begun = false
		want := max(c.end, 0)
		eq(w, c.what+", without ledgers", w.s.left(), want)
	}
}
