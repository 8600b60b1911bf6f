package redial

import (
	"testing"
	"time"

	"dialler/engine"
)

func TestWhoIsDialledAgain(t *testing.T) {
	const s = time.Second
	talk := func(d time.Duration) Attempt {
		return Attempt{Outcome: engine.OutcomeConnectedNoResult, Connected: true, Talk: d}
	}
	result := func(a Attempt, disposition string) Attempt {
		a.Outcome, a.HasResult, a.Disposition = engine.OutcomeCompleted, true, disposition
		return a
	}
	with := func(a Attempt, f func(*Attempt)) Attempt { f(&a); return a }
	lists := Rule{OnSystem: []engine.Outcome{engine.OutcomeBusy}, OnCustom: []string{" Call Again "}}
	short := Rule{OnSystem: lists.OnSystem, OnCustom: lists.OnCustom, OnlyUnder: 10 * s}
	long := Rule{OnSystem: []engine.Outcome{engine.OutcomeBusy, engine.OutcomeConnectedNoResult}, OnCustom: lists.OnCustom,
		StopAfter: 30 * s}
	both := Rule{OnSystem: long.OnSystem, OnCustom: lists.OnCustom, OnlyUnder: 30 * s, StopAfter: 30 * s}
	f := func(what string, r Rule, a Attempt, want bool) {
		t.Helper()
		if got := r.Again(a); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("a listed outcome", lists, Attempt{Outcome: engine.OutcomeBusy}, true)
	f("an outcome that is not listed", lists, Attempt{Outcome: engine.OutcomeRejected}, false)
	f("a listed disposition", lists, result(talk(20*s), "call again"), true)
	f("no disposition", lists, result(talk(20*s), " "), false)
	f("a disposition that is not listed", lists, result(talk(20*s), "done"), false)
	f("with a result the outcome does not count", Rule{OnSystem: []engine.Outcome{engine.OutcomeCompleted}},
		result(talk(20*s), "done"), false)
	f("a short conversation without a result", short, talk(9*s), true)
	f("a short one, whatever its disposition", short, result(talk(9*s), "done"), true)
	f("one at least that long gets nothing from the rule", short, result(talk(10*s), "done"), false)
	f("one that long is decided by Retry On Custom", short, result(talk(10*s), "call again"), true)
	f("who was not reached had no short conversation", short, Attempt{Outcome: engine.OutcomeRejected}, false)
	f("do_not_call comes first", short, with(result(talk(s), "call again"), func(a *Attempt) { a.DoNotCall = true }),
		false)
	f("a meaningful conversation stops", long, result(talk(30*s), "call again"), false)
	f("one under that does not", long, result(talk(29*s), "call again"), true)
	f("one before it in the run stops too", long, with(Attempt{Outcome: engine.OutcomeBusy},
		func(a *Attempt) { a.Longest = 30 * s }), false)
	f("a longest conversation that was shorter does not", long,
		with(Attempt{Outcome: engine.OutcomeBusy}, func(a *Attempt) { a.Longest = 29 * s }), true)
	f("stop wins", both, talk(30*s), false)
	f("stop wins over a short one after it", both, with(talk(5*s), func(a *Attempt) { a.Longest = 30 * s }), false)
	f("stop wins where both speak", Rule{OnlyUnder: 30 * s, StopAfter: 20 * s}, talk(25*s), false)
	f("under both it is short", both, talk(29*s), true)
	f("no rule is no short conversation", Rule{}, talk(0), false)
}

func TestTheTimeOfARedial(t *testing.T) {
	ended := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	r := Rule{Delay: time.Minute}
	if at := r.At(ended, 0); !at.Equal(ended.Add(time.Minute)) {
		t.Errorf("Retry Delay counts from the end of the attempt: %s", at)
	}
	if at := r.At(ended, 2*time.Minute); !at.Equal(ended.Add(2 * time.Minute)) {
		t.Errorf("what the network asked for is longer: %s", at)
	}
}
