package fleet

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Unix(0, 0).Add(1000 * rotation) // a turn in which no name is preferred over the first

const ttl = time.Minute

func (f *Fleet) check(t interface{ Fatalf(string, ...any) }) {
	sum := 0
	for h, a := range f.holders {
		if a.granted < 0 || a.granted > a.want {
			t.Fatalf("%s has %d, wants %d", h, a.granted, a.want)
		}
		sum += a.granted
	}
	if sum != f.granted || f.Free() != f.seats-sum {
		t.Fatalf("Σ allotments %d, counted %d, seats %d", sum, f.granted, f.seats)
	}
}

func TestSharesAreMaxMinFair(t *testing.T) {
	f := func(seats, reserve int, claims map[Holder][2]int, want map[Holder]int) {
		t.Helper()
		fl := New("bot", seats, reserve)
		for h, c := range claims {
			fl.holders[h] = &allotment{want: c[0], weight: c[1], until: start.Add(ttl)}
		}
		if got := fl.targets(start); !maps.Equal(got, want) {
			t.Errorf("%d seats, %v: %v, want %v", seats, claims, got, want)
		}
	}
	type c = map[Holder][2]int
	type w = map[Holder]int
	f(10, 0, c{}, w{})
	f(10, 0, c{"a": {4, 1}, "b": {4, 1}}, w{"a": 4, "b": 4})
	f(10, 0, c{"a": {2, 1}, "b": {20, 1}, "c": {20, 1}}, w{"a": 2, "b": 4, "c": 4})
	f(9, 0, c{"a": {20, 1}, "b": {20, 2}}, w{"a": 3, "b": 6})
	f(9, 0, c{"a": {20, 1}, "b": {4, 2}}, w{"a": 5, "b": 4})
	f(3, 0, c{"a": {5, 1}, "b": {5, 1}}, w{"a": 2, "b": 1})
	f(1, 0, c{"a": {5, 1}, "b": {5, 9}}, w{"a": 0, "b": 1})
	f(0, 0, c{"a": {5, 1}}, w{"a": 0})
	f(10, 2, c{"a": {20, 1}}, w{"a": 8}) // the reserve is kept
	f(10, 2, c{"a": {20, 1}, Dialout: {1, 1}}, w{"a": 8, Dialout: 1})
	f(10, 2, c{"a": {20, 1}, Dialout: {3, 1}}, w{"a": 7, Dialout: 3}) // its fair share is 3 of 10
	f(10, 2, c{"a": {20, 9}, Dialout: {3, 1}}, w{"a": 8, Dialout: 2})
	f(10, 0, c{"a": {20, 1}, Dialout: {20, 1}}, w{"a": 5, Dialout: 5})
	f(2, 5, c{"a": {20, 1}, Dialout: {1, 1}}, w{"a": 0, Dialout: 1})
}

func TestTheLeftoverSeatMovesOn(t *testing.T) {
	fl := New("bot", 1, 0)
	for _, h := range []Holder{"a", "b", "c"} {
		fl.holders[h] = &allotment{want: 1, weight: 1}
	}
	turns := map[Holder]int{}
	for i := range 6 {
		for h, n := range fl.targets(start.Add(time.Duration(i) * rotation)) {
			turns[h] += n
		}
	}
	if turns["a"] != 2 || turns["b"] != 2 || turns["c"] != 2 {
		t.Fatal(turns)
	}
}

func TestAGrantGrowsAtOnceAndIsNeverCutForAnother(t *testing.T) {
	fl := New("bot", 10, 0)
	f := func(h Holder, want, granted, target int) {
		t.Helper()
		g := fl.Request(start, h, want, 1, ttl)
		if g.Granted != granted || g.Target != target || !g.Until.Equal(start.Add(ttl)) {
			t.Fatalf("%+v, want %d of %d", g, granted, target)
		}
		fl.check(t)
	}
	f("a", 4, 4, 4)
	f("a", 20, 10, 10)
	f("b", 20, 0, 5) // told what it will have
	if over := fl.Over(start); len(over) != 1 || over[0].Holder != "a" || over[0].Target != 5 || over[0].Granted != 10 {
		t.Fatalf("%+v", over)
	}
	if n := fl.Release("a", 3); n != 3 || fl.Free() != 3 {
		t.Fatal(n)
	}
	f("a", 20, 7, 5) // what it gave back no longer belongs to it
	f("b", 20, 3, 5)
	fl.Release("a", 2)
	f("b", 20, 5, 5)
	if over := fl.Over(start); over != nil {
		t.Fatalf("%+v", over)
	}
	f("b", 1, 1, 1) // wants less: gives back at once
	f("a", 20, 9, 9)
	if fl.Release("nobody", 1) != 0 || fl.Release("a", 99) != 9 || fl.Release("a", -1) != 0 {
		t.Fatal("released what was not there")
	}
	fl.Leave("a")
	fl.Leave("a")
	f("b", 20, 10, 10)
}

