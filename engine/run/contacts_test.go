package run

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

var errDown = errors.New("the database is away")

// result is a command for a contact that is at rest.
func result(id engine.ContactID) *SubmitResult { return &SubmitResult{Contact: id} }

func TestACommandBringsAContactAtRestUpFromItsRow(t *testing.T) {
	w := ready(t)
	first, second := w.ask(result("c1")), w.ask(result("c1"))
	eq(w, "read", one[ReadContact](w), ReadContact{Contact: "c1"})
	w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true})
	list := told[*call.StoreResult](w, "c1")
	eq(w, "in their order", []any{list[0].Request, list[1].Request}, []any{first, second})
	w.do(result("c1"))
	eq(w, "not before it is up", len(told[*call.StoreResult](w, "c1")), 0)
	w.do(&call.Up{Contact: "c1"})
	eq(w, "once it is up", len(told[*call.StoreResult](w, "c1")), 1)
	w.do(result("c1"))
	eq(w, "at once", len(told[*call.StoreResult](w, "c1")), 1)
	w.do(&call.Up{Contact: "nobody"})
}

func TestARowThatCannotBeReadIsAskedForAgainEverySecond(t *testing.T) {
	w := ready(t)
	r := w.ask(result("c1"))
	one[ReadContact](w)
	w.do(&ContactRead{Contact: "c1", Err: errDown})
	eq(w, "again", one[ReadContact](w), ReadContact{Contact: "c1", After: time.Second})
	w.waits(r)
	w.do(&ContactRead{Contact: "c1"})
	w.refused(r, "contact_not_found")
	eq(w, "loads", len(w.s.Loads), 0)
}

func TestACommandForAContactOfTheLookAheadNeedsNoRow(t *testing.T) {
	w := ready(t)
	w.due(w.rows(2), 0)
	w.do(result("c1"))
	none[ReadContact](w)
	one[Spawn](w)
	eq(w, "left", w.s.Queue.Len(), 1)
}

func TestWhoeverWaitsForAContactThatIsGoneIsRefused(t *testing.T) {
	w := ready(t)
	requests := []engine.Request{
		w.ask(result("c1")), w.ask(&Keys{Contact: "c1"}), w.ask(&Transfer{Contact: "c1"}),
	}
	w.s.touch("c1", &call.Reopen{Trigger: &call.Trigger{Request: "reopen"}})
	w.s.touch("c1", &call.Operate{Request: "operate"})
	w.do(&ContactRead{Contact: "c1"})
	for _, r := range append(requests, "reopen", "operate") {
		w.refused(r, "contact_not_found")
	}
}

func TestAnIdleContactStopsUnlessSomethingCameForIt(t *testing.T) {
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseOver)
	w.do(&call.Idle{Contact: "c1"})
	w.do(&call.Idle{Contact: "c1"}) // once is enough
	eq(w, "stop", len(told[*call.Stop](w, "c1")), 1)
	w.do(result("c1"))
	eq(w, "kept until it has answered", len(told[*call.StoreResult](w, "c1")), 0)
	w.do(&call.NotIdle{Contact: "c1"})
	eq(w, "given", len(told[*call.StoreResult](w, "c1")), 1)
	w.do(&call.Idle{Contact: "c1"})
	w.do(result("c1"))
	w.forget()
	w.do(&call.Stopped{Row: w.final("c1")})
	again := one[Spawn](w)
	eq(w, "up again, with what came", []any{len(again.First), again.Row.Version}, []any{1, int64(9)})
	w.do(&call.Idle{Contact: "c1"}) // its actor is not running
	eq(w, "stop", len(told[*call.Stop](w, "c1")), 0)
	w.do(&call.Idle{Contact: "nobody"})
	w.do(&call.NotIdle{Contact: "nobody"})
	w.do(&call.Stopped{Row: w.row("c9")})
}

func TestWhatAContactLeavesBehindIsLookedAtWhenItIsDue(t *testing.T) {
	for _, c := range []struct {
		what  string
		left  func(*world) contact.Contact
		next  time.Duration // of the next query
		queue int
		reads int
	}{
		{"a retry is due later", func(w *world) contact.Contact { return w.later("c1", 3*time.Second) },
			3 * time.Second, 0, 0},
		{"nothing is due, and others are up", func(w *world) contact.Contact { return w.final("c1") },
			500 * time.Millisecond, 0, 0},
		{"a trigger is due at this moment", func(w *world) contact.Contact {
			c := w.row("c1")
			c.DueClass = contact.DueTrigger
			return c
		}, 5 * time.Second, 1, 0},
		{"a callback was due", func(w *world) contact.Contact {
			c := w.later("c1", -time.Second)
			c.DueClass = contact.DueCallback
			return c
		}, 5 * time.Second, 1, 0},
		{"a first attempt is due: the tables have the order", func(w *world) contact.Contact { return w.row("c1") },
			0, 0, 1},
	} {
		w := dialling(t, 2)
		w.s.Seats, w.s.SeatTarget = 0, 0
		w.moved("c1", attempt.PhaseOver)
		w.forget()
		w.rests(c.left(w))
		if w.s.Reading {
			eq(w, c.what, c.next, 0*time.Second)
		} else {
			eq(w, c.what, w.s.NextDue.Sub(w.now), c.next)
		}
		eq(w, c.what+": look-ahead", w.s.Queue.Len(), c.queue)
		eq(w, c.what+": reads", len(sent[ReadDue](w)), c.reads)
	}
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseOver)
	w.rests(w.final("c1"))
	one[ReadDue](w) // there may be no open contact left
}

