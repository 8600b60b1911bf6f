package contact

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

func priority(p int) *int { return &p }

func TestNobodyIsDueBeforeTheTimeFromWhichTheyMayBeCalled(t *testing.T) {
	later := Times{NotBefore: t0p(3 * time.Hour)}
	// A contact that waits for its first call is due then, whatever moved it meanwhile.
	w := newWorld(t).must(Event{Kind: Triggered, Times: later})
	w.dueAt(t0.Add(3*time.Hour), DueFirst)
	w.turn().dueAt(t0.Add(3*time.Hour), DueFirst)
	w.must(Event{Kind: Hastened}).dueAt(t0.Add(3*time.Hour), DueTrigger)
	w.must(Event{Kind: CallbackSet, Until: t0.Add(time.Hour)}).dueAt(t0.Add(3*time.Hour), DueCallback)
	// The window may open even later.
	w = newWorld(t, opensAt(t0.Add(5*time.Hour))).must(Event{Kind: Triggered, Times: later})
	w.dueAt(t0.Add(5*time.Hour), DueFirst)
	// A retry, and the next run.
	w = newWorld(t).reserve().must(Event{Kind: Triggered, Times: later})
	w.wait(time.Minute).must(w.ended(noAnswer)).dueAt(t0.Add(3*time.Hour), DueRetry)
	w.must(Event{Kind: RunStopped}, Event{Kind: RunReset, Run: 2}).dueAt(t0.Add(3*time.Hour), DueFirst)
}

func TestTheNewestTimesStand(t *testing.T) {
	w := newWorld(t).must(Event{Kind: Triggered, Times: Times{NotBefore: t0p(3 * time.Hour),
		ExpiresAt: t0p(5 * time.Hour), Priority: priority(8)}})
	// Brought forward; what is not said stays.
	w.must(Event{Kind: Triggered, Times: Times{NotBefore: t0p(time.Hour)}}).dueAt(t0.Add(time.Hour), DueFirst)
	if c := &w.m.C; !c.ExpiresAt.Equal(t0.Add(5*time.Hour)) || c.Priority() != 8 {
		t.Error(c.ExpiresAt, c.Priority())
	}
	// An earlier one that contradicts the newest gives way.
	w.must(Event{Kind: Triggered, Times: Times{NotBefore: t0p(6 * time.Hour)}})
	if w.m.C.ExpiresAt != nil {
		t.Error("it may be called from 6 h on and until 5 h")
	}
	w.must(Event{Kind: Triggered, Times: Times{ExpiresAt: t0p(2 * time.Hour)}})
	if w.m.C.NotBefore != nil {
		t.Error("it may be called from 6 h on and until 2 h")
	}
	// A retry is not brought forward beyond the Retry Delay from then.
	w = newWorld(t).must(Event{Kind: Triggered, Times: Times{NotBefore: t0p(3 * time.Hour)}})
	w.wait(3 * time.Hour).dial(noAnswer).must(Event{Kind: Triggered, Times: Times{NotBefore: w.after(24 * time.Hour)}})
	w.dueAt(w.now.Add(24*time.Hour), DueRetry)
	w.must(Event{Kind: Triggered, Times: Times{NotBefore: w.after(time.Minute)}})
	w.dueAt(w.now.Add(10*time.Minute), DueRetry)
}

func TestWhoIsNotReachedInTimeIsExpiredAndFinal(t *testing.T) {
	soon := Event{Kind: Triggered, Times: Times{ExpiresAt: t0p(time.Hour)}}
	w := newWorld(t).must(soon).wait(time.Hour-1).must(Event{Kind: Lapsed}).is(Pending, "")
	w.wait(1).must(Event{Kind: Lapsed}).is(Expired, "")
	if w.m.C.Facts().Open || EndOf(w.m.C.State) != EndExpired {
		t.Error("not final")
	}
	// Also one that was dialled in vain, and one that was to be called back and had not been reached.
	newWorld(t).must(soon).dial(noAnswer).wait(time.Hour).must(Event{Kind: Lapsed}).is(Expired, "")
	w = newWorld(t).must(soon, Event{Kind: CallbackSet, Until: t0.Add(59 * time.Minute)})
	w.wait(time.Hour).must(Event{Kind: Lapsed}).is(Expired, "").callback(CallbackCancelled)
	// A live call goes on; its result is awaited and stored.
	w = newWorld(t).must(soon).reserve().wait(time.Hour).must(Event{Kind: Lapsed})
	w.must(Event{Kind: Reached}, w.ended(engine.OutcomeConnectedNoResult, talked(time.Minute)), Event{Kind: Lapsed})
	w.is(Connected, "").must(w.result(1, "sold")).is(Completed, "")
	// Somebody who was reached before is what the conversation came to.
	newWorld(t).must(soon).dial(done, withResult("call again")).wait(time.Hour).must(Event{Kind: Lapsed}).is(Completed, "")
	listed := func(p *Policy) { p.Redial.OnSystem = append(p.Redial.OnSystem, engine.OutcomeConnectedNoResult) }
	w = newWorld(t, listed).must(soon).dial(engine.OutcomeConnectedNoResult, talked(time.Minute)).wait(time.Hour)
	w.must(Event{Kind: ResultTimedOut}, Event{Kind: Lapsed}).is(Failed, "connected_no_result")
}

func TestACallBackBeyondTheExpiryIsNotGranted(t *testing.T) {
	soon := Event{Kind: Triggered, Times: Times{ExpiresAt: t0p(time.Hour)}}
	newWorld(t).must(soon).dial(done, withResult("later"), wish(t0p(time.Hour))).is(Completed, "").
		callback(CallbackCancelled)
	w := newWorld(t).must(soon)
	if err := w.m.Refusal(Event{Kind: CallbackSet, At: w.now, Policy: w.p, Until: t0.Add(time.Hour)}); err == nil {
		t.Error("an operator promised a call for a time at which it must not be made")
	}
}

