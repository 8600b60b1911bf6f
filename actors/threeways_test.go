package actors_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
	"dialler/engine/tally"
	"dialler/engine/window"
)

// chatty posts results of every kind: during the call, after it, late, corrected, with callbacks.
func (r *rig) chatty(seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	r.store.View(func() {
		r.store.OnWrite = func(w *journal.Write) {
			for _, e := range w.Events {
				if e.Type != journal.AttemptConnected || rnd.IntN(8) == 0 {
					continue
				}
				waits := []time.Duration{0, 5 * time.Second, 40 * time.Second, 3 * time.Minute}
				id, first, again := e.Attempt, waits[rnd.IntN(4)], rnd.IntN(3) == 0
				res := attempt.Result{Disposition: []string{"sold", "call again", "later"}[rnd.IntN(3)]}
				if res.Disposition == "later" {
					at := time.Now().Add(time.Duration(rnd.IntN(600)) * time.Second)
					res.Callback = &attempt.Callback{Requested: true, At: &at}
				}
				go func() {
					for _, wait := range []time.Duration{first, time.Minute} {
						time.Sleep(wait) // virtual
						res.ReceivedAt = time.Now()
						r.post(id.Call(), res)
						if !again {
							return
						}
					}
				}()
			}
		}
	})
}

// drained waits until the campaign's calls are over and its results have come.
func (r *rig) drained() {
	r.t.Helper()
	r.until(3*time.Hour, "calls are over and results in", func() bool {
		d := r.detail()
		return !d.Draining && d.Counters.States[contact.Connected] == 0
	})
	time.Sleep(5 * time.Minute) // virtual: the latest results
	synctest.Wait()
}

// Whatever happens to a campaign, its counters from live state, from the tables and from the events
// are equal at every idle moment.
func TestTheFiguresAreTheSameThreeWaysWhateverHappens(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 5))
				r := newRig(t, actortest.Mix(seed, 0.6, 0.15, 20*time.Second), func(s *campaign.Settings) {
					s.CallbackDetection, s.RetryOnCustom, s.StickyExclusion = true, []string{"call again"}, seed%2 == 0
					s.SingleDay = seed%3 == 2
					if s.SingleDay {
						s.Window = window.Window{Zone: "UTC", Start: 0, End: 5} // it is midnight
					}
				})
				defer func() { r.tree.Close() }()
				r.chatty(seed)
				r.add(80)
				r.threeWays()
				r.act(campaign.ActionStart)
				for range 30 {
					time.Sleep(time.Duration(rnd.IntN(20_000)) * time.Millisecond) // virtual
					r.disturb(rnd)
				}
				if r.detail().Campaign.State == campaign.Running || r.detail().Campaign.State == campaign.Paused {
					if seed%3 == 0 {
						r.act(campaign.ActionStop)
						if d := r.detail(); d.Counters.Pending != 0 || d.Counters.RetriesLeft > 3*10 {
							t.Errorf("the answer to Stop knows nothing of who was closed: %+v", d.Counters)
						}
					} else {
						if r.detail().Campaign.State == campaign.Paused {
							r.act(campaign.ActionResume)
						}
						r.until(3*time.Hour, "campaign completed", r.completed)
					}
				}
				r.drained()
				r.threeWays()
				d := r.detail()
				for s := range d.Counters.States {
					seen[string(s)] = true
				}
				seen["window_closed"] = seen["window_closed"] || d.Counters.WindowClosed > 0
				seen["callbacks"] = seen["callbacks"] || d.Counters.Callbacks.Completed > 0
				seen["cancelled"] = seen["cancelled"] || d.Counters.Callbacks.Cancelled > 0
				seen["pass 3"] = seen["pass 3"] || len(d.Counters.Passes) > 2
				seen[string(d.Campaign.CompletionReason)] = true

				// The next run is prepared, a contact excluded, the run discarded, and prepared
				// again.
				first := d.Counters
				r.act(campaign.ActionRestart)
				r.threeWays()
				rep := r.excludeOne(number(7))
				r.threeWays()
				r.earlier(1, first)
				r.act(campaign.ActionCancelRestart)
				r.threeWays()
				if n := r.detail().Counters.Excluded; n < first.Excluded || n > first.Excluded+rep {
					t.Errorf("%d excluded after Cancel Restart, there were %d", n, first.Excluded)
				}
				first = r.detail().Counters
				r.act(campaign.ActionRestart)
				r.threeWays()
				r.earlier(1, first)
				if seed%2 == 0 {
					r.kill()
					r.start()
				}
				r.act(campaign.ActionStart)
				time.Sleep(2 * time.Minute) // virtual
				r.late(rnd)                 // of run 1
				if !r.completed() {
					r.act(campaign.ActionStop)
				}
				r.drained()
				r.threeWays()
			})
		})
	}
	for _, what := range []string{"completed", "failed", "excluded", "manually_stopped", "window_closed",
		"machine_detected", "callbacks", "cancelled", "pass 3"} {
		if !seen[what] {
			t.Errorf("no seed came to %s", what)
		}
	}
}

