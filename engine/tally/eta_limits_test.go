package tally

import (
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/window"
)

// waiting is n contacts that wait for their only dial, at one dial every two seconds.
func waiting(n int) Outlook {
	return Outlook{Now: nine, Counters: &campaign.Counters{Passes: []campaign.Pass{{Number: 1, Waiting: n}}},
		MaxAttempts: 1,
		Dials:       30, Span: time.Minute, Window: window.Window{Zone: "UTC"}}
}

func TestARateIsTakenFromThreeDialsInThirtySecondsAndFromNoFewer(t *testing.T) {
	for _, c := range []struct {
		dials int
		span  time.Duration
		want  bool
	}{
		{3, 30 * time.Second, true}, {2, 30 * time.Second, false}, {3, 30*time.Second - 1, false},
	} {
		o := waiting(60)
		o.Dials, o.Span = c.dials, c.span
		if eta, ok := ETA(&o); ok != c.want || ok && eta != 10*time.Minute {
			t.Errorf("%d dials in %v: %v %v", c.dials, c.span, eta, ok)
		}
	}
}

func TestARunThatHasNobodyLeftToDialHasNoEndToWaitFor(t *testing.T) {
	o := waiting(0)
	o.NotBefore = nine.Add(time.Hour)
	if eta, ok := ETA(&o); ok {
		t.Errorf("nobody waits: %v", eta)
	}
	o = waiting(1)
	o.NotBefore = nine.Add(time.Hour)
	if eta, ok := ETA(&o); !ok || eta != time.Hour+time.Minute {
		t.Errorf("one waits: %v %v", eta, ok)
	}
}

func TestAnETAIsRoundedUpToWholeMinutes(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Minute, 30: time.Minute, 31: 2 * time.Minute, 60: 2 * time.Minute,
		61: 3 * time.Minute} {
		o := waiting(n)
		if eta, ok := ETA(&o); !ok || eta != want {
			t.Errorf("%d dials: %v %v, want %v", n, eta, ok, want)
		}
	}
}

func TestARunThatIsOverAtThisMomentHasNoETA(t *testing.T) {
	o := waiting(60)
	for end, want := range map[time.Duration]time.Duration{0: 0, 1: time.Minute, time.Minute: time.Minute,
		time.Minute + 1: 2 * time.Minute} {
		ends := nine.Add(end)
		o.Ends = &ends
		if eta, ok := ETA(&o); eta != want || ok != (want > 0) {
			t.Errorf("a run that ends in %v: %v %v", end, eta, ok)
		}
	}
}

func TestAttemptsAfterWhichNobodyIsDialledAgainDoNotTellHowManyAre(t *testing.T) {
	c := halfway()
	c.Passes[1].Consumed = 10 // the last pass of two
	Rates(c)
	// 30 second attempts after 40 first ones.
	if got, ok := Remaining(c, 2); !ok || got != 60*1.75+20 {
		t.Errorf("%v %v", got, ok)
	}
	alone := &campaign.Counters{Passes: []campaign.Pass{{Number: 1, Waiting: 5}, {Number: 2, Consumed: 7}}}
	if got, ok := Remaining(alone, 2); ok {
		t.Errorf("only last attempts have ended: %v", got)
	}
}
