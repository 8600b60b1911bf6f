package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// sipRig is a campaign whose bot has two SIP addresses.
func sipRig(t *testing.T, script func(engine.PhoneNumber, int) actortest.Script) *rig {
	t.Helper()
	r := newRig(t, script, nil)
	r.bots(sipBot())
	r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
	r.tree.NumberChanged(r.store.Nums[0])
	return r
}

func sipBot() engine.Bot {
	return engine.Bot{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"sip:bot@a.example", "sip:bot@b.example"}}
}

// peersOver asserts that no far leg is left, in the world or in the store.
func (r *rig) peersOver() {
	r.t.Helper()
	if n := r.world.LivePeers(); n > 0 {
		r.t.Errorf("%d bot legs are left", n)
	}
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			if a.OpenLeg() {
				r.t.Errorf("attempt %s has an open leg: %+v %+v", a.ID.Short(), a.Legs, a.Peers)
			}
		}
	})
}

func TestACampaignWithABotBySIPRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, actortest.Mix(1, 0.5, 0.2, 20*time.Second))
		defer r.tree.Close()
		r.results()
		r.add(200)
		r.act(campaign.ActionStart)
		r.until(3*time.Hour, "campaign completed", r.completed)
		d := r.detail()
		if d.Counters.Connected == 0 || d.Counters.Completed != d.Counters.Connected {
			t.Errorf("%+v", d.Counters)
		}
		r.check()
		r.peersOver()
		r.world.View(func() {
			if len(r.world.BotInvites) == 0 || r.world.PeakBots > 10 {
				t.Errorf("%d INVITEs to bots, at most %d at a time with 10 seats", len(r.world.BotInvites), r.world.PeakBots)
			}
		})
	})
}

func TestABotBySIPIsToldOfTheCallInHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, 10*time.Second))
		defer r.tree.Close()
		r.results()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.world.View(func() {
			if len(r.world.BotInvites) != 1 {
				t.Fatalf("%d INVITEs", len(r.world.BotInvites))
			}
			cmd := r.world.BotInvites[0]
			got := map[string]string{}
			for _, h := range cmd.Headers {
				got[h.Name] = h.Value
			}
			want := map[string]string{"X-call_id": string(cmd.Attempt.Call()), "X-attempt_id": string(cmd.Attempt),
				"X-campaign_id": string(r.id),
				"X-run":         "1", "X-to_number": number(0).E164(), "X-i": "0"}
			for k, v := range want {
				if got[k] != v {
					t.Errorf("%s: %q, want %q", k, got[k], v)
				}
			}
			if got["X-contact_id"] == "" || got["X-from_number"] == "" || cmd.From != number(0) || cmd.Trunk != "" ||
				cmd.URI != "sip:bot@a.example" {
				t.Errorf("%+v", cmd)
			}
			if cmd.Leg != cmd.Attempt.Leg(2) {
				t.Errorf("leg %s", cmd.Leg)
			}
		})
	})
}

func TestABotBySIPThatCannotBeHadIsAnAbandonAndItsNextAddressIsTriedBefore(t *testing.T) {
	for refuses, served := range map[int]bool{1: true, 2: false} {
		synctest.Test(t, func(t *testing.T) {
			talk := steady(2*time.Second, 10*time.Second)
			r := sipRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
				s := talk(n, nth)
				s.BotRefuses = refuses
				return s
			})
			defer r.tree.Close()
			r.results()
			rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1), From: ""})
			if err != nil {
				t.Fatal(err)
			}
			r.until(time.Minute, "the call ends", func() bool { return r.tree.LiveCalls() == 0 })
			synctest.Wait()
			a, err := r.tree.Call(context.Background(), rep.CallID)
			if err != nil || a.WasConnected() != served || len(a.Peers) != 2 {
				t.Fatalf("%d refuse: %s %s, %d bot legs, %v", refuses, a.Outcome, a.Cause, len(a.Peers), err)
			}
			if !served && (a.Outcome != engine.OutcomeAbandoned || a.Cause != engine.AbandonCapacityLoss) {
				t.Errorf("%s %s", a.Outcome, a.Cause)
			}
			if served && a.Peers[1].URI != "sip:bot@b.example" {
				t.Errorf("%+v", a.Peers)
			}
			r.peersOver()
		})
	}
}

