package campaign

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/numberpool"
	"dialler/engine/window"
)

// ahead is a campaign without problems, and the facts for its preflight.
func ahead(change func(*Campaign, *PreflightFacts, *Outlook)) (*Campaign, PreflightFacts, Outlook, time.Time) {
	now := time.Date(2030, 3, 4, 12, 0, 0, 0, time.UTC) // a Monday
	s := Defaults()
	s.Name, s.Bot, s.Concurrency = "n", "bot", 10
	s.Window = window.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}
	s.Numbers = []engine.PhoneNumber{"+4930111111", "+4930111112"}
	c := &Campaign{ID: "c", Settings: s, State: Draft, Run: 1}
	f := PreflightFacts{BotKnown: true, BotActive: true, Seats: 10, FreeSeats: 10, Trunks: 1, TrunksUp: 1,
		CPS: 10, Channels: 100, Callable: true,
		Numbers: map[engine.PhoneNumber]numberpool.State{s.Numbers[0]: numberpool.Active, s.Numbers[1]: numberpool.Active}}
	o := Outlook{Total: 110, Waiting: 100, Attempts: 300, Skipped: []SkipReason{{"suppressed", 10}}}
	if change != nil {
		change(c, &f, &o)
	}
	return c, f, o, now
}

func TestACampaignThatCanDialHasNeitherBlockersNorWarnings(t *testing.T) {
	c, f, o, now := ahead(nil)
	r := Ready(c, f, o, now)
	if !r.Ready || len(r.Blockers) != 0 || len(r.Warnings) != 0 || r.Contacts.ToDial != 100 || r.Contacts.Total != 110 ||
		len(r.Contacts.Skipped) != 1 {
		t.Errorf("%+v", r)
	}
	if err := Preflight(c, f, now); err != nil {
		t.Error(err)
	}
}

func TestBlockersOfPreflight(t *testing.T) {
	for code, change := range map[string]func(*Campaign, *PreflightFacts, *Outlook){
		"bot_missing":         func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.BotKnown = false },
		"no_trunk":            func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Trunks, f.TrunksUp = 0, 0 },
		"no_callable_contact": func(_ *Campaign, f *PreflightFacts, o *Outlook) { f.Callable, o.Waiting = false, 0 },
		"no_usable_number":    func(c *Campaign, _ *PreflightFacts, _ *Outlook) { c.Settings.Numbers = nil },
		"window_never_opens": func(c *Campaign, _ *PreflightFacts, _ *Outlook) {
			c.Settings.Window.Days = []window.Day{}
		},
		"config_url_malformed": func(c *Campaign, _ *PreflightFacts, _ *Outlook) { c.Settings.ConfigURL = "ftp://x" },
	} {
		c, f, o, now := ahead(change)
		r := Ready(c, f, o, now)
		if r.Ready || len(r.Blockers) != 1 || r.Blockers[0].Code != code || r.Blockers[0].Message == "" {
			t.Errorf("%s: %+v", code, r.Blockers)
		}
		if err := Preflight(c, f, now); engine.ErrorCode(err) != "preflight_failed" {
			t.Errorf("%s: Start would say %v", code, err)
		}
	}
}

func TestAPoolOfQuarantinedAndRetiredNumbersHasNoUsableNumber(t *testing.T) {
	c, f, o, now := ahead(func(_ *Campaign, f *PreflightFacts, _ *Outlook) {
		f.Numbers = map[engine.PhoneNumber]numberpool.State{"+4930111111": numberpool.Quarantined,
			"+4930111112": numberpool.Retired}
	})
	if r := Ready(c, f, o, now); len(r.Blockers) != 1 || r.Blockers[0].Code != "no_usable_number" {
		t.Errorf("%+v", r.Blockers)
	}
	// A number that is not configured counts as active; a resting one is usable.
	for _, s := range []numberpool.State{"", numberpool.Active, numberpool.Resting} {
		f.Numbers["+4930111112"] = s
		want := 1
		if s == "" {
			delete(f.Numbers, "+4930111112")
			want = 2 // plus that it is not configured
		}
		if r := Ready(c, f, o, now); !r.Ready || len(r.Warnings) != want || r.Warnings[0].Code != "numbers_barred" {
			t.Errorf("%q: %+v", s, r)
		}
	}
}

func TestWarningsOfPreflightDoNotRefuse(t *testing.T) {
	for code, change := range map[string]func(*Campaign, *PreflightFacts, *Outlook){
		"bot_inactive": func(_ *Campaign, f *PreflightFacts, _ *Outlook) {
			f.BotActive, f.Seats, f.FreeSeats = false, 0, 0
		},
		"no_seats":                     func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Seats, f.FreeSeats = 0, 0 },
		"no_free_seats":                func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.FreeSeats = 0 },
		"fewer_seats_than_concurrency": func(c *Campaign, _ *PreflightFacts, _ *Outlook) { c.Settings.Concurrency = 11 },
		"number_not_configured": func(c *Campaign, _ *PreflightFacts, _ *Outlook) {
			c.Settings.Numbers = append(c.Settings.Numbers, "+4930111113")
		},
		"trunk_down":        func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.TrunksUp = 0 },
		"trunk_unproven":    func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.TrunksUnproven = 1 },
		"trunk_partly_down": func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Trunks = 2 },
		"outside_window":    func(c *Campaign, _ *PreflightFacts, _ *Outlook) { c.Settings.Window.Start = 13 * 60 },
		"window_too_short": func(c *Campaign, _ *PreflightFacts, o *Outlook) {
			c.Settings.SingleDay, o.Waiting, o.Attempts = true, 1_000_000, 1_000_000
		},
		"no_contact_to_dial":   func(_ *Campaign, _ *PreflightFacts, o *Outlook) { o.Waiting = 0 },
		"variables_too_long":   func(_ *Campaign, f *PreflightFacts, o *Outlook) { f.BotBySIP, o.TooLong = true, 3 },
		"database_unavailable": func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.DatabaseDown = true },
		"node_draining":        func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Draining = true },
		"node_fenced":          func(_ *Campaign, f *PreflightFacts, _ *Outlook) { f.Fenced = true },
	} {
		c, f, o, now := ahead(change)
		r := Ready(c, f, o, now)
		if !r.Ready || len(r.Warnings) != 1 || r.Warnings[0].Code != code || r.Warnings[0].Message == "" {
			t.Errorf("%s: %+v", code, r)
		}
	}
}