func TestWhenTheLastContactOfARunIsFinalTheRunCompletes(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*world)
		read   DueRead
		want   campaign.CompletionReason // "" means that the run goes on
	}{
		{"all are final", nil, DueRead{}, campaign.ReasonAllFinal},
		{"some used up their attempts", nil, DueRead{Exhausted: true}, campaign.ReasonRetriesDone},
		{"one waits", nil, DueRead{Open: 1}, ""},
		{"a full page", nil, DueRead{Open: -1}, ""},
		{"nobody could be called", func(w *world) { w.s.Tally.C.Attempts = 0 }, DueRead{}, campaign.ReasonNoCallable},
		{"no dial counted", func(w *world) {
			w.s.Tally.C.Attempts, w.s.Tally.C.Passes = 0, []campaign.Pass{{FirstDialAt: &w.s.now}}
		}, DueRead{}, campaign.ReasonAllFinal},
		{"always on", func(w *world) { w.s.M.C.Settings.AlwaysOn = true }, DueRead{}, ""},
		{"paused", func(w *world) { w.s.M.C.State = campaign.Paused }, DueRead{}, ""},
		{"a row is in the look-ahead", func(w *world) { w.s.Queue.Push(w.row("c8")) }, DueRead{}, ""},
		{"a contact is up", func(w *world) { w.s.newLine("c7", phone("c7")) }, DueRead{}, ""},
		{"a contact is on its way", func(w *world) { w.do(result("c7")) }, DueRead{}, ""},
		{"a trigger waits", func(w *world) {
			w.s.Triggers = append(w.s.Triggers, &PendingTrigger{Row: w.row("c6"), Trigger: &call.Trigger{}})
			w.s.DemandOpen = 1
		}, DueRead{}, ""},
		{"an exclusion is under way",
			func(w *world) { w.do(&Exclude{Command: campaign.Exclude{Number: phone("c6")}}) }, DueRead{}, ""},
		{"a file is being switched on", func(w *world) { w.ask(&BeginActivation{Import: "imp"}) }, DueRead{}, ""},
		{"a list is being added", func(w *world) { w.ask(&AddRows{}); w.s.ReadAgain = false }, DueRead{}, ""},
	} {
		w := ready(t)
		w.s.Tally.C.Attempts = 1
		if c.change != nil {
			c.change(w)
		}
		w.do(&c.read)
		eq(w, c.what, w.s.M.C.CompletionReason, c.want)
	}
}

func TestAContactsWriteIsGivenItsPlaceAndPassedOnOnce(t *testing.T) {
	w := dialling(t, 1)
	seq := w.s.M.C.Seq
	wr := &journal.Write{Events: []journal.Event{{Type: journal.ContactChanged}, {Type: journal.ContactChanged,
		Run: 4}}}
	w.do(&call.Persist{Contact: "c1", Step: 1, Write: wr})
	one[PassOn](w)
	eq(w, "write", []any{wr.Campaign, wr.Epoch, wr.Events[0].Seq, wr.Events[0].Run, wr.Events[1].Seq, wr.Events[1].Run},
		[]any{"cmp", 7, seq + 1, 1, seq + 2, 4})
	w.do(&call.Persist{Contact: "c1", Step: 1, Write: wr}) // repeated after a crash of the run
	none[PassOn](w)
	eq(w, "sequence", w.s.M.C.Seq, seq+2)
	w.do(&call.Persist{Contact: "nobody", Step: 1, Write: &journal.Write{}})
	one[PassOn](w)
}

