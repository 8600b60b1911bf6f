package fleet

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	one = "ws://one"
	two = "ws://two"
)

// known returns endpoints that have taken a probe.
func known(urls ...string) *Endpoints {
	e := NewEndpoints(urls)
	e.Ask(start)
	for _, u := range e.Due(start) {
		e.Answered(start, u, "")
	}
	return e
}

func (e *Endpoints) is(t *testing.T, url string, want EndpointHealth) {
	t.Helper()
	if p := e.find(url); p.health != want {
		t.Fatalf("%s is %s (%s), want %s", url, p.health, p.reason, want)
	}
}

func TestABotOfWhichNothingIsKnownIsAskedBeforeAnybodyIsDialled(t *testing.T) {
	e := NewEndpoints([]string{one, two})
	if e.Fresh(start) || e.Health() != Unknown || e.Seats(7) != 7 || !e.Next().IsZero() {
		t.Fatalf("%+v", e)
	}
	e.Ask(start)
	if due := e.Due(start); !slices.Equal(due, []string{one, two}) || e.Due(start) != nil || !e.Next().IsZero() {
		t.Fatalf("asked %v", due)
	}
	e.Answered(start, one, "refused")
	if e.Fresh(start) {
		t.Fatal("the other one may take calls")
	}
	e.Answered(start, two, "")
	if !e.Fresh(start) || e.Seats(7) != 7 || e.Health() != Up || !slices.Equal(e.Order(), []string{two}) {
		t.Fatalf("%+v", e)
	}
	if e.Fresh(start.Add(time.Minute)) || !e.Fresh(start.Add(time.Minute-1)) {
		t.Fatal("an answer stands for a minute")
	}
}

func TestACallThatWasNotTakenMakesAQuestionAndItsAnswerDecides(t *testing.T) {
	e := known(one)
	e.Missed(start, one, "refused")
	e.is(t, one, Doubtful)
	if e.Seats(7) != 7 || !slices.Equal(e.Due(start), []string{one}) {
		t.Fatal("it is asked at once, and has its seats until it has answered")
	}
	e.Missed(start, "", "late") // another call, meanwhile
	e.Answered(start, one, "")
	e.is(t, one, Up)
	e.Missed(start, one, "refused")
	e.Due(start)
	e.Answered(start.Add(time.Second), one, "connection refused")
	e.is(t, one, Down)
	since, why, ok := e.Outage()
	if e.Seats(7) != 0 || !ok || why != "connection refused" || !since.Equal(start.Add(time.Second)) {
		t.Fatalf("%d seats, outage %v %q %v", e.Seats(7), since, why, ok)
	}
	if !slices.Equal(e.Order(), []string{one}) {
		t.Fatal("a call that is answered all the same tries it")
	}
}

func TestAnEndpointWhoseAnswerIsLateIsDownUntilItComes(t *testing.T) {
	e := NewEndpoints([]string{one})
	e.Late(start, one) // it was not probed
	e.is(t, one, Unknown)
	e.Ask(start)
	e.Due(start)
	late := start.Add(2 * time.Second)
	e.Late(late, one)
	if _, why, down := e.Outage(); !e.Fresh(late) || e.Seats(7) != 0 || !down || why == "" || !e.Next().IsZero() {
		t.Fatalf("%+v", e)
	}
	e.Answered(start.Add(4*time.Second), one, "")
	if e.is(t, one, Up); e.Seats(7) != 7 {
		t.Fatalf("%+v", e)
	}
	e.Late(start.Add(4*time.Second), one) // it has answered
	e.is(t, one, Up)
	// An endpoint that never answers is probed again like any other.
	e.Missed(start, one, "refused")
	e.Due(start)
	e.Late(late, one)
	e.Answered(late, one, "timeout")
	if e.is(t, one, Down); e.Next() != late.Add(time.Second) {
		t.Fatalf("asked again at %v", e.Next())
	}
	// An endpoint that answers late and takes no calls is distrusted like one that answers at once.
	e = known(one)
	for range distrustRounds {
		e.Missed(start, one, "refused")
		e.Due(start)
		e.Late(start, one)
		e.Answered(start, one, "")
		e.is(t, one, Up)
	}
	e.Missed(start, one, "refused")
	if e.is(t, one, Down); e.Next() != start.Add(distrustFirst) {
		t.Fatalf("asked again at %v", e.Next())
	}
}

