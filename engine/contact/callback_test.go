package contact

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
)

// --- callbacks ------------------------------------------------------------------------

func TestCallbacksOnlyWhenEnabledOnTheCampaign(t *testing.T) {
	w := newWorld(t, func(p *Policy) { p.Callbacks = false }).dial(done, withResult("later"), wish(t0p(time.Hour)))
	w.is(Completed, "").callback(CallbackNone)
}

func TestTheWordsOfTheCallbacksPanel(t *testing.T) {
	f := func(word CallbackState, want ...CallbackState) {
		t.Helper()
		if got := word.Among(); !slices.Equal(got, want) || word.Covers(CallbackNone) {
			t.Errorf("%s counts %v, want %v", word, got, want)
		}
	}
	f(CallbackRequested, CallbackStates...)
	f(CallbackPending, CallbackRequested, CallbackPending)
	f(CallbackCompleted, CallbackCompleted)
	f(CallbackCancelled, CallbackCancelled)
}

func TestACallbackWithoutATimeComesAfterOneRetryDelay(t *testing.T) {
	w := newWorld(t).dial(done, withResult("later"), wish(nil)).callback(CallbackPending)
	w.dueAt(w.now.Add(10*time.Minute), DueCallback)
}

func TestACallbackIsRequestedThenPendingThenCompleted(t *testing.T) {
	w := newWorld(t).reserve().must(Event{Kind: Reached})
	at := w.after(time.Hour)
	w.must(w.result(1, "later", wish(at))).callback(CallbackRequested)
	w.wait(time.Minute).must(w.ended(done, withResult("later"), wish(at))).callback(CallbackPending).dueAt(*at,
		DueCallback)
	w.dial(noAnswer).callback(CallbackCompleted).is(Waiting, "")
}

func TestAContactWithAnActiveCallbackIsNotFinal(t *testing.T) {
	w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	if !w.m.C.Open() {
		t.Error("it does not hold completion")
	}
	// Another result without a request does not cancel it either.
	w.must(w.result(1, "sold")).callback(CallbackPending).dueAt(t0.Add(time.Hour), DueCallback)
}

func TestOneActiveCallbackPerContactTheNewestWins(t *testing.T) {
	w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	w.must(w.result(1, "later", wish(t0p(2*time.Hour)))).callback(CallbackPending).dueAt(t0.Add(2*time.Hour), DueCallback)
	w.must(w.result(1, "later", wish(t0p(30*time.Minute)))).dueAt(t0.Add(30*time.Minute), DueCallback)
	// Withdrawn during the call.
	w = newWorld(t).reserve().must(Event{Kind: Reached})
	w.must(w.result(1, "later", wish(t0p(time.Hour)))).must(w.result(1, "sold")).callback(CallbackCancelled)
	w.must(w.ended(done, withResult("sold"))).is(Completed, "")
	// Requested by a late result of an earlier attempt while another is live.
	w = newWorld(t, listed(talk)).dial(talk, talked(time.Minute)).wait(15 * time.Minute).must(Event{Kind: ResultTimedOut})
	w.reserve().must(w.result(1, "later", wish(t0p(3*time.Hour)))).callback(CallbackRequested)
	w.must(w.ended(noAnswer)).callback(CallbackPending).dueAt(t0.Add(3*time.Hour), DueCallback)
}

func TestACallbackMayExceedMaxAttemptsByOne(t *testing.T) {
	one := func(p *Policy) { p.MaxAttempts = 1 }
	w := newWorld(t, one).dial(done, withResult("later"), wish(t0p(time.Hour))).callback(CallbackPending)
	if !w.m.C.CallbackExtra {
		t.Error("the attempt beyond Max Attempts is not granted")
	}
	w.dial(done, withResult("later"), wish(t0p(5*time.Hour))).is(Completed, "").callback(CallbackCancelled)
	if w.m.C.Used != 2 {
		t.Errorf("used %d", w.m.C.Used)
	}
	// The callback itself is not retried beyond the limit.
	w = newWorld(t, one).dial(done, withResult("later"), wish(t0p(time.Hour))).dial(noAnswer)
	w.is(Failed, ReasonExhausted).callback(CallbackCompleted)
	// Within the limit it is an attempt like any other.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	if w.m.C.CallbackExtra {
		t.Error("nothing extra is needed")
	}
	w.dial(noAnswer).is(Waiting, "")
}

func TestAnUnconsumedCallbackIsStillACallback(t *testing.T) {
	w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	w.dial(engine.OutcomeThrottled, unconsumed).callback(CallbackPending).dueAt(w.now.Add(2*time.Second), DueCallback)
	w.dial(noAnswer).callback(CallbackCompleted)
}

