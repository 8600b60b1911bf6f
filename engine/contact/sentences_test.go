package contact

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
)

const (
	noAnswer = engine.OutcomeNoAnswer
	talk     = engine.OutcomeConnectedNoResult
	done     = engine.OutcomeCompleted
)

func listed(outcomes ...engine.Outcome) func(*Policy) {
	return func(p *Policy) { p.Redial.OnSystem = outcomes }
}

func TestEveryStateOfAContactIsNamedAndFinalAsTheSpecificationSays(t *testing.T) {
	final := map[State]bool{
		"pending":          false,
		"unanswered":       false,
		"connected":        false,
		"completed":        true,
		"failed":           true,
		"abandoned":        true,
		"machine_detected": true,
		"window_closed":    true,
		"manually_stopped": true,
		"expired":          true,
		"excluded":         false,
	}
	for _, s := range States {
		if is, ok := final[s]; !ok || s.Processed() != is {
			t.Errorf("%s: final %v", s, s.Processed())
		}
	}
	if len(States) != len(final) {
		t.Errorf("%d states, want %d", len(States), len(final))
	}
}

// Programs of the previous release read the old word in the table; the shown word is a different
// one.
func TestBetweenTwoAttemptsAContactIsShownAsWaitingAndItsLastOutcomeSaysWhy(t *testing.T) {
	var shown []string
	for _, s := range States {
		shown = append(shown, s.Shown())
		if back, ok := StateShownAs(s.Shown()); !ok || back != s {
			t.Errorf("%s is shown as %s, which is %s", s, s.Shown(), back)
		}
	}
	want := []string{"pending", "waiting", "connected", "completed", "failed", "abandoned", "machine_detected",
		"window_closed", "manually_stopped", "expired", "excluded"}
	if !slices.Equal(shown, want) {
		t.Errorf("%v, want %v", shown, want)
	}
	if s, ok := StateShownAs("unanswered"); ok {
		t.Errorf("unanswered is the state %s: it is a filter", s)
	}
	for _, o := range []engine.Outcome{noAnswer, engine.OutcomeBusy} {
		if c := newWorld(t).dial(o).m.C; c.State.Shown() != "waiting" || c.LastOutcome != o {
			t.Errorf("after %s: %s, %s", o, c.State.Shown(), c.LastOutcome)
		}
	}
}

// --- retries -------------------------------------------------------------------

func TestRetryOnSystemRedialsListedOutcomesOnly(t *testing.T) {
	newWorld(t).dial(noAnswer).is(Waiting, "")
	newWorld(t).dial(engine.OutcomeBusy).is(Waiting, "")
	// The last outcome forbids a retry: failed with that outcome.
	newWorld(t).dial(engine.OutcomeRejected).is(Failed, "rejected")
	newWorld(t).dial(engine.OutcomeInvalidNumber).is(Failed, "invalid_number")
	newWorld(t).dial(engine.OutcomeFax).is(Failed, "fax")
	newWorld(t, listed()).dial(noAnswer).is(Failed, "no_answer") // an empty list redials no consumed attempt
}

// The attempt was served and then lost with its process: a contact that was talked to is not called
// again for that.
func TestTheResultOfALostConversationCompletesItsContact(t *testing.T) {
	const lost = engine.OutcomeLost
	ofLost := func(a *Attempt) { a.Outcome = lost }
	w := newWorld(t, listed(lost)).dial(lost, talked(time.Minute)).is(Waiting, "")
	w.wait(time.Second).must(w.result(1, "interested", ofLost)).is(Completed, "")
	if w.m.C.DueAt != nil {
		t.Errorf("it is dialled again at %v", w.m.C.DueAt)
	}
	w = newWorld(t, listed()).dial(lost, talked(time.Minute)).is(Failed, "lost")
	w.must(w.result(1, "interested", ofLost)).is(Completed, "")
	// Nobody was talked to: a result says nothing about this contact.
	w = newWorld(t, listed(lost)).dial(lost).is(Waiting, "")
	ev := w.result(1, "interested", ofLost)
	ev.Attempt.Connected = false
	w.must(ev).is(Waiting, "")
}

func TestRetryDelayCountsFromTheEndOfTheAttempt(t *testing.T) {
	w := newWorld(t).reserve().wait(3 * time.Minute)
	end := w.now
	ev := w.ended(noAnswer)
	w.wait(40 * time.Second).must(ev) // heard late
	w.dueAt(end.Add(10*time.Minute), DueRetry)
}

func TestRetryAfterOfTheNetworkIsTheLeastWait(t *testing.T) {
	w := newWorld(t).dial(engine.OutcomeBusy, func(a *Attempt) { a.RetryAfter = time.Hour })
	w.dueAt(w.now.Add(time.Hour), DueRetry)
	w = newWorld(t).dial(engine.OutcomeBusy, func(a *Attempt) { a.RetryAfter = time.Minute })
	w.dueAt(w.now.Add(10*time.Minute), DueRetry)
}

func TestARetryIsClippedIntoTheNextWindow(t *testing.T) {
	tomorrow := t0.Add(24 * time.Hour)
	w := newWorld(t, func(p *Policy) {
		p.Clip = func(t time.Time) (time.Time, bool) {
			if t.After(t0.Add(5 * time.Minute)) {
				return tomorrow, true
			}
			return t, true
		}
	})
	w.dial(noAnswer).dueAt(tomorrow, DueRetry)
}

func TestARetryThatNoWindowTakesWaitsForTheEndOfTheRun(t *testing.T) {
	w := newWorld(t, func(p *Policy) { p.Clip = untilSix })
	w.wait(8*time.Hour - time.Minute).dial(noAnswer)
	// Not at once: its delay has not passed. It is still waiting when the window ends, and is
	// counted as such.
	w.is(Waiting, "").dueAt(w.now.Add(10*time.Minute), DueRetry)
	w.must(Event{Kind: WindowEnded}).is(WindowClosed, "")
	// Nor the back-off of an unconsumed attempt.
	w = newWorld(t, func(p *Policy) { p.Clip = untilSix })
	w.wait(8*time.Hour-31*time.Second).
		dial(engine.OutcomeThrottled, unconsumed).
		dueAt(w.now.Add(2*time.Second), DueFirst)
}

