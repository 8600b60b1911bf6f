package actors_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine/campaign"
)

type resultPlace struct {
	place actortest.ResultPlace
	nth   int
}

// resultPlaces returns all places in the handling of the first results, up to most.
func resultPlaces(most int) (list []resultPlace) {
	for _, p := range actortest.ResultPlaces {
		for nth := range most {
			list = append(list, resultPlace{p, nth + 1})
		}
	}
	return list
}

// A writer that faults on the message with the result of its commit would otherwise wait for it
// forever, and its whole lane with it.
func TestAWriterThatFaultsOnTheResultOfItsCommitGoesOn(t *testing.T) {
	for _, c := range resultPlaces(2) {
		t.Run(fmt.Sprint(c.place, " ", c.nth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// In strict mode calls would leave one by one, with the sockets opened for them.
				r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) {
					s.PacingMode = campaign.PacingHybrid
				})
				defer r.tree.Close()
				r.results()
				r.ordered()
				r.add(30)
				r.act(campaign.ActionStart)
				st, faults := r.tree.Stats(), int64(0)
				when := []time.Duration{50 * time.Millisecond, 2 * time.Second, 19 * time.Second}
				if c.place == actortest.NextBegins {
					when = when[:2] // at the end no result finds waiting writes
				}
				for _, at := range when {
					time.Sleep(at) // virtual: reserving, answered, the next ones
					r.faults.OnResult(c.place, c.nth)
					faults++
					r.until(time.Minute, "it has faulted", func() bool { return st.Actors.Restarts.Load() == faults })
				}
				r.until(5*time.Minute, "campaign completed", r.completed)
				r.check()
				if n := r.detail().Counters; n.Completed != 30 || n.Attempts != 30 || r.world.Invited() != 30 ||
					st.Writers.Waiting.Load() != 0 {
					t.Errorf("%d INVITEs, %d writes wait, %+v", r.world.Invited(), st.Writers.Waiting.Load(), n)
				}
			})
		})
	}
}

// The same for what was given to the spool, and for what is written from there.
func TestAWriterThatFaultsOnAResultOfTheSpoolLosesNothingOfIt(t *testing.T) {
	for _, c := range resultPlaces(3) {
		for name, back := range map[string]bool{"going to it": false, "coming from it": true} {
			t.Run(fmt.Sprintf("%s, %s %d", name, c.place, c.nth), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newSpoolRig(t, 30*time.Second)
					defer func() { r.tree.Close() }()
					// Answers find no socket opened ahead, so that their bots' writes come one by
					// one.
					r.mustEdit(func(s *campaign.Settings) { s.PacingMode = campaign.PacingHybrid })
					r.results()
					r.ordered()
					r.add(30)
					r.act(campaign.ActionStart)
					time.Sleep(4 * time.Second) // virtual: ten ring
					r.store.SetDown(true)
					if !back {
						r.faults.OnResult(c.place, c.nth)
					}
					r.until(10*time.Second, "every call is with the bot", func() bool {
						return r.detail().Live.InProgress == 10 && r.world.Acked() == 10
					})
					time.Sleep(time.Minute) // virtual: every conversation ends meanwhile
					if back {
						r.faults.OnResult(c.place, c.nth)
					}
					r.store.SetDown(false)
					r.spoolEmpty()
					r.until(time.Hour, "campaign completed", r.completed)
					r.check()
					st := r.tree.Stats()
					if n := r.detail().Counters; st.Actors.Restarts.Load() != 1 || n.Abandoned != 0 ||
						n.Attempts != 30 ||
						r.world.Invited() != 30 ||
						st.Writers.Waiting.Load() != 0 {
						t.Errorf(
							"%d faults, %d INVITEs, %d writes wait, %+v",
							st.Actors.Restarts.Load(),
							r.world.Invited(),
							st.Writers.Waiting.Load(),
							n,
						)
					}
				})
			})
		}
	}
}
