package sim

import (
	"flag"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	win "dialler/engine/window"
)

// ours are numbers of our own for pools.
var ours = []engine.PhoneNumber{"+493012345678", "+493012345679", "+442071838750", "+442071838751"}

// plain is a campaign of so many contacts that is started at once.
func plain(contacts int) Installation {
	s := campaign.Defaults()
	s.Name, s.Bot, s.Concurrency, s.Numbers = "plain", "bot", 10, ours[:2]
	s.Window = win.Window{Start: 9 * 60, End: 18 * 60, Zone: "Europe/Berlin"}
	s.RetryDelaySec = 300
	return Installation{Length: 10 * 24 * time.Hour, Campaigns: []CampaignPlan{{Settings: s, Contacts: contacts,
		Acts: []PlannedAct{{At: time.Second, Action: campaign.ActionStart}}}}}
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
	if c.State != campaign.Completed || c.CompletionReason != campaign.ReasonRetriesDone || c.Counters.Total != 500 || c.Counters.Pending != 0 {
		t.Fatalf("%+v", c)
	}
	if c.Counters.ConnectedCalls == 0 || c.Counters.Unanswered == 0 || c.Dials < 500 || c.Utilisation() < 0.3 || c.ConnectsPerHour() < 100 {
		t.Fatalf("%+v, utilisation %.2f, %.0f connects an hour", c, c.Utilisation(), c.ConnectsPerHour())
	}
}

// campaigns is how many drawn installations a test plays, from which seed on.
var (
	campaigns = flag.Int("campaigns", 100, "how many drawn campaigns with faults are played")
	seedFrom  = flag.Uint64("campaign-seed", 1, "the seed of the first of them")
)

func TestDrawnCampaignsWithFaultsBreakNoInvariant(t *testing.T) {
	broken := 0
	for i := range *campaigns {
		seed := *seedFrom + uint64(i) //nolint:gosec // a count
		r := RunCampaigns(DrawInstallation(seed), seed)
		if r.Broken == nil {
			continue
		}
		t.Errorf("%v\nreplay: go test ./engine/sim -run %s -campaigns 1 -campaign-seed %d", r.Broken, t.Name(), seed)
		if broken++; broken == 5 {
			t.Fatal("and maybe more")
		}
	}
}