func TestRetriesUsedUpIsFailedWithReasonAttemptsExhausted(t *testing.T) {
	w := newWorld(t).dial(noAnswer).dial(engine.OutcomeBusy).is(Waiting, "").dial(noAnswer)
	w.is(Failed, ReasonExhausted)
	if w.m.C.Used != 3 || w.m.C.LastOutcome != noAnswer {
		t.Errorf("used %d, last %s", w.m.C.Used, w.m.C.LastOutcome)
	}
	// The last outcome forbids it, although the attempts are used up too.
	newWorld(t).dial(noAnswer).dial(noAnswer).dial(engine.OutcomeRejected).is(Failed, "rejected")
}

func TestRetryOnCustomComparesTrimmedAndWithoutRegardToCase(t *testing.T) {
	f := func(listed, said string, redialled bool) {
		t.Helper()
		w := newWorld(t, func(p *Policy) { p.Redial.OnCustom = []string{"other", listed} }).dial(done, withResult(said))
		if (w.m.C.State == Connected && w.m.C.DueAt != nil) != redialled {
			t.Errorf("%q against %q: %s", said, listed, w.situation())
		}
		if !redialled {
			w.is(Completed, "")
		}
	}
	f("Call Again", "call again", true)
	f("  call again ", "CALL AGAIN\n", true)
	f("Größe", "GRÖSSE", false)
	f("ÉTÉ", "été", true)
	f("call again", "call", false)
	f("", "", false)
	f(" ", "", false)
}

func under(d time.Duration) func(*Policy) { return func(p *Policy) { p.Redial.OnlyUnder = d } }

func stopAfter(d time.Duration) func(*Policy) { return func(p *Policy) { p.Redial.StopAfter = d } }

func doNotCall(a *Attempt) { a.DoNotCall = true }

func TestAConversationShorterThanRedialOnlyUnderIsRedialledWhateverItsDisposition(t *testing.T) {
	f := func(w *world, redialled bool) {
		t.Helper()
		if !redialled {
			if w.m.C.DueAt != nil {
				w.fail("it is redialled")
			}
			return
		}
		w.is(Connected, "").dueAt(w.now.Add(10*time.Minute), DueRetry)
	}
	for _, said := range []string{"other", "call again", ""} {
		f(newWorld(t, under(10*time.Second)).dial(done, withResult(said), talked(9*time.Second)), true)
	}
	// A conversation at least that long is not affected by the rule: Retry On Custom decides.
	f(newWorld(t, under(10*time.Second)).dial(done, withResult("other"), talked(10*time.Second)), false)
	f(newWorld(t, under(10*time.Second)).dial(done, withResult("call again"), talked(10*time.Second)), true)
	f(newWorld(t).dial(done, withResult("other"), talked(0)), false)
	f(newWorld(t).dial(done, withResult("call again"), talked(0)), true)
	// While attempts remain.
	last := newWorld(t, under(10*time.Second), func(p *Policy) { p.MaxAttempts = 2 }).dial(noAnswer)
	f(last.dial(done, withResult("other"), talked(2*time.Second)), false)
	last.is(Completed, "")
	// A callback, do_not_call and an exclusion take precedence.
	w := newWorld(t, under(10*time.Second))
	w.dial(done, withResult("later"), talked(2*time.Second), wish(t0p(3*time.Hour))).
		dueAt(t0.Add(3*time.Hour), DueCallback)
	newWorld(
		t,
		under(10*time.Second),
	).dial(done, withResult("other"), talked(2*time.Second), doNotCall).
		is(Completed, "")
	w = newWorld(
		t,
		under(10*time.Second),
	).reserve().
		must(Event{Kind: Reached}, Event{Kind: ExcludedBy, InCall: true, Reason: "asked"})
	w.must(w.ended(done, withResult("other"), talked(2*time.Second))).is(Excluded, "asked")
	// The run is over.
	w = newWorld(t, under(10*time.Second)).reserve()
	w.p.ClosedAs = ManuallyStopped
	w.must(w.ended(done, withResult("other"), talked(2*time.Second))).is(Completed, "")
}

func TestAShortConversationWithoutAResultIsRedialledAfterRetryDelay(t *testing.T) {
	short := func(policy ...func(*Policy)) *world {
		return newWorld(t, append(policy, under(10*time.Second))...).dial(talk, talked(9*time.Second))
	}
	w := short().is(Connected, "")
	end := w.now
	w.dueAt(end.Add(10*time.Minute), DueRetry)
	if w.m.C.ResultDueAt == nil || !w.m.C.ResultDueAt.Equal(end.Add(15*time.Minute)) {
		t.Errorf("its result is due %v", w.m.C.ResultDueAt)
	}
	// Its result does not change that, unless it asks for something else.
	w = short().wait(time.Minute)
	w.must(w.result(1, "sold", talked(9*time.Second), endedAt(end))).
		is(Connected, "").
		dueAt(end.Add(10*time.Minute), DueRetry)
	w = short().wait(time.Minute)
	w.must(w.result(1, "sold", talked(9*time.Second), doNotCall)).is(Completed, "")
	w = short().wait(time.Minute)
	w.must(w.result(1, "later", talked(9*time.Second), wish(w.after(time.Hour)))).
		dueAt(w.now.Add(time.Hour), DueCallback)
	short().must(Event{Kind: ExcludedBy, Reason: "asked"}).is(Excluded, "asked")
	// It is dialled before the result comes; the new attempt's end then decides.
	w = short().dial(noAnswer).is(Waiting, "")
	if w.m.C.ResultDueAt != nil {
		t.Error("a result is waited for still")
	}
	w = short()
	w.wait(10 * time.Minute).reserve().must(w.result(1, "sold", talked(9*time.Second)))
	w.must(w.ended(noAnswer)).is(Waiting, "")
	// The result does not come, and the redial is later than its time-out.
	w = short(func(p *Policy) { p.Redial.Delay = time.Hour }).wait(15 * time.Minute)
	w.must(Event{Kind: ResultTimedOut}).is(Connected, "").dueAt(end.Add(time.Hour), DueRetry)
	// The run ends first; a late result still completes it.
	stopped := func() *world {
		w := short().must(Event{Kind: RunStopped}).is(Connected, "")
		if w.m.C.DueAt != nil || w.m.C.Awaited() == "" {
			t.Error("it waits for its redial, or not for its result")
		}
		w.p.ClosedAs = ManuallyStopped
		return w
	}
	w = stopped()
	w.must(w.result(1, "sold", talked(9*time.Second))).is(Completed, "")
	stopped().wait(15*time.Minute).must(Event{Kind: ResultTimedOut}).is(ManuallyStopped, "")
	w = newWorld(t, under(10*time.Second)).reserve()
	w.p.ClosedAs = ManuallyStopped
	w.must(w.ended(talk, talked(9*time.Second))).is(Connected, "")
	w.wait(15*time.Minute).must(Event{Kind: ResultTimedOut}).is(ManuallyStopped, "")
	// Its last attempt.
	w = short(func(p *Policy) { p.MaxAttempts = 1 }).is(Connected, "")
	if w.m.C.DueAt != nil {
		t.Error("an attempt beyond the last")
	}
	w.wait(15*time.Minute).must(Event{Kind: ResultTimedOut}).is(Failed, ReasonExhausted)
	// Fewer attempts: only the result is awaited.
	w = short()
	w.p.MaxAttempts = 1
	w.must(Event{Kind: Retuned}).is(Connected, "")
	if w.m.C.DueAt != nil || w.m.C.ResultDueAt == nil {
		t.Errorf("%s", w.situation())
	}
	w.must(w.result(1, "sold", talked(9*time.Second))).is(Completed, "")
}