// A request gives somebody a second number while the first one is called. That the first, or the second, is
// put on the suppression list then concerns that number alone, and an exclusion by the second is theirs.
func TestALineKnowsTheNumbersThatARequestGaveItsPerson(t *testing.T) {
	second := contact.NewAlternates([]contact.Alternate{{Number: phone("c2")}})
	for what, begin := range map[string]func(*testing.T) *world{
		"in a call": func(t *testing.T) *world {
			w := dialling(t, 1)
			row := w.row("c1")
			row.Alternates = second
			w.do(&call.Persist{Contact: "c1", Step: 1, Write: &journal.Write{Contacts: []contact.Contact{row}}})
			return w
		},
		"reopened": func(t *testing.T) *world {
			w := seated(t)
			m := triggers("c1")
			m.Command.Alternates = second
			w.ask(m)
			w.looked(func(m *TriggerFound) { m.Row, m.OK = w.final("c1"), true })
			w.trunks(1, "")
			w.numbers(1, "")
			w.s.Lines["c1"].Up = true
			return w
		},
	} {
		w := begin(t)
		w.forget()
		for _, n := range []engine.PhoneNumber{phone("c1"), phone("c2")} {
			w.ask(&Suppressed{Numbers: map[engine.PhoneNumber]struct{}{n: {}}})
			if ends := told[*call.End](w, "c1"); len(ends) != 1 || ends[0].Number != n {
				t.Errorf("%s: %d messages end the call", what, len(ends))
			}
		}
		w.ask(excludes("c2"))
		w.durable()
		w.found()
		if x := told[*call.Exclude](w, "c1"); len(x) != 1 {
			t.Errorf("%s: %d messages exclude", what, len(x))
		}
	}
}

func TestTheStepsOfAContactAreTakenOnceHoweverManyThereAre(t *testing.T) {
	w := dialling(t, 1)
	for _, step := range []int{1, 0, 62, 63, 64, 65, 1000} {
		for n := range 2 {
			w.do(&call.Persist{Contact: "c1", Step: step, Write: &journal.Write{}})
			eq(w, fmt.Sprint("step ", step), len(sent[PassOn](w)), 1-n)
		}
	}
}

func TestWhatTheDatabaseRefusedIsTakenBackFromTheCounters(t *testing.T) {
	w := ready(t)
	f := contact.Fresh(3)
	wr := &journal.Write{Events: []journal.Event{{Type: journal.ContactTriggered, Data: journal.Data{After: &f}},
		{Type: journal.ContactTriggered, Run: 9, Data: journal.Data{After: &f}}}}
	w.do(&call.Persist{Contact: "c1", Step: 1, Write: wr})
	eq(w, "counted, of this run", w.s.Tally.C.Total, 1)
	old := *wr
	old.Epoch--
	w.do(&WriteRefused{Write: &old}) // of an earlier instance: it was never counted
	eq(w, "counted", w.s.Tally.C.Total, 1)
	w.do(&WriteRefused{Write: wr})
	eq(w, "taken back", w.s.Tally.C.Total, 0)
}

func TestAContactThatWasRestartedHearsWhenEverythingBeforeIsDurable(t *testing.T) {
	w := ready(t)
	r := w.ask(&FenceFor{})
	eq(w, "fence", one[PassFence](w).Request, r)
}

func TestARowThatMayBeOutdatedIsReadAgain(t *testing.T) {
	for _, c := range []struct {
		what   string
		during func(*world)
		fresh  bool
	}{
		{"nothing happened", func(*world) {}, true},
		{"it was up and is at rest again", func(w *world) {
			w.s.newLine("c1", phone("c1")).Up = true
			w.rests(w.row("c1"))
		}, false},
		{"another was", func(w *world) {
			w.s.newLine("c2", phone("c2")).Up = true
			w.rests(w.row("c2"))
		}, true},
	} {
		w := ready(t)
		w.s.Tally.C.States[contact.Connected] = 1
		w.pass(500 * time.Millisecond)
		q := one[ReadOverdue](w)
		c.during(w)
		w.do(&OverdueRead{Read: q.Read, Rows: []contact.Contact{w.row("c1")}})
		eq(w, c.what, len(sent[ReadContact](w)) == 0, c.fresh)
		eq(w, c.what+": told", len(told[*call.ResultTimeout](w, "c1")) == 1, c.fresh)
		w.s.endRead(w.s.LastRead) // the read of suppressed numbers at the start of the run
		w.s.endRead(q.Read - 1)
		w.s.endRead(q.Read - 2) // the read of expired contacts
		eq(w, "remembered", len(w.s.StoppedSince), 0)
	}
	// A read that began after the contact came to rest has its current row.
	w := ready(t)
	older := w.s.beginRead()
	w.s.newLine("c1", phone("c1")).Up = true
	w.rests(w.row("c1"))
	newer := w.s.beginRead()
	w.forget()
	w.do(&OverdueRead{Read: newer, Rows: []contact.Contact{w.row("c1")}})
	none[ReadContact](w)
	w.do(&OverdueRead{Read: older})
	// A read of an earlier instance is ignored.
	w = ready(t)
	w.do(&OverdueRead{Read: 5, Rows: []contact.Contact{w.row("c1")}})
	one[ReadContact](w)
}

