package actors_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	fleetactor "dialler/actors/fleet"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
)

const botURL = "ws://bot"

// leases asserts that nothing is held any more and that all counts agree.
func (r *rig) leases() {
	r.t.Helper()
	r.threeWays()
	time.Sleep(time.Minute) // virtual: seats are returned
	synctest.Wait()
	st := r.tree.Stats()
	if s, c, n := st.Fleet.SeatsHeld.Load(), st.Trunks.Leases.Load(), st.Numbers.Leases.Load(); s+c+n != 0 ||
		st.Calls.Illegal.Load() != 0 {
		r.t.Errorf("held: %d seats, %d channels, %d numbers; %d illegal events", s, c, n, st.Calls.Illegal.Load())
	}
	r.store.View(func() {
		if n := len(r.store.Holds); n > 0 {
			r.t.Errorf("%d numbers still held", n)
		}
	})
}

func (r *rig) bot() fleetactor.BotStatus {
	r.t.Helper()
	all, err := r.tree.BotStatuses(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return all["bot"]
}

func TestACampaignWhoseBotTakesNoCallsDialsNobodyAndSaysWhyAndGoesOnByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.world.BreakBot(botURL, "connection refused")
		r.add(20)
		if p := r.preflight(); !p.Ready {
			t.Errorf("%+v", p)
		}
		r.act(campaign.ActionStart)
		time.Sleep(10 * time.Minute) // virtual
		d := r.detail()
		if r.world.Invited() != 0 || d.Campaign.State != campaign.Running {
			t.Fatalf("%d dials, %s", r.world.Invited(), d.Campaign.State)
		}
		if d.Live.Constraint != engine.ConstraintSeats || !strings.Contains(d.Live.Explanation,
			"has taken no calls since 2000-01-01 00:00:00 UTC (connection refused)") {
			t.Errorf("%s: %s", d.Live.Constraint, d.Live.Explanation)
		}
		if got := codesOf(r.preflight().Warnings); !slices.Contains(got, "bot_down") || slices.Contains(got, "no_seats") {
			t.Errorf("preflight warns of %v", got)
		}
		s := r.bot()
		if s.Health != fleet.Down || s.Held != 0 || len(s.Endpoints) != 1 || s.Endpoints[0].Reason != "connection refused" ||
			s.Endpoints[0].AskedAgainAt == nil {
			t.Errorf("%+v", s)
		}
		st := r.tree.Stats()
		if st.Fleet.BotsDown.Load() != 1 || st.Fleet.EndpointsDown.Load() != 1 || st.Fleet.SeatsHeld.Load() != 0 {
			t.Errorf(
				"%d bots, %d endpoints down, %d seats held",
				st.Fleet.BotsDown.Load(),
				st.Fleet.EndpointsDown.Load(),
				st.Fleet.SeatsHeld.Load(),
			)
		}
		if n := r.world.Questions(); n < 20 || n > 40 {
			t.Errorf("asked %d times in ten minutes", n)
		}
		got, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(50)})
		if err != nil || got.Status != "queued" || got.Reason != string(engine.ConstraintSeats) {
			t.Errorf("a trigger: %+v %v", got, err)
		}
		_, err = r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(60)})
		if e := (*engine.Error)(nil); !errors.As(err, &e) || e.Code != "bot_unavailable" ||
			e.Kind != engine.KindUnavailable || e.RetryAfter <= 0 || !strings.Contains(e.Error(), "connection refused") {
			t.Errorf("a dialout: %v", err)
		}
		r.world.MendBot(botURL)
		r.until(40*time.Second, "it dials again", func() bool { return r.world.Invited() > 0 })
		r.until(10*time.Minute, "everybody is served", func() bool { return r.detail().Counters.Completed == 21 })
		if d := r.detail(); d.Counters.Abandoned != 0 || st.Fleet.BotsDown.Load() != 0 || r.bot().Health != fleet.Up {
			t.Errorf("%d abandoned, %d bots down, %+v", d.Counters.Abandoned, st.Fleet.BotsDown.Load(), r.bot())
		}
		r.act(campaign.ActionStop)
		r.leases()
	})
}