// No result is awaited of a conversation that a fault ended, but one that comes is stored. Its
// length decides on a redial as usual.
func TestAConversationThatAFaultEndedIsJudgedByItsLength(t *testing.T) {
	for _, o := range []engine.Outcome{engine.OutcomeMediaError, engine.OutcomeLost} {
		w := newWorld(t, under(10*time.Second), listed()).dial(o, talked(9*time.Second)).is(Waiting, "")
		w.dueAt(w.now.Add(10*time.Minute), DueRetry)
		newWorld(t, under(10*time.Second), listed()).dial(o, talked(10*time.Second)).is(Failed, string(o))
		newWorld(t, under(10*time.Second), listed(o)).dial(o, talked(10*time.Second)).is(Waiting, "")
		newWorld(t, stopAfter(10*time.Second), listed(o)).dial(o, talked(10*time.Second)).is(Failed, string(o))
		// There was no conversation, so the rule does not apply.
		newWorld(t, under(10*time.Second), listed()).dial(o).is(Failed, string(o))
		one := func(p *Policy) { p.MaxAttempts = 1 }
		newWorld(t, under(10*time.Second), listed(), one).dial(o, talked(9*time.Second)).is(Failed, ReasonExhausted)
	}
}

func TestAConversationAsLongAsStopRedialsAfterMakesTheContactFinal(t *testing.T) {
	all := listed(talk, noAnswer, engine.OutcomeBusy, engine.OutcomeMediaError)
	long := func(edit ...func(*Attempt)) *world {
		return newWorld(t, all, stopAfter(time.Minute)).dial(done, append(edit, talked(time.Minute))...)
	}
	long(withResult("call again")).is(Completed, "")
	newWorld(
		t,
		all,
		stopAfter(time.Minute),
	).dial(done, withResult("call again"), talked(time.Minute-1)).
		is(Connected, "")
	w := newWorld(t, all, stopAfter(time.Minute)).dial(talk, talked(time.Minute)).wait(15 * time.Minute)
	w.must(Event{Kind: ResultTimedOut}).is(Failed, "connected_no_result")
	w.must(w.result(1, "call again", talked(time.Minute))).is(Completed, "")
	// The same in every later attempt; a promised callback still takes place.
	later := func() *world {
		w := long(withResult("later"), wish(t0p(time.Hour))).callback(CallbackPending)
		return w.dueAt(t0.Add(time.Hour), DueCallback)
	}
	later().dial(engine.OutcomeBusy).is(Failed, "busy").callback(CallbackCompleted)
	later().dial(done, withResult("call again"), talked(time.Second)).is(Completed, "")
	w = later().dial(talk, talked(time.Second)).wait(15 * time.Minute)
	w.must(Event{Kind: ResultTimedOut}).is(Failed, "connected_no_result")
	w = later()
	w.dial(done, withResult("later"), talked(time.Second), wish(w.after(3*time.Hour))).callback(CallbackPending)
	// A later, shorter conversation does not undo it, nor does an older one's result.
	w = newWorld(
		t,
		all,
		stopAfter(time.Minute),
	).dial(talk, talked(time.Second)).
		wait(15 * time.Minute).
		must(Event{Kind: ResultTimedOut})
	w.dial(talk, talked(time.Minute)).
		wait(15*time.Minute).
		must(Event{Kind: ResultTimedOut}).
		is(Failed, "connected_no_result")
	w.must(w.result(1, "call again", talked(time.Second))).is(Completed, "")
	// Until the next run, or until it is given fresh attempts.
	for _, fresh := range []Event{{Kind: RunReset, Run: 2}, {Kind: Triggered}, {Kind: Hastened}} {
		long(withResult("sold")).must(fresh).dial(engine.OutcomeBusy).is(Waiting, "")
	}
	long(
		withResult("sold"),
	).must(Event{Kind: ExcludedBy}, Event{Kind: Readmitted}).
		dial(engine.OutcomeBusy).
		is(Waiting, "")
	// Stop wins.
	both := func(talkTime time.Duration) *world {
		return newWorld(t, stopAfter(time.Minute), under(time.Minute)).dial(done, withResult("other"), talked(talkTime))
	}
	both(time.Minute).is(Completed, "")
	both(time.Minute-1).is(Connected, "")
	// The rule is about conversations.
	newWorld(t, stopAfter(time.Second)).dial(noAnswer).is(Waiting, "")
}

func TestDoNotCallComesBeforeWhateverElseTheResultAsksFor(t *testing.T) {
	newWorld(t).dial(done, withResult("call again"), doNotCall).is(Completed, "")
	w := newWorld(t).reserve()
	w.must(w.result(1, "later", wish(w.after(time.Hour)), doNotCall)).callback(CallbackNone)
	w.must(w.ended(done, withResult("later"), wish(w.after(time.Hour)), doNotCall)).
		is(Completed, "").
		callback(CallbackCancelled)
	// A callback that an earlier result asked for is cancelled.
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).callback(CallbackPending)
	w.must(w.result(1, "stop", doNotCall)).is(Completed, "").callback(CallbackCancelled)
}