func TestAnExpiredContactIsCalledOnlyWhenItIsAddedAgain(t *testing.T) {
	w := newWorld(t).must(Event{Kind: Triggered, Times: Times{ExpiresAt: t0p(time.Hour), Priority: priority(9)}})
	w.wait(time.Hour).must(Event{Kind: Lapsed})
	if err := w.m.Refusal(Event{Kind: Hastened, At: w.now, Policy: w.p}); engine.ErrorCode(err) != CodeExpired {
		t.Error(err)
	}
	w.must(Event{Kind: Triggered}).is(Pending, "").dueAt(w.now, DueTrigger)
	if c := &w.m.C; c.ExpiresAt != nil || c.Priority() != 9 {
		t.Error(c.ExpiresAt, c.Priority())
	}
	w.must(Event{Kind: RunStopped}, Event{Kind: Triggered, Times: Times{ExpiresAt: w.after(time.Minute)}})
	w.wait(time.Minute).must(Event{Kind: Lapsed}).is(Expired, "")
}

func TestPriorityOrdersWithinAClassAndAPassAlone(t *testing.T) {
	due := func(class DueClass, used, p int, at time.Duration) *Contact {
		return &Contact{DueClass: class, Used: used, DueAt: t0p(at), Precedence: DefaultPriority - p, Position: 1}
	}
	inOrder := []*Contact{
		due(DueCallback, 1, 5, time.Minute), due(DueCallback, 1, 0, 0),
		due(DueTrigger, 0, 9, time.Minute), due(DueTrigger, 0, 5, 0), due(DueTrigger, 0, 5, time.Minute),
		due(DueFirst, 0, 6, time.Minute), due(DueFirst, 0, 5, 0),
		due(DueRetry, 1, 5, 0), due(DueRetry, 1, 1, 0), due(DueRetry, 2, 9, 0),
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if (Order{Now: t0}).Before(a, b) != (i < j) {
				t.Errorf("%d before %d", i, j)
			}
		}
	}
}

func TestTimesThatAreWrongAreNamedWithAnExampleThatIsRight(t *testing.T) {
	f := func(times Times, field, code string) {
		t.Helper()
		wrong := times.Check(t0)
		if field == "" && len(wrong) == 0 {
			return
		}
		if len(wrong) != 1 || wrong[0].Field != field || wrong[0].Code != code {
			t.Fatalf("%+v, want %s of %s", wrong, code, field)
		}
		if code == "out_of_range" && field == "priority" {
			return
		}
		example := wrong[0].Message[strings.LastIndex(wrong[0].Message, " ")+1:]
		at, err := ParseTime(field, example, t0)
		if err != nil {
			t.Fatal(err)
		}
		if field == "not_before" {
			times.NotBefore = at
		} else {
			times.ExpiresAt = at
		}
		if wrong := times.Check(t0); len(wrong) > 0 {
			t.Errorf("the example %s: %+v", example, wrong)
		}
	}
	f(Times{}, "", "")
	f(Times{NotBefore: t0p(-time.Minute)}, "", "") // forms have minute precision
	f(Times{NotBefore: t0p(TimesHorizon), Priority: priority(0)}, "", "")
	f(Times{ExpiresAt: t0p(TimesHorizon), Priority: priority(9)}, "", "")
	f(Times{NotBefore: t0p(-time.Minute - 1)}, "not_before", "in_the_past")
	f(Times{ExpiresAt: t0p(-1)}, "expires_at", "in_the_past")
	f(Times{NotBefore: t0p(TimesHorizon + 1)}, "not_before", "out_of_range")
	f(Times{ExpiresAt: t0p(TimesHorizon + 1)}, "expires_at", "out_of_range")
	f(Times{NotBefore: t0p(time.Hour), ExpiresAt: t0p(time.Hour)}, "expires_at", "contradictory")
	f(Times{Priority: priority(10)}, "priority", "out_of_range")
	f(Times{Priority: priority(-1)}, "priority", "out_of_range")
	for _, bad := range []string{"2026-03-02T10:00:00", "tomorrow", "2026-03-02 10:00:00+01:00"} {
		if _, wrong := ParseTimes(bad, "", "", t0); len(wrong) != 1 || wrong[0].Code != "invalid_format" {
			t.Errorf("%q: %+v", bad, wrong)
		}
	}
	if _, wrong := ParseTimes("", "", "high", t0); len(wrong) != 1 || wrong[0].Field != "priority" {
		t.Errorf("%+v", wrong)
	}
	got, wrong := ParseTimes("2026-03-02T12:00:00+01:00", "2026-03-02T12:00:00.0000019Z", "7", t0)
	if len(wrong) > 0 || !got.NotBefore.Equal(t0.Add(time.Hour)) || got.ExpiresAt.Nanosecond() != 1000 ||
		*got.Priority != 7 {
		t.Error(got, wrong)
	}
}

func TestADialLeavesWhileItsTimesLetIt(t *testing.T) {
	c := &Contact{NotBefore: t0p(time.Minute), ExpiresAt: t0p(2 * time.Minute)}
	for at, want := range map[time.Duration]time.Duration{0: 0, time.Minute: 10 * time.Second,
		2*time.Minute - time.Second: time.Second, 2 * time.Minute: 0} {
		if got := c.DialWithin(t0.Add(at), 10*time.Second); got != want {
			t.Errorf("after %s: %s, want %s", at, got, want)
		}
	}
}
