package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/window"
)

func TestWaitingContactsAreClosedAsTheirCampaignEnded(t *testing.T) {
	for _, c := range []struct {
		state  campaign.State
		reason campaign.CompletionReason
		want   contact.State
	}{
		{campaign.Running, "", ""},
		{campaign.Paused, "", ""},
		{campaign.Failed, "", ""}, // they keep their state
		{campaign.Completed, campaign.ReasonWindowEnded, contact.WindowClosed},
		{campaign.Completed, campaign.ReasonManuallyStopped, contact.ManuallyStopped},
	} {
		rl := RulesOf(campaign.Campaign{State: c.state, CompletionReason: c.reason})
		if rl.Policy.ClosedAs != c.want {
			t.Errorf("%s (%s): closed as %q, want %q", c.state, c.reason, rl.Policy.ClosedAs, c.want)
		}
	}
}

func TestAContactsOwnClockIsAskedWhereTheCampaignAsksForIt(t *testing.T) {
	noon := time.Date(2030, 3, 4, 12, 0, 0, 0, time.UTC)
	var c campaign.Campaign
	c.Settings = campaign.Defaults()
	c.Settings.Window = window.Window{Zone: "UTC", Start: 9 * 60, End: 18 * 60}
	zones := func(engine.PhoneNumber) []string { return []string{"Asia/Tokyo"} } // 21:00 there
	for _, own := range []bool{false, true} {
		c.Settings.Window.ContactZone = own
		rl := RulesOf(c)
		p := rl.PolicyFor("+81300000000", zones)
		if at, _ := p.Clip(noon); at.Equal(noon) == own {
			t.Errorf("contact zone %v: a call of noon UTC goes at %s", own, at)
		}
	}
}
