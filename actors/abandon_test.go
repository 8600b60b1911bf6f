package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// The bot's path must be up within 1.8 s of the answer, so that the message starts before 2 s;
// otherwise the call is abandoned (SEMANTICS §6).
func TestABotThatDoesNotConnectInTimeMakesAnAbandonWithTheMessage(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDOff, engine.AMDParallel, engine.AMDSequential} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
					return actortest.Script{Ring: 2 * time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
						BotIn: -1}
				}, func(s *campaign.Settings) { s.AMD = mode; s.AlwaysOn = true })
				defer r.tree.Close()
				r.add(1)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "abandoned", func() bool { return r.detail().Counters.Abandoned == 1 })
				r.over()
				var a attempt.Attempt
				r.store.View(func() {
					for x := range r.store.AllAttempts() {
						a = x
					}
				})
				if a.Outcome != engine.OutcomeAbandoned || a.Cause != engine.AbandonLateConnect || a.State != attempt.Ended {
					t.Errorf("%s %s %s", a.State, a.Outcome, a.Cause)
				}
				from := *a.AnsweredAt
				if mode == engine.AMDSequential {
					from = *a.VerdictAt
				}
				if took := a.Ending.At.Sub(from); took < attempt.BridgeBudget || took > attempt.BridgeBudget+100*time.Millisecond {
					t.Errorf("abandoned %v after the moment that counts, want 1.8 s", took)
				}
				if c := r.contactOf(number(0)); c.State != contact.Abandoned || c.AbandonedAt == nil {
					t.Errorf("the contact is %s", c.State)
				}
				if n := r.world.HungUp(); n != 1 {
					t.Errorf("%d BYEs after the message, want 1", n)
				}
				r.act(campaign.ActionStop)
			})
		})
	}
}

// A cap of 0 % is progressive dialling: every dial holds a seat.
func TestCapZeroNeverAbandons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, actortest.Mix(7, 0.7, 0.1, 10*time.Second),
			func(s *campaign.Settings) { s.AbandonCapPPM = 0; s.Concurrency = 4 })
		defer r.tree.Close()
		r.results()
		r.add(100)
		r.act(campaign.ActionStart)
		r.until(3*time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Abandoned != 0 {
			t.Errorf("%d abandoned", d.Counters.Abandoned)
		}
		if r.world.PeakBots > 4 {
			t.Errorf("%d simultaneous conversations, concurrency 4", r.world.PeakBots)
		}
	})
}
