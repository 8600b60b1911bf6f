package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine/campaign"
)

// The run feeds its forecast: with credit to spend, the same list takes less
// time than with a seat for every dial, and abandons stay within the cap.
func TestTheForecastKeepsSeatsBusierThanOneLineASeat(t *testing.T) {
	took := map[string]time.Duration{}
	for _, mode := range []string{campaign.PacingProgressive, campaign.PacingStrict, campaign.PacingHybrid} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, actortest.Mix(11, 0.3, 0.1, 40*time.Second), func(s *campaign.Settings) {
				s.PacingMode, s.Concurrency, s.MaxAttempts, s.RingTimeoutSec = mode, 8, 1, 20
			})
			defer r.tree.Close()
			r.results()
			r.add(700)
			r.act(campaign.ActionStart)
			began := time.Now()
			r.until(12*time.Hour, "campaign completed", r.completed)
			took[mode] = time.Since(began)
			r.check()
			c := r.detail().Counters
			if over := c.LiveAnswers*3 < c.Abandoned*100; over || mode == campaign.PacingProgressive && c.Abandoned > 0 {
				t.Errorf("%s: %d of %d live answers abandoned", mode, c.Abandoned, c.LiveAnswers)
			}
			t.Logf("%s: %v, %d of %d live answers abandoned", mode, took[mode], c.Abandoned, c.LiveAnswers)
		})
	}
	// The first hour earns the credit, so there is less to gain than later. On a list this short,
	// strict and hybrid end within seconds of each other, in either order.
	for _, mode := range []string{campaign.PacingStrict, campaign.PacingHybrid} {
		if most := took[campaign.PacingProgressive] * 93 / 100; took[mode] > most {
			t.Errorf("%s took %v, want at most %v", mode, took[mode], most)
		}
	}
}

// A tree that starts after another one begins with what that one learnt about the campaign's
// contacts.
func TestWhatPacingHasLearntSurvivesTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, actortest.Mix(11, 0.3, 0.1, 40*time.Second), func(s *campaign.Settings) {
			s.Concurrency, s.MaxAttempts, s.RingTimeoutSec = 8, 1, 20
		})
		defer func() { r.tree.Close() }()
		r.results()
		r.add(1500)
		r.act(campaign.ActionStart)
		r.until(10*time.Minute, "something was learnt", func() bool {
			s, ok, _ := r.store.Pacing(t.Context(), r.id)
			return ok && s.Theta > 0 && s.Persons > 10
		})
		kept, _, _ := r.store.Pacing(t.Context(), r.id)
		r.kill()
		r.start()
		r.until(10*time.Minute, "something was learnt since", func() bool {
			s, _, _ := r.store.Pacing(t.Context(), r.id)
			return s.Persons > kept.Persons
		})
	})
}
