package numberpool

import (
	"testing"
	"time"

	"dialler/engine"
)

// ended makes n calls from the slot.
func ended(s *Slot, n int, end End) (quarantined bool) {
	now := start.Add(time.Duration(n) * time.Minute)
	s.Acquire(now, attempt(n), ttl)
	return s.Release(now, attempt(n), end)
}

func TestFiveRefusalsAmongTheLastTwentyCallsQuarantineANumber(t *testing.T) {
	f := func(between int, want bool) {
		t.Helper()
		s := NewSlot(engine.NumberSettings{State: "active"})
		n, got := 1, ended(s, 0, End{Strike: true})
		for range between {
			ended(s, n, End{Answered: true})
			n++
		}
		for range 4 {
			got = ended(s, n, End{Strike: true})
			n++
		}
		if got != want {
			t.Errorf("%d calls after the first refusal: quarantined %v", between, got)
		}
	}
	f(15, true)  // the first is the twentieth from the end
	f(16, false) // the twenty-first
}

func TestTheAnswerRateIsOfTheLast64Calls(t *testing.T) {
	s := NewSlot(engine.NumberSettings{State: "active"})
	for n := range 70 {
		ended(s, n, End{Answered: true})
	}
	if answered, of := s.AnswerRate(); answered != 64 || of != 64 {
		t.Errorf("%d of %d", answered, of)
	}
}

func TestADialOlderThanTheWindowCountsNowhere(t *testing.T) {
	s := NewSlot(engine.NumberSettings{State: "active", HourCap: 2})
	s.Replay(start)
	s.Replay(start.Add(-61 * time.Minute)) // the hour, and the minute that has just begun
	if r, ok := s.Check(start); !ok {
		t.Errorf("%+v", r)
	}
	s.Replay(start.Add(-60 * time.Minute))
	if _, ok := s.Check(start); ok {
		t.Error("a dial of the hour is forgotten")
	}
}

func TestADialMattersForTheRollingDayAndTheBucketThatHasJustLeftIt(t *testing.T) {
	end := time.Unix(0, 0).Add(3000*24*time.Hour - 1) // the last moment of ten minutes
	for ago, want := range map[time.Duration]int{Memory - 1: 1, Memory: 0} {
		s := NewSlot(engine.NumberSettings{State: "active"})
		s.Replay(end.Add(-ago))
		if got := s.Status(end).DayDials; got != want {
			t.Errorf("%v ago: %d dials of the day, want %d", ago, got, want)
		}
	}
}

func TestARestIsShownUntilItIsOver(t *testing.T) {
	s := NewSlot(engine.NumberSettings{State: "active", RestSec: 30})
	ended(s, 0, End{})
	over := start.Add(30 * time.Second)
	if at := s.Status(over.Add(-1)).RestsTill; at == nil || !at.Equal(over) {
		t.Errorf("a moment before: %v", at)
	}
	if at := s.Status(over).RestsTill; at != nil {
		t.Errorf("when it is over: %v", at)
	}
}

func TestOfRefusalsThatEndTogetherTheFirstOfThePoolIsGiven(t *testing.T) {
	at := start.Add(time.Minute)
	if i, r := Choose([]Candidate{{Number: "a", Refusal: Refusal{CapHour, at}},
		{Number: "b", Refusal: Refusal{CapRest, at}}}, Want{}); i != -1 || r != (Refusal{CapHour, at}) {
		t.Errorf("%d, %+v", i, r)
	}
}