func TestACallbackIsClippedIntoTheWindow(t *testing.T) {
	w := newWorld(t, func(p *Policy) { p.Clip = func(t time.Time) (time.Time, bool) { return t.Add(time.Hour), true } })
	w.dial(done, withResult("later"), wish(t0p(time.Hour))).dueAt(t0.Add(2*time.Hour), DueCallback)
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(-time.Hour))) // its time has passed
	w.dueAt(w.now, DueCallback)
}

func TestACallbackIsCancelled(t *testing.T) {
	// Beyond the horizon of 14 days.
	w := newWorld(t).reserve().wait(time.Minute)
	w.must(w.ended(done, withResult("later"), wish(w.after(CallbackHorizon)))).callback(CallbackPending)
	w = newWorld(t).reserve()
	w.must(w.ended(done, withResult("later"), wish(w.after(CallbackHorizon+time.Second)))).callback(CallbackCancelled).is(
		Completed, "")
	// A single-day window closes first.
	w = newWorld(t, func(p *Policy) { p.Clip = untilSix }).dial(done, withResult("later"), wish(t0p(9*time.Hour)))
	w.callback(CallbackCancelled).is(Completed, "")
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(9*time.Hour))).must(Event{Kind: WindowEnded})
	w.callback(CallbackCancelled).is(WindowClosed, "")
	// The run ends.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(9*time.Hour))).must(Event{Kind: RunStopped})
	w.callback(CallbackCancelled).is(ManuallyStopped, "")
	w = newWorld(t).reserve().must(Event{Kind: Reached})
	w.must(w.result(1, "later", wish(t0p(time.Hour))), Event{Kind: RunStopped}).callback(CallbackCancelled)
	// An exclusion: TestExcludeDropsRetriesAndCallbacks. On request:
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).must(Event{Kind: CallbackDropped})
	w.callback(CallbackCancelled).is(Completed, "")
	// A callback that is being dialled continues.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).wait(time.Hour).reserve()
	w.must(Event{Kind: RunStopped}, Event{Kind: CallbackDropped}).callback(CallbackPending)
}

func TestACallBackThatIsTriedAgainIsStillToComeWhateverWasHeardMeanwhile(t *testing.T) {
	play := func(heardBefore bool) *world {
		w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
		w.wait(time.Hour).reserve()
		w.must(w.result(2, "later still", wish(w.after(2*time.Hour))), Event{Kind: CallbackDropped})
		sold, end := w.result(1, "sold"), w.ended(engine.OutcomeThrottled, unconsumed)
		if heardBefore {
			return w.must(sold, end)
		}
		return w.must(end, sold)
	}
	play(false).is(Connected, "").callback(CallbackPending)
	play(true).is(Connected, "").callback(CallbackPending)
}

// calledBack is the result of a call in which the contact called us back.
func (w *world) calledBack(disposition string, talk time.Duration) Event {
	return Event{Kind: ResultStored, Attempt: &Attempt{ID: backName(w.backs), Outcome: engine.OutcomeCompleted,
		Connected: true, CalledBack: true, HasResult: true, Disposition: disposition, Talk: talk, EndedAt: w.now}}
}

func TestACallBackCountsAlsoBeforeTheFirstAttemptOfARun(t *testing.T) {
	newWorld(t).must(newWorld(t).calledBack("interested", time.Minute)).is(Completed, "")
}

func TestTheTalkOfACallBackCountsForTheRedialRules(t *testing.T) {
	w := newWorld(t).dial(noAnswer)
	w.must(w.calledBack("interested", time.Minute))
	if w.m.C.LongestTalk != time.Minute || w.m.C.LastTalk != 0 {
		t.Errorf("%v, %v", w.m.C.LongestTalk, w.m.C.LastTalk)
	}
}

// The wait for the end of a call back does not delay what its result asks for.
func TestARedialAfterACallBackComesAfterRetryDelay(t *testing.T) {
	w := newWorld(t, func(p *Policy) { p.Redial.OnCustom = []string{"again"} }).dial(noAnswer)
	w.must(w.callsUs(BackBegins, 10*time.Hour))
	w.must(w.calledBack("again", time.Minute)).dueAt(w.now.Add(w.p.Redial.Delay), DueRetry)
}

// --- calls back -------------------------------------------------------------------------

