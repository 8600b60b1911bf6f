package contact

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
)

const (
	one   = engine.PhoneNumber("+4930111")
	two   = engine.PhoneNumber("+4930222")
	three = engine.PhoneNumber("+4930333")
)

// person is a world whose contact has numbers beside the first.
func person(t reporter, others ...engine.PhoneNumber) *world {
	w := newWorld(t, func(p *Policy) { p.MaxAttempts = 10 })
	var list []Alternate
	for _, n := range others {
		list = append(list, Alternate{Number: n})
	}
	w.m.C.Number, w.m.C.Alternates = one, NewAlternates(list)
	return w
}

// calls dials as often as there are outcomes, and lists the numbers.
func (w *world) calls(outcomes ...engine.Outcome) (list []engine.PhoneNumber) {
	for _, o := range outcomes {
		list = append(list, w.m.C.NextNumber())
		if w.dial(o); w.m.C.DueAt == nil {
			break
		}
	}
	return list
}

func expect(t *testing.T, what string, got []engine.PhoneNumber, want ...engine.PhoneNumber) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

const (
	busy    = engine.OutcomeBusy
	invalid = engine.OutcomeInvalidNumber
)

func TestAfterAnInvalidNumberTheNextIsCalledAtOnce(t *testing.T) {
	w := person(t, two, three)
	expect(t, "first", w.calls(invalid), one)
	w.is(Waiting, "").dueAt(w.now, DueRetry)
	expect(t, "then", w.calls(invalid, noAnswer), two, three)
	w.dueAt(w.now.Add(10*time.Minute), DueRetry)
	expect(t, "only the third is left", w.calls(noAnswer, busy, noAnswer), three, three, three)
	expect(t, "none is left", w.calls(invalid), three)
	w.is(Failed, string(invalid))
	if w.m.C.Used != 7 {
		t.Errorf("%d used, want every attempt of the person", w.m.C.Used)
	}
}

func TestAfterSoManyUnansweredTheNextNumberIsCalled(t *testing.T) {
	expect(t, "without a cadence 2", person(t, two, three).calls(noAnswer, busy, noAnswer, noAnswer, busy, busy, busy),
		one, one, two, two, three, three, one)
	w := person(t, two)
	w.p.Cadence = &cadence.Cadence{NextNumber: 1}
	expect(t, "as the cadence says", w.calls(noAnswer, noAnswer, noAnswer), one, two, one)
	w.p.Cadence = &cadence.Cadence{NextNumber: 3}
	expect(t, "and as it says from now on", w.calls(noAnswer, noAnswer, noAnswer, noAnswer), two, two, two, one)
	w = person(t, two)
	w.p.Redial.OnSystem = append(w.p.Redial.OnSystem, engine.OutcomeCongestion, engine.OutcomeCallerHungUp)
	expect(t, "somebody took the call between: it begins anew; the network's fault is not the number's", w.calls(noAnswer,
		engine.OutcomeCallerHungUp, noAnswer, engine.OutcomeCongestion, noAnswer, noAnswer), one, one, one, one, one, two)
}

func TestAttemptsAreThePersons(t *testing.T) {
	w := person(t, two)
	w.p.MaxAttempts = 3
	expect(t, "three in all", w.calls(noAnswer, noAnswer, noAnswer, noAnswer), one, one, two)
	w.is(Failed, ReasonExhausted)
	w = person(t, two)
	w.p.MaxAttempts = 1
	w.calls(invalid)
	w.is(Failed, string(invalid))
}

func TestASuppressedNumberLeavesThePersonsOthers(t *testing.T) {
	w := person(t, two)
	w.dial(engine.OutcomeBlocked, unconsumed)
	w.is(Pending, "").dueAt(w.now, DueFirst)
	expect(t, "the other", w.calls(noAnswer, noAnswer, noAnswer), two, two, two)
	w.must(Event{Kind: Suppressed, Number: two})
	w.is(Failed, engine.CodeSuppressed)

	w = person(t, two, three)
	w.must(Event{Kind: Suppressed, Number: two})
	expect(t, "while it waits", w.calls(invalid, noAnswer), one, three)
	w.must(Event{Kind: Suppressed})
	w.is(Failed, engine.CodeSuppressed)

	w = person(t, two)
	w.dial(engine.OutcomeCancelled, func(a *Attempt) { a.Refusal = engine.CodeSuppressed })
	expect(t, "suppressed while it rang", w.calls(noAnswer), two)

	for _, how := range []func(*Attempt){func(*Attempt) {}, unconsumed} {
		w = person(t, two)
		w.p.Redial.OnSystem = append(w.p.Redial.OnSystem, engine.OutcomeCancelled)
		w.must(Event{Kind: Suppressed, Number: one})
		w.dial(engine.OutcomeCancelled, func(a *Attempt) { a.Refusal = engine.CodeSuppressed }, how)
		w.is(Failed, engine.CodeSuppressed)
	}
	w = person(t, two)
	w.p.Redial.OnSystem = append(w.p.Redial.OnSystem, invalid)
	expect(t, "none is left that exists", w.calls(invalid, invalid, invalid), one, two)
	w.is(Failed, string(invalid))
}

