package actors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

func TestADialoutThatIsRefusedGivesItsSeatBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		time.Sleep(time.Second) // virtual
		_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1), From: "+4930999999"})
		if engine.ErrorCode(err) != "from_number_unknown" {
			t.Fatal(err)
		}
		synctest.Wait()
		st := r.tree.Stats()
		if st.Fleet.SeatsHeld.Load() != 0 || st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 {
			t.Errorf(
				"held: %d seats, %d channels, %d numbers",
				st.Fleet.SeatsHeld.Load(),
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
			)
		}
	})
}

// Of a call that another node acts for nothing is left here: not its actor, its seat or its number among
// the live ones.
func TestNothingIsLeftOfADialoutThatAnotherNodeHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, time.Minute), nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		time.Sleep(time.Second) // virtual
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // virtual; it is in a conversation
		if n := r.tree.LiveCalls(); n != 1 {
			t.Fatalf("%d live calls", n)
		}
		r.tree.Ownership().Taken(rep.AttemptID)
		synctest.Wait()
		if n, held := r.tree.LiveCalls(), r.tree.Stats().Fleet.SeatsHeld.Load(); n != 0 || held != 0 ||
			r.tree.Has(rep.AttemptID) {
			t.Errorf("%d live calls, %d seats", n, held)
		}
	})
}

func TestATrunkTakesCallsAsSoonAsItIsConfigured(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			defer r.tree.Close()
			r.store.View(func() {
				r.store.TrunkList = []engine.TrunkSettings{{ID: "trunk", Active: true}, {ID: "new", Active: true, Priority: -1}}
				r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}}
			})
			r.tree.NumberChanged(r.store.Nums[0])
			time.Sleep(time.Second) // virtual
			if err := r.tree.TrunksChanged(context.Background()); err != nil {
				t.Fatal(err)
			}
			rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
			if err != nil {
				t.Fatal(err)
			}
			if a, err := r.tree.Call(context.Background(), rep.CallID); err != nil || a.Trunk != "new" {
				t.Errorf("by trunk %s, %v; want the new one, which is preferred", a.Trunk, err)
			}
		})
	}
}

func TestEveryLegOffersTheMediaOfItsOwnTrunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := func(_ engine.PhoneNumber, nth int) actortest.Script {
			if nth == 1 {
				return actortest.Script{Ring: time.Second, Code: 503, Reason: "Service Unavailable"}
			}
			return steady(2*time.Second, 10*time.Second)("", nth)
		}
		r := newRig(t, script, nil)
		defer r.tree.Close()
		r.store.View(func() {
			r.store.TrunkList = []engine.TrunkSettings{
				{ID: "trunk", Active: true, Priority: 1, Media: engine.MediaProfile{Codecs: []string{"G722", "PCMA"}}},
				{ID: "next", Active: true, Priority: 2, Media: engine.MediaProfile{SRTP: engine.SRTPRequired}},
			}
			r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}}
		})
		r.tree.NumberChanged(r.store.Nums[0])
		if err := r.tree.TrunksChanged(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // virtual
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)}); err != nil {
			t.Fatal(err)
		}
		r.until(time.Minute, "two INVITEs", func() bool { return r.world.Invited() == 2 })
		r.world.View(func() {
			if got := r.world.Offers; got[0] != "v=0 G722,PCMA " || got[1] != "v=0  required" {
				t.Errorf("offers %q", got)
			}
		})
	})
}

// A dialler that has just started does not claim to have no numbers.
func TestADialoutWaitsForTheNumbersToBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 5*time.Second), nil)
		r.tree.Close()
		r.store.View(func() {
			r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"},
				{Number: "+4930111112", State: "active"}}
			r.store.LateAnswer = time.Second
		})
		r.start()
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111112",
			State: "active"}) // one of them is no reason to begin
		for i, from := range []engine.PhoneNumber{"", "+4930111111"} {
			if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(i),
				From: from}); err != nil {
				t.Errorf("from %q: %v", from, err)
			}
			r.store.View(func() { r.store.LateAnswer = 0 })
		}
	})
}

func TestAKeyPlacesNoMoreDialoutsWithinADayThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 5*time.Second), nil)
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		dial := func(key engine.KeyID, most, i int) error {
			_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(i), Who: engine.Who{Key: key},
				DayCap: most})
			return err
		}
		for i := range 2 {
			if err := dial("key_1", 2, i); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour) // virtual
		}
		var e *engine.Error
		err := dial("key_1", 2, 2)
		if !errors.As(err, &e) || e.Code != "key_dialout_cap" || e.Kind != engine.KindTooMany ||
			e.RetryAfter.Round(time.Minute) != 22*time.Hour {
			t.Fatalf("%+v", err)
		}
		if err := dial("key_2", 2, 3); err != nil {
			t.Errorf("another key: %v", err)
		}
		if err := dial("key_1", 0, 4); err != nil {
			t.Errorf("without a cap: %v", err)
		}
		time.Sleep(e.RetryAfter) // virtual
		// The call placed without a cap counts once there is a cap again.
		if err := dial("key_1", 2, 5); engine.ErrorCode(err) != "key_dialout_cap" {
			t.Errorf("two within the day: %v", err)
		}
		time.Sleep(time.Hour) // virtual
		if err := dial("key_1", 2, 5); err != nil {
			t.Errorf("a day later: %v", err)
		}
		if n := r.world.InvitedTo(number(2)); n != 0 {
			t.Errorf("%d INVITEs of the refused one", n)
		}
	})
}

// The bot is called by SIP, because the ACK of its leg waits for the write that turns the early
// result into that of a conversation.
func TestAResultThatComesWhileADialoutRingsIsKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := sipRig(t, steady(2*time.Second, 10*time.Second))
		defer r.tree.Close()
		time.Sleep(time.Second) // virtual
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // virtual: it rings
		err = r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: rep.CallID,
			Result: attempt.Result{Disposition: "early"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // virtual: the bot has the call
		if n := r.world.Acked(); n != 2 {
			t.Errorf("%d legs have their ACK, want those of the callee and of the bot", n)
		}
		time.Sleep(time.Minute) // virtual: the call is over
		a, err := r.tree.Call(context.Background(), rep.CallID)
		if err != nil || a.State != attempt.Ended || a.Outcome != engine.OutcomeCompleted || a.Result == nil ||
			a.Result.Disposition != "early" {
			t.Errorf("%s, outcome %s, result %+v, %v", a.State, a.Outcome, a.Result, err)
		}
		st := r.tree.Stats()
		if st.Actors.Restarts.Load() != 0 || st.Calls.Results.Load() != 1 || st.Fleet.SeatsHeld.Load() != 0 {
			t.Errorf(
				"%d restarts, %d results, %d seats held; want 0, 1, 0",
				st.Actors.Restarts.Load(),
				st.Calls.Results.Load(),
				st.Fleet.SeatsHeld.Load(),
			)
		}
		r.peersOver()
	})
}
