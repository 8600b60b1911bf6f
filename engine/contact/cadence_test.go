package contact

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/window"
)

func tableOf(text string) *cadence.Cadence {
	c, wrong := cadence.Parse("rules", text)
	if wrong != nil {
		panic(wrong.Message)
	}
	return &c
}

// tables are cadences for contacts that anything may happen to.
var tables = []*cadence.Cadence{
	tableOf("busy: 5m, 1h · no_answer: 1h, another part of the day, next day · machine: next day · at most 1 a day"),
	tableOf("connected: 2m, at most 1 · no_answer: next day, at most 2"),
	tableOf("at most 2 a day"),
}

func by(text string) func(*Policy) {
	return func(p *Policy) {
		p.Cadence, p.MaxAttempts = tableOf(text), 10
		p.Window = window.Window{Start: 9 * 60, End: 18 * 60, Zone: "UTC"}
		p.Clip = p.Window.NextOpening
		p.Redial.OnSystem = append(p.Redial.OnSystem, engine.OutcomeMachine)
	}
}

// t0 is Monday 2 March 2026 at 10:00, and a dial lasts 30 seconds.

func TestTheCadenceSaysWhenAContactIsRedialled(t *testing.T) {
	day := func(d, hour int) time.Time { return time.Date(2026, 3, d, hour, 0, 0, 0, time.UTC) }
	w := newWorld(t, by("busy: 5m, 15m · no_answer: 3h, another part of the day, next day"))
	w.dial(engine.OutcomeBusy).dueAt(w.now.Add(5*time.Minute), DueRetry)
	w.dial(engine.OutcomeBusy).dueAt(w.now.Add(15*time.Minute), DueRetry)
	w.dial(engine.OutcomeNoAnswer).dueAt(w.now.Add(3*time.Hour), DueRetry)
	w.dial(engine.OutcomeNoAnswer).dueAt(day(2, 17), DueRetry)
	w.dial(engine.OutcomeNoAnswer).dueAt(day(3, 9), DueRetry)
}

func TestRetryDelayAloneIsWhatItWasWithoutACadence(t *testing.T) {
	w := newWorld(t).dial(engine.OutcomeBusy)
	w.dueAt(w.now.Add(10*time.Minute), DueRetry)
	w = newWorld(t, by("machine: next day")).dial(engine.OutcomeBusy)
	w.dueAt(w.now.Add(10*time.Minute), DueRetry)
}

func TestNoAttemptFollowsTheMostOfAnOutcome(t *testing.T) {
	w := newWorld(t, by("busy: 5m, at most 2 · machine: next day, at most 1 · connected: at most 1"))
	w.dial(engine.OutcomeBusy).dial(engine.OutcomeNoAnswer).dial(engine.OutcomeBusy)
	w.is(Failed, string(engine.OutcomeBusy))
	w.must(Event{Kind: Triggered})
	if w.m.C.Tries != 0 {
		t.Error("fresh attempts begin with none")
	}
	w.dial(engine.OutcomeMachine).is(MachineDetected, "")
	w.must(Event{Kind: Triggered})
	w.dial(engine.OutcomeCompleted, withResult("call again")).is(Completed, "")
}

func TestTheMostADayHoldsForRedialsAlone(t *testing.T) {
	w := newWorld(t, by("busy: 5m · at most 2 a day"))
	w.dial(engine.OutcomeBusy).dial(engine.OutcomeBusy)
	opens := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	w.dueAt(opens, DueRetry)
	w.must(Event{Kind: CallbackSet, Until: w.now.Add(time.Hour)}).dueAt(w.now.Add(time.Hour), DueCallback)
	w.must(Event{Kind: CallbackDropped}).dueAt(opens, DueRetry)
	w.must(Event{Kind: Hastened}).dueAt(w.now, DueTrigger)
	w.dial(engine.OutcomeBusy).dueAt(opens, DueRetry)
}

func TestAnUnconsumedAttemptIsNoTry(t *testing.T) {
	w := newWorld(t, by("congestion: 2m, at most 1 · at most 1 a day"))
	w.dial(engine.OutcomeCongestion, unconsumed).dueAt(w.now.Add(2*time.Second), DueFirst)
	if w.m.C.Tries != 0 {
		t.Error("it is counted")
	}
}

func TestAResultIsRedialledAsItsClassSays(t *testing.T) {
	w := newWorld(t, by("connected: 1h"))
	w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
	ended := w.now
	w.wait(time.Minute).must(w.result(1, "call again", endedAt(ended))).dueAt(ended.Add(time.Hour), DueRetry)
	w = newWorld(t, by("connected: 1h"), func(p *Policy) {
		p.Redial.OnSystem = []engine.Outcome{engine.OutcomeConnectedNoResult}
	}).dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
	ended = w.now
	w.wait(15*time.Minute).must(Event{Kind: ResultTimedOut}).dueAt(ended.Add(time.Hour), DueRetry)
}

func TestAnEditedCadenceHoldsFromTheNextAttempt(t *testing.T) {
	w := newWorld(t, by("busy: 5m, 15m")).dial(engine.OutcomeBusy)
	due := *w.m.C.DueAt
	w.p.Cadence = tableOf("busy: 5m, 2h")
	w.dueAt(due, DueRetry)
	w.dial(engine.OutcomeBusy).dueAt(w.now.Add(2*time.Hour), DueRetry)
}
