package campaign

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/numberpool"
	"dialler/engine/window"
)

// aboutASecondFrom allows for rounding up fractions that no float represents exactly.
func aboutASecondFrom(e *Estimate, seconds int) bool {
	return e.DurationSeconds == seconds || e.DurationSeconds == seconds+1
}

func TestTheEstimateOfACampaignOfWhichNothingIsKnownTakesThreeAnswersInTenOf90Seconds(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.RetryOnSystem = []engine.Outcome{}
		o.Waiting, o.Attempts = 2000, 2000
	})
	e := Ready(c, f, o, now).Estimate
	// 600 conversations of 90 s over ten seats, plus one conversation and one ring of 20 s; half of
	// the cap of 3 % is abandoned.
	if e == nil || e.Measured || e.AnswerRate != 0.3 || e.AHTSeconds != 90 || e.Dials != 2000 || e.Answers != 600 ||
		e.Abandons != 9 || !aboutASecondFrom(e, 600*90/10+90+20) {
		t.Errorf("%+v", e)
	}
}

func TestRateAndLengthAreMeasuredFromFiftyOn(t *testing.T) {
	for _, p := range []struct {
		dials, answered, connected int
		measured                   bool
		aht                        float64
	}{
		{49, 49, 49, false, 90}, {50, 0, 0, false, 90}, {50, 49, 49, true, 90}, {50, 50, 49, true, 90}, {50, 50, 50, true, 7},
	} {
		c, f, o, now := ahead(nil)
		o.Past = Past{Dials: p.dials, Answered: p.answered, Connected: p.connected, TalkSeconds: float64(7 * p.connected)}
		rate := 0.3
		if p.measured {
			rate = float64(p.answered) / float64(p.dials)
		}
		if e := Ready(c, f, o, now).Estimate; e.Measured != p.measured || e.AHTSeconds != p.aht || e.AnswerRate != rate {
			t.Errorf("%+v: %+v", p, e)
		}
	}
}

func TestWhatIsNotKnownOfSeatsChannelsAndCallsASecondDoesNotSlowTheEstimate(t *testing.T) {
	for name, change := range map[string]func(*PreflightFacts){
		"seats":    func(f *PreflightFacts) { f.Seats = 0 },
		"channels": func(f *PreflightFacts) { f.Channels = 0 },
		"cps":      func(f *PreflightFacts) { f.CPS = 0 },
	} {
		c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
			c.Settings.RetryOnSystem = []engine.Outcome{}
			o.Waiting, o.Attempts = 2000, 2000
		})
		change(&f)
		if e := Ready(c, f, o, now).Estimate; !aboutASecondFrom(e, 600*90/10+90+20) {
			t.Errorf("without %s: %d s", name, e.DurationSeconds)
		}
	}
}

func TestARunWhoseEveryDialIsAnsweredWaitsForNoRetry(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.RetryDelaySec = 36_000
		o.Past = Past{Dials: 100, Answered: 100, Connected: 100, TalkSeconds: 6000}
	})
	// 100 calls of 60 s over ten seats, plus one more.
	if e := Ready(c, f, o, now).Estimate; e.Dials != 100 || e.DurationSeconds != 600+60 {
		t.Errorf("%+v", e)
	}
}

func TestARunThatEndsWithItsWindowIsNotCut(t *testing.T) {
	for n, end := range map[int]time.Time{
		170: time.Date(2030, 3, 4, 13, 0, 0, 0, time.UTC), // 170 · 200 s / 10 + 200 s are an hour
		171: time.Date(2030, 3, 5, 9, 0, 20, 0, time.UTC),
	} {
		c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
			c.Settings.Window.End = 13 * 60
			c.Settings.RetryOnSystem = []engine.Outcome{}
			o.Waiting = n
			o.Past = Past{Dials: 100, Answered: 100, Connected: 100, TalkSeconds: 20_000}
		})
		if e := Ready(c, f, o, now).Estimate; e.EndsAt == nil || !e.EndsAt.Equal(end) {
			t.Errorf("%d contacts: ends at %v, want %v", n, e.EndsAt, end)
		}
		c.Settings.SingleDay = true
		r := Ready(c, f, o, now)
		cut := slices.ContainsFunc(r.Warnings, func(w engine.FieldError) bool { return w.Code == "window_too_short" })
		if closes := now.Add(time.Hour); cut != (n > 170) || r.Estimate.EndsAt == nil || !r.Estimate.EndsAt.Equal(closes) {
			t.Errorf("%d contacts on a single day: cut %v, ends at %v", n, cut, r.Estimate.EndsAt)
		}
	}
}