func TestTheWarningOfAClosedWindowSaysWhenItOpens(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, _ *Outlook) { c.Settings.Window.Start = 13 * 60 })
	r := Ready(c, f, o, now)
	if want := "the calling window is closed; it opens at 2030-03-04T13:00:00Z"; r.Warnings[0].Message != want {
		t.Errorf("%q", r.Warnings[0].Message)
	}
}

func TestTheEstimateFollowsEarlierAttempts(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.RetryOnSystem = []engine.Outcome{} // one dial each
		o.Waiting, o.Attempts = 1000, 3000
		o.Past = Past{Dials: 1000, Answered: 500, Connected: 480, Abandoned: 5, TalkSeconds: 480 * 60, RingSeconds: 10_000}
	})
	e := Ready(c, f, o, now).Estimate
	// 500 conversations of 60 s over 10 seats, plus one conversation and one ring.
	if e == nil || !e.Measured || e.Dials != 1000 || e.Answers != 500 || e.DurationSeconds != 500*60/10+60+10 ||
		e.AnswerRate != 0.5 || e.AHTSeconds != 60 || e.Abandons != 5 {
		t.Fatalf("%+v", e)
	}
	if want := now.Add(time.Duration(e.DurationSeconds) * time.Second); e.EndsAt == nil || !e.EndsAt.Equal(want) {
		t.Errorf("ends at %v, want %v", e.EndsAt, want)
	}
	// Abandons stay within the cap, whatever the past rate.
	o.Past.Abandoned = 400
	if e := Ready(c, f, o, now).Estimate; e.Abandons != 15 {
		t.Errorf("%d abandons of 500 answers at 3 %%", e.Abandons)
	}
	// The CPS cap can be the limit …
	f.CPS = 1
	if e := Ready(c, f, o, now).Estimate; e.DurationSeconds != 500*60/10+60+10 {
		t.Errorf("%+v", e)
	}
	o.Waiting, f.Seats, c.Settings.Concurrency = 10_000, 1000, 1000
	f.Channels = 10_000
	if e := Ready(c, f, o, now).Estimate; e.DurationSeconds != 10_000+60+10 {
		t.Errorf("%+v", e)
	}
	// … and so can the lines.
	f.CPS, c.Settings.MaxLines = 1000, 10
	if e := Ready(c, f, o, now).Estimate; e.DurationSeconds != (10_000*10+5000*60)/10+60+10 {
		t.Errorf("%+v", e)
	}
}

func TestTheEstimateOfRetriesGrowsWithTheAttemptsLeft(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.RetryDelaySec = 3600
		o.Past = Past{Dials: 100, Answered: 50, Connected: 50, TalkSeconds: 50, RingSeconds: 100}
	})
	e := Ready(c, f, o, now).Estimate
	// Of 100, 1 − 0.5³ are answered, after 100 + 50 + 25 dials; the third pass
	// comes two retry delays later.
	if e.Dials != 175 || e.Answers != 88 || e.DurationSeconds != 2*3600 {
		t.Errorf("%+v", e)
	}
}

func TestTheEstimateSpansTheWindows(t *testing.T) {
	c, f, o, now := ahead(func(c *Campaign, _ *PreflightFacts, o *Outlook) {
		c.Settings.Window.Start, c.Settings.Window.End = 9*60, 13*60 // four hours a day
		c.Settings.RetryOnSystem = []engine.Outcome{}
		o.Waiting = 720
		o.Past = Past{Dials: 100, Answered: 100, Connected: 100, TalkSeconds: 20_000, RingSeconds: 0}
		c.Settings.Concurrency = 10
	})
	// 720 calls of 200 s over ten seats: 4 h; it is noon, an hour is left today.
	e := Ready(c, f, o, now).Estimate
	if want := time.Date(2030, 3, 5, 12, 3, 20, 0, time.UTC); e.EndsAt == nil || !e.EndsAt.Equal(want) {
		t.Errorf("%+v, want %v", e.EndsAt, want)
	}
	c.Settings.SingleDay = true
	r := Ready(c, f, o, now)
	if want := time.Date(2030, 3, 4, 13, 0, 0, 0, time.UTC); r.Estimate.EndsAt == nil || !r.Estimate.EndsAt.Equal(want) {
		t.Errorf("%+v, want %v", r.Estimate.EndsAt, want)
	}
	if !slices.ContainsFunc(r.Warnings, func(f engine.FieldError) bool { return f.Code == "window_too_short" }) {
		t.Errorf("%+v", r.Warnings)
	}
}

func TestEveryDialWithASeatAbandonsNobody(t *testing.T) {
	for _, change := range []func(*Settings){
		func(s *Settings) { s.AbandonCapPPM = 0 }, func(s *Settings) { s.PacingMode = PacingProgressive },
	} {
		c, f, o, now := ahead(nil)
		change(&c.Settings)
		if e := Ready(c, f, o, now).Estimate; e.Abandons != 0 {
			t.Errorf("%+v", e)
		}
	}
}