func TestUnconsumedAttemptsGoBackUnchangedWithBackOffAtMostThreeInARow(t *testing.T) {
	w := newWorld(t)
	for _, wait := range []time.Duration{2 * time.Second, 8 * time.Second, 32 * time.Second} {
		if w.m.C.Unconsumed >= MaxUnconsumed {
			t.Fatal("the next one must be consumed")
		}
		w.dial(engine.OutcomeThrottled, unconsumed).is(Pending, "").dueAt(w.now.Add(wait), DueFirst)
	}
	if w.m.C.Unconsumed != MaxUnconsumed || w.m.C.Used != 0 {
		t.Fatalf("%d unconsumed, %d used", w.m.C.Unconsumed, w.m.C.Used)
	}
	// The next one is consumed, whatever its outcome.
	w.dial(engine.OutcomeThrottled).is(Failed, "throttled")
	if w.m.C.Unconsumed != 0 || w.m.C.Used != 1 {
		t.Errorf("%d unconsumed, %d used", w.m.C.Unconsumed, w.m.C.Used)
	}
	// The wait that the network requested is kept.
	w = newWorld(t).dial(engine.OutcomeThrottled, unconsumed, func(a *Attempt) { a.RetryAfter = time.Minute })
	w.dueAt(w.now.Add(time.Minute), DueFirst)
	// It stays in its place: a retry remains a retry, a trigger a trigger.
	w = newWorld(t).dial(noAnswer).dial(engine.OutcomeThrottled, unconsumed).is(Waiting, "")
	w.dueAt(w.now.Add(2*time.Second), DueRetry)
	w = newWorld(t).dial(engine.OutcomeRejected).must(Event{Kind: Triggered}).dial(engine.OutcomeThrottled, unconsumed)
	w.dueAt(w.now.Add(2*time.Second), DueTrigger)
}

func TestASuppressedNumberIsNotTriedAgain(t *testing.T) {
	newWorld(t).dial(engine.OutcomeBlocked, unconsumed).is(Failed, "blocked")
}

func TestAbandonedIsFinalInItsRun(t *testing.T) {
	w := newWorld(t, listed(engine.OutcomeAbandoned)).dial(engine.OutcomeAbandoned).is(Abandoned, "")
	if w.m.C.AbandonedAt == nil || !w.m.C.AbandonedAt.Equal(w.now) {
		t.Error("the 72 h have no beginning")
	}
	w.must(Event{Kind: RunReset, Run: 2}).is(Pending, "")
	if w.m.C.AbandonedAt == nil {
		t.Error("the 72 h hold in any run")
	}
}

func TestAMachineIsFinalUnlessListed(t *testing.T) {
	newWorld(t).dial(engine.OutcomeMachine).is(MachineDetected, "")
	w := newWorld(t, listed(engine.OutcomeMachine)).dial(engine.OutcomeMachine).is(Waiting, "")
	w.dial(engine.OutcomeMachine).dial(engine.OutcomeMachine).is(MachineDetected, "")
}

// --- results --------------------------------------------------------------------

func TestConnectedUntilAResultIsStoredThenCompleted(t *testing.T) {
	w := newWorld(t).reserve().must(Event{Kind: Reached}).is(Connected, "")
	w.must(w.ended(talk, talked(time.Minute))).is(Connected, "")
	w.must(w.result(1, "sold")).is(Completed, "")
	if w.m.C.LastDisposition != "sold" || w.m.C.LastOutcome != done {
		t.Errorf("%+v", w.m.C)
	}
	// The result comes before the end of the call.
	w = newWorld(t).reserve().must(Event{Kind: Reached})
	w.must(w.result(1, "sold", func(a *Attempt) { a.Outcome = "" })).is(Connected, "")
	w.must(w.ended(done, withResult("sold"))).is(Completed, "")
}

func TestAResultThatDoesNotComeWithinTheResultTimeout(t *testing.T) {
	w := newWorld(t).dial(talk, talked(time.Minute))
	end := w.now
	if !w.m.C.ResultDueAt.Equal(end.Add(15 * time.Minute)) {
		t.Errorf("due %v", w.m.C.ResultDueAt)
	}
	w.wait(15*time.Minute-time.Second).must(Event{Kind: ResultTimedOut}).is(Connected, "") // a timer that fires early
	w.wait(time.Second).must(Event{Kind: ResultTimedOut}).is(Failed, "connected_no_result")

	// Retried if listed; Retry Delay counts from the end of the attempt.
	w = newWorld(t, listed(talk), func(p *Policy) { p.Redial.Delay = time.Hour }).dial(talk, talked(time.Minute))
	end = w.now
	w.wait(15*time.Minute).must(Event{Kind: ResultTimedOut}).is(Connected, "").dueAt(end.Add(time.Hour), DueRetry)
	w = newWorld(t, listed(talk)).dial(talk, talked(time.Minute)).wait(16 * time.Minute)
	w.must(Event{Kind: ResultTimedOut}).dueAt(w.now, DueRetry) // 10 min have passed

	// Used up.
	one := func(p *Policy) { p.MaxAttempts = 1 }
	w = newWorld(t, listed(talk), one).dial(talk, talked(time.Minute)).wait(15 * time.Minute)
	w.must(Event{Kind: ResultTimedOut}).is(Failed, ReasonExhausted)
}

func TestALateResultCompletesOrQueuesAgainWhileTheRunIsOpen(t *testing.T) {
	late := func(policy ...func(*Policy)) *world {
		return newWorld(
			t,
			policy...).dial(talk, talked(time.Minute)).
			wait(15 * time.Minute).
			must(Event{Kind: ResultTimedOut}).
			wait(time.Hour)
	}
	w := late()
	w.must(w.result(1, "sold")).is(Completed, "")
	w = late()
	w.must(w.result(1, "call again")).is(Connected, "").dueAt(w.now.Add(10*time.Minute), DueRetry)
	w = late()
	w.must(w.result(1, "later", wish(w.after(time.Hour)))).dueAt(w.now.Add(time.Hour), DueCallback)
	// The run is over: it is completed, and nothing follows.
	w = late()
	w.p.ClosedAs = ManuallyStopped
	w.must(w.result(1, "call again", wish(w.after(time.Hour)))).is(Completed, "").callback(CallbackCancelled)
	// A retry already waits: the conversation had a result after all.
	w = late(listed(talk))
	w.must(w.result(1, "sold")).is(Completed, "")
	if w.m.C.DueAt != nil {
		t.Error("still due")
	}
	// The attempts are used up.
	w = late(func(p *Policy) { p.MaxAttempts = 1 })
	w.must(w.result(1, "call again")).is(Completed, "")
}

