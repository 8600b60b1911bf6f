package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/promise"
	"dialler/engine/tally"
	win "dialler/engine/window"
)

// ours are numbers of our own for pools.
var ours = []engine.PhoneNumber{"+493012345678", "+493012345679", "+442071838750", "+442071838751"}

// plain is a campaign of n contacts that is started at once.
func plain(contacts int) Installation {
	s := campaign.Defaults()
	s.Name, s.Bot, s.Concurrency, s.Numbers = "plain", "bot", 10, ours[:2]
	s.Window = win.Window{Start: 9 * 60, End: 18 * 60, Zone: "Europe/Berlin"}
	s.RetryDelaySec = 300
	return Installation{Length: 10 * 24 * time.Hour, Campaigns: []CampaignPlan{{Settings: s, Contacts: contacts,
		Acts: []PlannedAct{{At: time.Second, Action: campaign.ActionStart}}}}}
}

// twoClocks returns a time whose wall clock was stepped, while its monotonic reading was not.
// Package time has no way to make one.
func twoClocks(wall time.Time, monotonic time.Duration) time.Time {
	raw := struct { // the layout in package time
		wall uint64 // 1, 33 bits of seconds since 1885, 30 of nanoseconds
		ext  int64  // nanoseconds of the monotonic clock
		loc  *time.Location
	}{ext: int64(time.Hour + monotonic), loc: time.UTC}
	since1885 := wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	raw.wall = 1<<63 | uint64(since1885)<<30 | uint64(wall.Nanosecond())
	return *(*time.Time)(unsafe.Pointer(&raw))
}

func TestAReadingOfBothClocksDiffersByTheirSteps(t *testing.T) {
	a, b := twoClocks(start, time.Second), twoClocks(start.Add(time.Hour), 3*time.Second)
	if b.Sub(a) != 2*time.Second || b.Round(0).Sub(a.Round(0)) != time.Hour {
		t.Errorf("%s by the monotonic clock, %s by the wall clock", b.Sub(a), b.Round(0).Sub(a.Round(0)))
	}
}

// drawn is the installation drawn from a seed.
func drawn(seed uint64) Installation {
	in := DrawInstallation(seed)
	in.Clock = twoClocks
	return in
}

func holds(t testing.TB, in Installation, seed uint64) CampaignsResult {
	t.Helper()
	r := RunCampaigns(in, seed)
	if r.Broken != nil {
		t.Fatal(r.Broken)
	}
	return r
}

func TestAWholeCampaignEndsWithEveryContactFinal(t *testing.T) {
	r := holds(t, plain(500), 1)
	c := &r.Campaigns[0]
	if c.State != campaign.Completed || c.CompletionReason != campaign.ReasonRetriesDone || c.Counters.Total != 500 ||
		c.Counters.Pending != 0 {
		t.Fatalf("%+v", c)
	}
	if c.Counters.ConnectedCalls == 0 || c.Counters.Unanswered == 0 || c.Dials < 500 || c.Utilisation() < 0.3 ||
		c.ConnectsPerHour() < 100 {
		t.Fatalf("%+v, utilisation %.2f, %.0f connects an hour", c, c.Utilisation(), c.ConnectsPerHour())
	}
}

// campaigns is how many drawn installations a test plays, and seedFrom the first seed.
var (
	campaigns = flag.Int("campaigns", 30, "how many drawn campaigns with faults are played")
	seedFrom  = flag.Uint64("campaign-seed", 1, "the seed of the first of them")
)

func TestDrawnCampaignsWithFaultsBreakNoInvariant(t *testing.T) {
	broken := 0
	for i := range *campaigns {
		seed := *seedFrom + uint64(i)
		r := RunCampaigns(drawn(seed), seed)
		if r.Broken == nil {
			continue
		}
		t.Errorf("%v\nreplay: go test ./engine/sim -run %s -campaigns 1 -campaign-seed %d", r.Broken, t.Name(), seed)
		if broken++; broken == 5 {
			t.Fatal("and maybe more")
		}
	}
}

// Actors crash repeatedly, campaigns are handed over and the database becomes unavailable
// meanwhile: everything in progress is closed, taken over or done exactly once.
func TestStormsOfCrashesBreakNoInvariant(t *testing.T) {
	for i := range (*campaigns + 2) / 3 {
		seed := *seedFrom + uint64(i)
		in, d := drawn(seed), &dice{c: callee.ChanceOf(seed, 99)}
		for range 40 {
			f := Fault{At: time.Duration(d.u() * float64(20*time.Minute)), Length: d.span(100*time.Millisecond, 20*time.Second),
				Campaign: d.in(0, 1)}
			f.Kind = pick(d, FaultRunCrash, FaultContactCrash, FaultContactCrash, FaultHandOver, FaultDatabase, FaultCrash,
				FaultSlowCommit)
			if f.Value = d.in(0, 1000); f.Kind == FaultSlowCommit {
				f.Value = d.in(500, 4000)
			}
			in.Faults = append(in.Faults, f)
		}
		if r := RunCampaigns(in, seed); r.Broken != nil {
			t.Fatalf("%v\nreplay: go test ./engine/sim -run %s -campaigns 1 -campaign-seed %d", r.Broken, t.Name(), seed)
		}
	}
}