func TestDoNotCallAtOneNumberStopsThePerson(t *testing.T) {
	refused := func(w *world) {
		t.Helper()
		if w.m.C.DueAt != nil || !w.m.C.Choice.Stopped() {
			w.fail("it is called again")
		}
		if err := w.m.Refusal(Event{Kind: Hastened, At: w.now, Policy: w.p}); engine.ErrorCode(err) != engine.CodeSuppressed {
			w.fail("an operator may have it called: %v", err)
		}
		w.must(Event{Kind: RunReset, Run: 2})
		if !w.m.C.Choice.Stopped() {
			w.fail("in the next run it is called")
		}
	}
	dnc := func(a *Attempt) { a.DoNotCall = true }
	w := person(t, two)
	w.dial(engine.OutcomeCompleted, withResult("never again"), dnc)
	refused(w)
	w = person(t, two).reserve()
	w.must(w.ended(noAnswer, func(a *Attempt) { a.To = two }, dnc)) // a result of the call before came meanwhile
	refused(w)
	w = person(t, two)
	w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
	w.must(w.result(1, "never again", dnc))
	refused(w)
	w = person(t, two)
	w.p.Redial.OnSystem = append(w.p.Redial.OnSystem, engine.OutcomeConnectedNoResult)
	w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
	w.now = *w.m.C.ResultDueAt
	w.must(Event{Kind: ResultTimedOut})
	w.now = *w.m.C.DueAt
	w.reserve()
	w.must(w.result(1, "never again", dnc), w.ended(engine.OutcomeThrottled, unconsumed))
	refused(w)
}

func TestANewerRequestsNumbersStand(t *testing.T) {
	f := func(what string, request Event, want Alternates, next engine.PhoneNumber) {
		t.Helper()
		w := person(t, two)
		w.calls(invalid)
		request.Kind = Triggered
		w.must(request)
		if w.m.C.Number != one || w.m.C.Alternates != want || w.m.C.NextNumber() != next {
			t.Errorf("%s: %q, next %q, want %q, %q", what, w.m.C.Alternates, string(w.m.C.NextNumber()), want, string(next))
		}
	}
	list := func(l ...Alternate) Alternates { return NewAlternates(l) }
	f("none given", Event{Number: one}, "+4930222", two)
	f("others given", Event{Number: one, Alternates: list(Alternate{three, "office"})}, "+4930333\toffice", one)
	f("a known one named", Event{Number: two}, "+4930222", two)
	f("a known one named, with others", Event{Number: two, Alternates: list(Alternate{one, ""}, Alternate{three, "new"})},
		"+4930222 +4930333\t\tnew", two)
	w := person(t, two, three)
	w.calls(invalid, invalid, invalid)
	w.is(Failed, string(invalid)).must(Event{Kind: Triggered, Number: three})
	if n := w.m.C.NextNumber(); n != three || w.m.C.Used != 0 {
		t.Errorf("a final one that is reopened by its third number is called at %q", string(n))
	}
}

// Our calls found no such number; then the person called us from it, and wants to be called again.
func TestWhoeverCalledUsFromANumberCanBeReachedAtIt(t *testing.T) {
	for _, from := range []engine.PhoneNumber{one, two} {
		w := person(t, two)
		w.p.Redial.OnCustom = []string{"again"}
		w.calls(invalid, invalid)
		w.is(Failed, string(invalid))
		back := w.calledBack("again", time.Minute)
		back.Attempt.To = from
		w.must(back)
		if c := w.m.C; c.DueAt == nil || c.NextNumber() != from || c.Choice.Out(c.PlaceOf(from)) {
			t.Errorf("from %q: due %v at %q", from, c.DueAt, c.NextNumber())
		}
	}
}

func TestTheListIsOneTextThatHidesItsNumbers(t *testing.T) {
	for _, list := range [][]Alternate{nil, {{two, ""}}, {{two, "office"}}, {{two, ""}, {three, "Büro 2"}},
		{{two, "a"}, {three, ""}}} {
		a := NewAlternates(list)
		if !slices.Equal(a.List(), list) || a.Len() != len(list) {
			t.Errorf("%q is read as %v", string(a), a.List())
		}
		if text := fmt.Sprint(a); strings.Contains(text, "30") {
			t.Errorf("%s shows a number", text)
		}
	}
}

