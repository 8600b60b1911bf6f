package actors_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
)

func TestNobodyKeepsTheActorOfAContactThatHasEnded(t *testing.T) { endsOf(t, false) }

func TestNobodyKeepsTheActorsThatARunAskedWhenItHadCrashed(t *testing.T) { endsOf(t, true) }

// endsOf plays a campaign to its end, with or without a fault of its run on the way.
func endsOf(t *testing.T, crash bool) {
	synctest.Test(t, func(t *testing.T) {
		script := func(n engine.PhoneNumber, i int) actortest.Script {
			if n[len(n)-1]%3 == 0 {
				return actortest.Script{Ring: time.Second, Code: 486}
			}
			return everyoneTalks(n, i)
		}
		r := newRig(t, script, func(s *campaign.Settings) { s.Concurrency, s.MaxAttempts = 60, 1 })
		defer r.tree.Close()
		r.bots(engine.Bot{ID: "bot", Active: true, Seats: 60, Endpoints: []string{"ws://bot"}})
		r.results()
		const n = 300
		r.add(n)
		ends := r.faults.Ends()
		r.act(campaign.ActionStart)
		if crash {
			r.until(time.Hour, "the last ones talk", func() bool {
				ends.Look()
				d := r.detail()
				return d.Counters.Pending == 0 && d.Live.InProgress > 10
			})
			r.faults.Crash("run", r.id, "")
		}
		r.until(time.Hour, "campaign completed", func() bool {
			ends.Look()
			return r.completed()
		})
		r.check()
		time.Sleep(time.Hour) // virtual: every stopped timer would have fired
		synctest.Wait()
		if ends.Seen() < n/2 {
			t.Fatalf("%d actors seen of %d", ends.Seen(), n)
		}
		if held := ends.Held(); held > 0 {
			t.Errorf("%d of %d actors are still held", held, ends.Seen())
		}
	})
}

func TestNobodyKeepsTheActorOfACallOutsideCampaigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, nil)
		defer r.tree.Close()
		r.bots(engine.Bot{ID: "bot", Active: true, Seats: 30, Endpoints: []string{"ws://bot"}})
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		ends := r.faults.Ends()
		const n = 20
		for i := range n {
			if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(i)}); err != nil {
				t.Fatal(err)
			}
		}
		ends.Look()
		r.until(time.Minute, "the calls ended", func() bool { return r.tree.LiveCalls() == 0 })
		time.Sleep(time.Hour) // virtual: every stopped timer would have fired
		synctest.Wait()
		if ends.Seen() != n {
			t.Fatalf("%d actors seen of %d", ends.Seen(), n)
		}
		if held := ends.Held(); held > 0 {
			t.Errorf("%d of %d actors are still held", held, n)
		}
	})
}

func TestNobodyKeepsTheActorsOfACampaignThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, nil)
		defer r.tree.Close()
		var gone []engine.CampaignID
		for i := range 20 {
			gone = append(gone, engine.CampaignID(fmt.Sprintf("cmp_gone%d", i)))
		}
		ends := r.faults.Ends(gone...)
		for _, id := range gone {
			if _, err := r.tree.Detail(context.Background(), id); engine.ErrorCode(err) != "campaign_not_found" {
				t.Fatal(err)
			}
		}
		ends.Look()
		time.Sleep(time.Hour) // virtual: they have left
		synctest.Wait()
		if ends.Seen() < 3*len(gone) {
			t.Fatalf("%d actors seen of %d campaigns", ends.Seen(), len(gone))
		}
		if held := ends.Held(); held > 0 {
			t.Errorf("%d of %d actors are still held", held, ends.Seen())
		}
	})
}