func TestABotThatAnswersLateIsDownUntilItsAnswerComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(4*time.Second, 60*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.world.BotSlow = 4 * time.Second
		r.add(20)
		r.act(campaign.ActionStart)
		time.Sleep(3 * time.Second) // virtual
		synctest.Wait()
		if s := r.bot(); s.Health != fleet.Down || r.world.Invited() != 0 {
			t.Errorf("%+v and %d dials before the answer", s, r.world.Invited())
		}
		r.until(3*time.Second, "it is dialled for", func() bool { return r.world.Invited() > 0 })
		if s := r.bot(); s.Health != fleet.Up || r.world.Questions() != 1 {
			t.Errorf("%+v after %d questions", s, r.world.Questions())
		}
		r.until(time.Hour, "campaign completed", r.completed)
	})
}

func TestABotThatGoesDownWhilePeopleTalkCostsNoMoreThanTheLinesThatRang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(4*time.Second, 60*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "people talk", func() bool { return r.detail().Live.InProgress >= 8 })
		r.until(2*time.Minute, "the next ones ring", func() bool { return r.detail().Live.Ringing >= 3 })
		talking := r.detail().Live.InProgress
		r.world.BreakBot(botURL, "HTTP 503")
		invited := r.world.Invited()
		r.until(time.Minute, "it is known", func() bool { return r.tree.Stats().Fleet.BotsDown.Load() == 1 })
		byes := r.world.HungUp()
		time.Sleep(10 * time.Second) // virtual: ringing calls are answered
		synctest.Wait()
		d := r.detail()
		most := r.world.Invited() - invited + 20
		if d.Counters.Abandoned == 0 || d.Counters.Abandoned > most || d.Live.Constraint != engine.ConstraintSeats {
			t.Errorf("%d abandoned, %s: %s", d.Counters.Abandoned, d.Live.Constraint, d.Live.Explanation)
		}
		if abandoned := d.Counters.Abandoned; r.world.HungUp()-byes > abandoned+talking {
			t.Errorf("%d BYEs for %d abandons", r.world.HungUp()-byes, abandoned)
		}
		invited = r.world.Invited()
		time.Sleep(5 * time.Minute) // virtual: the conversations end meanwhile
		synctest.Wait()
		if n := r.detail(); r.world.Invited() != invited || n.Live.InProgress != 0 ||
			n.Counters.Abandoned != d.Counters.Abandoned {
			t.Errorf("%d dials while the bot is down, %d talk, %d abandoned", r.world.Invited()-invited, n.Live.InProgress,
				n.Counters.Abandoned)
		}
		for _, l := range r.detail().Live.Ledgers {
			if l.Abandoned != d.Counters.Abandoned {
				t.Errorf("the ledger counts %d of %d abandons", l.Abandoned, d.Counters.Abandoned)
			}
		}
		r.world.MendBot(botURL)
		// The abandons have used up the credit: it goes on with a seat for every dial.
		r.until(time.Hour, "campaign completed", r.completed)
		if n := r.detail().Counters; n.Completed+n.Abandoned != 60 || n.Abandoned != d.Counters.Abandoned {
			t.Errorf("%+v", n)
		}
		r.leases()
	})
}

func TestAnEndpointThatTakesNoCallsIsLeftOutUntilItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.bots(engine.Bot{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"ws://a", "ws://b"}})
		r.results()
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "people talk", func() bool { return r.detail().Live.InProgress >= 5 })
		if got := r.world.Attached(); !slices.Equal(got[len(got)-1], []string{"ws://a", "ws://b"}) {
			t.Errorf("tried in the order %v", got[len(got)-1])
		}
		r.world.BreakBot("ws://a", "connection refused")
		r.until(time.Minute, "the first one is left out",
			func() bool { got := r.world.Attached(); return slices.Equal(got[len(got)-1], []string{"ws://b"}) })
		s := r.bot()
		if s.Health != fleet.Up || s.Endpoints[0].Health != fleet.Down || s.Endpoints[1].Health != fleet.Up ||
			r.tree.Stats().Fleet.BotsDown.Load() != 0 ||
			r.tree.Stats().Fleet.EndpointsDown.Load() != 1 {
			t.Errorf("%+v", s)
		}
		r.world.MendBot("ws://a")
		r.until(2*time.Minute, "it is tried again", func() bool {
			got := r.world.Attached()
			return slices.Equal(got[len(got)-1], []string{"ws://a", "ws://b"})
		})
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := r.detail().Counters; n.Completed != 40 {
			t.Errorf("%+v", n)
		}
	})
}