func TestTheSameSeedPlaysTheSameCampaignsByteForByte(t *testing.T) {
	for seed := range uint64(12) {
		in := drawn(seed)
		a, b := RunCampaigns(in, seed), RunCampaigns(in, seed)
		if x, y := fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b); a.Events != b.Events || len(x) != len(y) ||
			a.Ended != b.Ended {
			t.Fatalf("seed %d:\n%s\n%s", seed, x, y)
		}
		for i := range a.Campaigns {
			if d := tally.Compare(a.Campaigns[i].Counters, b.Campaigns[i].Counters); len(d) > 0 ||
				a.Campaigns[i].Busy != b.Campaigns[i].Busy {
				t.Fatalf("seed %d: %v", seed, d)
			}
		}
	}
}

func TestCampaignsThatShareAFleetHaveSeatsByTheirWeight(t *testing.T) {
	in := plain(100_000)
	in.Large, in.Seats, in.Length = true, 30, 2*time.Hour
	in.Campaigns[0].Settings.Concurrency, in.Campaigns[0].Settings.Weight = 30, 2
	second := in.Campaigns[0]
	second.Settings.Weight, second.First = 1, 200_000
	in.Campaigns = append(in.Campaigns, second)
	r := holds(t, in, 3)
	a, b := &r.Campaigns[0], &r.Campaigns[1]
	if share := float64(a.Workers) / float64(b.Workers); share < 1.9 || share > 2.1 {
		t.Errorf("the seats of weight 2 are %.2f times those of weight 1", share)
	}
	if ratio := float64(a.Counters.ConnectedCalls) / float64(b.Counters.ConnectedCalls); ratio < 1.6 || ratio > 2.6 {
		t.Errorf("%.2f times the connects", ratio)
	}
}

func TestACrashLosesItsLinesAndNothingElse(t *testing.T) {
	in := plain(300)
	in.Faults = []Fault{{Kind: FaultCrash, At: 10 * time.Minute, Length: 20 * time.Second}}
	in.Campaigns[0].Settings.RetryOnSystem = append(in.Campaigns[0].Settings.RetryOnSystem, engine.OutcomeLost)
	r := holds(t, in, 5)
	c := &r.Campaigns[0]
	if r.Crashes != 1 || c.State != campaign.Completed || c.Counters.Total != 300 {
		t.Fatalf("%+v", c)
	}
}

func TestNobodyIsCalledOutsideTheirTimesThroughACrashAndATakeover(t *testing.T) {
	in := plain(60)
	in.Timed, in.Campaigns[0].Settings.RetryDelaySec, in.Campaigns[0].Settings.MaxAttempts = 1, 3600, 5
	in.Faults = []Fault{{Kind: FaultCrash, At: time.Hour, Length: 20 * time.Second},
		{Kind: FaultHandOver, At: 2 * time.Hour, Length: 5 * time.Second}}
	r := holds(t, in, 11)
	if c := &r.Campaigns[0]; c.State != campaign.Completed || c.Counters.Expired == 0 || c.Counters.Expired == 60 {
		t.Fatalf("%+v", c)
	}
}

func TestEverybodyIsCalledAtTheirNumbersThroughACrashAndATakeover(t *testing.T) {
	in := plain(80)
	in.Several, in.Campaigns[0].Settings.MaxAttempts, in.Campaigns[0].Settings.RetryDelaySec = 1, 6, 600
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.2)
	in.Faults = []Fault{{Kind: FaultCrash, At: 20 * time.Minute, Length: 20 * time.Second},
		{Kind: FaultHandOver, At: time.Hour, Length: 5 * time.Second}}
	w := newCampaignWorld(in.WithDefaults(), 13)
	w.play()
	if r := w.result(); r.Broken != nil || r.Campaigns[0].State != campaign.Completed {
		t.Fatal(r.Broken, r.Campaigns[0].State)
	}
	at := map[int]int{}
	for a := range w.store.AllAttempts() {
		row, _, _ := w.store.ContactByID(background, a.Contact)
		at[row.PlaceOf(a.To)]++
	}
	for place := range 3 {
		if at[place] == 0 || at[-1] > 0 {
			t.Errorf("calls by number: %v", at)
		}
	}
}

func TestAnInvariantThatDoesNotHoldIsReportedWithItsSeed(t *testing.T) {
	in := plain(50)
	w := newCampaignWorld(in.WithDefaults(), 7)
	w.later(time.Minute, func() { // an exclusion was forgotten
		w.check.hear(promise.Excluded{Campaign: "cmp_1", Number: numberOf(w.in.Prefixes, 40), Asked: w.mono()})
	})
	w.play()
	if b := w.check.broken; b == nil || b.Seed != 7 || b.At < time.Minute || b.Campaign != "cmp_1" ||
		!strings.Contains(b.Error(), "is excluded and is dialled") || len(b.Trace) == 0 {
		t.Fatalf("%+v", b)
	}
}

func TestWhoAskedNotToBeCalledIsNotCalledWhateverTheRowSays(t *testing.T) {
	in := plain(20)
	in.Several, in.Campaigns[0].Settings.MaxAttempts, in.Campaigns[0].Settings.RetryDelaySec = 1, 6, 600
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.2)
	w := newCampaignWorld(in.WithDefaults(), 13, func(w *campaignWorld) {
		w.later(time.Minute, func() {
			for a := range w.store.AllAttempts() {
				a.Ending = &attempt.Ending{OptedOut: true}
				w.check.asks(w.byID[a.Campaign], &a)
			}
		})
	})
	w.play()
	if b := w.result().Broken; b == nil || !strings.Contains(b.What, "asked at") {
		t.Error(b)
	}
}
