package numberpool

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

var start = time.Date(2030, 5, 2, 9, 0, 30, 0, time.UTC)

const ttl = 15 * time.Minute

func attempt(n int) engine.AttemptID { return engine.AttemptID(fmt.Sprintf("%032x", n)) }

func TestASlotRefusesBeyondItsCapsAndSaysWhen(t *testing.T) {
	s := NewSlot(engine.NumberSettings{Number: "+493023125000", ConcurrentCap: 2, HourCap: 3, DayCap: 4, State: "active"})
	f := func(now time.Time, n int, want Cap, next time.Time, held int) {
		t.Helper()
		r, ok := s.Acquire(now, attempt(n), ttl)
		if ok != (want == CapNone) || r.Cap != want || !r.NextAt.Equal(next) || s.Held() != held {
			t.Fatalf("attempt %d: %+v, %v, %d held", n, r, ok, s.Held())
		}
	}
	never := time.Time{}
	f(start, 1, CapNone, never, 1)
	f(start, 1, CapNone, never, 1) // the same attempt counts once
	f(start, 2, CapNone, never, 2)
	f(start, 3, CapConcurrent, never, 2)
	s.Release(start.Add(time.Minute), attempt(1), End{})
	f(start.Add(time.Minute), 3, CapNone, never, 2)
	s.Release(start.Add(2*time.Minute), attempt(2), End{})
	s.Release(start.Add(2*time.Minute), attempt(3), End{})
	// The first two dials leave the hour once 60 whole minutes have passed after theirs.
	f(start.Add(3*time.Minute), 4, CapHour, start.Add(60*time.Minute+30*time.Second), 0)
	f(start.Add(60*time.Minute+29*time.Second), 4, CapHour, start.Add(60*time.Minute+30*time.Second), 0)
	f(start.Add(60*time.Minute+30*time.Second), 4, CapNone, never, 1)
	f(start.Add(2*time.Hour), 5, CapDay, time.Date(2030, 5, 3, 9, 10, 0, 0, time.UTC), 1)
	f(time.Date(2030, 5, 3, 9, 10, 0, 0, time.UTC), 5, CapNone, never, 2)
}

func TestADialThatNeverLeftCountsNowhere(t *testing.T) {
	s := NewSlot(engine.NumberSettings{HourCap: 1, DayCap: 1, RestSec: 60})
	s.Acquire(start, attempt(1), ttl)
	s.Release(start, attempt(1), End{NotDialled: true, Strike: true})
	if r, ok := s.Acquire(start, attempt(2), ttl); !ok || s.Strikes() != 0 {
		t.Fatalf("%+v", r)
	}
	s.Release(start, attempt(9), End{NotDialled: true}) // unknown: nothing to give back
	s.Release(start, attempt(2), End{})
	if _, ok := s.Check(start.Add(time.Hour)); ok {
		t.Fatal("a dial was forgotten")
	}
}

func TestANumberRestsAfterUse(t *testing.T) {
	s := NewSlot(engine.NumberSettings{RestSec: 60, State: "active"})
	s.Acquire(start, attempt(1), ttl)
	if got := s.State(start); got != Active {
		t.Fatal(got)
	}
	s.Release(start.Add(time.Minute), attempt(1), End{Answered: true})
	if r, ok := s.Check(start.Add(90 * time.Second)); ok || r.Cap != CapRest ||
		!r.NextAt.Equal(start.Add(2*time.Minute)) || s.State(start.Add(90*time.Second)) != Resting {
		t.Fatalf("%+v", r)
	}
	if _, ok := s.Check(start.Add(2 * time.Minute)); !ok || s.State(start.Add(2*time.Minute)) != Active {
		t.Fatal("rests forever")
	}
	if a, of := s.AnswerRate(); a != 1 || of != 1 {
		t.Fatal(a, of)
	}
}

func TestStrikesQuarantineANumber(t *testing.T) {
	f := func(pattern string, quarantined bool) {
		t.Helper()
		s := NewSlot(engine.NumberSettings{Number: "+1"})
		last := false
		for i, c := range pattern {
			s.Acquire(start, attempt(i), ttl)
			last = s.Release(start, attempt(i), End{Strike: c == 'x'})
		}
		if last != quarantined || (s.State(start) == Quarantined) != quarantined {
			t.Errorf("%s: %v, %s", pattern, last, s.State(start))
		}
		if r, ok := s.Acquire(start, "new", ttl); ok == quarantined || quarantined && r.Cap != CapState {
			t.Errorf("%s: %+v", pattern, r)
		}
	}
	f("xxxx", false)
	f("xxxxx", true)
	f("x...x...x...x..x", true)
	f("x....x....x....x....x", false) // the first is no longer among the last twenty
	f("x....x....x....x..........x", false)
}

func TestAnOperatorEndsAQuarantine(t *testing.T) {
	s := NewSlot(engine.NumberSettings{Number: "+1"})
	for i := range 5 {
		s.Acquire(start, attempt(i), ttl)
		s.Release(start, attempt(i), End{Strike: true})
	}
	if got := s.Settings().State; got != "quarantined" {
		t.Fatal(got)
	}
	c := s.Settings()
	s.Configure(c)
	if s.State(start) != Quarantined || s.Strikes() != 5 {
		t.Fatal("another edit ended the quarantine")
	}
	c.State = "active"
	s.Configure(c)
	if s.State(start) != Active || s.Strikes() != 0 {
		t.Fatal("still struck")
	}
	c.State = "retired"
	s.Configure(c)
	if _, ok := s.Check(start); ok || s.State(start) != Retired {
		t.Fatal("a retired number calls")
	}
}

