package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// everyoneTalks for ten seconds to a bot that hangs up.
func everyoneTalks(engine.PhoneNumber, int) actortest.Script {
	return actortest.Script{Ring: time.Second, Code: 200, Verdict: engine.VerdictHuman, VerdictIn: time.Second,
		BotIn: 100 * time.Millisecond, BotTalk: 10 * time.Second}
}

func TestAResultThatFollowsItsCallNeedsNoReadOfTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, nil)
		defer r.tree.Close()
		r.results()
		r.add(50)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		r.store.View(func() {
			if r.store.Reads != 0 {
				t.Errorf("%d reads of single rows for 50 calls with results", r.store.Reads)
			}
		})
	})
}

func TestALateResultFindsItsContactByTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, nil)
		defer r.tree.Close()
		var call engine.CallID
		r.store.View(func() {
			r.store.OnWrite = func(w *journal.Write) {
				for _, e := range w.Events {
					if e.Type == journal.AttemptEnded {
						call = e.Attempt.Call()
					}
				}
			}
		})
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the call ended", func() (ok bool) { r.store.View(func() { ok = call != "" }); return })
		time.Sleep(10 * time.Second) // virtual: its contact is idle
		err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call,
			Result: attempt.Result{Disposition: "late", ReceivedAt: time.Now()}})
		if err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "campaign completed", r.completed)
		r.check()
	})
}

// The contacts of a stopped campaign still wait for results when it is prepared for its next run:
// their state in memory must not undo the reset.
func TestRestartWhileContactsWaitForTheirResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, everyoneTalks, func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		ended := 0
		var last engine.CallID
		r.store.View(func() {
			r.store.OnWrite = func(w *journal.Write) {
				for _, e := range w.Events {
					if e.Type == journal.AttemptEnded {
						ended, last = ended+1, e.Attempt.Call()
					}
				}
			}
		})
		r.add(10)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the calls ended", func() (ok bool) { r.store.View(func() { ok = ended == 10 }); return })
		r.act(campaign.ActionStop)
		d := r.act(campaign.ActionRestart)
		if d.Counters.Pending != 10 || d.Campaign.Run != 2 {
			t.Fatalf("run %d, %d pending after the restart", d.Campaign.Run, d.Counters.Pending)
		}
		if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: last,
			Result: attempt.Result{Disposition: "late", ReceivedAt: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.store.View(func() {
			for c := range r.store.AllContacts() {
				if c.State != contact.Pending || c.Used != 0 || c.Run != 2 || c.DueAt == nil {
					t.Errorf("contact is %s after %d attempts, run %d", c.State, c.Used, c.Run)
				}
			}
		})
	})
}
