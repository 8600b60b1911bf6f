package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// later asks for a dialout in a while.
func (r *rig) later(i int, in time.Duration, change ...func(*campaign.Dialout)) campaign.DialoutReply {
	r.t.Helper()
	at := time.Now().Add(in)
	cmd := campaign.Dialout{Bot: "bot", To: number(i), Times: contact.Times{NotBefore: &at}}
	for _, f := range change {
		f(&cmd)
	}
	rep, err := r.tree.Dialout(context.Background(), cmd)
	if err != nil || rep.Status != "scheduled" || !rep.NotBefore.Equal(at) {
		r.t.Fatalf("%+v, %v", rep, err)
	}
	return rep
}

func expiring(after time.Duration) func(*campaign.Dialout) {
	return func(d *campaign.Dialout) {
		at := d.Times.NotBefore.Add(after)
		d.Times.ExpiresAt = &at
	}
}

func (r *rig) shown(id engine.CallID) attempt.Attempt {
	r.t.Helper()
	a, err := r.tree.Call(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) scheduledRig(f func()) {
	r.t.Helper()
	r.outgoing()
	f()
	time.Sleep(time.Minute) // virtual
	st := r.tree.Stats()
	if st.Fleet.SeatsHeld.Load() != 0 || st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 ||
		r.tree.LiveCalls() != 0 {
		r.t.Errorf("held in the end: %d seats, %d channels, %d numbers; %d calls", st.Fleet.SeatsHeld.Load(),
			st.Trunks.Leases.Load(), st.Numbers.Leases.Load(), r.tree.LiveCalls())
	}
	r.tree.Close()
}

func TestADialoutIsCalledAtItsTimeAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			begun := time.Now()
			rep := r.later(1, 90*time.Second)
			a := r.shown(rep.CallID)
			if a.State != attempt.Scheduled || !a.Waits.NotBefore.Equal(*rep.NotBefore) || r.world.Invited() != 0 ||
				r.tree.LiveCalls() != 0 {
				t.Errorf("%+v", a)
			}
			time.Sleep(89 * time.Second) // virtual
			if n := r.world.InvitedTo(number(1)); n != 0 {
				t.Fatalf("%d INVITEs before its time", n)
			}
			time.Sleep(time.Minute) // virtual
			a = r.shown(rep.CallID)
			if a.State != attempt.Ended || a.InviteAt == nil || a.InviteAt.Before(begun.Add(90*time.Second)) ||
				a.InviteAt.After(begun.Add(91*time.Second)) || r.world.InvitedTo(number(1)) != 1 {
				t.Errorf("%+v, %d INVITEs", a, r.world.InvitedTo(number(1)))
			}
			if err := r.tree.CancelDialout(context.Background(),
				campaign.CancelDialout{Call: rep.CallID}); engine.ErrorCode(err) != engine.CodeDialoutPlaced {
				t.Errorf("cancelled too late: %v", err)
			}
		})
	})
}

func TestADialoutForLaterHasOneOfOurNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			at := time.Now().Add(time.Minute)
			_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1), From: "+4930999999",
				Times: contact.Times{NotBefore: &at}})
			if engine.ErrorCode(err) != "from_number_unknown" {
				t.Error(err)
			}
			r.later(2, time.Minute, func(d *campaign.Dialout) { d.From = r.store.Nums[0].Number })
			time.Sleep(2 * time.Minute) // virtual
			if r.world.InvitedTo(number(2)) != 1 {
				t.Error("not called")
			}
		})
	})
}

func TestADialoutThatWaitsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			one, two := r.later(1, time.Minute), r.later(2, time.Minute)
			ctx := context.Background()
			var by []engine.Who
			r.store.View(func() {
				r.store.OnWrite = func(w *journal.Write) {
					for _, e := range w.Events {
						if e.Type == journal.DialoutCancelled && e.Data.Who != nil {
							by = append(by, *e.Data.Who)
						}
					}
				}
			})
			if err := r.tree.CancelDialout(ctx, campaign.CancelDialout{Call: one.CallID}); err != nil {
				t.Error(err)
			}
			if err := r.tree.SendDigits(ctx, two.CallID, "1"); engine.ErrorCode(err) != "call_not_answered" {
				t.Error(err)
			}
			if err := r.tree.HangUp(ctx, two.CallID, engine.Who{User: "usr"}); err != nil {
				t.Error(err)
			}
			if err := r.tree.HangUp(ctx, two.CallID, engine.Who{User: "usr"}); engine.ErrorCode(err) != "call_ended" {
				t.Error(err)
			}
			r.store.View(func() {
				if len(by) != 1 || by[0].User != "usr" {
					t.Errorf("cancelled by %+v", by)
				}
			})
			none := engine.AttemptID("00000000000000000000000000000001").Call()
			if err := r.tree.CancelDialout(ctx, campaign.CancelDialout{Call: none}); engine.ErrorCode(err) !=
				"call_not_found" {
				t.Error(err)
			}
			time.Sleep(2 * time.Minute) // virtual
			for _, id := range []engine.CallID{one.CallID, two.CallID} {
				if a := r.shown(id); a.State != attempt.Ended || a.Outcome != engine.OutcomeCancelled {
					t.Errorf("%+v", a)
				}
			}
			if st := &r.tree.Stats().Dialouts; r.world.Invited() != 0 || st.Cancelled.Load() != 2 ||
				st.Scheduled.Load() != 2 {
				t.Errorf("%d INVITEs", r.world.Invited())
			}
		})
	})
}

