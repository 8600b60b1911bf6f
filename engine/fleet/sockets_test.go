package fleet

import (
	"testing"
	"time"

	"dialler/engine"
)

const booted = engine.BootTime(time.Hour)

func TestFewerSocketsAreOpenedAtATimeWhileTheyFail(t *testing.T) {
	var o Openings
	if n := o.Room(booted, 0); n != openingsMost {
		t.Fatalf("%d may be opened at first", n)
	}
	o.Missed(booted, 10)
	if n := o.Room(booted, 0); n != 5 {
		t.Errorf("%d after one of ten failed", n)
	}
	if n := o.Room(booted, 4); n != 1 {
		t.Errorf("%d while four are being opened", n)
	}
	for range 10 {
		o.Missed(booted, 1)
	}
	if o.Window != 1 || o.Room(booted, 0) != 0 {
		t.Errorf("%+v: nothing is opened in the pause", o)
	}
}

func TestABotThatIsBackHasAllItsSocketsAgainWithinSeconds(t *testing.T) {
	var o Openings
	now := booted
	for range 100 {
		now = now.Add(o.Pause(now))
		o.Missed(now, 1)
	}
	if p := o.Pause(now); p != openingsLast {
		t.Fatalf("the pause is %s", p)
	}
	now = now.Add(o.Pause(now))
	opened := 0
	for rounds := 0; opened < 200; rounds++ {
		if rounds > 8 {
			t.Fatalf("%d of 200 sockets after %d rounds", opened, rounds)
		}
		n := o.Room(now, 0)
		for range n {
			o.Stood()
		}
		opened += n
	}
	if o.Pause(now) != 0 || o.Window != 0 {
		t.Errorf("%+v", o)
	}
}

func TestThreeFailuresInARowMakeAPauseThatDoubles(t *testing.T) {
	var o Openings
	for i, want := range []time.Duration{0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		o.Missed(booted, 1)
		if p := o.Pause(booted); p != want*time.Millisecond {
			t.Errorf("%s after %d failures", p, i+1)
		}
	}
	if p := o.Pause(booted.Add(time.Minute)); p != 0 {
		t.Errorf("%s a minute later", p)
	}
	o.Stood()
	if p := o.Pause(booted); p != 0 {
		t.Errorf("%s after one that stands", p)
	}
}