func TestABotBySIPWhoseSDPCannotBeUsedIsEndedAndTheCallAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		talk := steady(2*time.Second, 10*time.Second)
		r := sipRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
			s := talk(n, nth)
			s.BotUnfit = true
			return s
		})
		defer r.tree.Close()
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "the call ends", func() bool { return r.tree.LiveCalls() == 0 })
		a, err := r.tree.Call(context.Background(), rep.CallID)
		if err != nil || a.Outcome != engine.OutcomeAbandoned || a.Cause != engine.AbandonCapacityLoss {
			t.Errorf("%s %s %v", a.Outcome, a.Cause, err)
		}
		r.peersOver()
	})
}

func TestACallThatIsHungUpEndsItsBotsLeg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, time.Hour))
		defer r.tree.Close()
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "it talks", func() bool { return r.world.LivePeers() == 1 })
		if err := r.tree.HangUp(context.Background(), rep.CallID, engine.Who{}); err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "the call ends", func() bool { return r.tree.LiveCalls() == 0 && r.world.LivePeers() == 0 })
		r.over()
		r.peersOver()
	})
}

func TestABotsLegOfAnEarlierLifeIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, time.Hour))
		defer func() { r.tree.Close() }()
		r.results()
		r.add(5)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "five conversations", func() bool { return r.detail().Live.InProgress == 5 })
		for _, a := range r.openAttempts() {
			if len(a.Peers) != 1 || a.Peers[0].Dialog == nil || a.Peers[0].State != attempt.PeerUp {
				t.Errorf("the bot's dialog is not stored: %+v", a.Peers)
			}
		}
		r.kill()
		r.world.RecoverTakes = 3 * time.Second
		r.start()
		r.until(5*time.Second, "callees and bots are ended", func() bool {
			return r.world.RecoveredLegs() == 10 && r.world.LiveCalls() == 0
		})
		r.until(time.Minute, "no number is held", func() bool {
			n := 0
			r.store.View(func() { n = len(r.store.Holds) })
			return n == 0
		})
		r.peersOver()
	})
}

func TestAContactThatCrashesKeepsItsBotBySIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, 40*time.Second))
		defer r.tree.Close()
		r.results()
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "three conversations", func() bool { return r.detail().Live.InProgress == 3 })
		for _, a := range r.openAttempts() {
			r.faults.Crash("contact", r.id, a.Contact)
		}
		synctest.Wait()
		if n := r.world.LivePeers(); n != 3 || r.world.HungUp() != 0 {
			t.Errorf("%d bot legs live, %d BYEs", n, r.world.HungUp())
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		r.peersOver()
		if d := r.detail(); d.Counters.Completed != 3 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

// A bot by SIP whose process died sends no BYE; its audio ends.
func TestACallWhoseBotBySIPFallsSilentIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, 10*time.Minute))
		defer r.tree.Close()
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "they talk", func() bool {
			a, _ := r.tree.Call(context.Background(), rep.CallID)
			return a.State == attempt.Connected
		})
		r.world.SilencePeer(rep.AttemptID)
		r.until(time.Minute, "the call is over",
			func() bool { a, _ := r.tree.Call(context.Background(), rep.CallID); return a.State == attempt.Ended })
		a, _ := r.tree.Call(context.Background(), rep.CallID)
		if a.Outcome != engine.OutcomeConnectedNoResult || a.HungUpBy != engine.PartyBot || r.world.HungUp() != 2 {
			t.Errorf("%s, hung up by %s, %d BYEs", a.Outcome, a.HungUpBy, r.world.HungUp())
		}
		r.leases()
		r.peersOver()
	})
}