func TestAResultOfACallWithoutAConversationSaysNothingOfTheContact(t *testing.T) {
	w := newWorld(t).dial(noAnswer, rang)
	w.must(w.result(1, "sold", func(a *Attempt) { a.Connected = false })).is(Waiting, "")
	if w.m.C.HasResult || w.m.C.DueAt == nil {
		t.Error("a call that nobody took has a result")
	}
	// A result before the bot had the call, and then it was a machine.
	w = newWorld(t).reserve()
	w.must(w.result(1, "x", func(a *Attempt) { a.Connected = false }))
	w.must(w.ended(engine.OutcomeMachine, func(a *Attempt) { a.HasResult = true })).is(MachineDetected, "")
	if w.m.C.HasResult {
		t.Error("a machine has a result")
	}
}

func TestAResultOfAnotherRunChangesNothing(t *testing.T) {
	w := newWorld(t).dial(talk, talked(time.Minute)).must(Event{Kind: RunReset, Run: 2})
	w.must(w.result(1, "sold", func(a *Attempt) { a.Run = 1 })).is(Pending, "")
	if w.m.C.HasResult || w.m.C.DueAt == nil {
		t.Errorf("%s", w.situation())
	}
}

// A result that comes during the next attempt does not end that attempt. If the attempt reaches
// nobody, the result decides the contact's state, as it does when it comes a moment later.
func TestAResultOfAnEarlierAttemptIsHeardWhenTheLiveOneReachesNobody(t *testing.T) {
	busy := func(policy ...func(*Policy)) *world {
		w := newWorld(t, append([]func(*Policy){listed(talk, noAnswer)}, policy...)...).
			dial(talk, talked(time.Minute)).wait(15 * time.Minute).must(Event{Kind: ResultTimedOut})
		w.now = *w.m.C.DueAt
		return w.reserve()
	}
	sold := func(w *world) *world {
		return w.must(w.result(1, "sold", talked(time.Minute))).is(Connected, "result_heard")
	}
	for _, end := range []engine.Outcome{noAnswer, engine.OutcomeRejected, engine.OutcomeCancelled} {
		w := sold(busy())
		w.must(w.ended(end)).is(Completed, "")
		if w.m.C.DueAt != nil {
			t.Error("dialled once more")
		}
	}
	w := sold(busy())
	w.must(w.ended(engine.OutcomeThrottled, unconsumed)).is(Completed, "")
	w = sold(busy(func(p *Policy) { p.Redial.OnSystem = append(p.Redial.OnSystem, engine.OutcomeMachine) }))
	w.must(w.ended(engine.OutcomeMachine)).is(Completed, "")
	w = busy()
	w.must(w.result(1, "x", talked(time.Minute), doNotCall)).must(w.ended(noAnswer)).is(Completed, "")
	// The run is over.
	w = sold(busy())
	w.p.ClosedAs = ManuallyStopped
	w.must(w.ended(noAnswer)).is(Completed, "")
	// It asks for a redial, which the live attempt already is.
	w = busy()
	w.must(w.result(1, "call again", talked(time.Minute)), w.ended(noAnswer)).is(Waiting, "")
	w = sold(busy())
	w.must(w.result(1, "call again", talked(time.Minute)), w.ended(noAnswer)).is(Waiting, "")
	// The live attempt leads to a conversation, whose own result counts.
	w = sold(busy())
	w.must(w.ended(done, withResult("call again"), talked(time.Minute)))
	w.is(Connected, "").dueAt(w.now.Add(10*time.Minute), DueRetry)
	w = sold(busy())
	w.must(w.ended(talk, talked(time.Minute))).is(Connected, "")
	if w.m.C.ResultDueAt == nil {
		t.Error("its own result is not awaited")
	}
	// It was abandoned, met a machine, or is excluded.
	w = sold(busy())
	w.must(w.ended(engine.OutcomeAbandoned)).is(Abandoned, "")
	w = sold(busy())
	w.must(w.ended(engine.OutcomeMachine)).is(MachineDetected, "")
	w = sold(busy())
	w.must(Event{Kind: ExcludedBy, Reason: "asked"}, w.ended(engine.OutcomeExcluded)).is(Excluded, "asked")
	// A promised callback stays.
	w = busy()
	w.must(w.result(1, "later", wish(w.after(time.Hour)))).must(w.ended(noAnswer)).callback(CallbackPending)
	w.now = *w.m.C.DueAt
	w.reserve().must(w.result(1, "sold", talked(time.Minute)))
	w.must(w.ended(engine.OutcomeThrottled, unconsumed)).callback(CallbackPending)
	// The contact was reopened since.
	w = newWorld(t).dial(done, withResult("x")).must(Event{Kind: Triggered}).reserve()
	w.must(w.result(1, "sold")).must(w.ended(noAnswer)).is(Waiting, "")
}

func TestAnAttemptThatEndsTwiceIsInTheBooksOnce(t *testing.T) {
	w := newWorld(t).dial(noAnswer)
	version := w.m.C.Version
	w.must(w.ended(noAnswer))
	if w.m.C.Used != 1 || w.m.C.Version != version {
		t.Errorf("used %d", w.m.C.Used)
	}
}

// --- the end of the run -----------------------------------------------------------

func TestWaitingContactsBecomeManuallyStoppedOrWindowClosed(t *testing.T) {
	f := func(path func() *world, want State) {
		t.Helper()
		w := path()
		w.clone(t).must(Event{Kind: RunStopped}).is(want, "")
		if want == ManuallyStopped {
			w.must(Event{Kind: WindowEnded}).is(WindowClosed, "")
		}
	}
	f(func() *world { return newWorld(t) }, ManuallyStopped)
	f(func() *world { return newWorld(t).dial(noAnswer) }, ManuallyStopped)
	f(func() *world { return newWorld(t).dial(done, withResult("call again")) }, ManuallyStopped)
	f(
		func() *world { return newWorld(t).dial(talk, talked(time.Minute)) },
		Connected,
	) // waits for a result, not for a dial
	f(func() *world { return newWorld(t).reserve() }, Pending) // its end decides
}

