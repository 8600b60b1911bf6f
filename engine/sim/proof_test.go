package sim

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/frequency"
)

// With bots of which some refuse and some are late, people are dialled one at a time instead of for
// all seats; healthy bots are not held back.
func TestABotThatMissesAnswersIsTriedByFewLines(t *testing.T) {
	for _, mode := range []string{campaign.PacingStrict, campaign.PacingHybrid} {
		play := func(b callee.Bot) CampaignResult {
			in := plain(1500)
			in.People = callee.Standard()
			in.People.Answer = callee.Always(0.6)
			in.Bot, in.Length = b, 2*time.Hour
			in.Campaigns[0].Settings.Concurrency, in.Campaigns[0].Settings.PacingMode = 20, mode
			return played(t, in, 1).result().Campaigns[0]
		}
		if r := play(callee.Bot{}); r.State != campaign.Completed || r.Utilisation() < 0.8 || r.Counts.CapacityLoss > 0 {
			t.Errorf("%s, healthy bots: %s, seats busy %.2f, %+v", mode, r.State, r.Utilisation(), r.Counts)
		}
		// Of 1,500 contacts some 600 would be abandoned otherwise.
		if r := play(callee.Bot{Fails: 0.2, Late: 0.3}); r.Counts.Abandoned < 10 || r.Counts.Abandoned > 150 {
			t.Errorf("%s, half of the answers are missed: %+v", mode, r.Counts)
		}
		if r := play(callee.Bot{Fails: 0.05}); mode == campaign.PacingStrict && !r.Counts.Within(40_000, 0) {
			t.Errorf("a twentieth of the answers is missed: %+v", r.Counts)
		}
	}
}

func TestABotThatCameBackIsTrustedAfter16Answers(t *testing.T) {
	in := plain(3000)
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.6)
	in.Bot, in.Length = callee.Bot{Fails: 0.5}, 3*time.Hour
	in.Campaigns[0].Settings.Concurrency = 20
	var before, after int
	w := played(t, in, 1,
		at(20*time.Minute, func(w *campaignWorld) { w.in.Bot.Fails = 0 }),
		at(40*time.Minute, func(w *campaignWorld) { before = w.campaigns[0].dials }),
		at(50*time.Minute, func(w *campaignWorld) { after = w.campaigns[0].dials }))
	if p := w.runner(w.campaigns[0]).state.Pace.Proof; p.Missed != 0 || after-before < 150 {
		t.Errorf("%d dials in ten minutes, %+v", after-before, p)
	}
}

// Whoever was abandoned by one campaign is called by no other for as long as the installation says.
func TestNobodyIsCalledSoonAfterAnAbandon(t *testing.T) {
	const period = 3 * time.Hour
	in := plain(1500)
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.6)
	in.Bot, in.Length = callee.Bot{Fails: 0.2, Late: 0.3}, 8*time.Hour
	in.Campaigns[0].Settings.Concurrency = 20
	second := in.Campaigns[0]
	second.Acts = []PlannedAct{{At: time.Hour, Action: campaign.ActionStart}}
	in.Campaigns = append(in.Campaigns, second)
	in.CalleeLimits = []frequency.Limit{{What: frequency.Abandons, Most: 1, Period: period}}
	w := played(t, in, 1)
	abandoned := map[engine.PhoneNumber]time.Time{}
	for a := range w.store.AllAttempts() {
		if a.Outcome == engine.OutcomeAbandoned {
			abandoned[a.To] = *a.EndedAt
		}
	}
	later := 0
	for a := range w.store.AllAttempts() {
		end, was := abandoned[a.To]
		if !was || a.InviteAt == nil || !a.InviteAt.After(end) {
			continue
		}
		if later++; a.InviteAt.Sub(end) < period {
			t.Errorf("%s is called %s after an abandon", a.To.E164(), a.InviteAt.Sub(end))
		}
	}
	if len(abandoned) < 20 || later < 5 {
		t.Errorf("%d people were abandoned, %d of them called again: this says little", len(abandoned), later)
	}
}
