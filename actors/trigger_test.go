package actors_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestTriggersOfOneNumberAtOnceAreOneContact(t *testing.T) {
	for _, state := range []campaign.Action{campaign.ActionStart, campaign.ActionPause} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
			defer r.tree.Close()
			r.results()
			r.act(campaign.ActionStart)
			if state != campaign.ActionStart {
				r.act(state) // triggers are queued
			}
			time.Sleep(time.Second) // virtual
			replies := make([]campaign.TriggerReply, 8)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() {
					var err error
					replies[i], err = r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1),
						Variables: map[string]string{fmt.Sprint("k", i): "v"}})
					if err != nil {
						t.Errorf("%s: %v", state, err)
					}
				})
			}
			all.Wait()
			ids, merged := map[engine.ContactID]bool{}, 0
			for _, rep := range replies {
				ids[rep.ContactID] = true
				if rep.Reason == "merged" {
					merged++
				}
			}
			if len(ids) != 1 || merged != 7 {
				t.Errorf("%s: contacts %v, %d merged", state, ids, merged)
			}
			time.Sleep(time.Minute) // virtual
			synctest.Wait()
			if d := r.detail(); d.Counters.Total != 1 || len(r.contactOf(number(1)).Variables) != 8 {
				t.Errorf("%s: %+v, variables %v", state, d.Counters, r.contactOf(number(1)).Variables)
			}
		})
	}
}

// Requests that wait for one trigger's writes must not make the next one's begin another
// transaction.
func TestTriggersAtOnceShareTransactions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause) // triggers are queued
		time.Sleep(time.Second)     // virtual
		before := r.tree.Stats().Writers.Commits.Load()
		const n = 200
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id,
					Number: number(i + 1)}); err != nil || rep.Status != "queued" {
					t.Errorf("%+v, %v", rep, err)
				}
			})
		}
		all.Wait()
		if commits := r.tree.Stats().Writers.Commits.Load() - before; commits > 5 {
			t.Errorf("%d triggers took %d transactions", n, commits)
		}
		synctest.Wait()
		if d := r.detail(); d.Counters.Total != n {
			t.Errorf("%+v", d.Counters)
		}
	})
}