func TestAnAttemptThatEndsAfterItsRun(t *testing.T) {
	f := func(end engine.Outcome, want State, reason string, edit ...func(*Attempt)) {
		t.Helper()
		for _, closed := range []State{ManuallyStopped, WindowClosed} {
			w := newWorld(t).reserve()
			w.p.ClosedAs = closed
			w.must(w.ended(end, edit...))
			if want == "" {
				w.is(closed, "")
				continue
			}
			w.is(want, reason)
		}
	}
	f(engine.OutcomeCancelled, "", "")               // Stop cancelled its ringing leg
	f(noAnswer, "", "")                              // it would have been redialled
	f(engine.OutcomeThrottled, "", "", unconsumed)   // it would have been dialled again
	f(engine.OutcomeCancelled, "", "", unconsumed)   //
	f(engine.OutcomeRejected, Failed, "rejected")    // final anyway
	f(engine.OutcomeMachine, MachineDetected, "")    //
	f(engine.OutcomeAbandoned, Abandoned, "")        //
	f(done, Completed, "", withResult("call again")) // conversations finish
	f(talk, Connected, "", talked(time.Minute))      // and their results are awaited
	f(engine.OutcomeBlocked, Failed, "blocked", unconsumed)

	// The result does not come, and it would have been redialled.
	w := newWorld(t, listed(talk)).reserve()
	w.p.ClosedAs = ManuallyStopped
	w.must(w.ended(talk, talked(time.Minute))).wait(time.Hour).must(Event{Kind: ResultTimedOut}).is(ManuallyStopped, "")
}

func TestContactsResetThereAndThen(t *testing.T) {
	w := newWorld(t).dial(noAnswer, rang).dial(done, withResult("later"), wish(t0p(time.Hour)))
	w.must(Event{Kind: RunReset, Run: 2}).is(Pending, "").callback(CallbackNone).dueAt(w.now, DueFirst)
	c := &w.m.C
	if f := c.Facts(); c.Run != 2 || f != Fresh(3) {
		t.Errorf("run %d, facts %+v", c.Run, f)
	}
	w = newWorld(
		t,
	).dial(noAnswer).
		must(Event{Kind: ExcludedBy, Reason: "asked"}, Event{Kind: RunReset, Run: 2}).
		is(Excluded, "asked")
	if w.m.C.Used != 0 {
		t.Error("0 of max")
	}
	if w := newWorld(t).reserve(); w.apply(Event{Kind: RunReset, Run: 2}) == nil {
		t.Error("reset while an attempt lives")
	}
}

func t0p(d time.Duration) *time.Time { t := t0.Add(d); return &t }

// --- exclusion ----------------------------------------------------------------------

func TestExcludeDropsRetriesAndCallbacks(t *testing.T) {
	w := newWorld(t).dial(noAnswer).must(Event{Kind: ExcludedBy, Reason: "asked"}).is(Excluded, "asked")
	if w.m.C.DueAt != nil {
		t.Error("still due")
	}
	w = newWorld(t).dial(done, withResult("later"), wish(t0p(time.Hour))).callback(CallbackPending)
	w.must(Event{Kind: ExcludedBy}).is(Excluded, "").callback(CallbackCancelled)
}

func TestExcludeWhileRingingHoldsWhateverTheCallComesTo(t *testing.T) {
	for _, o := range []engine.Outcome{engine.OutcomeExcluded, noAnswer, engine.OutcomeBusy, engine.OutcomeLost} {
		w := newWorld(t).reserve().must(Event{Kind: ExcludedBy}).is(Excluded, "")
		w.must(w.ended(o)).is(Excluded, "")
		if w.m.C.Attempt != "" || w.m.C.Used != 1 {
			t.Errorf("%s: %+v", o, w.m.C)
		}
	}
}

func TestExcludedInCallTakesEffectAfterItsResult(t *testing.T) {
	inCall := func() *world {
		return newWorld(
			t,
		).reserve().
			must(Event{Kind: Reached}, Event{Kind: ExcludedBy, InCall: true, Reason: "asked"}).
			is(Connected, "asked")
	}
	w := inCall()
	w.must(w.ended(talk, talked(time.Minute))).is(Connected, "asked")
	w.must(w.result(1, "call again")).is(Excluded, "asked")
	if !w.m.C.HasResult {
		t.Error("its result is stored")
	}
	w = inCall()
	w.must(w.result(1, "later", wish(w.after(time.Hour))))
	w.must(w.ended(done, withResult("later"), wish(w.after(time.Hour)))).
		is(Excluded, "asked").
		callback(CallbackCancelled)
	w = inCall() // no result comes
	w.must(w.ended(talk, talked(time.Minute))).
		wait(15*time.Minute).
		must(Event{Kind: ResultTimedOut}).
		is(Excluded, "asked")
	// No result changes such an outcome.
	for _, o := range []engine.Outcome{engine.OutcomeMachine, engine.OutcomeMediaError} {
		w = inCall()
		w.must(w.ended(o, talked(time.Minute))).is(Excluded, "asked")
		w.must(w.result(1, "sold")).is(Excluded, "asked")
		if !w.m.C.HasResult {
			t.Error("its result is stored")
		}
	}
	// An old row says that a result is awaited, though the outcome is final.
	due := t0
	row := Contact{LastConversation: "a", ResultDueAt: &due, LastOutcome: engine.OutcomeMediaError}
	if row.AwaitsResult("a") {
		t.Error("the outcome is final")
	}
	// Answered, but without a conversation.
	w = newWorld(t).reserve().must(Event{Kind: ExcludedBy, InCall: true, Reason: "asked"})
	w.must(w.ended(engine.OutcomeCallerHungUp)).is(Excluded, "asked")
	// Added again before the end of the call.
	w = inCall()
	w.must(Event{Kind: Triggered}).must(w.ended(done, withResult("sold"))).is(Completed, "")
}

