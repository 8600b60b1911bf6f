package contact

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// This file states a second time, as rules instead of rows, what every event does in every
// situation. It judges the transition table independently. The end of an attempt is covered by the
// sentences.

const (
	illegal  = "illegal"
	noChange = "ignored"
)

func isOpen(s State) bool { return slices.Contains([]State{Pending, Waiting, Connected}, s) }

// takesLateResult says that the state is final, but a late result may change it.
func takesLateResult(s State) bool {
	return slices.Contains([]State{Completed, Failed, WindowClosed, ManuallyStopped, Expired}, s)
}

// wanted returns the state after the move, or ignored or illegal; ok is false for cases that the
// sentences cover.
func wanted(w *world, mv move) (want string, ok bool) {
	c := &w.m.C
	lives, open, excluded := c.Attempt != "", isOpen(c.State), c.State == Excluded
	waits := !lives && c.DueAt != nil
	stays := string(c.State)
	left := c.Used < w.p.MaxAttempts
	if !open && !excluded && !c.State.Processed() {
		return "", false
	}
	switch mv.kind {
	case Reserved:
		if open && waits {
			return stays, true
		}
		return illegal, true
	case Reached:
		switch {
		case !lives:
			return illegal, true
		case open:
			return string(Connected), true
		}
		return stays, true
	case Attempted:
		switch {
		case !lives || strings.HasSuffix(mv.name, "repeated"):
			return noChange, true
		case excluded:
			return stays, true
		case strings.HasSuffix(mv.name, "callback") && left && !c.ExcludeAfterCall:
			return string(Connected), true
		}
		return "", false
	case ResultStored:
		return wantedOfResult(c, mv, left), true
	case ResultTimedOut:
		switch {
		case c.ResultDueAt == nil || !strings.HasSuffix(mv.name, "late"):
			return noChange, true
		case c.ExcludeAfterCall:
			return string(Excluded), true
		}
		return string(Failed), true
	case Lapsed:
		switch {
		case !open || !waits:
			return noChange, true
		case c.ResultDueAt != nil:
			return stays, true // its result is awaited
		case c.State == Connected && c.HasResult:
			return string(Completed), true
		case c.ConnectedOnce:
			return string(Failed), true
		}
		return string(Expired), true
	case Suppressed:
		switch {
		case open && waits && c.ResultDueAt != nil:
			return stays, true // its result is awaited
		case open && waits && c.State == Connected && c.HasResult:
			return string(Completed), true
		case open && waits:
			return string(Failed), true
		case open && c.Callback == CallbackRequested:
			return stays, true
		}
		return noChange, true
	case ExcludedBy:
		repeated := excluded || c.ExcludeAfterCall && lives && strings.HasSuffix(mv.name, "in call")
		switch {
		case repeated && (!strings.HasSuffix(mv.name, "in call") || c.Reason == "asked"):
			return noChange, true
		case repeated:
			return stays, true // with its reason
		case open && lives && strings.HasSuffix(mv.name, "in call"):
			return stays, true // left alone until its result
		}
		return string(Excluded), true
	case Readmitted:
		switch {
		case excluded:
			return string(Pending), true
		case open:
			return stays, true
		}
		return noChange, true
	case Triggered:
		if open {
			return stays, true
		}
		return string(Pending), true
	case WindowEnded, RunStopped:
		switch {
		case open && waits && mv.kind == WindowEnded:
			return string(WindowClosed), true
		case open && waits:
			return string(ManuallyStopped), true
		case open && c.Callback == CallbackRequested:
			return stays, true
		}
		return noChange, true
	case RunReset:
		switch {
		case lives:
			return illegal, true
		case excluded:
			return stays, true
		case strings.HasSuffix(mv.name, "unreached") && c.ConnectedOnce && !open:
			return stays, true // left out of the run, with its earlier end
		case strings.HasSuffix(mv.name, "unreached") && c.ConnectedOnce && c.HasResult:
			return string(Completed), true
		case strings.HasSuffix(mv.name, "unreached") && c.ConnectedOnce:
			return string(Failed), true
		}
		return string(Pending), true
	case CallbackDropped:
		switch {
		case open && waits && c.Callback == CallbackPending && c.HasResult:
			return string(Completed), true
		case open && waits && c.Callback == CallbackPending && !left:
			return string(Failed), true
		case open && waits && c.Callback == CallbackPending:
			return stays, true // the promised call is dropped, and it waits its turn again
		case open && c.Callback == CallbackRequested:
			return stays, true
		}
		return noChange, true
	case Hastened, CallbackSet:
		switch {
		case excluded || lives || c.ExcludeAfterCall || c.State == Expired || strings.HasSuffix(mv.name, "long ago"):
			return illegal, true
		case mv.kind == Hastened && c.ResultDueAt != nil && !waits:
			return illegal, true // the result decides
		case mv.kind == CallbackSet && open && c.Used > w.p.MaxAttempts:
			return illegal, true
		case open:
			return stays, true
		}
		return string(Pending), true
	case CalledUs:
		if known := c.CallsBack == backName(w.backs); strings.HasSuffix(mv.name, "begins") ||
			!known || c.CallsBackUntil != nil {
			return stays, true
		}
		return noChange, true
	case Deferred: // this campaign's window never closes
		return noChange, true
	}
	return "", false
}

