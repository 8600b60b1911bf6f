package actors_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
)

// asked sends n requests at once and returns the answers by code, and the longest wait.
func asked(n int, ask func() error) (codes map[string]int, longest time.Duration) {
	codes = map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			began := time.Now()
			err := ask()
			mu.Lock()
			defer mu.Unlock()
			code := ""
			if err != nil {
				code = engine.ErrorCode(err)
			}
			codes[code]++
			longest = max(longest, time.Since(began))
		})
	}
	all.Wait()
	return codes, longest
}

// The actors of an unknown campaign stop after a second; a request at that very moment must still
// be answered.
func TestWhoAsksACampaignWhoseActorsStopIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer func() { r.tree.Close() }()
		const none = engine.CampaignID("cmp_none")
		for range 20 {
			codes, longest := asked(100, func() error {
				_, err := r.tree.Act(context.Background(), campaign.Act{Campaign: none, Action: campaign.ActionCancelRestart})
				return err
			})
			if codes["campaign_not_found"] != 100 || longest > time.Second {
				t.Fatalf("answers %v, the last after %v", codes, longest)
			}
			time.Sleep(time.Second) // virtual: the moment of the stop
		}
	})
}

// A hand-over answers the requests made before it and answers later ones that this node is not the
// owner.
func TestAHandOverAnswersWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.results()
		r.tree.Close()
		r.member = newLease()
		r.start()
		defer func() { r.tree.Close() }()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		r.store.View(func() { r.store.LateAnswer = 300 * time.Millisecond })
		var released sync.WaitGroup
		for round := range 10 {
			at := time.Duration(round) * 50 * time.Millisecond
			released.Go(func() {
				time.Sleep(at) // virtual
				if err := r.tree.Ownership().Release(context.Background(), r.id); err != nil {
					t.Error(err)
				}
			})
			codes, longest := asked(100, func() error {
				_, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(1000 + round)})
				return err
			})
			for code := range codes {
				if code != "" && code != "not_owner" {
					t.Fatalf("a hand-over after %v: answers %v", at, codes)
				}
			}
			if longest > 5*time.Second {
				t.Fatalf("a hand-over after %v: answers %v, the last after %v", at, codes, longest)
			}
			released.Wait()
			r.tree.Ownership().Adopt(r.id)
			r.tree.Ownership().Left(r.id)
			r.until(time.Minute, "it acts", func() bool { return r.detail().Live.InProgress == 10 })
		}
	})
}

// Whatever the last call came to, its campaign is completed within a second of it.
func TestACampaignIsCompletedAsItsLastContactIs(t *testing.T) {
	for last, s := range map[string]actortest.Script{
		"answered":       steady(2*time.Second, 10*time.Second)("", 0),
		"busy":           {Ring: 9 * time.Second, Code: 486},
		"unanswered":     {Ring: time.Hour, Code: 200},
		"no such number": {Ring: 9 * time.Second, Code: 404},
	} {
		t.Run(last, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(n engine.PhoneNumber, _ int) actortest.Script {
					if n == number(8) {
						return s
					}
					return actortest.Script{Ring: time.Second, Code: 486}
				}, func(s *campaign.Settings) { s.MaxAttempts, s.Concurrency = 1, 3 })
				defer r.tree.Close()
				r.results()
				r.add(9)
				r.act(campaign.ActionStart)
				r.until(time.Hour, "campaign completed", r.completed)
				seen := time.Now()
				var ended time.Time
				for _, a := range r.attempts() {
					if a.EndedAt.After(ended) {
						ended = *a.EndedAt
					}
				}
				if late := seen.Sub(ended); late > time.Second {
					t.Errorf("%v after the end of the last call", late)
				}
			})
		})
	}
}