func TestAddingAnExcludedContactAgainMakesItCallable(t *testing.T) {
	w := newWorld(
		t,
	).dial(noAnswer).
		must(Event{Kind: ExcludedBy}, Event{Kind: Readmitted}).
		is(Pending, "").
		dueAt(w0now(t), DueFirst)
	if w.m.C.Used != 0 {
		t.Error("fresh attempts")
	}
	newWorld(t).must(Event{Kind: ExcludedBy}, Event{Kind: Triggered}).is(Pending, "").dueAt(t0, DueTrigger)
	// Its cancelled leg is not over yet: no second dial, and its late end does not exclude the
	// contact again.
	w = newWorld(t).reserve().must(Event{Kind: ExcludedBy}, Event{Kind: Readmitted})
	if w.m.C.DueAt != nil || w.apply(Event{Kind: Reserved, Attempt: &Attempt{ID: "x"}}) == nil {
		t.Error("two live attempts")
	}
	w.wait(time.Second).must(w.ended(engine.OutcomeExcluded)).is(Pending, "").dueAt(w.now, DueFirst)
	if w.m.C.Used != 0 {
		t.Error("the exclusion's attempt counts against the new ones")
	}
}

// w0now is when the first dial of a new world ended.
func w0now(t *testing.T) time.Time { return newWorld(t).dial(noAnswer).now }

// --- trigger ----------------------------------------------------------------------

func TestTriggerMergesAnOpenContactAndReopensAFinalOne(t *testing.T) {
	w := newWorld(t).must(Event{Kind: Triggered, Variables: map[string]string{"a": "1", "b": "2"}})
	before := w.m.C.Variables
	w.must(Event{Kind: Triggered, Variables: map[string]string{"b": "3"}}).is(Pending, "").dueAt(t0, DueFirst)
	if v := w.m.C.Variables; v["a"] != "1" || v["b"] != "3" || before["b"] != "2" {
		t.Errorf("%v; the copy that a writer holds: %v", v, before)
	}
	w = newWorld(
		t,
	).dial(done, withResult("sold")).
		is(Completed, "").
		must(Event{Kind: Triggered}).
		is(Pending, "").
		dueAt(t0.Add(30*time.Second), DueTrigger)
	// The counters count facts of the run: the contact was connected, and has a result.
	if f := w.m.C.Facts(); !f.Connected || !f.Result || f.Used != 0 || f.Max != 3 {
		t.Errorf("%+v", f)
	}
	// A repeated older result does not cancel the new dial.
	w.must(w.result(1, "sold")).is(Pending, "")
	if w.m.C.DueAt == nil {
		t.Error("not dialled any more")
	}
}

// --- counters, order -----------------------------------------------------------------

func TestUnansweredIsTheLastAttemptThatRangAndWasNotAnswered(t *testing.T) {
	f := func(want bool, w *world) {
		t.Helper()
		if w.m.C.Facts().Unanswered != want {
			t.Errorf("%v after\n%v", !want, w.log)
		}
	}
	f(true, newWorld(t).dial(noAnswer, rang))
	f(false, newWorld(t).dial(noAnswer))
	f(true, newWorld(t).dial(engine.OutcomeRejected, rang)) // even if failed by now
	f(false, newWorld(t).dial(engine.OutcomeMachine, rang))
	f(false, newWorld(t).dial(noAnswer, rang).dial(engine.OutcomeBusy))
	f(true, newWorld(t).dial(noAnswer, rang).dial(engine.OutcomeThrottled, unconsumed))
}

func TestOrder(t *testing.T) {
	at := func(class DueClass, used int, position int64, due time.Duration) *Contact {
		d := t0.Add(due)
		return &Contact{DueClass: class, Used: used, Position: position, DueAt: &d}
	}
	// Each precedes all that follow it.
	order := []*Contact{
		at(DueCallback, 2, 9, 0), at(DueCallback, 1, 1, time.Minute),
		at(DueTrigger, 0, 6, 0), at(DueTrigger, 0, 7, 0), at(DueTrigger, 0, 5, time.Hour), // as they came
		at(DueFirst, 0, 1, time.Hour), at(DueFirst, 0, 2, 0), // list order, before any retry
		at(DueRetry, 1, 3, time.Hour), at(DueRetry, 2, 1, 0), // by attempt number
		at(DueRetry, 2, 9, time.Minute), at(DueRetry, 2, 2, 2*time.Minute), // then by due time
	}
	for i, a := range order {
		for j, b := range order {
			if (Order{Now: t0.Add(5 * time.Hour)}).Before(a, b) != (i < j) {
				t.Errorf("%d before %d: %v", i, j, !(i < j))
			}
		}
	}
}

func TestInAnAlwaysOnCampaignARetryOverdueByOneRetryDelayGoesBeforeNewerTriggers(t *testing.T) {
	at := func(class DueClass, used int, due time.Duration) *Contact {
		d := t0.Add(due)
		return &Contact{DueClass: class, Used: used, Position: 1, DueAt: &d}
	}
	o := Order{Now: t0.Add(2 * time.Hour), Overdue: 30 * time.Minute}
	order := []*Contact{
		at(DueCallback, 1, time.Hour),
		at(DueTrigger, 0, 25*time.Minute), // came before the next was overdue
		at(
			DueRetry,
			2,
			0,
		), at(DueTrigger, 0, 31*time.Minute), at(DueRetry, 1, time.Hour), at(DueTrigger, 0, 91*time.Minute),
		at(DueFirst, 0, 0),
		at(DueRetry, 1, 91*time.Minute), // due, but not overdue by a Retry Delay
		at(DueRetry, 2, 91*time.Minute),
	}
	for i, a := range order {
		for j, b := range order {
			if o.Before(a, b) != (i < j) {
				t.Errorf("%d before %d: %v", i, j, !(i < j))
			}
		}
	}
}

func TestFewerAttemptsEndAContactThatHasHadThem(t *testing.T) {
	w := newWorld(t).dial(engine.OutcomeNoAnswer, rang)
	w.p.MaxAttempts = 2
	w.must(Event{Kind: Retuned}).is(Waiting, "")
	if w.m.C.Max != 2 {
		t.Errorf("max %d", w.m.C.Max)
	}
	w.p.MaxAttempts = 1
	w.must(Event{Kind: Retuned}).is(Failed, ReasonExhausted)
	w.p.MaxAttempts = 5 // final by the earlier rules
	w.must(Event{Kind: Retuned}).is(Failed, ReasonExhausted)
}

func TestFewerAttemptsMakeARedialWhatItsResultMadeIt(t *testing.T) {
	w := newWorld(t).dial(engine.OutcomeCompleted, withResult("call again"))
	w.p.MaxAttempts = 1
	w.must(Event{Kind: Retuned}).is(Completed, "")
}

