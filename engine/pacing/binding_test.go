package pacing

import (
	"math"
	"testing"
	"time"

	"dialler/engine"
)

func TestWhatBoundIsToldByItsShareOfTheLast10Seconds(t *testing.T) {
	var b Binding
	sec := func(s float64) engine.BootTime {
		return engine.BootTime(1000*time.Second) + engine.BootTime(s*float64(time.Second))
	}
	tells := func(at float64, want engine.Constraint, share float64) {
		t.Helper()
		c, got, _ := b.Tell(sec(at), engine.ConstraintNone)
		if c != want || !(math.Abs(got-share) <= 0.011) {
			t.Errorf("at %v s: %q for %.2f, want %q for %.2f", at, c, got, want, share)
		}
	}
	b.Note(sec(0), engine.ConstraintConcurrency)
	tells(0, engine.ConstraintConcurrency, 1)
	for i := range 20 { // a token bucket that is empty for 50 ms of every half second
		at := float64(i) / 2
		b.Note(sec(at), engine.ConstraintTrunkCPS)
		b.Note(sec(at+0.05), engine.ConstraintConcurrency)
	}
	tells(10, engine.ConstraintConcurrency, 0.9)
	b.Note(sec(10), engine.ConstraintTrunkCPS)
	tells(13, engine.ConstraintConcurrency, 0.6)
	tells(17, engine.ConstraintTrunkCPS, 0.8)
	tells(30, engine.ConstraintTrunkCPS, 1)
}

func TestNothingThatIsToldChangesFasterThan3SecondsButOutagesAndDecisions(t *testing.T) {
	var b Binding
	at := engine.BootTime(time.Hour)
	b.Note(at, engine.ConstraintSeats)
	last, changed := engine.Constraint("?"), engine.BootTime(0)
	for i := range 4000 {
		now := at + engine.BootTime(i*10)*engine.BootTime(time.Millisecond)
		of := []engine.Constraint{engine.ConstraintSeats, engine.ConstraintTrunkCPS, engine.ConstraintNumberPool}
		b.Note(now, of[i*i%7%3])
		if i == 2000 {
			b = Binding{Told: b.Told, ToldAt: b.ToldAt} // all other state is reset
		}
		if c, _, since := b.Tell(now, engine.ConstraintNone); c != last {
			if changed != 0 && now-changed < engine.BootTime(3*time.Second) || since != now {
				t.Fatalf("%v after the last change: %q for %q", time.Duration(now-changed), c, last)
			}
			last, changed = c, now
		}
	}
	now := at + engine.BootTime(time.Minute)
	for i, c := range []engine.Constraint{engine.ConstraintPaused, engine.ConstraintDatabase,
		engine.ConstraintTrunkHealth} {
		now += engine.BootTime(i) * engine.BootTime(time.Millisecond)
		b.Note(now, c)
		if got, share, _ := b.Tell(now, engine.ConstraintNone); got != c || share != 1 {
			t.Errorf("%q for %v, want %q at once", got, share, c)
		}
	}
	b.Note(now, engine.ConstraintRetryDelay)
	if got, _, _ := b.Tell(now, engine.ConstraintSeats); got != engine.ConstraintSeats {
		t.Errorf("%q, and the bot is away", got)
	}
}

func TestWhatIsToldStandsFor3SecondsAndNoLonger(t *testing.T) {
	var b Binding
	at := engine.BootTime(time.Hour)
	b.Note(at, engine.ConstraintSeats)
	b.Tell(at, engine.ConstraintNone)
	b.Note(at, engine.ConstraintTrunkCPS)
	for after, want := range map[time.Duration]engine.Constraint{3*time.Second - 1: engine.ConstraintSeats,
		3 * time.Second: engine.ConstraintTrunkCPS} {
		c := b
		if got, _, _ := c.Tell(at+engine.BootTime(after), engine.ConstraintNone); got != want {
			t.Errorf("after %v: %q", after, got)
		}
	}
}