func TestTheEndIsLookedForInTheOpeningsOfAYear(t *testing.T) {
	now := time.Date(2030, 3, 4, 12, 0, 0, 0, time.UTC)
	w := window.Window{Zone: "UTC", Start: 12 * 60, End: 13 * 60} // an hour a day
	if at, ok := windowsLater(w, now, 366*time.Hour); !ok || !at.Equal(now.AddDate(0, 0, 365).Add(time.Hour)) {
		t.Errorf("366 hours: %v %v", at, ok)
	}
	if at, ok := windowsLater(w, now, 366*time.Hour+time.Second); ok {
		t.Errorf("a second more: %v", at)
	}
}

func TestABlockerIsNotSaidAgainAsAWarning(t *testing.T) {
	for code, change := range map[string]func(*Campaign, *PreflightFacts, *Outlook){
		"no_trunk":            func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Trunks, f.TrunksUp = 0, 0 },
		"no_callable_contact": func(_ *Campaign, f *PreflightFacts, o *Outlook) { f.Callable, o.Waiting = false, 0 },
		"no_usable_number": func(_ *Campaign, f *PreflightFacts, _ *Outlook) {
			f.Numbers = map[engine.PhoneNumber]numberpool.State{"+4930111111": numberpool.Quarantined,
				"+4930111112": numberpool.Retired}
		},
		"bot_missing": func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.BotKnown, f.Seats, f.FreeSeats = false, 0, 0 },
	} {
		c, f, o, now := ahead(change)
		if r := Ready(c, f, o, now); len(r.Blockers) != 1 || r.Blockers[0].Code != code || len(r.Warnings) != 0 {
			t.Errorf("%s: %+v, %+v", code, r.Blockers, r.Warnings)
		}
	}
}

func TestNumbersThatMayNotBeCalledLeaveTheContactsAhead(t *testing.T) {
	groups := []NumberGroup{{"+4930111111", 30}, {"+88213000000", 10}}
	judge := func(n engine.PhoneNumber) error {
		if n == "+88213000000" {
			return engine.Invalid(engine.CodeDestination, "no")
		}
		return nil
	}
	o := Outlook{Total: 40, Waiting: 40, Attempts: 120}
	o.Bar(groups, judge)
	if o.Waiting != 30 || o.Attempts != 90 || len(o.Skipped) != 1 ||
		o.Skipped[0] != (SkipReason{engine.CodeDestination, 10}) {
		t.Errorf("%+v", o)
	}
	o = Outlook{Total: 40, Waiting: 40, Attempts: 120}
	if o.Bar(groups[:1], judge); o.Waiting != 40 || o.Attempts != 120 || o.Skipped != nil {
		t.Errorf("nobody barred: %+v", o)
	}
	o = Outlook{Total: 40, Waiting: 4, Attempts: 12} // the others became final meanwhile
	if o.Bar(groups, judge); o.Waiting != 0 || o.Attempts != 0 || o.Skipped[0].Count != 4 {
		t.Errorf("more barred than wait: %+v", o)
	}
}

func TestAPreflightKnowsTheCadence(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.Cadence, c.Settings.Window = "x", window.Window{Zone: "UTC"}
		c.Settings.RetryOnSystem = []engine.Outcome{engine.OutcomeNoAnswer}
		o.Waiting, o.Attempts = 10, 30
	})
	codes := func() (list []string) {
		for _, w := range Ready(c, f, o, now).Warnings {
			if w.Field == "cadence_id" {
				list = append(list, w.Code)
			}
		}
		return list
	}
	if got := codes(); !slices.Equal(got, []string{"cadence_missing"}) {
		t.Errorf("without it: %v", got)
	}
	table, _ := cadence.Parse("rules", "no_answer: 3h · busy: 1m · connected: 1h")
	f.Cadence = &cadence.Named{Cadence: table}
	if got := codes(); !slices.Equal(got, []string{"cadence_without_effect"}) {
		t.Errorf("nobody is redialled when busy: %v", got)
	}
	c.Settings.RetryOnSystem = append(c.Settings.RetryOnSystem, engine.OutcomeBusy)
	c.Settings.RetryOnCustom = []string{"x"}
	if got := codes(); got != nil {
		t.Errorf("every rule has an effect: %v", got)
	}
	if e := Ready(c, f, o, now).Estimate; e.DurationSeconds != 6*3600 {
		t.Errorf("two redials after three hours each take %d s", e.DurationSeconds)
	}
	f.Cadence.Cadence, _ = cadence.Parse("rules", "no_answer: 3h, at most 2")
	if e := Ready(c, f, o, now).Estimate; e.DurationSeconds != 3*3600 {
		t.Errorf("one redial after three hours takes %d s", e.DurationSeconds)
	}
}