func TestFewerAttemptsLeaveAPromisedCallback(t *testing.T) {
	w := newWorld(t)
	w.dial(engine.OutcomeNoAnswer, rang)
	w.dial(engine.OutcomeCompleted, withResult("later"), wish(w.after(3*time.Hour)))
	w.p.MaxAttempts = 1
	w.must(Event{Kind: Retuned}).is(Connected, "").callback(CallbackPending)
	if !w.m.C.CallbackExtra {
		t.Error("the callback is beyond Max Attempts")
	}
}

func TestARunForTheUnreachedLeavesOutWhoWasConnected(t *testing.T) {
	again := Event{Kind: RunReset, Run: 2, Unreached: true}
	sold := newWorld(t).dial(engine.OutcomeCompleted, withResult("sold")).must(again).is(Completed, "")
	if c := &sold.m.C; c.Run != 2 || !c.HasResult || c.Used != 1 || c.DueAt != nil {
		t.Errorf("%+v", c)
	}
	// A redial that the end of the run prevented, and a result that never came.
	newWorld(t).dial(engine.OutcomeCompleted, withResult("call again")).must(again).is(Completed, "")
	newWorld(
		t,
	).dial(engine.OutcomeConnectedNoResult, talked(time.Minute)).
		must(again).
		is(Failed, string(engine.OutcomeConnectedNoResult))
	callback := newWorld(t)
	callback.dial(engine.OutcomeCompleted, withResult("later"), wish(callback.after(time.Hour))).
		must(again).
		is(Completed, "").
		callback(CallbackNone)

	newWorld(t).dial(engine.OutcomeRejected).must(again).is(Pending, "")
	newWorld(t).dial(engine.OutcomeAbandoned).must(again).is(Pending, "")
	newWorld(t).dial(engine.OutcomeMachine).must(again).is(Pending, "")
	newWorld(t).must(Event{Kind: ExcludedBy, Reason: "asked"}, again).is(Excluded, "asked")
	// Everybody, the next time that nobody is left out.
	sold.must(Event{Kind: RunReset, Run: 3}).is(Pending, "")
}

// A cap on calls to a number, across campaigns, is not the contact's fault.
func TestAContactWhoseNumberWasCalledTooOftenWaitsAndLosesNothing(t *testing.T) {
	capped := func(wait time.Duration) func(*Attempt) {
		return func(a *Attempt) {
			a.Consumed, a.Refusal, a.RetryAfter = false, engine.CodeCalleeCap, wait
		}
	}
	w := newWorld(t).dial(engine.OutcomeThrottled, unconsumed)
	for range 2 * MaxUnconsumed {
		w.dial(engine.OutcomeCancelled, capped(3*time.Hour)).
			is(Pending, engine.CodeCalleeCap).
			dueAt(w.now.Add(3*time.Hour), DueFirst)
		if w.m.C.Used != 0 || w.m.C.Unconsumed != 1 {
			t.Fatalf("%d used, %d unconsumed in a row", w.m.C.Used, w.m.C.Unconsumed)
		}
	}
	w.reserve()
	if w.m.C.Reason != "" {
		t.Errorf("%q while it is dialled again", w.m.C.Reason)
	}
	// A retry stays a retry, and a callback a callback.
	newWorld(t).dial(noAnswer).dial(engine.OutcomeCancelled, capped(time.Hour)).is(Waiting, engine.CodeCalleeCap)
	w = newWorld(
		t,
	).dial(done, withResult("later"), wish(t0p(time.Hour))).
		dial(engine.OutcomeCancelled, capped(time.Hour))
	w.callback(CallbackPending).dueAt(w.now.Add(time.Hour), DueCallback)
	// Clipped into the window; dropped with the run.
	w = newWorld(t, func(p *Policy) { p.Clip = func(t time.Time) (time.Time, bool) { return t.Add(time.Hour), true } })
	w.dial(engine.OutcomeCancelled, capped(time.Hour)).dueAt(w.now.Add(2*time.Hour), DueFirst)
	w = newWorld(t).reserve()
	w.p.ClosedAs = ManuallyStopped
	w.must(w.ended(engine.OutcomeCancelled, capped(time.Hour))).is(ManuallyStopped, "")
}

// --- suppression and exclusion ----------------------------------------------------

func TestASuppressedContactThatWaitsIsFinalAtOnce(t *testing.T) {
	suppressed := Event{Kind: Suppressed}
	newWorld(t).must(suppressed).is(Failed, engine.CodeSuppressed)
	newWorld(t).dial(noAnswer).must(suppressed).is(Failed, engine.CodeSuppressed)
	// The state that its result gave it, when a redial or a callback was to come.
	newWorld(t).dial(done, withResult("call again")).must(suppressed).is(Completed, "")
	w := newWorld(t)
	w.dial(done, withResult("later"), wish(w.after(time.Hour))).
		must(suppressed).
		is(Completed, "").
		callback(CallbackCancelled)
	// An expected result is awaited; no redial follows.
	w = newWorld(
		t,
		func(p *Policy) { p.Redial.OnlyUnder = time.Minute },
	).dial(talk, talked(5*time.Second)).
		must(suppressed)
	if w.is(Connected, ""); w.m.C.DueAt != nil || w.m.C.ResultDueAt == nil {
		t.Errorf("%s", w.situation())
	}
	// A live attempt is judged by its end.
	newWorld(t).reserve().must(suppressed).is(Pending, "")
	newWorld(t).dial(engine.OutcomeRejected).must(suppressed).is(Failed, "rejected")
}

func TestAnExclusionThatIsRepeatedKeepsItsReasonUnlessItBringsAnother(t *testing.T) {
	by := func(reason string) Event { return Event{Kind: ExcludedBy, Reason: reason} }
	newWorld(t).must(by("court order"), by("")).is(Excluded, "court order")
	newWorld(t).must(by("court order"), by("moved")).is(Excluded, "moved")
	inCall := func(reason string) Event { return Event{Kind: ExcludedBy, Reason: reason, InCall: true} }
	w := newWorld(
		t,
	).reserve().
		must(Event{Kind: Reached}, inCall("court order"), inCall("")).
		is(Connected, "court order")
	version := w.m.C.Version
	if w.must(inCall("court order")); w.m.C.Version != version {
		t.Error("a repeated exclusion changed the contact")
	}
	w.must(inCall("moved"), w.ended(done, withResult("sold"))).is(Excluded, "moved")
	newWorld(t).must(by(""), by("moved")).is(Excluded, "moved")
}
