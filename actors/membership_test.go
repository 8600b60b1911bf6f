package actors_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// leaseOf is a node's lease, which ends when the test says so.
type leaseOf struct {
	ends       atomic.Int64
	suppressed func([]engine.PhoneNumber) error // the other nodes' answer; nil means they confirm
}

func (l *leaseOf) LeaseEnds() engine.BootTime { return engine.BootTime(l.ends.Load()) }

func (l *leaseOf) Suppressed(_ context.Context, numbers []engine.PhoneNumber) error {
	if l.suppressed == nil {
		return nil
	}
	return l.suppressed(numbers)
}

func newLease() *leaseOf {
	l := new(leaseOf)
	l.ends.Store(int64(1000 * time.Hour))
	return l
}

// Two nodes share the database, and both can reach legs and audio: a campaign's calls go on when
// the other node takes it over.
func TestACampaignThatIsHandedOverKeepsItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.results()
		r.tree.Close()
		r.member = newLease()
		r.start()
		first := r.tree
		defer first.Close()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		invited := r.world.Invited()

		r.start()
		defer func() { r.tree.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := first.Ownership().Release(ctx, r.id); err != nil {
			t.Fatal(err)
		}
		if n := len(r.openAttempts()); n != 10 {
			t.Fatalf("%d attempts are open after the release, want 10", n)
		}
		if n := first.LiveCalls(); n != 0 {
			t.Errorf("the node that let go counts %d live calls of its own", n)
		}
		r.tree.Ownership().Adopt(r.id)
		r.until(10*time.Second, "its conversations are the new owner's",
			func() bool { return r.detail().Live.InProgress == 10 })
		if n := r.world.HungUp(); n != 0 {
			t.Errorf("%d calls were hung up by the hand-over", n)
		}
		if n := r.world.Invited(); n != invited {
			t.Errorf("%d INVITEs, %d before the hand-over", n, invited)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if n := r.world.Invited(); n != 30 || r.world.Overlaps != 0 {
			t.Errorf("%d INVITEs for 30 contacts, %d overlaps", n, r.world.Overlaps)
		}
		st := r.tree.Stats()
		if n := st.Calls.Recovered.Load(); n != 10 {
			t.Errorf("%d attempts were taken over, want 10", n)
		}
	})
}

// Whenever a campaign is handed over, even between an intent and its INVITE, no attempt is lost.
func TestAHandOverLosesNoAttempt(t *testing.T) {
	for moment := range 25 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
			r.results()
			r.tree.Close()
			r.member = newLease()
			r.start()
			first := r.tree
			defer first.Close()
			r.add(20)
			r.act(campaign.ActionStart)
			time.Sleep(time.Duration(moment) * time.Millisecond) // virtual
			r.besides = true
			r.start()
			defer func() { r.tree.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := first.Ownership().Release(ctx, r.id); err != nil {
				t.Fatal(err)
			}
			r.tree.Ownership().Adopt(r.id)
			r.until(time.Hour, "campaign completed", r.completed)
			if c := r.detail().Counters; c.Completed != 20 || c.Attempts != 20 {
				t.Errorf("handed over after %d ms: %d completed in %d attempts, want 20", moment, c.Completed, c.Attempts)
			}
		})
	}
}

// Otherwise, after a database restart, numbers of calls that ended elsewhere would be held again.
func TestWhatIsHandedOverIsHeldNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.tree.Close()
		r.member = newLease()
		r.start()
		defer r.tree.Close()
		r.add(20)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		if n := len(r.store.Held()); n < 10 {
			t.Errorf("%d writes of what ten calls hold", n)
		}
		if err := r.tree.Ownership().Release(t.Context(), r.id); err != nil {
			t.Fatal(err)
		}
		if held := r.store.Held(); len(held) > 0 {
			t.Errorf("held by who acts no more: %+v", held)
		}
	})
}

