package actors_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
)

// bots replaces the configured bots.
func (r *rig) bots(list ...engine.Bot) {
	r.t.Helper()
	r.store.View(func() { r.store.BotList = list })
	if err := r.tree.BotsChanged(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// Whoever saves a bot sees whether it takes calls; nobody need be called for that.
func TestABotIsAskedWhenItIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.world.BreakBot("ws://away", "connection refused")
		list := []engine.Bot{
			{ID: "bot", Name: "Known", Active: true, Seats: 5, Endpoints: []string{botURL}},
			{ID: "away", Name: "Away", Active: true, Seats: 5, Endpoints: []string{"ws://away"}},
			{ID: "off", Name: "Off", Seats: 5, Endpoints: []string{"ws://off"}},
			{ID: "phone", Name: "By SIP", Active: true, Seats: 5, Endpoints: []string{"sip:anna@bot.example.org"}},
		}
		r.bots(list...)
		health := func(want map[engine.BotID]fleet.EndpointHealth) {
			t.Helper()
			all, err := r.tree.BotStatuses(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for id, h := range want {
				if all[id].Health != h {
					t.Errorf("%s is %s, want %s", id, all[id].Health, h)
				}
			}
		}
		health(map[engine.BotID]fleet.EndpointHealth{"bot": fleet.Up, "away": fleet.Down, "off": fleet.Unknown,
			"phone": fleet.Unknown})
		asked := r.world.Questions()
		r.bots(list...) // nothing new: what is known counts
		if n := r.world.Questions(); n != asked {
			t.Errorf("%d questions more", n-asked)
		}
		r.world.MendBot("ws://away")
		time.Sleep(2 * time.Second) // virtual
		synctest.Wait()
		health(map[engine.BotID]fleet.EndpointHealth{"away": fleet.Up})
		if n := r.world.Invited(); n > 0 {
			t.Errorf("%d people were called", n)
		}
	})
}

func TestACampaignWhoseBotIsDeletedFailsAndItsConversationsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Half of the people talk, the others' phones ring for a long time.
		talk := steady(2*time.Second, 60*time.Second)
		r := newRig(t, func(n engine.PhoneNumber, nth int) actortest.Script {
			if n[len(n)-1]%2 == 0 {
				return talk(n, nth)
			}
			return actortest.Script{Ring: 14 * time.Second, Code: 486}
		}, nil)
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it talks and rings", func() bool {
			l := r.detail().Live
			return l.InProgress > 1 && l.Ringing+l.Dialling > 1
		})
		talking := r.detail().Live.InProgress
		r.bots()
		d := r.detail()
		if d.Campaign.State != campaign.Failed || d.Campaign.FailureReason != campaign.FailureBotDeleted || !d.Draining {
			t.Fatalf("%s %q, draining %v", d.Campaign.State, d.Campaign.FailureReason, d.Draining)
		}
		for _, a := range []campaign.Action{campaign.ActionRestart, campaign.ActionDelete} {
			if _, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: a}); engine.ErrorCode(
				err) != "calls_in_progress" {
				t.Errorf("%s while calls live: %v", a, err)
			}
		}
		dials := r.world.Invited()
		time.Sleep(5 * time.Second) // virtual
		if n := r.detail().Live; n.Ringing+n.Dialling > 0 || n.InProgress < talking {
			t.Errorf("%d ring, %d of %d talk", n.Ringing+n.Dialling, n.InProgress, talking)
		}
		r.until(2*time.Minute, "the conversations finish", func() bool { return !r.detail().Draining })
		d = r.detail()
		if r.world.Invited() != dials || d.Counters.Pending == 0 || d.Counters.ManuallyStopped > 0 {
			t.Errorf("%d dials afterwards, waiting contacts %+v", r.world.Invited()-dials, d.Counters.States)
		}
		r.bots(engine.Bot{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"ws://bot"}})
		if s := r.detail().Campaign.State; s != campaign.Failed {
			t.Errorf("with the bot back it is %s", s)
		}
		r.act(campaign.ActionRestart)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "second run completed", r.completed)
		r.check()
	})
}

func TestAPausedCampaignWhoseBotWentWhileTheProcessWasDownFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer func() { r.tree.Close() }()
		r.add(5)
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause)
		r.until(time.Minute, "nobody talks", func() bool { return r.detail().Live.InProgress == 0 })
		r.kill()
		r.store.View(func() { r.store.BotList = nil })
		r.start()
		r.until(10*time.Second, "failed", func() bool { return r.detail().Campaign.State == campaign.Failed })
	})
}

func TestABotThatIsInactiveHoldsNewDialsAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it talks", func() bool { return r.detail().Live.InProgress > 1 })
		off := engine.Bot{ID: "bot", Seats: 10, Endpoints: []string{"ws://bot"}}
		r.bots(off)
		time.Sleep(time.Minute) // virtual: ringing calls have been answered or are over
		dials := r.world.Invited()
		time.Sleep(10 * time.Minute) // virtual
		d := r.detail()
		if r.world.Invited() != dials || d.Campaign.State != campaign.Running ||
			d.Live.Constraint != engine.ConstraintSeats || !strings.Contains(d.Live.Explanation, "inactive") {
			t.Errorf("%d new dials, %s, %s: %s", r.world.Invited()-dials, d.Campaign.State, d.Live.Constraint,
				d.Live.Explanation)
		}
		on := off
		on.Active = true
		r.bots(on)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}