func TestNotingADecisionAllocatesNothing(t *testing.T) {
	var b Binding
	at := engine.BootTime(time.Hour)
	if n := testing.AllocsPerRun(100, func() {
		at += engine.BootTime(300 * time.Millisecond)
		b.Note(at, engine.ConstraintSeats)
		b.Tell(at, engine.ConstraintNone)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An outage that comes and goes several times a second, as a brake does, is one outage.
func TestAnOutageIsToldUntilItHasBeenOverFor3Seconds(t *testing.T) {
	var b Binding
	at := engine.BootTime(time.Hour)
	tells := func(after time.Duration, want engine.Constraint) {
		t.Helper()
		at = at.Add(after)
		if got, _, _ := b.Tell(at, engine.ConstraintNone); got != want {
			t.Errorf("at %v: %q, want %q", time.Duration(at)-time.Hour, got, want)
		}
	}
	b.Note(at, engine.ConstraintConcurrency)
	tells(0, engine.ConstraintConcurrency)
	for range 20 {
		b.Note(at, engine.ConstraintOverload)
		tells(300*time.Millisecond, engine.ConstraintOverload)
		b.Note(at, engine.ConstraintConcurrency)
		tells(time.Second, engine.ConstraintOverload)
	}
	tells(1900*time.Millisecond, engine.ConstraintOverload)
	tells(100*time.Millisecond, engine.ConstraintConcurrency)
	// A momentary brake does not count.
	for range 20 {
		b.Note(at, engine.ConstraintOverload)
		tells(50*time.Millisecond, engine.ConstraintConcurrency)
		b.Note(at, engine.ConstraintConcurrency)
		tells(time.Second, engine.ConstraintConcurrency)
	}
	// Decisions of an operator and the clock apply at once, and end at once.
	b.Note(at, engine.ConstraintPaused)
	tells(0, engine.ConstraintPaused)
	b.Note(at, engine.ConstraintConcurrency)
	tells(0, engine.ConstraintConcurrency)
}

func TestAnOutageOfTheTrunksEndsAtOnceWhereNobodyIsToBeDialled(t *testing.T) {
	for held, want := range map[engine.Constraint]engine.Constraint{
		engine.ConstraintRetryDelay:    engine.ConstraintRetryDelay,
		engine.ConstraintNoDueContacts: engine.ConstraintNoDueContacts,
		engine.ConstraintConcurrency:   engine.ConstraintTrunkHealth,
	} {
		var b Binding
		at := engine.BootTime(time.Hour)
		b.Note(at, held)
		b.Tell(at, engine.ConstraintTrunkHealth)
		if got, _, _ := b.Tell(at.Add(time.Second), engine.ConstraintNone); got != want {
			t.Errorf("held back by %q: %q, want %q", held, got, want)
		}
	}
}

func TestABucketThatIsEmptyWhenACampaignBeginsIsNotTold(t *testing.T) {
	var b Binding
	at := engine.BootTime(time.Hour)
	b.Note(at, engine.ConstraintTrunkCPS)
	wanted := []engine.Constraint{engine.ConstraintNone, engine.ConstraintTrunkCPS, engine.ConstraintTrunkCPS}
	for after, want := range wanted {
		if got, _, _ := b.Tell(at.Add(time.Duration(after)*time.Second), engine.ConstraintNone); got != want {
			t.Errorf("after %d s: %q, want %q", after, got, want)
		}
	}
	b = Binding{}
	b.Note(at, engine.ConstraintTrunkCPS)
	b.Tell(at.Add(50*time.Millisecond), engine.ConstraintNone)
	b.Note(at.Add(50*time.Millisecond), engine.ConstraintConcurrency)
	if got, _, _ := b.Tell(at.Add(500*time.Millisecond), engine.ConstraintNone); got != engine.ConstraintConcurrency {
		t.Errorf("%q", got)
	}
}
