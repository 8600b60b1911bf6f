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
	"dialler/engine/window"
)

// wishes posts results as bots would: the callback wish of the nth conversation with a number, or
// nil.
func (r *rig) wishes(wish func(to engine.PhoneNumber, nth int) *attempt.Callback) {
	nth := map[engine.PhoneNumber]int{}
	r.store.View(func() {
		r.store.OnWrite = func(w *journal.Write) {
			for _, e := range w.Events {
				if e.Type != journal.AttemptEnded || !e.Data.Connected {
					continue
				}
				id, to := e.Attempt, w.Attempts[0].To
				nth[to]++
				res := attempt.Result{Disposition: "later", ReceivedAt: time.Now(), Callback: wish(to, nth[to])}
				go r.post(id.Call(), res)
			}
		}
	})
}

func once(at func() *time.Time) func(engine.PhoneNumber, int) *attempt.Callback {
	return func(_ engine.PhoneNumber, nth int) *attempt.Callback {
		if nth > 1 {
			return nil
		}
		return &attempt.Callback{Requested: true, At: at()}
	}
}

// inFrom returns the time d after it is called.
func inFrom(d time.Duration) func() *time.Time {
	return func() *time.Time { t := time.Now().Add(d); return &t }
}

// calledBack is a campaign with callbacks whose calls are all answered.
func calledBack(t *testing.T, edit func(*campaign.Settings)) *rig {
	return newRig(t, steady(2*time.Second, 10*time.Second), detecting(edit))
}

func calledBackInDays(t *testing.T, edit func(*campaign.Settings)) *rig {
	return newDaysRig(t, steady(2*time.Second, 10*time.Second), detecting(edit))
}

func detecting(edit func(*campaign.Settings)) func(*campaign.Settings) {
	return func(s *campaign.Settings) {
		s.CallbackDetection, s.RetryDelaySec = true, 600
		if edit != nil {
			edit(s)
		}
	}
}

// callsTo gives the calls to a number, by time.
func (r *rig) callsTo(n engine.PhoneNumber) (list []attempt.Attempt) {
	for _, a := range r.inOrder() {
		if a.To == n {
			list = append(list, a)
		}
	}
	return list
}

func TestACallbackIsPendingAndHoldsTheCampaignUntilItIsDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, nil)
		defer r.tree.Close()
		r.wishes(once(inFrom(2 * time.Hour)))
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "pending", func() bool { return r.contactOf(number(0)).Callback == contact.CallbackPending })
		c := r.contactOf(number(0))
		time.Sleep(time.Hour) // virtual
		if d := r.detail(); d.Campaign.State != campaign.Running || c.State.Processed() {
			t.Errorf("the campaign is %s, the contact %s, while a callback is pending", d.Campaign.State, c.State)
		}
		r.until(2*time.Hour, "campaign completed", r.completed)
		r.check()
		calls := r.callsTo(number(0))
		if len(calls) != 2 || !calls[1].Callback || calls[1].InviteAt.Sub(*c.CallbackAt) > 3*time.Second ||
			calls[1].InviteAt.Before(*c.CallbackAt) {
			t.Errorf("calls %+v", calls)
		}
		if c := r.contactOf(number(0)); c.Callback != contact.CallbackCompleted || c.State != contact.Completed {
			t.Errorf("callback %s, contact %s", c.Callback, c.State)
		}
		b := r.detail().Counters.Callbacks
		if b.Requested != 1 || b.Pending != 0 || b.Completed != 1 || b.MeanDelaySeconds == nil || *b.MeanDelaySeconds > 3 {
			t.Errorf("%+v", b)
		}
	})
}

func TestACallbackWithoutATimeComesAfterTheRetryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, nil)
		defer r.tree.Close()
		r.wishes(once(func() *time.Time { return nil }))
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		calls := r.callsTo(number(0))
		if len(calls) != 2 || calls[1].InviteAt.Sub(*calls[0].EndedAt).Round(10*time.Second) != 10*time.Minute {
			t.Errorf("calls %+v", calls)
		}
	})
}

func TestACallbackIsClippedIntoTheContactsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBackInDays(t, byTheirClocks)
		defer r.tree.Close()
		r.wishes(once(inFrom(10 * time.Hour)))
		r.addNumbers(1, newYork, berlin)
		r.act(campaign.ActionStart)
		time.Sleep(39 * time.Hour) // virtual
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		for n, opens := range map[engine.PhoneNumber]int{"+493023125000": 8, "+12125550000": 14} {
			calls := r.callsTo(n)
			if len(calls) != 2 || calls[1].InviteAt.Day() != 2 || calls[1].InviteAt.Hour() != opens ||
				calls[1].InviteAt.Minute() > 0 {
				t.Errorf("calls %v", calls)
			}
		}
	})
}

func TestACallbackIsDialledBeforeAnythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, func(s *campaign.Settings) { s.Concurrency, s.AbandonCapPPM = 1, 0 })
		defer r.tree.Close()
		r.wishes(func(to engine.PhoneNumber, nth int) *attempt.Callback {
			if to != number(0) || nth > 1 {
				return nil
			}
			return &attempt.Callback{Requested: true, At: inFrom(5 * time.Minute)()}
		})
		r.add(60)
		r.act(campaign.ActionStart)
		r.until(2*time.Hour, "campaign completed", r.completed)
		calls := r.callsTo(number(0))
		at := calls[1].CallbackAt
		if len(calls) != 2 || calls[1].InviteAt.Sub(*at) > 15*time.Second { // it may have to wait for one call
			t.Fatalf("calls %+v", calls)
		}
	})
}

func TestACallbackMayExceedMaxAttemptsByOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, func(s *campaign.Settings) { s.MaxAttempts = 1 })
		defer r.tree.Close()
		r.wishes(func(engine.PhoneNumber, int) *attempt.Callback {
			return &attempt.Callback{Requested: true, At: inFrom(time.Hour)()} // every time
		})
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(5*time.Hour, "campaign completed", r.completed)
		r.check()
		if calls := r.callsTo(number(0)); len(calls) != 2 {
			t.Errorf("%d calls with one attempt and a callback", len(calls))
		}
		if c := r.contactOf(number(0)); c.Callback != contact.CallbackCancelled || c.State != contact.Completed {
			t.Errorf("callback %s, contact %s: the wish beyond is recorded as cancelled", c.Callback, c.State)
		}
	})
}

func TestOfTwoCallbacksTheNewestWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := calledBack(t, nil)
		defer r.tree.Close()
		r.wishes(once(inFrom(5 * time.Hour)))
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "pending", func() bool { return r.contactOf(number(0)).Callback == contact.CallbackPending })
		call := r.dialled()[0].ID.Call()
		sooner := time.Now().Add(time.Hour)
		err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call,
			Result: attempt.Result{Disposition: "sooner", ReceivedAt: time.Now(),
				Callback: &attempt.Callback{Requested: true, At: &sooner}}})
		if err != nil {
			t.Fatal(err)
		}
		r.until(2*time.Hour, "campaign completed", r.completed)
		r.check()
		if calls := r.callsTo(number(0)); len(calls) != 2 || calls[1].InviteAt.Sub(sooner) > 3*time.Second {
			t.Errorf("calls %+v", calls)
		}
	})
}

func TestACallbackIsCancelledByWhatEndsIt(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*campaign.Settings)
		wish  time.Duration
		end   func(r *rig)
		state contact.State
	}{
		"not enabled": {edit: func(s *campaign.Settings) { s.CallbackDetection = false }, wish: time.Hour,
			state: contact.Completed},
		"beyond 14 days":         {wish: contact.CallbackHorizon + time.Hour, state: contact.Completed},
		"a single day that ends": {edit: singleHour, wish: 2 * time.Hour, state: contact.Completed},
		"a single day that ended": {edit: singleHour, wish: 30 * time.Minute,
			end: func(r *rig) { r.act(campaign.ActionPause); time.Sleep(time.Hour) }, state: contact.WindowClosed},
		"the end of the run": {wish: time.Hour, end: func(r *rig) { r.act(campaign.ActionStop) },
			state: contact.ManuallyStopped},
		"an exclusion": {wish: time.Hour, end: func(r *rig) {
			if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(0)}); err != nil {
				r.t.Error(err)
			}
		}, state: contact.Excluded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := calledBack(t, c.edit)
				defer r.tree.Close()
				r.wishes(once(inFrom(c.wish)))
				r.add(1)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "the result is stored", func() bool { return r.contactOf(number(0)).HasResult })
				synctest.Wait()
				if c.end != nil {
					if s := r.contactOf(number(0)).Callback; s != contact.CallbackPending {
						t.Fatalf("the callback is %q before", s)
					}
					c.end(r)
				}
				r.until(2*time.Hour, "campaign completed", r.completed)
				time.Sleep(3 * time.Hour) // virtual
				want := contact.CallbackCancelled
				if name == "not enabled" {
					want = contact.CallbackNone
				}
				if got := r.contactOf(number(0)); got.Callback != want || got.State != c.state {
					t.Errorf("callback %q, contact %s; want %q, %s", got.Callback, got.State, want, c.state)
				}
				if n := r.world.Invited(); n != 1 {
					t.Errorf("%d INVITEs", n)
				}
			})
		})
	}
}

func singleHour(s *campaign.Settings) {
	s.SingleDay, s.Window = true, window.Window{Zone: "UTC", Start: 0, End: 60}
}
