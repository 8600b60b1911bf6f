package fleet

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestTheLeftoverSeatStaysFiveMinutesToTheNanosecond(t *testing.T) {
	fl := New("bot", 1, 0)
	for _, h := range []Holder{"a", "b"} {
		fl.holders[h] = &allotment{want: 1, weight: 1}
	}
	turn := time.Unix(0, 0).Add(2000 * time.Minute) // divisible by ten minutes
	f := func(after time.Duration, want Holder) {
		t.Helper()
		for h, n := range fl.targets(turn.Add(after)) {
			if (n == 1) != (h == want) {
				t.Errorf("after %v: %s has %d, the seat is %s's", after, h, n, want)
			}
		}
	}
	f(0, "a")
	f(5*time.Minute-1, "a")
	f(5*time.Minute, "b")
	f(10*time.Minute-1, "b")
	f(10*time.Minute, "a")
}

func TestWhoeverWantsExactlyHisPartIsServedAndTheRestIsDividedAmongTheOthers(t *testing.T) {
	f := func(seats int, claims map[Holder][2]int, want map[Holder]int) {
		t.Helper()
		fl := New("bot", seats, 0)
		for h, c := range claims {
			fl.holders[h] = &allotment{want: c[0], weight: c[1]}
		}
		for turn := range 6 {
			if got := fl.targets(start.Add(time.Duration(turn) * rotation)); !maps.Equal(got, want) {
				t.Errorf("%d seats, %v, turn %d: %v, want %v", seats, claims, turn, got, want)
			}
		}
	}
	type c = map[Holder][2]int
	type w = map[Holder]int
	f(10, c{"a": {5, 1}, "b": {5, 1}}, w{"a": 5, "b": 5})
	f(10, c{"a": {4, 1}, "b": {6, 1}}, w{"a": 4, "b": 6})
	f(10, c{"a": {6, 1}, "b": {5, 1}}, w{"a": 5, "b": 5})
	f(9, c{"a": {3, 1}, "b": {6, 2}}, w{"a": 3, "b": 6})
	f(9, c{"a": {3, 1}, "b": {7, 2}}, w{"a": 3, "b": 6})
	f(9, c{"a": {2, 1}, "b": {7, 2}}, w{"a": 2, "b": 7})
}

func TestOnlyThoseAboveTheirTargetAreToldAndOnlyWhileAnotherWaits(t *testing.T) {
	fl := New("bot", 6, 0)
	fl.Request(start, "a", 4, 1, ttl)
	fl.Request(start, "b", 2, 1, ttl)
	if over := fl.Over(start); over != nil {
		t.Fatalf("everybody has his target: %+v", over)
	}
	fl.Request(start, "c", 2, 1, ttl) // two each: a is above its target, b at it, c waits
	want := []Grant{{Holder: "a", Granted: 4, Target: 2, Until: start.Add(ttl)}}
	if over := fl.Over(start); !reflect.DeepEqual(over, want) {
		t.Fatalf("c waits: %+v, want %+v", over, want)
	}
	fl.holders["c"].want = 0 // now a may have its four, and nobody waits
	if over := fl.Over(start); over != nil {
		t.Fatalf("nobody waits: %+v", over)
	}
	// Above the target while the others are at theirs: the reserve was raised, and nobody has
	// requested it.
	fl = New("bot", 6, 0)
	fl.Request(start, "a", 4, 1, ttl)
	fl.Request(start, "b", 2, 1, ttl)
	fl.reserve = 1
	if over := fl.Over(start); over != nil {
		t.Fatalf("a is above, b at its target, nobody waits: %+v", over)
	}
}

// turns returns the holder of a single leftover seat in each of the first six turns.
func turns(fl *Fleet, without map[Holder]int) (names []Holder) {
	for turn := range 6 {
		for h, n := range fl.targets(time.Unix(0, 0).Add(600 * rotation).Add(time.Duration(turn) * rotation)) {
			if n > without[h] {
				names = append(names, h)
			}
		}
	}
	return names
}

func TestWithoutAReserveDialoutTakesItsTurnLikeEverybody(t *testing.T) {
	fl := New("bot", 1, 0)
	for _, h := range []Holder{"a", "b", Dialout} {
		fl.holders[h] = &allotment{want: 1, weight: 1}
	}
	if got, want := turns(fl, nil), []Holder{"a", "b", Dialout, "a", "b", Dialout}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTheLeftoverSeatMovesOnlyAmongThoseWhoWaitForIt(t *testing.T) {
	fl := New("bot", 6, 0)
	fl.holders["a"] = &allotment{want: 3, weight: 2} // exactly its part
	fl.holders["b"] = &allotment{want: 5, weight: 1}
	fl.holders["c"] = &allotment{want: 5, weight: 1}
	if got, want := turns(fl, map[Holder]int{"a": 3, "b": 1, "c": 1}), []Holder{"b", "c", "b", "c", "b",
		"c"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