func TestAWrongListIsRefusedWithAnExample(t *testing.T) {
	f := func(field string, list ...Alternate) {
		t.Helper()
		wrong := CheckAlternates("alternates", one, list)
		if len(wrong) != 1 || wrong[0].Field != field || !strings.Contains(wrong[0].Message, "for example") {
			t.Errorf("%v, want one of %s with an example", wrong, field)
		}
	}
	f("alternates", Alternate{}, Alternate{}, Alternate{}, Alternate{}, Alternate{})
	f("alternates[0].number", Alternate{Number: one})
	f("alternates[1].number", Alternate{Number: two}, Alternate{Number: two})
	f("alternates[0].label", Alternate{two, "a\tb"})
	f("alternates[0].label", Alternate{two, strings.Repeat("x", LabelCap+1)})
	if wrong := CheckAlternates("alternates", one, []Alternate{{two, "office"}, {three, "Büro"}}); wrong != nil {
		t.Errorf("refused: %v", wrong)
	}
}

// The list is replaced while the call lives: its number is none of the person's any more, what was said
// in it stands.
func TestDoNotCallCountsAtANumberThatANewerListLeavesOut(t *testing.T) {
	w := person(t, two)
	w.m.C.Choice = 1
	w.reserve()
	w.must(Event{Kind: Triggered, Number: one, Alternates: NewAlternates([]Alternate{{Number: three}})},
		w.ended(engine.OutcomeAbandoned, func(a *Attempt) { a.To, a.DoNotCall = two, true }))
	if c := w.m.C.Choice; !c.Stopped() || c.Out(0) || c.Out(1) {
		w.fail("its choice is %b", c)
	}
}

// Whoever asked in a call to a number that a newer list leaves out is called at no number, also when only
// the first is left.
func TestDoNotCallCountsAtANumberOfAListThatWasCutToOne(t *testing.T) {
	for what, says := range map[string]func(*world){
		"during the call": func(w *world) {
			w.must(w.ended(engine.OutcomeAbandoned, func(a *Attempt) { a.To, a.DoNotCall = two, true }))
		},
		"after it": func(w *world) {
			w.must(w.ended(engine.OutcomeConnectedNoResult, talked(time.Minute), func(a *Attempt) { a.To = two }))
			w.must(w.result(1, "never again", func(a *Attempt) { a.To, a.DoNotCall = two, true }))
		},
	} {
		w := person(t, two)
		w.m.C.Choice = 1
		w.reserve()
		w.m.C.Alternates, w.m.C.Choice = "", 0
		if says(w); !w.m.C.Choice.Stopped() || w.m.C.DueAt != nil {
			t.Errorf("%s: %b, due %v", what, w.m.C.Choice, w.m.C.DueAt)
		}
	}
}

// The suppression list knows who asked at their only number. A number that a request gives them later
// must not undo it.
func TestWhoAskedAtTheOnlyNumberIsNotCalledAtOneThatIsAddedLater(t *testing.T) {
	dnc := func(a *Attempt) { a.DoNotCall = true }
	for what, says := range map[string]func(*world){
		"during the call": func(w *world) { w.dial(engine.OutcomeCompleted, withResult("never again"), dnc) },
		"after it": func(w *world) {
			w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
			w.must(w.result(1, "never again", dnc))
		},
		"in a run before": func(w *world) {
			w.dial(engine.OutcomeConnectedNoResult, talked(time.Minute))
			w.must(Event{Kind: RunReset, Run: 2})
			w.must(w.result(1, "never again", dnc, func(a *Attempt) { a.Run = 1 }))
		},
	} {
		w := person(t)
		if says(w); w.m.C.Choice.Stopped() {
			t.Errorf("%s: the list alone knows of a person with one number", what)
		}
		others := NewAlternates([]Alternate{{Number: two}})
		if !w.m.C.StopsWith(others) || w.m.C.StopsWith("") {
			t.Errorf("%s: a request is not refused, or one without numbers is", what)
		}
		w.must(Event{Kind: Triggered, Number: one})
		if w.m.C.Choice.Stopped() {
			t.Errorf("%s: taken off the list, and still not called", what)
		}
		if w.must(Event{Kind: Triggered, Number: one, Alternates: others}); !w.m.C.Choice.Stopped() {
			t.Errorf("%s: it is called at the number that came later", what)
		}
	}
}