func TestABotThatAnswersAndServesNobodyIsTriedWithOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended bool
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			s := actortest.Script{Ring: 2 * time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
				BotIn: -1}
			if mended {
				s.BotIn, s.BotTalk = 20*time.Millisecond, 10*time.Second
			}
			return s
		}, func(s *campaign.Settings) { s.AbandonCapPPM = 0; s.Concurrency = 1 })
		defer r.tree.Close()
		r.results()
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(5*time.Minute, "it is left alone", func() bool { return r.tree.Stats().Fleet.BotsDown.Load() == 1 })
		first := r.detail().Counters.Abandoned
		time.Sleep(10 * time.Minute) // virtual
		d := r.detail()
		// Pauses of 10 to 300 s: six trials. The seat of a failed trial may be used once more
		// before it is withdrawn.
		if first > 6 || d.Counters.Abandoned < first+3 || d.Counters.Abandoned > first+12 {
			t.Errorf("%d abandoned at first, %d after ten minutes", first, d.Counters.Abandoned)
		}
		r.world.View(func() { mended = true })
		r.until(3*time.Hour, "campaign completed", r.completed)
		if n := r.detail().Counters; n.Completed+n.Abandoned != 60 || n.Abandoned > d.Counters.Abandoned+1 {
			t.Errorf("%+v", n)
		}
		r.leases()
	})
}

func TestAFleetThatCrashesWhileABotIsDownAsksBeforeItGivesASeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.world.BreakBot(botURL, "connection refused")
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it is known", func() bool { return r.tree.Stats().Fleet.BotsDown.Load() == 1 })
		r.faults.Crash("fleet", "", "")
		time.Sleep(5 * time.Minute) // virtual
		if n := r.world.Invited(); n != 0 || r.tree.Stats().Fleet.BotsDown.Load() != 1 {
			t.Errorf("%d dials, %d bots down", n, r.tree.Stats().Fleet.BotsDown.Load())
		}
		r.world.MendBot(botURL)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

func TestABotBySIPThatRefusesEverybodyHoldsTheDialling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, func(engine.PhoneNumber, int) actortest.Script {
			s := steady(2*time.Second, 20*time.Second)("", 0)
			s.BotRefuses = 2
			return s
		})
		defer r.tree.Close()
		for _, uri := range sipBot().Endpoints {
			r.world.BreakBot(uri, "it answered SIP 503")
		}
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it is known", func() bool { return r.tree.Stats().Fleet.BotsDown.Load() == 1 })
		time.Sleep(20 * time.Second) // virtual: ringing calls are answered
		d, invited := r.detail(), r.world.Invited()
		if d.Counters.Abandoned == 0 || d.Counters.Abandoned != invited || !strings.Contains(d.Live.Explanation, "SIP 503") {
			t.Errorf("%d dials, %d abandoned, %s", invited, d.Counters.Abandoned, d.Live.Explanation)
		}
		time.Sleep(10 * time.Minute) // virtual
		if r.world.Invited() != invited {
			t.Errorf("%d dials while the bot refuses", r.world.Invited()-invited)
		}
		r.act(campaign.ActionStop)
		time.Sleep(time.Minute) // virtual
		r.leases()
		r.peersOver()
	})
}

func TestABotThatIsEditedIsAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.world.BreakBot(botURL, "connection refused")
		r.add(5)
		r.act(campaign.ActionStart)
		time.Sleep(10 * time.Minute) // virtual: questions have become rare
		r.bots(engine.Bot{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"ws://elsewhere"}})
		r.until(5*time.Second, "it dials", func() bool { return r.world.Invited() > 0 })
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}