func TestABotThatIsDownIsAskedEverLessOftenAndHasItsSeatsBackWithItsFirstAnswer(t *testing.T) {
	e := NewEndpoints([]string{one})
	e.Ask(start)
	now := start
	var waits []time.Duration
	for range 8 {
		if due := e.Due(now); len(due) != 1 {
			t.Fatalf("asked %v at %v", due, now.Sub(start))
		}
		e.Answered(now, one, "refused")
		waits = append(waits, e.Next().Sub(now))
		now = e.Next()
		if e.Due(now.Add(-1)) != nil {
			t.Fatal("asked before its time")
		}
	}
	s := time.Second
	if want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 30 * s}; !slices.Equal(waits, want) {
		t.Fatalf("%v, want %v", waits, want)
	}
	e.Due(now)
	e.Answered(now, one, "")
	if e.Seats(7) != 7 || e.Health() != Up || e.Status()[0].Reason != "" {
		t.Fatalf("%+v", e.Status())
	}
	if _, _, out := e.Outage(); out {
		t.Fatal("it is back")
	}
	e.Missed(now, one, "refused")
	e.Due(now)
	e.Answered(now, one, "refused")
	if e.Next().Sub(now) != time.Second {
		t.Fatal("a new outage begins with a short pause")
	}
}

func TestABotThatAnswersAndTakesNoCallIsLeftAloneAndTriedWithOneCall(t *testing.T) {
	e := known(one)
	now := start
	for range distrustRounds {
		e.Missed(now, one, "late")
		e.is(t, one, Doubtful)
		e.Due(now)
		e.Answered(now, one, "")
		e.is(t, one, Up)
	}
	e.Missed(now, one, "late")
	e.is(t, one, Down)
	var waits []time.Duration
	for range 7 {
		waits = append(waits, e.Next().Sub(now))
		now = e.Next()
		e.Due(now)
		e.Answered(now, one, "")
		e.is(t, one, Trying)
		if e.Seats(7) != 1 || e.Seats(0) != 0 {
			t.Fatal("one call shows whether it takes calls again")
		}
		e.Missed(now, one, "late")
		e.is(t, one, Down)
	}
	s := time.Second
	if want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s}; !slices.Equal(waits, want) {
		t.Fatalf("%v, want %v", waits, want)
	}
	now = e.Next()
	e.Due(now)
	e.Answered(now, one, "")
	e.Reached(now, one)
	if e.Seats(7) != 7 || e.Health() != Up {
		t.Fatalf("%+v", e.Status())
	}
	e.Missed(now, one, "late")
	e.is(t, one, Doubtful) // the count restarts
}

func TestEndpointsInDoubtComeLastAndThoseThatAreDownNotAtAll(t *testing.T) {
	e := known(one, two, "ws://three")
	e.Missed(start, one, "refused")
	if got := e.Order(); !slices.Equal(got, []string{two, "ws://three", one}) {
		t.Fatal(got)
	}
	e.Due(start)
	e.Answered(start, one, "refused")
	if got := e.Order(); !slices.Equal(got, []string{two, "ws://three"}) || e.Seats(7) != 7 || e.Health() != Up {
		t.Fatal(got)
	}
	e.Reached(start, one) // by a call that was under way
	if got := e.Order(); !slices.Equal(got, []string{one, two, "ws://three"}) || !e.Next().IsZero() {
		t.Fatal(got)
	}
	e.Reached(start, "ws://nobody")
	e.Answered(start, "ws://nobody", "")
}

func TestABotThatIsDownIsAskedUntilItAnswersWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		urls := []string{one, two}[:rapid.IntRange(1, 2).Draw(t, "endpoints")]
		e := NewEndpoints(urls)
		now := start
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
			u := rapid.SampledFrom(urls).Draw(t, "url")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				e.Reached(now, u)
			case 1:
				e.Missed(now, u, "no")
			case 2:
				e.Missed(now, "", "no")
			case 3:
				e.Ask(now)
			default:
				for _, u := range e.Due(now) {
					if rapid.Bool().Draw(t, "late") {
						e.Late(now, u)
					}
					e.Answered(now, u, rapid.SampledFrom([]string{"", "no"}).Draw(t, "answer"))
				}
			}
			for i := range e.list {
				p := &e.list[i]
				if (p.health == Down || p.health == Doubtful) && !p.asked && p.next.IsZero() {
					t.Fatalf("%s is %s and will never be asked", p.url, p.health)
				}
				if p.next.Sub(now) > distrustLast {
					t.Fatalf("%s is asked in %v", p.url, p.next.Sub(now))
				}
			}
			if n := e.Seats(9); e.Health() == Down && n != 0 || e.Health() == Up && n != 9 {
				t.Fatalf("%s with %d seats", e.Health(), n)
			}
			if got := e.Order(); len(got) == 0 {
				t.Fatal("a call that is answered has to try somebody")
			}
		}
	})
}
