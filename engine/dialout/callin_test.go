package dialout

import (
	"errors"
	"testing"

	"dialler/engine"
	"dialler/engine/fleet"
)

func TestACallThatCameInIsSeatedBeforeDialouts(t *testing.T) {
	d := open(t)
	d.give(place("a"))
	d.give(&CallIn{Attempt: "caller", Bot: "bot"})
	if e := one[Demand](d); e.Want != 2 {
		t.Fatalf("%+v", e)
	}
	d.give(&fleet.Allotted{Bot: "bot", Seats: 1, Target: 2, N: 2})
	if e := one[CallInSeated](d); e.Attempt != "caller" || e.By != 0 {
		t.Errorf("%+v", e)
	}
	none[ReserveTrunk](d) // the dialout waits, and the caller needs no trunk
	d.give(&Over{Attempt: "caller"})
	if e := one[ReserveTrunk](d); e.Attempt != "a" {
		t.Errorf("the seat is given on: %+v", e)
	}
}

func TestACallerWaitsForASeatAsLongAsADialoutMayNot(t *testing.T) {
	d := open(t)
	d.give(&CallIn{Attempt: "caller", Bot: "bot"})
	late := one[Later](d)
	if late.After != CallInPatience {
		t.Errorf("%+v", late)
	}
	d.seats(0)
	if e := one[Later](d); e.After != shareAgain {
		t.Errorf("it is asked for again: %+v", e)
	}
	none[CallInRefused](d)
	d.give(late.Event)
	if e := one[CallInRefused](d); e.Attempt != "caller" || len(d.s.Wants) > 0 || len(d.s.Seats["bot"].Queue) > 0 {
		t.Errorf("%+v, %+v", e, d.s.Wants)
	}
}

func TestWhatACallThatCameInGetsNoSeatFor(t *testing.T) {
	for what, in := range map[string]Input{
		"an unknown bot":              {Event: &CallIn{Attempt: "caller", Bot: "none"}},
		"an inactive bot":             {Event: &CallIn{Attempt: "caller", Bot: "off"}},
		"a process that takes nobody": {Event: &CallIn{Attempt: "caller", Bot: "bot"}, Barred: errors.New("draining")},
	} {
		d := open(t)
		in.Now = t0
		d.out = d.s.Apply(in, nil)
		if one[CallInRefused](d); len(d.out) != 1 || len(d.s.Wants) > 0 {
			t.Errorf("%s: %+v", what, d.out)
		}
	}
	d := open(t)
	d.give(&CallIn{Attempt: "caller", Bot: "bot"})
	d.give(&fleet.Allotted{Bot: "bot", N: 1, Outage: &fleet.Outage{Reason: "down"}})
	one[CallInRefused](d)
}

func TestACallerWhoGivesUpGivesTheSeatBack(t *testing.T) {
	for _, seated := range []bool{false, true} {
		d := open(t)
		d.give(&CallIn{Attempt: "caller", Bot: "bot"})
		if seated {
			d.give(&fleet.Allotted{Bot: "bot", Seats: 1, Target: 1, N: 1, Until: engine.BootTime(1 << 50)})
			if one[CallInSeated](d).By == 0 {
				t.Error("a seat that ends has no end")
			}
		}
		d.give(&CallInLeft{"caller"})
		if s := d.s.Seats["bot"]; s.Used != 0 || len(s.Queue) > 0 || len(d.s.Wants) > 0 || len(d.s.Seated) > 0 {
			t.Errorf("%+v", s)
		}
		d.give(&CallInLeft{"caller"}) // again
	}
}
