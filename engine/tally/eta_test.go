package tally

import (
	"math"
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/window"
)

// halfway is 100 contacts of which 40 were attempted once; 20 of these wait for their second
// attempt and none has had it.
func halfway() *campaign.Counters {
	c := &campaign.Counters{}
	*c.Pass(1) = campaign.Pass{Number: 1, Consumed: 40, Awaiting: 60, Waiting: 60}
	*c.Pass(2) = campaign.Pass{Number: 2, Awaiting: 20, Waiting: 20}
	Rates(c)
	return c
}

func TestRemainingDialsAreThoseInLineAndTheRedialsToBeExpected(t *testing.T) {
	f := func(c *campaign.Counters, maxAttempts int, want float64) {
		t.Helper()
		if got, ok := Remaining(c, maxAttempts); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%v %v, want %v", got, ok, want)
		}
	}
	f(halfway(), 2, 60*1.5+20) // every second attempt is followed by another
	f(halfway(), 3, 60*1.75+20*1.5)
	f(halfway(), 1, 80)
	c := halfway()
	c.Passes[0].Live = 10 // a contact being called may be called again
	f(c, 2, 60*1.5+20+10*0.5)
	closed := halfway()
	closed.Passes[0].Waiting, closed.Passes[1].Waiting = 0, 0
	f(closed, 3, 0)
	if _, ok := Remaining(&campaign.Counters{Passes: []campaign.Pass{{Number: 1, Waiting: 5, Awaiting: 5, Eligible: 5}}},
		3); ok {
		t.Error("no attempt has ended, and still it is known how many are dialled again")
	}
}

func TestETAIsTheRemainingDialsAtThePresentRate(t *testing.T) {
	o := Outlook{Now: nine, Counters: halfway(), MaxAttempts: 2, Dials: 30, Span: 5 * time.Minute,
		Window: window.Window{Zone: "UTC"}}
	// 110 dials at 6 a minute: 18 min 20 s.
	if eta, ok := ETA(&o); !ok || eta != 19*time.Minute {
		t.Errorf("%v %v", eta, ok)
	}
	later := o
	later.NotBefore = nine.Add(30 * time.Minute) // all wait for their retry
	if eta, ok := ETA(&later); !ok || eta != 49*time.Minute {
		t.Errorf("with the next due in half an hour: %v %v", eta, ok)
	}
}

func TestETASkipsTheHoursInWhichTheWindowIsClosed(t *testing.T) {
	o := Outlook{Now: nine, Counters: halfway(), MaxAttempts: 2, Dials: 30, Span: 5 * time.Minute,
		Window: window.Window{Zone: "UTC", Start: 9 * 60, End: 9*60 + 10}}
	if eta, ok := ETA(&o); !ok || eta != 24*time.Hour+9*time.Minute {
		t.Errorf("%v %v", eta, ok)
	}
	end := nine.Add(10 * time.Minute)
	o.Ends = &end
	if eta, ok := ETA(&o); !ok || eta != 10*time.Minute {
		t.Errorf("a single day: %v %v", eta, ok)
	}
}

func TestETAIsAbsentWhenItCannotBeEstimated(t *testing.T) {
	good := Outlook{Now: nine, Counters: halfway(), MaxAttempts: 2, Dials: 30, Span: 5 * time.Minute,
		Window: window.Window{Zone: "UTC"}}
	for name, spoil := range map[string]func(*Outlook){
		"nothing was dialled lately": func(o *Outlook) { o.Dials = 0 },
		"it has just begun":          func(o *Outlook) { o.Span = 10 * time.Second },
		"no attempt has ended":       func(o *Outlook) { o.Counters = &campaign.Counters{} },
		"nobody is left to dial": func(o *Outlook) {
			o.Counters = &campaign.Counters{Passes: []campaign.Pass{{Number: 1, Consumed: 5}}}
		},
		"the window never opens": func(o *Outlook) { o.Window = window.Window{Zone: "UTC", Days: []window.Day{}} },
	} {
		o := good
		spoil(&o)
		if eta, ok := ETA(&o); ok {
			t.Errorf("%s: %v", name, eta)
		}
	}
}