// A node that starts acts for nothing until it is told to, and leaves others' campaigns alone.
func TestANodeOfSeveralActsForWhatItOwnsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		owner := r.tree
		defer owner.Close()
		epoch := r.detail().Campaign.Epoch

		r.member = newLease()
		r.start()
		defer func() { r.tree.Close() }()
		time.Sleep(time.Minute) // virtual
		if d, err := owner.Detail(t.Context(), r.id); err != nil || d.Campaign.Epoch != epoch {
			t.Fatalf("epoch %d, was %d (%v): somebody else took the campaign over", d.Campaign.Epoch, epoch, err)
		}
		r.store.View(func() { r.store.NotOwned = true })
		for i := range 2 { // it has stopped meanwhile, and starts again
			if _, err := r.tree.Detail(t.Context(), r.id); engine.ErrorCode(err) != "not_owner" {
				t.Fatalf("%d: a node that does not own the campaign answers %v", i, err)
			}
			call := r.openAttempts()[0].ID.Call()
			for what, err := range map[string]error{
				"a result": r.tree.SubmitResult(t.Context(), campaign.SubmitResult{Call: call,
					Result: attempt.Result{Disposition: "sold"}}),
				"a hang-up":  r.tree.HangUp(t.Context(), call, engine.Who{}),
				"a transfer": r.tree.Transfer(t.Context(), call, "+4930222222"),
			} {
				if engine.ErrorCode(err) != "not_owner" {
					t.Errorf("%d: %s of somebody else's call: %v", i, what, err)
				}
			}
			if n := r.tree.Stats().Actors.Restarts.Load(); n != 0 {
				t.Fatalf("%d faults", n)
			}
			time.Sleep(10 * time.Second) // virtual
		}
		// The node may own it later.
		r.store.View(func() { r.store.NotOwned = false })
		if err := owner.Ownership().Release(t.Context(), r.id); err != nil {
			t.Fatal(err)
		}
		r.tree.Ownership().Adopt(r.id)
		r.until(time.Minute, "it acts", func() bool { return r.detail().Live.InProgress == 10 })
	})
}

// Self-fencing: a node whose lease ran out places no calls, says why, and lets live calls go on.
func TestAFencedNodePlacesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		lease := newLease()
		r.results()
		r.tree.Close()
		r.member = lease
		r.start()
		defer func() { r.tree.Close() }()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
		lease.ends.Store(0)
		time.Sleep(time.Second) // virtual
		invited := r.world.Invited()
		time.Sleep(time.Minute) // virtual
		d := r.detail()
		if n := r.world.Invited(); n != invited || d.Live.InProgress != 0 {
			t.Errorf("%d INVITEs after the lease ran out, %d calls in progress", n-invited, d.Live.InProgress)
		}
		if d.Live.Constraint != engine.ConstraintNodeFenced {
			t.Errorf("why it is not dialling: %q", d.Live.Constraint)
		}
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.Ending == nil || a.Ending.Outcome != engine.OutcomeCompleted {
					t.Errorf("a live call came to %+v", a.Ending)
				}
			}
		})
		if _, err := r.tree.Dialout(t.Context(), campaign.Dialout{Bot: "bot",
			To: number(77)}); engine.ErrorCode(err) != "node_fenced" {
			t.Errorf("a dialout answers %v", err)
		}
		ready, err := r.tree.Preflight(t.Context(), r.id)
		if err != nil || !hasFinding(ready.Warnings, "node_fenced") {
			t.Errorf("preflight %+v, %v", ready.Warnings, err)
		}
		lease.ends.Store(int64(1000 * time.Hour))
		r.until(time.Hour, "campaign completed", r.completed)
	})
}

// An INVITE leaves before the end of the lease that was held at its intent, or never.
func TestAnIntentIsNotSentAfterTheEndOfTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		lease := newLease()
		r.tree.Close()
		r.member = lease
		r.start()
		defer func() { r.tree.Close() }()
		began := time.Now().Add(-time.Hour) // boot time zero of the rig's clock
		r.world.Boot = func() engine.BootTime { return engine.BootTime(time.Since(began)) + 1 }
		r.add(5)
		r.store.View(func() { r.store.Delay = 3 * time.Second })
		// Start is durable after three seconds, the first intents after six.
		lease.ends.Store(int64(time.Since(began) + 5*time.Second))
		r.act(campaign.ActionStart)
		time.Sleep(20 * time.Second) // virtual
		r.store.View(func() {
			if _, _, attempts := r.store.Counts(); attempts == 0 {
				t.Error("no call was begun before the end of the lease")
			}
		})
		if n := r.world.Invited(); n != 0 {
			t.Errorf("%d INVITEs left after the end of the lease", n)
		}
		r.store.View(func() { r.store.Delay = 0 })
		lease.ends.Store(int64(1000 * time.Hour))
		r.until(time.Minute, "they are dialled after its renewal", func() bool { return r.world.Invited() > 0 })
	})
}

func hasFinding(list []engine.FieldError, code string) bool {
	for i := range list {
		if list[i].Code == code {
			return true
		}
	}
	return false
}
