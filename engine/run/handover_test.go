package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

func TestARunThatStaysSaysSoAtOnce(t *testing.T) {
	w := ready(t)
	w.ask(excludes("c1"))
	w.do(&LastWord{})
	eq(w, "stays", one[SayLastWord](w).Stays, true)
	w = empty(t)
	w.do(&LastWord{}) // the campaign is not loaded yet
	none[SayLastWord](w)
}

func TestARunThatIsHandedOverAnswersFirst(t *testing.T) {
	for _, c := range []struct {
		what  string
		owes  func(*world)
		ended func(*world)
	}{
		{"an exclusion", func(w *world) { w.ask(excludes("c1")) }, func(w *world) { w.durable(); w.found() }},
		{"a write", func(w *world) { w.ask(act(campaign.ActionPause)) }, func(w *world) { w.durable() }},
		{"a question", func(w *world) { w.ask(&Operate{}); w.do(&LastWord{HandOver: true}) }, func(w *world) {
			q := one[FindOperated](w)
			w.do(&OperateFound{Read: q.Read, Request: q.Request})
		}},
		{"a lift", func(w *world) { w.ask(lifts("c1")) }, func(w *world) { w.durable(); w.found() }},
		{"a list", func(w *world) { w.ask(&AddRows{}) },
			func(w *world) { w.do(&RowsAdded{Read: one[AddContacts](w).Read}) }},
		{"a trigger", func(w *world) { w.ask(triggers("c1")) }, func(w *world) { w.seats(0); w.durable() }},
	} {
		w := ready(t)
		q := one[ReadSuppressed](w)
		w.do(&SuppressedRead{Read: q.Read, Run: 1})
		c.owes(w)
		w.do(&LastWord{HandOver: true})
		none[SayLastWord](w)
		c.ended(w)
		eq(w, c.what, sent[SayLastWord](w), "[{Stays:false}]")
		w.pass(time.Minute)
		none[SayLastWord](w)
	}
}

func TestARunThatIsHandedOverWaits2SecondsForItsAnswers(t *testing.T) {
	w := ready(t)
	w.ask(excludes("c1"))
	w.do(&LastWord{HandOver: true})
	w.pass(2*time.Second - 1)
	none[SayLastWord](w)
	w.pass(1)
	one[SayLastWord](w)
}

func TestWhatAHandOverFindsWaitingIsRefused(t *testing.T) {
	w := loading(t)
	r := w.ask(&Detail{})
	w.do(&LastWord{HandOver: true})
	w.refused(r, "not_owner")
	one[SayLastWord](w)
	w = gated(t)
	r = w.ask(excludes("c1"))
	w.do(&LastWord{HandOver: true})
	w.refused(r, "not_owner")
}

func TestARunDialsNobodyFor15SecondsOfAHandOver(t *testing.T) {
	w := dialling(t, 2)
	w.moved("c2", attempt.PhaseRinging)
	w.s.Queue.Push(w.row("c3"))
	p := granted[Placing](w, w.ask(&DialNoMore{}))
	eq(w, "being placed", []any{p.Attempts, p.Round},
		[]any{map[engine.AttemptID]engine.ContactID{w.s.Lines["c1"].Attempt: "c1"}, false})
	w.pass(15*time.Second - 1)
	none[ReserveTrunks](w)
	eq(w, "why", w.s.Pace.Last.Constraint, engine.ConstraintNodeDraining)
	w.pass(1)
	w.do(&DatabaseChanged{})
	one[ReserveTrunks](w)
	eq(w, "round", granted[Placing](w, w.ask(&DialNoMore{})).Round, true)
}

func TestAnIntentThatWaitedIsAskedAboutAgain(t *testing.T) {
	for _, c := range []struct {
		what      string
		change    func(*world)
		withdrawn bool
		within    time.Duration
	}{
		{"still running", func(*world) {}, false, 10 * time.Second},
		{"paused", func(w *world) { w.ask(act(campaign.ActionPause)) }, true, 10 * time.Second},
		{"its window closes", func(w *world) { end := w.now.Add(1); w.s.M.C.WindowEndsAt = &end }, false, 1},
		{"its window closed", func(w *world) { end := w.now; w.s.M.C.WindowEndsAt = &end }, true, 0},
		{"decided by an earlier life", func(w *world) { w.do(report(w, "c1", attempt.PhaseOver)) }, true, 10 * time.Second},
	} {
		w := dialling(t, 1)
		a := w.s.Lines["c1"].Attempt
		c.change(w)
		w.do(&call.MayDial{Contact: "c1", Dial: &call.Dial{Attempt: a, To: phone("c1")}})
		d := told[*call.Dial](w, "c1")[0]
		eq(w, c.what, []any{d.Attempt, d.Eligible, d.Withdrawn, d.SendWithin}, []any{a, true, c.withdrawn, c.within})
	}
	w := ready(t)
	w.do(&call.MayDial{Contact: "nobody", Dial: &call.Dial{}})
}

func TestAQuestionAboutALineGoesToItsContact(t *testing.T) {
	w := dialling(t, 1)
	r := w.ask(&call.Show{Contact: "c1"})
	eq(w, "show", told[*call.Show](w, "c1")[0].Request, r)
	w.refused(w.ask(&call.Show{Contact: "c9"}), "call_not_found")
	w.do(&call.LegsGone{Contact: "c1"})
	w.do(&call.LegsGone{Contact: "c9"})
	eq(w, "legs", len(told[*call.LegsGone](w, "c1")), 1)
}
