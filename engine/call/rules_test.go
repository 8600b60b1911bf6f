package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	phone "dialler/engine/number"
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

// A restart ends the waits for results: a contact that would be redialled then ends as its run did.
func TestAWaitThatARestartEndsIsClosedAsItsRunEnded(t *testing.T) {
	for _, c := range []struct {
		of   campaign.Campaign
		want contact.State
	}{
		{campaign.Campaign{CompletionReason: campaign.ReasonWindowEnded}, contact.WindowClosed},
		{campaign.Campaign{CompletionReason: campaign.ReasonManuallyStopped}, contact.ManuallyStopped},
		{campaign.Campaign{CompletionReason: campaign.ReasonAllFinal}, contact.ManuallyStopped},
		// A failed run leaves waiting contacts as they are.
		{campaign.Campaign{FailureReason: campaign.FailureBotDeleted}, contact.Connected},
	} {
		c.of.ID, c.of.State, c.of.Prepared, c.of.Run = "cmp", campaign.Draft, true, 2
		c.of.Settings = campaign.Defaults()
		c.of.Settings.RetryOnSystem = []engine.Outcome{engine.OutcomeConnectedNoResult}
		rules := RulesOf(c.of)
		if rules.Policy.ClosedAs != "" {
			t.Errorf("the prepared run is over: %s", rules.Policy.ClosedAs)
		}
		due := start.Add(time.Minute)
		r := newRig(t)
		r.contact = NewContact(rowOf(func(c *contact.Contact) {
			c.State, c.Used, c.DueAt, c.ResultDueAt, c.LastConversation = contact.Connected, 1, nil, &due, first
			c.LastOutcome = engine.OutcomeConnectedNoResult
		}), &rules, limits, nil)
		r.call = &r.contact.Call
		r.apply(&Started{})
		r.apply(&ResultTimeout{Restarted: true})
		w := r.write()
		if got := w.Contacts[0].State; got != c.want || w.Events[0].Data.After.State != c.want {
			t.Errorf("%s: %s, want %s", c.of.CompletionReason, got, c.want)
		}
	}
}

func TestAContactsOwnClockIsAskedWhereTheCampaignAsksForIt(t *testing.T) {
	noon := time.Date(2030, 3, 4, 12, 0, 0, 0, time.UTC)
	var c campaign.Campaign
	c.Settings = campaign.Defaults()
	c.Settings.Window = window.Window{Zone: "UTC", Start: 9 * 60, End: 18 * 60}
	home := func(engine.PhoneNumber) window.Home { return window.Home{Zones: []string{"Asia/Tokyo"}} } // 21:00 there
	for _, own := range []bool{false, true} {
		c.Settings.Window.ContactZone = own
		rl := RulesOf(c)
		p := rl.PolicyFor("+81300000000", home)
		if at, _ := p.Clip(noon); at.Equal(noon) == own {
			t.Errorf("contact zone %v: a call of noon UTC goes at %s", own, at)
		}
		if hour := p.Window.Local(noon).Hour(); (hour == 21) != own {
			t.Errorf("contact zone %v: noon UTC is %d o'clock", own, hour)
		}
	}
}

func TestTheCalendarOfACountryHoldsForItsNumbersInEveryCampaign(t *testing.T) {
	monday := time.Date(2030, 3, 4, 6, 0, 0, 0, time.UTC)
	var c campaign.Campaign
	c.Settings = campaign.Defaults()
	c.Settings.Window = window.Window{Zone: "UTC"}
	c.Narrow([]calendar.Named{{ID: "fr", Hours: calendar.Presets[1].Calendar().Hours}})
	rl := RulesOf(c)
	for number, want := range map[engine.PhoneNumber]string{"+33142685300": "09:00", "+4930123456": "06:00"} {
		p := rl.PolicyFor(number, phone.HomeOf)
		if at, ok := p.Clip(monday); !ok || at.UTC().Format("15:04") != want || !p.Window.Open(at) {
			t.Errorf("%s is called at %s, %v, want %s", number, at, ok, want)
		}
	}
}
