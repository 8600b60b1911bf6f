package actors_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

func TestACommandIsRefusedWhereTooMuchWaitsAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		synctest.Wait()
		trigger := func(i int) error {
			_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(i)})
			return err
		}
		letGo := r.faults.Hold(r.id, 10_000)
		if err := trigger(1); engine.ErrorCode(err) != "overloaded" {
			t.Errorf("a trigger behind 10,000 messages: %v", err)
		}
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "no such bot",
			To: number(2)}); engine.ErrorCode(err) == "overloaded" {
			t.Error("dialout suffers with a campaign")
		}
		if n := r.tree.Stats().Actors.Overloads.Load(); n != 1 {
			t.Errorf("%d refusals are counted", n)
		}
		letGo()
		synctest.Wait()
		if err := trigger(1); err != nil {
			t.Errorf("once they are gone: %v", err)
		}
		r.until(time.Minute, "it is dialled", func() bool { return r.tree.Stats().Calls.LegsSent.Load() == 1 })
	})
}

func TestAFloodOfMessagesToACampaignHarmsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Minute), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.act(campaign.ActionStart)
		if _, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(1)}); err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "it talks", func() bool { return r.tree.Stats().Calls.Served.Load() == 1 })
		synctest.Wait()
		call := r.callsTo(number(1))[0].ID.Call()
		result := attempt.Result{Disposition: "interested", ReceivedAt: time.Now()}
		if err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call, Result: result}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const senders, each = 1000, floodEach
		var most, refused, wrong atomic.Int64
		before := live()
		var all sync.WaitGroup
		for n := range senders {
			all.Go(func() {
				for i := range each {
					var err error
					switch (n + i) % 4 {
					case 0:
						err = r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call, Result: result})
					case 1:
						_, err = r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id,
							Match: map[string]string{"account": "nobody's"}})
					case 2:
						_, err = r.tree.Call(context.Background(), call)
					default:
						_, err = r.tree.Detail(context.Background(), r.id)
					}
					most.Store(max(most.Load(), int64(r.tree.Waiting())))
					switch {
					case engine.ErrorCode(err) == "overloaded":
						refused.Add(1)
					case err != nil:
						wrong.Add(1)
						t.Log(err)
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute) // virtual: no future's time-out is pending
		synctest.Wait()
		// This includes what the test's store keeps.
		if kept := (live() - before) / (senders * each); kept > 1024 && floodEach == 100 {
			t.Errorf("%d bytes a message are kept", kept)
		}
		if wrong.Load() > 0 || most.Load() > 10_000+senders || r.tree.Waiting() != 0 {
			t.Errorf("%d failed, %d waited at most, %d wait", wrong.Load(), most.Load(), r.tree.Waiting())
		}
		if r.tree.LiveCalls() != 1 {
			t.Fatalf("%d live calls", r.tree.LiveCalls())
		}
		r.until(11*time.Minute, "the call ends as it should", func() bool { return r.tree.LiveCalls() == 0 })
		if d := r.detail(); d.Counters.Completed != 1 || d.Counters.Abandoned != 0 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

// live returns the size of the live heap in bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