func TestWhoCallsBackIsNotDialledBeforeThatIsSettled(t *testing.T) {
	for back, then := range map[Back]func(w *world) time.Time{
		BackOver: func(w *world) time.Time { return w.now.Add(10 * time.Minute) }, // its retry, as if nobody had called
		BackOwes: func(w *world) time.Time { return w.now.Add(30 * time.Minute) },
	} {
		w := newWorld(t).dial(noAnswer)
		retry := *w.m.C.DueAt
		w.must(w.callsUs(BackBegins, 15*time.Minute)).is(Waiting, ReasonCallsBack)
		w.dueAt(w.now.Add(15*time.Minute), DueRetry)
		due := then(w)
		w.must(w.callsUs(back, 30*time.Minute)).dueAt(due, DueRetry)
		if waits := back == BackOwes; w.m.C.Reason == ReasonCallsBack != waits {
			t.Errorf("%s: %q", back, w.m.C.Reason)
		}
		if back == BackOver && !w.m.C.DueAt.Equal(retry) {
			t.Errorf("due %v, its retry was at %v", w.m.C.DueAt, retry)
		}
	}
	// Who waits longer anyway is not moved.
	w := newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour)))
	w.must(w.callsUs(BackBegins, 15*time.Minute)).dueAt(t0.Add(time.Hour), DueCallback).is(Connected, "")
}

func TestADialUnderWayIsNotRetriedDuringACallBack(t *testing.T) {
	w := newWorld(t).reserve()
	w.must(w.callsUs(BackBegins, 15*time.Minute)).wait(time.Second)
	w.must(w.ended(noAnswer)).is(Waiting, ReasonCallsBack).dueAt(w.now.Add(15*time.Minute-time.Second), DueRetry)
	w.wait(time.Minute).must(w.callsUs(BackOver, 0)).is(Waiting, "").dueAt(t0.Add(10*time.Minute+time.Second), DueRetry)
}

func TestNobodyWhoCallsBackIsReopenedToBeDialledMeanwhile(t *testing.T) {
	for _, kind := range []Kind{Triggered, Hastened} {
		w := newWorld(t).dial(engine.OutcomeRejected).is(Failed, "rejected")
		w.must(w.callsUs(BackBegins, 15*time.Minute), Event{Kind: kind}).is(Pending, ReasonCallsBack)
		w.dueAt(w.now.Add(15*time.Minute), w.m.C.DueClass)
		w.wait(time.Minute).must(w.callsUs(BackOver, 0)).is(Pending, "").dueAt(w.now.Add(-time.Minute), w.m.C.DueClass)
	}
	w := newWorld(t)
	w.must(w.callsUs(BackBegins, 15*time.Minute), Event{Kind: Triggered}).dueAt(t0.Add(15*time.Minute), DueFirst)
	w.must(Event{Kind: RunReset, Run: 2}).dueAt(t0.Add(15*time.Minute), DueFirst)
}

// What is told of a call back may be repeated, or come late.
func TestWhatIsHeardOfACallBackTooLateChangesNothing(t *testing.T) {
	w := newWorld(t).dial(noAnswer)
	begins := w.callsUs(BackBegins, 15*time.Minute)
	w.must(w.calledBack("later", time.Minute), begins)
	w.is(Completed, "")

	w = newWorld(t).dial(noAnswer)
	begins = w.callsUs(BackBegins, 15*time.Minute)
	promised := w.calledBack("later", time.Minute)
	promised.Attempt.Callback = &CallbackWish{At: w.after(3 * time.Minute)}
	w.must(promised, begins, w.callsUs(BackOwes, 15*time.Minute)).callback(CallbackPending)
	w.dueAt(w.now.Add(3*time.Minute), DueCallback)
	if w.m.C.CallsBackUntil != nil {
		t.Error("it waits for a call back that is settled")
	}
	// A second call moves the promised one, and its time with it.
	w.must(w.callsUs(BackBegins, 15*time.Minute)).dueAt(w.now.Add(15*time.Minute), DueCallback)
	if at := w.m.C.CallbackAt; !at.Equal(*w.m.C.DueAt) {
		t.Errorf("promised for %v, due %v", at, w.m.C.DueAt)
	}
	w.wait(5*time.Minute).must(begins, w.callsUs(BackOver, 0)).dueAt(w.now.Add(-2*time.Minute), DueCallback)
	if at := w.m.C.CallbackAt; !at.Equal(*w.m.C.DueAt) {
		t.Errorf("promised for %v, due %v", at, w.m.C.DueAt)
	}
}

// Nothing is heard of the end: the wait ends by itself.
func TestTheWaitForACallBackEnds(t *testing.T) {
	w := newWorld(t).dial(noAnswer)
	w.must(w.callsUs(BackBegins, 15*time.Minute)).dial(noAnswer).is(Waiting, "").dueAt(w.now.Add(10*time.Minute), DueRetry)
}