// No seat is free, a later one is worth more, and one expires.
func TestADialoutWaitsForASeatUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		r.store.View(func() { r.store.BotList[0].Seats = 1 })
		if err := r.tree.BotsChanged(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.scheduledRig(func() {
			if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)}); err != nil {
				t.Fatal(err)
			}
			priority := func(p int) func(*campaign.Dialout) {
				return func(d *campaign.Dialout) { d.Times.Priority = &p }
			}
			normal := r.later(2, time.Second)
			urgent := r.later(3, 5*time.Second, priority(9))
			lost := r.later(4, time.Second, priority(1), expiring(10*time.Second))
			time.Sleep(8 * time.Second) // virtual
			if a := r.shown(normal.CallID); a.State != attempt.Scheduled || a.Waits.Reason != "no_capacity" {
				t.Errorf("%+v", a.Waits)
			}
			time.Sleep(2 * time.Minute) // virtual
			first, second := r.shown(urgent.CallID), r.shown(normal.CallID)
			if first.InviteAt == nil || second.InviteAt == nil || !first.InviteAt.Before(*second.InviteAt) {
				t.Errorf("the urgent one at %v, the other at %v", first.InviteAt, second.InviteAt)
			}
			if a := r.shown(lost.CallID); a.State != attempt.Ended || a.Outcome != engine.OutcomeExpired ||
				a.EndedAt.Sub(a.ReservedAt.Add(10*time.Second)) > time.Second {
				t.Errorf("%+v", a)
			}
			if n := r.tree.Stats().Dialouts.Expired.Load(); n != 1 || r.world.InvitedTo(number(4)) != 0 {
				t.Errorf("%d expired", n)
			}
		})
	})
}

func TestADialoutToANumberThatWasSuppressedSinceEndsAsAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			rep := r.later(1, time.Minute)
			r.store.Lock()
			r.store.Suppressions[number(1)] = journal.Suppression{Number: number(1)}
			r.store.Unlock()
			time.Sleep(2 * time.Minute) // virtual
			if a := r.shown(rep.CallID); a.State != attempt.Ended || a.Outcome != engine.OutcomeBlocked ||
				r.world.Invited() != 0 {
				t.Errorf("%+v", a)
			}
		})
	})
}

// The process ends before its time, and another one begins after it.
func TestADialoutIsPlacedByTheNextProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.outgoing()
		rep := r.later(1, time.Minute)
		time.Sleep(30 * time.Second) // virtual
		r.tree.Close()
		time.Sleep(time.Minute) // virtual
		r.start()
		r.scheduledRig(func() {
			time.Sleep(time.Minute) // virtual
			if a := r.shown(rep.CallID); a.State != attempt.Ended || r.world.InvitedTo(number(1)) != 1 {
				t.Errorf("%+v", a)
			}
		})
	})
}

// The database does not answer from before its time until after its end: its intent could only be stored
// then.
func TestADialoutIsNotCalledAfterItsEndHoweverSlowTheDatabaseIs(t *testing.T) {
	for what, stall := range map[string]func(r *rig, on bool){
		"away": func(r *rig, on bool) { r.store.SetDown(on) },
		"slow": func(r *rig, on bool) {
			r.store.View(func() {
				if r.store.Delay = 0; on {
					r.store.Delay = 9 * time.Second
				}
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
			r.scheduledRig(func() {
				rep := r.later(1, time.Minute, expiring(5*time.Second))
				time.Sleep(59 * time.Second) // virtual
				stall(r, true)
				time.Sleep(20 * time.Second) // virtual
				stall(r, false)
				time.Sleep(time.Minute) // virtual
				if a := r.shown(rep.CallID); a.Outcome != engine.OutcomeExpired || r.world.Invited() != 0 {
					t.Errorf("%s: %+v, %d INVITEs", what, a, r.world.Invited())
				}
			})
		})
	}
}

// Cancelled at every moment around its time: it is either cancelled or called, never both.
func TestADialoutIsCancelledOrCalledAndNeverBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			r.store.View(func() { r.store.Delay = 3 * time.Millisecond })
			called := 0
			for i := range 60 {
				rep := r.later(i, time.Second)
				time.Sleep(time.Second - 5*time.Millisecond + time.Duration(i)*time.Millisecond) // virtual
				err := r.tree.CancelDialout(context.Background(), campaign.CancelDialout{Call: rep.CallID})
				time.Sleep(time.Minute) // virtual
				n := r.world.InvitedTo(number(i))
				called += n
				if err != nil && engine.ErrorCode(err) != engine.CodeDialoutPlaced || n > 1 || (err == nil) != (n == 0) {
					t.Errorf("%d ms: %v and %d INVITEs", i, err, n)
				}
			}
			if called == 0 || called == 60 {
				t.Errorf("%d called", called)
			}
		})
	})
}

// Looks for other dialouts come between its last try and its end.
func TestADialoutThatIsPutOffExpiresAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 5*time.Second), nil)
		r.scheduledRig(func() {
			ids := []engine.CallID{r.later(1, time.Second, expiring(6500*time.Millisecond)).CallID}
			for i := range 5 {
				ids = append(ids, r.later(2+i, 7*time.Second+time.Duration(i)*10*time.Millisecond,
					expiring(5*time.Second)).CallID)
			}
			r.store.View(func() { r.store.BotList[0].Active = false })
			if err := r.tree.BotsChanged(context.Background()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // virtual
			for _, id := range ids {
				a := r.shown(id)
				if late := a.EndedAt.Sub(*a.ReservedAt); a.Outcome != engine.OutcomeExpired || late > 7500*time.Millisecond {
					t.Errorf("%s, %s after its time", a.Outcome, late)
				}
			}
			if late := r.shown(ids[0]); late.EndedAt.Sub(*late.ReservedAt) > 7100*time.Millisecond {
				t.Errorf("ended %s after its time", late.EndedAt.Sub(*late.ReservedAt))
			}
		})
	})
}
