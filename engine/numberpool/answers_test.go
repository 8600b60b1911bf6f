package numberpool

import (
	"math/rand/v2"
	"testing"
	"time"

	"dialler/engine"
)

// watched is a number with the given ended calls, the oldest first.
func watched(floor int, calls ...bool) *Slot {
	s := NewSlot(engine.NumberSettings{Number: "+4930111111", AnswerFloor: floor, State: "active"})
	for _, answered := range calls {
		s.Recall(time.Time{}, End{Answered: answered})
	}
	return s
}

// every returns n calls of which each k-th is answered.
func every(k, n int) []bool {
	list := make([]bool, n)
	for i := range list {
		list[i] = k > 0 && i%k == 0
	}
	return list
}

func TestAnAnswerRateBelowItsFloorRaisesAnAlarm(t *testing.T) {
	f := func(floor int, calls []bool, want Alarm) {
		t.Helper()
		if got := watched(floor, calls...).Alarm(); got != want {
			t.Errorf("floor %d%%, %d calls: %s, want %s", floor, len(calls), got, want)
		}
	}
	f(25, every(4, 64), AlarmNone)  // 16 of 64 is 25 %
	f(26, every(4, 64), AlarmFloor) //
	f(25, append([]bool{true}, append(every(4, 63)[1:], false, false)...), AlarmFloor)
	f(100, every(0, 63), AlarmNone) // too few to judge
	f(1, every(0, 64), AlarmFloor)
	f(0, every(0, 64), AlarmNone)
	f(0, every(0, 1000), AlarmNone) // it never was better
}

func TestAnAnswerRateThatFallsToLessThanHalfRaisesAnAlarm(t *testing.T) {
	f := func(past, now []bool, want Alarm) {
		t.Helper()
		if got := watched(0, append(append([]bool(nil), past...), now...)...).Alarm(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	answered := func(n int) []bool { // of 64
		list := make([]bool, 64)
		for i := range n {
			list[i*64/n] = true
		}
		return list
	}
	f(every(3, 192), answered(21), AlarmNone)
	f(every(3, 192), answered(9), AlarmNone)    // less than half of 21.3, and by 2.8 standard errors
	f(every(3, 192), answered(8), AlarmFalling) // by 3.1
	f(every(3, 191), answered(8), AlarmNone)    // too few to compare with
	f(every(1, 192), answered(32), AlarmNone)   // half of them
	f(every(1, 192), answered(31), AlarmFalling)
	f(every(20, 192), answered(1), AlarmNone) // chance
	// Older calls no longer count: the rate of the 192 calls before the last 64 has become the
	// usual one.
	f(append(every(1, 192), every(4, 192)...), answered(16), AlarmNone)
}

func TestAnAlarmByChanceIsRare(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	alarms := 0
	const numbers, calls = 200, 64 * 20
	for range numbers {
		s := watched(0)
		for i := range calls {
			s.Recall(time.Time{}, End{Answered: rnd.Float64() < 0.3})
			if i%answerWindow == 0 && s.Alarm() != AlarmNone { // independent calls each time
				alarms++
			}
		}
	}
	if looks := numbers * calls / answerWindow; alarms*500 > looks {
		t.Errorf("%d alarms in %d looks", alarms, looks)
	}
}

func TestWhatEndedBeforeARestartCounts(t *testing.T) {
	start := time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)
	s := NewSlot(engine.NumberSettings{Number: "+4930111111", RestSec: 60, State: "active"})
	for i := range 4 {
		s.Recall(start.Add(time.Duration(i)*time.Second), End{Strike: true})
	}
	s.Recall(start.Add(10*time.Second), End{Answered: true})
	if st := s.Status(start.Add(69 * time.Second)); st.State != Resting || st.Strikes != 4 || st.Answered != 1 ||
		st.Ended != 5 || st.DayDials != 0 {
		t.Errorf("%+v", st)
	}
	if _, ok := s.Acquire(start.Add(70*time.Second), "a", time.Hour); !ok {
		t.Error("its rest is not over")
	}
	if !s.Release(start.Add(80*time.Second), "a", End{Strike: true}) {
		t.Error("the fifth strike did not quarantine it")
	}
}

func TestANumberTellsWhatRefusesItsNextDial(t *testing.T) {
	start := time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)
	s := NewSlot(engine.NumberSettings{Number: "+49301", ConcurrentCap: 1, RestSec: 60})
	f := func(now time.Time, want Cap) {
		t.Helper()
		if got := s.Status(now).Refuses; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(start, CapNone)
	s.Acquire(start, "a", time.Minute)
	f(start, CapConcurrent)
	s.Release(start, "a", End{Answered: true})
	f(start, CapRest)
	f(start.Add(time.Minute), CapNone)
	s.Configure(engine.NumberSettings{Number: "+49301", State: string(Quarantined)})
	f(start.Add(time.Minute), CapState)
}