func TestTheReserveServesDialout(t *testing.T) {
	fl := New("bot", 10, 2)
	if g := fl.Request(start, "a", 50, 1, ttl); g.Granted != 8 {
		t.Fatalf("%+v", g)
	}
	if g := fl.Request(start, "b", 50, 1, ttl); g.Granted != 0 || g.Target != 4 {
		t.Fatalf("the reserve was given to a second campaign: %+v", g)
	}
	fl.Leave("b")
	if g := fl.Request(start, Dialout, 1, 1, ttl); g.Granted != 1 {
		t.Fatalf("%+v", g)
	}
	if g := fl.Request(start, "a", 50, 1, ttl); g.Granted != 8 {
		t.Fatalf("the unused part of the reserve was given away: %+v", g)
	}
	if g := fl.Request(start, Dialout, 4, 1, ttl); g.Granted != 2 || g.Target != 4 {
		t.Fatalf("%+v", g)
	}
}

func TestAGrantEndsUnlessItIsRenewed(t *testing.T) {
	fl := New("bot", 10, 0)
	fl.Request(start, "a", 4, 1, ttl)
	fl.Request(start, "b", 4, 1, ttl)
	if g, ok := fl.Renew(start.Add(30*time.Second), "a", ttl); !ok || g.Granted != 4 {
		t.Fatalf("%+v", g)
	}
	if gone := fl.Expire(start.Add(ttl - 1)); gone != nil {
		t.Fatal(gone)
	}
	if gone := fl.Expire(start.Add(ttl)); len(gone) != 1 || gone[0] != "b" || fl.Free() != 6 {
		t.Fatal(gone, fl.Free())
	}
	if _, ok := fl.Renew(start, "b", ttl); ok {
		t.Fatal("renewed what had run out")
	}
	if g := fl.Grants(start); len(g) != 1 || g[0].Granted != 4 || fl.Granted() != 4 {
		t.Fatalf("%+v", g)
	}
}

func TestSeatsThatAreTakenAwayStayWithLinesInFlight(t *testing.T) {
	fl := New("bot", 10, 0)
	fl.Request(start, "a", 8, 1, ttl)
	fl.Request(start, "b", 2, 1, ttl)
	if changed := fl.SetSeats(start, 12); changed != nil || fl.Free() != 2 {
		t.Fatal(changed)
	}
	changed := fl.SetSeats(start, 4)
	if len(changed) != 2 || changed[0].Holder != "a" || changed[0].Granted != 8 || changed[0].Target != 2 ||
		fl.Granted() != 10 || fl.Seats() != 4 {
		t.Fatalf("%+v", changed)
	}
	if b := changed[1]; b.Granted != 2 || b.Target != 0 {
		t.Fatalf("%+v: a uses all seats, and more", b)
	}
	fl.check(t)
	if g := fl.Request(start, "c", 1, 1, ttl); g.Granted != 0 || g.Target != 0 {
		t.Errorf("%+v: a seat more than there are", g)
	}
	if fl.Release("a", 6); fl.Request(start, "a", 8, 1, ttl).Granted != 2 {
		t.Error("what was given back is granted again")
	}
	if changed := fl.SetSeats(start, -1); len(changed) != 3 || fl.Seats() != 0 || fl.Granted() != 4 {
		t.Fatalf("%+v", changed)
	}
	if fl.Bot() != "bot" {
		t.Fatal(fl.Bot())
	}
}

func TestABotWhoseHealthFallsTakesNoSeatFromLinesInFlight(t *testing.T) {
	fl := New("bot", 10, 0)
	fl.Request(start, "a", 6, 1, ttl)
	fl.Request(start, "b", 4, 1, ttl)
	if told := fl.SetProved(start, 0); len(told) != 2 || told[0].Granted != 6 || told[0].Target != 0 {
		t.Fatalf("%+v", told)
	}
	if g := fl.Request(start, "a", 6, 1, ttl); g.Granted != 6 || g.Target != 0 {
		t.Errorf("%+v: it renews what its lines rely on", g)
	}
	if fl.Release("a", 2); fl.Request(start, "a", 6, 1, ttl).Granted != 4 {
		t.Error("what is given back is granted again, though no call was taken")
	}
	if told := fl.SetProved(start, 10); len(told) != 2 || told[0].Target != 6 {
		t.Errorf("%+v", told)
	}
	if g := fl.Request(start, "a", 6, 1, ttl); g.Granted != 6 {
		t.Errorf("%+v", g)
	}
}

func TestSeatsAreConservedWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fl := New("bot", rapid.IntRange(0, 30).Draw(t, "seats"), rapid.IntRange(0, 5).Draw(t, "reserve"))
		now := start
		holder := rapid.SampledFrom([]Holder{"a", "b", "c", "d", Dialout})
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "s")) * time.Second)
			h, had := holder.Draw(t, "holder"), fl.granted
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0, 1, 2:
				g := fl.Request(now, h, rapid.IntRange(-1, 30).Draw(t, "want"), rapid.IntRange(0, 4).Draw(t, "weight"), ttl)
				if g.Granted != fl.holders[h].granted {
					t.Fatalf("told %d, has %d", g.Granted, fl.holders[h].granted)
				}
			case 3:
				fl.Renew(now, h, ttl)
			case 4:
				fl.Release(h, rapid.IntRange(0, 10).Draw(t, "n"))
			case 5:
				fl.Expire(now)
			case 6:
				before := fl.granted
				fl.SetSeats(now, rapid.IntRange(0, 40).Draw(t, "seats"))
				if fl.granted != before {
					t.Fatalf("%d granted, were %d: lines in flight rely on them", fl.granted, before)
				}
			case 7:
				before := fl.granted
				fl.SetProved(now, rapid.IntRange(-1, 40).Draw(t, "proved"))
				if fl.granted != before {
					t.Fatalf("%d granted, were %d: lines in flight rely on them", fl.granted, before)
				}
			}
			fl.check(t)
			if fl.granted > had && fl.granted > fl.seats {
				t.Fatalf("granted %d of %d seats, had granted %d", fl.granted, fl.seats, had)
			}
			for _, g := range fl.Grants(now) { // the seats a holder relies on exist, whatever the others use
				if others := fl.granted - g.Granted; g.Target > 0 && g.Granted > 0 && min(g.Granted, g.Target) > fl.room()-others {
					t.Fatalf("%+v of %d seats, others have %d", g, fl.room(), others)
				}
			}
			sum, wants := 0, 0
			for h, n := range fl.targets(now) {
				if n < 0 || n > fl.holders[h].want {
					t.Fatalf("%s: target %d", h, n)
				}
				sum += n
				wants += fl.holders[h].want
			}
			if most := min(fl.seats, fl.proved); sum > most || fl.reserve == 0 && sum != min(wants, most) {
				t.Fatalf("Σ targets %d of %d seats, %d proved, wanted %d", sum, fl.seats, fl.proved, wants)
			}
		}
	})
}

func TestWhoFollowsTheTargetsEndsUpWithThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fl := New("bot", rapid.IntRange(0, 40).Draw(t, "seats"), rapid.IntRange(0, 3).Draw(t, "reserve"))
		n := rapid.IntRange(1, 5).Draw(t, "holders")
		want, weight := make([]int, n), make([]int, n)
		for i := range n {
			want[i], weight[i] = rapid.IntRange(0, 30).Draw(t, "want"), rapid.IntRange(1, 3).Draw(t, "weight")
		}
		for range 3 {
			for i := range n {
				h := Holder(fmt.Sprint("c", i))
				if g := fl.Request(start, h, want[i], weight[i], ttl); g.Granted > g.Target {
					fl.Release(h, g.Granted-g.Target)
				}
			}
		}
		for _, g := range fl.Grants(start) {
			if g.Granted != g.Target {
				t.Fatalf("%+v", g)
			}
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	fl := New("bot", 500, 5)
	for i := range 20 {
		fl.Request(start, Holder(fmt.Sprint("c", i)), 40, 1+i%3, ttl)
	}
	b.ReportAllocs()
	for b.Loop() {
		fl.Request(start, "c7", 40, 1, ttl)
	}
}

func TestADemandGivesUpSeatsAndLeavesWithNone(t *testing.T) {
	f := New("bot", 10, 0)
	if g := f.Demand(start, "a", 6, 1, 0, time.Minute); g.Granted != 6 || f.Granted() != 6 {
		t.Fatalf("%+v", g)
	}
	// What is given up is granted again: nobody else wants it.
	if g := f.Demand(start, "a", 6, 1, 2, time.Minute); g.Granted != 6 {
		t.Errorf("%+v", g)
	}
	if g := f.Demand(start, "a", 0, 1, 0, time.Minute); g.Granted != 0 || g.Target != 0 || f.Granted() != 0 {
		t.Errorf("%+v, %d granted", g, f.Granted())
	}
}