func wantedOfResult(c *Contact, mv move, left bool) string {
	again, callback := strings.HasSuffix(mv.name, "call again"), strings.HasSuffix(mv.name, "callback")
	switch {
	case strings.HasSuffix(mv.name, "without conversation"):
		return noChange
	case isOpen(c.State) && (c.Attempt != "" || c.Used == 0 && !strings.HasSuffix(mv.name, "call back")):
		return string(c.State) // the live attempt's end decides; or it is dialled anyway
	case isOpen(c.State) && c.ExcludeAfterCall:
		return string(Excluded)
	case !isOpen(c.State) && !takesLateResult(c.State):
		return string(c.State) // only stored
	case callback && c.State == Expired:
		return string(Completed)
	case c.Used > 0 && (callback && c.Used <= 2 || again && left && c.Callback != CallbackPending):
		return string(Connected)
	case isOpen(c.State) && c.Callback == CallbackPending:
		return string(c.State) // it has an active callback
	}
	return string(Completed)
}

func TestEveryEventDoesInEverySituationWhatTheRulesSay(t *testing.T) {
	pairs := 0
	explore(t, func(*Policy) {}, func(s string, mv move, before, after *world, err error) {
		want, ok := wanted(before, mv)
		if !ok {
			return
		}
		pairs++
		got := string(after.m.C.State)
		switch {
		case err != nil:
			got = illegal
		case after.m.C.Version == before.m.C.Version:
			got = noChange
		}
		if got != want {
			t.Errorf("%s: %s gives %s, want %s", s, mv.name, got, want)
		}
	})
	if pairs < 500 {
		t.Errorf("only %d situations × moves were judged", pairs)
	}
}

func TestACallbackThatWasWishedInALiveCallIsDroppedWithTheRun(t *testing.T) {
	for _, k := range []Kind{WindowEnded, RunStopped, CallbackDropped} {
		w := newWorld(t).reserve()
		w.must(w.result(1, "later", wish(w.after(time.Hour)))).callback(CallbackRequested)
		w.must(Event{Kind: k}).callback(CallbackCancelled)
		if !isOpen(w.m.C.State) || w.m.C.Attempt == "" {
			t.Errorf("%s: %s", k, w.situation())
		}
	}
}

func TestANoResultThatWouldBeRedialledIsClosedWithItsRun(t *testing.T) {
	for _, s := range []State{ManuallyStopped, WindowClosed} {
		w := newWorld(t, func(p *Policy) { p.Redial.OnSystem = []engine.Outcome{engine.OutcomeConnectedNoResult} })
		w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
		w.p.ClosedAs = s
		w.wait(15 * time.Minute).must(Event{Kind: ResultTimedOut})
		if w.m.C.State != s || w.m.C.ResultDueAt != nil || w.m.C.DueAt != nil {
			t.Errorf("%s, want %s", w.situation(), s)
		}
	}
}

func TestTheLimitsOfVariablesAreThoseOfTheRulebook(t *testing.T) {
	if VariableCountCap != 64 || VariableNameCap != 64 || VariablesCap != 16384 {
		t.Errorf("%d keys of %d bytes, %d bytes in all", VariableCountCap, VariableNameCap, VariablesCap)
	}
}

func TestACallbackMayBeWishedForFourteenDaysAheadAndNoFurther(t *testing.T) {
	f := func(ahead time.Duration, want CallbackState) {
		t.Helper()
		w := newWorld(t).reserve()
		w.must(w.ended(engine.OutcomeCompleted, withResult("later"), wish(w.after(ahead))))
		if w.m.C.Callback != want {
			t.Errorf("in %v: %q, want %q", ahead, w.m.C.Callback, want)
		}
	}
	f(14*24*time.Hour, CallbackPending)
	f(14*24*time.Hour+time.Second, CallbackCancelled)
}
