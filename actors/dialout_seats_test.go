package actors_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// outgoing gives the rig a number for dialouts.
func (r *rig) outgoing() {
	r.t.Helper()
	r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
	r.tree.NumberChanged(r.store.Nums[0])
	time.Sleep(time.Second) // virtual
}

// Another node has stored the bot, and announced it before this node was up.
func TestADialoutToABotThatThisNodeHasNotHeardOfIsPlaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		defer r.tree.Close()
		r.outgoing()
		r.store.View(func() {
			r.store.BotList = append(r.store.BotList, engine.Bot{ID: "new", Active: true, Seats: 2,
				Endpoints: []string{"ws://new"}})
		})
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "new", To: number(1)}); err != nil {
			t.Error(err)
		}
		if _, err := r.tree.Dialout(context.Background(),
			campaign.Dialout{Bot: "none", To: number(2)}); engine.ErrorCode(err) != "bot_not_found" {
			t.Error(err)
		}
	})
}

// A campaign has every seat of the bot, and returns some as its calls end.
func TestADialoutWaitsForItsShareOfTheSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(500*time.Millisecond, 3*time.Second), func(s *campaign.Settings) { s.AbandonCapPPM = 0 })
		defer r.tree.Close()
		r.outgoing()
		r.add(200)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "all seats are in use", func() bool { return r.detail().Live.InProgress == 10 })
		placed := 0
		for i := range 20 {
			if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1000 + i)}); err == nil {
				placed++
			} else if engine.ErrorCode(err) != "no_capacity" {
				t.Fatal(err)
			}
		}
		if placed < 5 { // its share is half of the seats
			t.Errorf("%d of 20 dialouts were placed", placed)
		}
	})
}

// Seats come and go with their keeper while calls are requested: every request is answered, and
// nothing faults.
func TestDialoutsAreAnsweredWhileTheKeeperOfSeatsComesAndGoes(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			r, a := newKeptRig(t, 50, 3, nil)
			defer func() { r.tree.Close() }()
			r.add(40)
			r.act(campaign.ActionStart)
			rng := rand.New(rand.NewPCG(seed, 7))
			var asked sync.WaitGroup
			for i := range 150 {
				if rng.IntN(10) == 0 {
					a.silence(rng.IntN(2) == 0)
				}
				asked.Go(func() {
					_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1000 + i)})
					switch engine.ErrorCode(err) {
					case "", "no_capacity", "keeper_away", "no_number":
					default:
						t.Errorf("dialout: %v", err)
					}
				})
				time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond) // virtual
			}
			a.silence(false)
			asked.Wait()
			r.until(time.Hour, "completed", r.completed)
			if n := r.tree.Stats().Actors.Restarts.Load(); n != 0 {
				t.Errorf("%d faults", n)
			}
			time.Sleep(5 * time.Minute) // virtual: the books are compared
			if st := a.bank.Stats(); st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 ||
				st.Fleet.SeatsHeld.Load() != 0 {
				t.Errorf(
					"held in the end: %d channels, %d numbers, %d seats",
					st.Trunks.Leases.Load(),
					st.Numbers.Leases.Load(),
					st.Fleet.SeatsHeld.Load(),
				)
			}
		})
	}
}