func TestTheLookAheadAsksAgainWhenSomethingMayBeDue(t *testing.T) {
	at := func(d time.Duration) *time.Time { x := t0.Add(d); return &x }
	for _, c := range []struct {
		what string
		read DueRead
		next time.Duration // 0: at once
	}{
		{"the page was full", DueRead{Open: -1}, 0},
		{"the next is due in a minute", DueRead{Open: 3, Next: at(time.Minute)}, time.Minute},
		{"never before a second, for numbers that are held", DueRead{Open: 3, Next: at(time.Millisecond)}, time.Second},
		{"nobody is due at all", DueRead{Open: 3}, 5 * time.Second},
		{"the database is away", DueRead{Err: errDown}, time.Second},
	} {
		w := ready(t)
		q := one[ReadDue](w)
		eq(w, "question", fmt.Sprint(q.Run, q.Limit, q.Except, q.Ends), "1 100 [] true")
		w.do(&c.read)
		if c.next == 0 {
			one[ReadDue](w)
			continue
		}
		none[ReadDue](w)
		w.pass(c.next - 1)
		if n := len(sent[ReadDue](w)); n > 0 {
			t.Errorf("%s: asked before", c.what)
		}
		w.pass(1)
		if n := len(sent[ReadDue](w)); n != 1 {
			t.Errorf("%s: asked %d times", c.what, n)
		}
	}
}

func TestAContactThatBecomesDueWhileTheTablesAreAskedIsNotForgotten(t *testing.T) {
	w := dialling(t, 2)
	w.pass(5 * time.Second)
	one[ReadDue](w)
	w.moved("c1", attempt.PhaseOver)
	w.rests(w.later("c1", 2*time.Second))
	w.moved("c2", attempt.PhaseOver)
	w.rests(w.later("c2", 3*time.Second))
	w.do(&DueRead{Open: 1, Rows: []contact.Contact{w.row("c1")}}) // as they were
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
	eq(w, "next", w.s.NextDue.Sub(w.now), 2*time.Second)
}

func TestTheLookAheadLeavesOutWhoIsAtHand(t *testing.T) {
	w := ready(t)
	w.due(w.rows(40), 0)
	w.seats(10)
	w.trunks(1000, "") // a round for c1 to c4 is under way
	w.do(result("c30"))
	w.do(result("x"))
	w.forget()
	w.s.endRound()
	w.s.startRound([]Candidate{{Row: w.row("c99"), Attempt: "a"}})
	w.s.out, w.s.NextDue = nil, nil
	w.s.refill()
	q := w.s.out[0].(ReadDue)
	eq(w, "left out", len(q.Except), 37) // 35 in the look-ahead, c99, x
	eq(w, "limit", q.Limit, 65)
	w.do(&DueRead{Open: -1, Rows: []contact.Contact{w.row("x"), w.row("c30"), w.row("y")}})
	eq(w, "look-ahead", []any{w.s.Queue.Has("x"), w.s.Queue.Has("c30"), w.s.Queue.Has("y")}, "[false false true]")
}

func TestTheLookAheadIsFilledAgainWhenItIsHalfEmpty(t *testing.T) {
	for _, c := range []struct{ rows, asks int }{{49, 1}, {50, 1}, {51, 0}} {
		w := ready(t)
		w.forget()
		w.do(&DueRead{Open: -1, Rows: w.rows(c.rows)})
		eq(w, fmt.Sprint("with ", c.rows), len(sent[ReadDue](w)), c.asks)
	}
}

func TestAnExclusionWhoseContactACrashLeftIsCarriedOut(t *testing.T) {
	w := ready(t, func(l *Loaded) {
		l.Exclusions = []journal.Exclusion{{Campaign: "cmp", Number: phone("c1"), Reason: "asked"}}
	})
	w.due(w.rows(1), 0)
	eq(w, "excluded", told[*call.Exclude](w, "c1")[0].Reason, "asked")
	// While an exclusion is in progress, that exclusion reports it.
	w = ready(t)
	w.do(&Exclude{Command: campaign.Exclude{Number: phone("c1")}})
	w.due(w.rows(1), 0)
	none[Spawn](w)
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
}

func TestAContactThatIsOnItsWayUpIsNotTakenIntoTheLookAhead(t *testing.T) {
	w := ready(t)
	w.do(result("c1"))
	w.due(w.rows(1), 0)
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
	w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true})
	w.do(&call.Up{Contact: "c1"})
	w.rests(w.final("c1"))
	w.seats(10)
	none[ReserveTrunks](w)
}