func TestLeasesOfLostAttemptsRunOut(t *testing.T) {
	s := NewSlot(engine.NumberSettings{ConcurrentCap: 2})
	s.Acquire(start, attempt(1), ttl)
	s.Acquire(start, attempt(2), ttl)
	if !s.Renew(start.Add(time.Minute), attempt(2), ttl) || s.Renew(start, attempt(3), ttl) {
		t.Fatal("renewed the wrong lease")
	}
	if gone := s.Expire(start.Add(ttl)); len(gone) != 1 || gone[0] != attempt(1) || s.Held() != 1 {
		t.Fatal(gone)
	}
	s.Release(start.Add(ttl), attempt(1), End{}) // its late end
	if s.Held() != 1 {
		t.Fatal(s.Held())
	}
}

func TestReplayedDialsCount(t *testing.T) {
	s := NewSlot(engine.NumberSettings{HourCap: 2})
	s.Replay(start.Add(-2 * time.Hour))
	s.Replay(start.Add(-time.Minute))
	s.Replay(start.Add(-30 * time.Minute)) // in any order
	if r, ok := s.Check(start); ok || r.Cap != CapHour {
		t.Fatalf("%+v", r)
	}
	if c := s.Candidate(start, "+4930", "+49"); !c.UsedAt.Equal(start.Add(-time.Minute)) || c.Available {
		t.Fatalf("%+v", c)
	}
	s.Replay(start.Add(-48 * time.Hour)) // too old to matter
}

func TestNoHourHoldsMoreDialsThanTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour, day := rapid.IntRange(1, 8).Draw(t, "hour"), rapid.IntRange(1, 30).Draw(t, "day")
		s := NewSlot(engine.NumberSettings{HourCap: hour, DayCap: day})
		now := start
		var dials []time.Time
		for i := range rapid.IntRange(1, 150).Draw(t, "tries") {
			r, ok := s.Acquire(now, attempt(i), ttl)
			if ok {
				dials = append(dials, now)
				now = now.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, "s")) * time.Second)
				continue
			}
			if !r.NextAt.After(now) {
				t.Fatalf("refused at %s until %s", now, r.NextAt)
			}
			if _, ok := s.Check(r.NextAt.Add(-1)); ok {
				t.Fatal("available before the time it gave")
			}
			now = r.NextAt
		}
		for i := range dials {
			h, d := 0, 0
			for _, at := range dials[i:] {
				if at.Sub(dials[i]) < time.Hour {
					h++
				}
				if at.Sub(dials[i]) < 24*time.Hour {
					d++
				}
			}
			if h > hour || d > day {
				t.Fatalf("%d in an hour of %d, %d in a day of %d", h, hour, d, day)
			}
		}
	})
}

func TestTheNumberIsStickyThenLocalThenLeastRecentlyUsed(t *testing.T) {
	ago := func(m int) time.Time { return start.Add(-time.Duration(m) * time.Minute) }
	pool := []Candidate{
		{Number: "+12125550100", AreaKey: "+1212", CountryKey: "+1", UsedAt: ago(50), Available: true},
		{Number: "+493023125000", AreaKey: "+4930", CountryKey: "+49", UsedAt: ago(1), Available: true},
		{Number: "+498923125000", AreaKey: "+4989", CountryKey: "+49", UsedAt: ago(20), Available: true},
		{Number: "+493023125001", AreaKey: "+4930", CountryKey: "+49", UsedAt: ago(2), Refusal: Refusal{CapRest, ago(-5)}},
		{Number: "+493023125002", AreaKey: "+4930", CountryKey: "+49", UsedAt: ago(1), Available: true},
	}
	f := func(want Want, i int) {
		t.Helper()
		if got, r := Choose(pool, want); got != i || r != (Refusal{}) {
			t.Errorf("%+v: %d, %+v; want %d", want, got, r, i)
		}
	}
	f(Want{}, 0)
	f(Want{Sticky: "+498923125000"}, 2)
	f(Want{Sticky: "+493023125001"}, 0) // it rests: only a preference
	f(Want{LocalMatch: true, AreaKey: "+4930", CountryKey: "+49"}, 1)
	f(Want{LocalMatch: true, AreaKey: "+4940", CountryKey: "+49"}, 2)
	f(Want{LocalMatch: true, AreaKey: "+3906", CountryKey: "+39"}, 0)
	f(Want{LocalMatch: true}, 0)
	f(Want{AreaKey: "+4930", CountryKey: "+49"}, 0) // without the option
	f(Want{Sticky: "+12125550100", LocalMatch: true, AreaKey: "+4930"}, 0)
	pool[1].UsedAt = time.Time{} // never used
	f(Want{}, 1)
}

func TestARefusalNamesWhatEndsFirst(t *testing.T) {
	f := func(want Refusal, refusals ...Refusal) {
		t.Helper()
		var pool []Candidate
		for _, r := range refusals {
			pool = append(pool, Candidate{Refusal: r})
		}
		if i, got := Choose(pool, Want{}); i != -1 || got != want {
			t.Errorf("%v: %d, %+v", refusals, i, got)
		}
	}
	gone := Refusal{Cap: CapState}
	full := Refusal{Cap: CapConcurrent}
	rest, hour := Refusal{CapRest, start}, Refusal{CapHour, start.Add(time.Hour)}
	f(Refusal{})
	f(gone, gone)
	f(rest, hour, rest, gone)
	f(rest, gone, rest, hour)
	f(full, hour, full, rest)
}

func BenchmarkAcquireRelease(b *testing.B) {
	s := NewSlot(engine.NumberSettings{ConcurrentCap: 10, HourCap: 1 << 30, DayCap: 1 << 30})
	now, id := start, attempt(1)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		s.Acquire(now, id, ttl)
		s.Release(now, id, End{})
	}
}
