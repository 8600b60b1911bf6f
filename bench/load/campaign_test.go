package load

import (
	"io"
	"strings"
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

// short is a scenario of half a minute with as many seats as contacts.
func short() callee.Scenario {
	sc := callee.Standard()
	sc.Workers, sc.Answer, sc.Machines, sc.Contacts = callee.Always(40), callee.Always(0.5), 0, 40
	sc.RingMean, sc.RingSD, sc.Timeout, sc.TalkMean = 3*time.Second, time.Second, 15*time.Second, 6*time.Second
	return sc
}

// The real campaign calls exactly the people of the simulated one.
func TestARealCampaignMeetsThePeopleOfItsSimulation(t *testing.T) {
	t.Parallel()
	sc := short()
	c, err := Campaign(
		t.Context(),
		CampaignConfig{Binary: program(t), Scenario: sc, Policy: trial.Progressive, Seed: 7, Runs: 2, Log: t.Logf},
	)
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for i := range uint64(40) {
		if f := callee.FateOf(&sc, 7, i+1, 0); f.Answered {
			answered++
		}
	}
	// Each has a seat of its own.
	if r := c.Real; r.Dials != 40 || r.Connects != answered || r.Abandoned != 0 || !r.Within {
		t.Errorf("%+v, want %d connects", r, answered)
	}
	if s := c.Simulated[0]; s.Connects != answered || s.Dials != 40 {
		t.Errorf("simulated: %+v", s)
	}
	if c.Real.Seconds < c.Real.Dialling || c.Simulated[0].Seconds < c.Simulated[0].Dialling {
		t.Errorf("%+v\n%+v", c.Real, c.Simulated[0])
	}
	var out strings.Builder
	c.Print(&out)
	if !strings.Contains(out.String(), "simulated, mean of 2") {
		t.Error(out.String())
	}
}

func TestAComparisonNamesWhatIsApart(t *testing.T) {
	sim := []Outcome{
		{Busy: 80, PerHour: 1000, Abandon: 1, Within: true},
		{Busy: 84, PerHour: 1040, Abandon: 2, Within: true},
	}
	f := func(wants int, r Outcome) {
		t.Helper()
		c := Comparison{Contacts: 10, CapPct: 3, Simulated: sim, Real: r}
		if c.judge(); len(c.Failures) != wants {
			t.Errorf("%+v: %q", r, c.Failures)
		}
	}
	good := Outcome{Dials: 10, Busy: 82, PerHour: 1020, Abandon: 1.5, Within: true}
	f(0, good)
	for _, change := range []func(*Outcome){
		func(o *Outcome) { o.Busy = 77 }, func(o *Outcome) { o.Busy = 87 },
		func(o *Outcome) { o.PerHour = 960 }, func(o *Outcome) { o.PerHour = 1075 },
		func(o *Outcome) { o.Abandon = 0.9 }, func(o *Outcome) { o.Abandon = 2.1 },
		func(o *Outcome) { o.Within = false }, func(o *Outcome) { o.Dials = 9 },
	} {
		bad := good
		change(&bad)
		f(1, bad)
	}
}

func TestAComparisonRefusesWhatItCannotPlay(t *testing.T) {
	for want, change := range map[string]func(*CampaignConfig){
		"program":      func(c *CampaignConfig) { c.Binary = "" },
		"--contacts":   func(c *CampaignConfig) { c.Scenario.Contacts = 0 },
		"machines":     func(c *CampaignConfig) { c.Scenario.Machines = 0.2 },
		"ring timeout": func(c *CampaignConfig) { c.Scenario.Timeout = 14 * time.Second },
		"over time": func(c *CampaignConfig) {
			c.Scenario.Answer = callee.Schedule{Steps: []callee.Step{{Value: 0.1}, {At: time.Hour, Value: 0.2}}}
		},
		"--runs": func(c *CampaignConfig) { c.Runs = 1 },
		"N":      func(c *CampaignConfig) { c.Scenario.Workers = callee.Always(-1) },
	} {
		c := CampaignConfig{Binary: "x", Scenario: short(), Policy: trial.Hybrid}
		change(&c)
		if _, err := Campaign(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestMidnightIsFarWhereTheCampaignIsDialled(t *testing.T) {
	for hour := range 24 {
		now := time.Date(2030, 5, 1, hour, 30, 0, 0, time.UTC)
		zone, left := morning(now)
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(hour, zone, err)
		}
		there := now.In(loc)
		midnight := time.Date(there.Year(), there.Month(), there.Day()+1, 0, 0, 0, 0, loc)
		if left != midnight.Sub(now) || left < 12*time.Hour {
			t.Errorf("%d o'clock: %s, %v left, midnight in %v", hour, zone, left, midnight.Sub(now))
		}
	}
}

func TestAListIsImportedDialledStoppedAndMeasured(t *testing.T) {
	t.Parallel()
	f, err := List(
		t.Context(),
		Config{Binary: program(t), Rate: 20, Duration: 4 * time.Second, Talk: time.Second, Log: t.Logf},
		5000,
	)
	if err != nil {
		t.Fatal(err)
	}
	if f.Calls == 0 || f.Calls+f.PutAway > 5000 || f.PutAway < 4000 || f.Started <= 0 || f.Peak < f.Imported ||
		f.Imported < f.Started/2 ||
		!f.WithinMiB {
		t.Errorf("%+v", f)
	}
	f.Print(io.Discard)
	if _, err := List(t.Context(), Config{Binary: "x"}, 0); err == nil || !strings.Contains(err.Error(), "--list") {
		t.Error(err)
	}
}