// disturb does one of the things that happen to a running campaign.
func (r *rig) disturb(rnd *rand.Rand) {
	ctx := context.Background()
	n := number(rnd.IntN(90))
	switch rnd.IntN(9) {
	case 0, 1:
		r.excludeOne(n)
	case 2, 3:
		_, _ = r.tree.Trigger(ctx, campaign.Trigger{Campaign: r.id, Number: n, Variables: map[string]string{"a": "b"}})
	case 4: // pause or resume, as the state allows
		for _, a := range []campaign.Action{campaign.ActionPause, campaign.ActionResume} {
			if _, err := r.tree.Act(ctx, campaign.Act{Campaign: r.id, Action: a}); err == nil && rnd.IntN(2) == 0 {
				break
			}
		}
	case 5:
		for range 1 + rnd.IntN(3) { // even while it loads
			r.faults.Crash("run", r.id, "")
		}
	case 6:
		r.faults.Crash("contact", r.id, r.contactOf(n).ID)
	case 7: // numbers with another installation's live call, or not called
		r.store.View(func() {
			if rnd.IntN(2) == 0 {
				r.store.Holds[n] = memstore.Hold{Attempt: "somebody else's", Until: time.Now().Add(time.Minute)}
			} else {
				r.store.Suppress(n)
			}
		})
	case 8:
		_, _ = r.tree.AddContacts(ctx, campaign.AddContacts{Campaign: r.id, Source: "api",
			Contacts: []campaign.NewContact{{Number: number(100 + rnd.IntN(50))}}})
	}
}

func (r *rig) excludeOne(n engine.PhoneNumber) int {
	rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: n, Reason: "asked"})
	if err != nil {
		r.t.Errorf("exclude: %v", err)
	}
	return rep.Matched
}

// earlier compares the fold and the tables of an earlier run with what was shown of it.
func (r *rig) earlier(run int, want campaign.Counters) {
	r.t.Helper()
	tables, _ := r.store.Counters(context.Background(), r.id, run)
	for _, x := range tally.Compare(want, tables) {
		r.t.Errorf("run %d, %s: was %s, tables %s", run, x.Figure, x.A, x.B)
	}
	for _, x := range tally.Compare(want, r.fold().Counters(run)) {
		r.t.Errorf("run %d, %s: was %s, events %s", run, x.Figure, x.A, x.B)
	}
}

// late posts results for attempts of the previous run.
func (r *rig) late(rnd *rand.Rand) {
	var calls []engine.CallID
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			if a.Run == 1 && a.WasConnected() && len(calls) < 5 {
				calls = append(calls, a.ID.Call())
			}
		}
	})
	for _, id := range calls {
		r.post(id, attempt.Result{Disposition: "sold", ReceivedAt: time.Now()})
	}
	_ = rnd
}
