package sim

import (
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/campaign"
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
