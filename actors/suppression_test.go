package actors_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/actors/ports"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// suppress puts a number on the list as the API does.
func (r *rig) suppress(n engine.PhoneNumber) {
	r.store.View(func() { r.store.Suppress(n) })
	if err := r.tree.Suppressed(context.Background(), []engine.PhoneNumber{n}); err != nil {
		r.t.Errorf("suppress: %v", err)
	}
}

// heldBack stops the actor of a call just before it sends its INVITE, and with it the messages in
// its mailbox.
type heldBack struct {
	ports.Telephony
	to   engine.PhoneNumber
	nth  int // which of the calls to it
	here chan struct{}
	goOn chan struct{}
}

func newHeldBack(to engine.PhoneNumber, nth int) *heldBack {
	return &heldBack{to: to, nth: nth, here: make(chan struct{}), goOn: make(chan struct{})}
}

func (h *heldBack) PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	if cmd.To == h.to {
		if h.nth--; h.nth == 0 {
			close(h.here)
			<-h.goOn
		}
	}
	h.Telephony.PlaceLeg(cmd, sink)
}

// answers starts a request; the function it returns says whether it has been answered.
func answers(f func() error) (answered func() (error, bool)) {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return func() (error, bool) {
		synctest.Wait()
		select {
		case err := <-c:
			return err, true
		default:
			return nil, false
		}
	}
}

func (r *rig) cancels() (n int) {
	r.world.View(func() { n = r.world.Cancels })
	return n
}

// callBy starts a call to a number, by a campaign or outside all of them.
func (r *rig) callBy(dialout bool, n int) {
	if !dialout {
		r.beside("cmp_other", n, 1, func(*campaign.Settings) {})
		return
	}
	go func() { _, _ = r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(n)}) }()
}

// An intent may have been stored before the suppression: the answer waits for its call.
func TestASuppressionIsAnsweredOnceNoInviteToTheNumberIsOnItsWay(t *testing.T) {
	for _, dialout := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(10*time.Second, 10*time.Second), nil)
			r.tree.Close()
			r.held = newHeldBack(number(1), 1)
			r.start()
			defer func() { r.tree.Close() }()
			r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
			r.callBy(dialout, 1)
			<-r.held.here
			r.store.View(func() { r.store.Suppress(number(1)) })
			suppress := func() error {
				return r.tree.Suppressed(context.Background(), []engine.PhoneNumber{number(2), number(1)})
			}
			late := answers(suppress)
			if err, answered := late(); answered {
				t.Errorf("dialout %v: answered (%v) while an INVITE is about to leave", dialout, err)
			}
			time.Sleep(6 * time.Second) // virtual
			if err, _ := late(); engine.ErrorCode(err) != "suppression_unconfirmed" {
				t.Errorf("dialout %v: %v, want that it was not confirmed", dialout, err)
			}
			again := answers(suppress)
			if _, answered := again(); answered {
				t.Errorf("dialout %v: answered again while an INVITE is about to leave", dialout)
			}
			close(r.held.goOn)
			time.Sleep(500 * time.Millisecond) // virtual: another node may carry it
			if err, answered := again(); err != nil || !answered || r.cancels() != 1 {
				t.Errorf("dialout %v: answered %v, %v, with %d CANCELs, want one", dialout, answered, err, r.cancels())
			}
			time.Sleep(time.Minute) // virtual
			if n := r.world.InvitedTo(number(1)); n != 1 {
				t.Errorf("dialout %v: %d INVITEs", dialout, n)
			}
		})
	}
}

// A result with do_not_call is answered like a suppression, whatever it belongs to and whatever
// calls the number meanwhile.
func TestADoNotCallResultIsAnsweredOnceTheNumberIsCalledNoMore(t *testing.T) {
	for _, by := range []struct{ first, then bool }{{false, false}, {false, true}, {true, false}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			r.tree.Close()
			r.held = newHeldBack(number(1), 2)
			var told atomic.Int64
			r.member = &leaseOf{suppressed: func(list []engine.PhoneNumber) error {
				if told.Add(1) == 1 {
					return errors.New("node b")
				}
				return nil
			}}
			r.member.(*leaseOf).ends.Store(int64(1000 * time.Hour))
			r.start()
			defer func() { r.tree.Close() }()
			r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
			if by.first {
				r.callBy(true, 1)
			} else {
				r.tree.Ownership().Adopt(r.id)
				if _, err := r.tree.AddContacts(context.Background(), campaign.AddContacts{Campaign: r.id, Source: "api",
					Contacts: []campaign.NewContact{{Number: number(1)}}}); err != nil {
					t.Fatal(err)
				}
				r.act(campaign.ActionStart)
			}
			r.until(time.Minute, "a conversation", func() bool {
				return r.world.InvitedTo(number(1)) == 1 && r.world.LiveCalls() == 0
			})
			time.Sleep(time.Second) // virtual: its end is stored
			id := r.attempts()[0].ID.Call()
			r.callBy(by.then, 1)
			<-r.held.here
			submit := func() error {
				return r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: id,
					Result: attempt.Result{Disposition: "never", DoNotCall: true, ReceivedAt: time.Now()}})
			}
			reply := answers(submit)
			time.Sleep(3 * time.Second) // virtual
			if err, answered := reply(); answered {
				t.Errorf("%+v: answered (%v) while an INVITE is about to leave", by, err)
			}
			r.store.View(func() {
				if !r.store.IsSuppressed(number(1)) {
					t.Errorf("%+v: not stored", by)
				}
			})
			close(r.held.goOn)
			time.Sleep(500 * time.Millisecond) // virtual
			if err, _ := reply(); engine.ErrorCode(err) != "suppression_unconfirmed" ||
				!strings.Contains(err.Error(), "node b") {
				t.Errorf("%+v: %v, want that node b did not confirm", by, err)
			}
			if r.cancels() != 1 {
				t.Errorf("%+v: %d CANCELs", by, r.cancels())
			}
			if err := submit(); err != nil {
				t.Errorf("%+v: sent again: %v", by, err)
			}
			time.Sleep(time.Minute) // virtual
			if told := told.Load(); told != 3 {
				t.Errorf("%+v: the other nodes were told %d times, want by both results and once more as one did not confirm", by,
					told)
			}
			if n := r.world.InvitedTo(number(1)); n != 2 {
				t.Errorf("%+v: %d INVITEs", by, n)
			}
		})
	}
}

// The call that the result belongs to confirms as well, and its conversation goes on.
func TestADoNotCallResultLeavesItsOwnConversationAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "a conversation", func() bool { return r.detail().Live.InProgress == 1 })
		began := time.Now()
		err := r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: r.attempts()[0].ID.Call(),
			Result: attempt.Result{Disposition: "never", DoNotCall: true, ReceivedAt: began}})
		if err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		r.until(5*time.Minute, "completed", r.completed)
		r.check()
		if c := r.contactOf(number(0)); c.State != contact.Completed || c.Reason != "" {
			t.Errorf("%s %q", c.State, c.Reason)
		}
		if a := r.attempts()[0]; a.Talk() < 29*time.Second {
			t.Errorf("it talked for %s", a.Talk())
		}
	})
}

// The number is held while the callee hears the message; if it is called elsewhere nevertheless,
// that call ends as well.
func TestTheOptOutKeyEndsEveryOtherCallToTheNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ engine.PhoneNumber, nth int) actortest.Script {
			if nth > 1 {
				return actortest.Script{Ring: time.Minute, Code: 486}
			}
			return actortest.Script{Ring: 2 * time.Second, Code: 200, BotIn: -1, Press: '9'}
		}, func(s *campaign.Settings) { s.AMD, s.RingTimeoutSec = engine.AMDOff, 60 })
		r.tree.Close()
		r.optOut = '9'
		var told atomic.Int64
		lease := newLease()
		lease.suppressed = func([]engine.PhoneNumber) error { told.Add(1); return nil }
		r.member = lease
		r.start()
		defer func() { r.tree.Close() }()
		r.tree.Ownership().Adopt(r.id)
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it rings", func() bool { return r.world.Invited() == 1 })
		r.store.View(func() { clear(r.store.Holds) })
		other := r.beside("cmp_other", 0, 1, func(*campaign.Settings) {})
		r.until(time.Minute, "it rings for another campaign too", func() bool { return r.world.Invited() == 2 })
		if r.cancels() != 0 {
			t.Fatal("cancelled before anybody opted out")
		}
		r.until(30*time.Second, "the other call is cancelled", func() bool { return r.cancels() == 1 })
		r.until(time.Minute, "completed", other.completed)
		if told := told.Load(); told != 1 {
			t.Errorf("the other nodes were told %d times", told)
		}
	})
}

// The call's former owner may have released it before it was told of the suppression.
func TestACallThatIsTakenOverEndsWhenItsNumberWasSuppressedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(14*time.Second, 30*time.Second), func(s *campaign.Settings) { s.MaxAttempts = 1 })
		r.results()
		r.tree.Close()
		r.member = newLease()
		r.start()
		first := r.tree
		defer first.Close()
		r.add(2)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "both ring", func() bool { return r.world.Invited() == 2 })
		time.Sleep(2 * time.Second) // virtual
		r.start()
		defer func() { r.tree.Close() }()
		if err := first.Ownership().Release(t.Context(), r.id); err != nil {
			t.Fatal(err)
		}
		r.suppress(number(1)) // neither of the two nodes has the campaign
		if r.cancels() != 0 {
			t.Fatal("cancelled before anybody has the call")
		}
		r.tree.Ownership().Adopt(r.id)
		r.until(5*time.Second, "the call that was taken over is cancelled", func() bool { return r.cancels() == 1 })
		r.until(5*time.Minute, "completed", r.completed)
		if c := r.contactOf(number(1)); c.State != contact.Failed || c.Reason != engine.CodeSuppressed {
			t.Errorf("%s %q", c.State, c.Reason)
		}
		if c := r.contactOf(number(0)); c.State != contact.Completed {
			t.Errorf("the other: %s %q", c.State, c.Reason)
		}
	})
}

func TestANumberSuppressedWhileItWaitsInTheLookAheadIsNotDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second),
			func(s *campaign.Settings) { s.Concurrency = 1; s.AbandonCapPPM = 0 })
		defer r.tree.Close()
		r.results()
		r.add(3)
		r.act(campaign.ActionStart)
		r.until(10*time.Second, "the first is called", func() bool { return r.world.Invited() == 1 })
		r.suppress(number(2)) // it comes after the others in the look-ahead
		r.until(5*time.Minute, "completed", r.completed)
		r.check()
		if c := r.contactOf(number(2)); c.State != contact.Failed || c.Reason != "suppressed" ||
			r.world.InvitedTo(number(2)) != 0 {
			t.Errorf("%s %q, %d INVITEs", c.State, c.Reason, r.world.InvitedTo(number(2)))
		}
		if d := r.detail(); d.Counters.Completed != 2 || d.Counters.Failed != 1 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestASuppressedNumberThatRingsIsCancelledAndAConversationIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(10*time.Second, 30*time.Second), func(s *campaign.Settings) { s.Concurrency = 2 })
		defer r.tree.Close()
		r.results()
		r.add(2)
		r.act(campaign.ActionStart)
		time.Sleep(8 * time.Second) // virtual: both ring
		r.suppress(number(0))
		time.Sleep(10 * time.Second) // virtual: the other call is talking
		r.suppress(number(1))
		r.until(5*time.Minute, "completed", r.completed)
		r.check()
		if c := r.contactOf(number(0)); c.State != contact.Failed || c.Reason != "suppressed" ||
			r.world.InvitedTo(number(0)) != 1 || r.world.Cancels != 1 {
			t.Errorf("%s %q, %d INVITEs, %d CANCELs", c.State, c.Reason, r.world.InvitedTo(number(0)), r.world.Cancels)
		}
		if c := r.contactOf(number(1)); c.State != contact.Completed {
			t.Errorf("the conversation: %s %q", c.State, c.Reason)
		}
	})
}

func TestATriggerAndADialoutToASuppressedNumberAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		r.suppress(number(1))
		r.act(campaign.ActionStart)
		if rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id,
			Number: number(1)}); engine.ErrorCode(err) != "suppressed" {
			t.Errorf("trigger: %+v %v", rep, err)
		}
		if rep, err := r.tree.Dialout(context.Background(),
			campaign.Dialout{Bot: "bot", To: number(1)}); engine.ErrorCode(err) != "suppressed" {
			t.Errorf("dialout: %+v %v", rep, err)
		}
		time.Sleep(time.Minute) // virtual
		if n := r.world.Invited(); n != 0 {
			t.Errorf("%d INVITEs", n)
		}
		r.store.View(func() {
			if contacts, _, _ := r.store.Counts(); contacts != 0 {
				t.Errorf("%d contacts were made", contacts)
			}
		})
	})
}

func TestADialoutThatRingsIsCancelledWhenItsNumberIsSuppressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(10*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		time.Sleep(time.Second) // virtual
		rep, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second) // virtual: it rings
		r.suppress(number(1))
		time.Sleep(time.Second) // virtual
		a, err := r.tree.Call(context.Background(), rep.CallID)
		if err != nil || a.Outcome != engine.OutcomeCancelled || r.world.Cancels != 1 {
			t.Errorf("%s %v, %d CANCELs", a.Outcome, err, r.world.Cancels)
		}
	})
}

// The callee of an abandoned call hears the message; the opt-out key suppresses the number for the
// whole installation, durably with the attempt.
func TestTheOptOutKeyInTheInformationMessageSuppressesTheNumber(t *testing.T) {
	for _, key := range []byte{'9', '1', 0} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
				return actortest.Script{Ring: 2 * time.Second, Code: 200, BotIn: -1, Press: key}
			}, func(s *campaign.Settings) { s.AMD = engine.AMDOff; s.AlwaysOn = true })
			r.tree.Close()
			r.optOut = '9'
			r.start()
			defer func() { r.tree.Close() }()
			r.add(1)
			r.act(campaign.ActionStart)
			r.until(time.Minute, "abandoned", func() bool { return r.detail().Counters.Abandoned == 1 })
			r.until(time.Minute, "the call is over", func() bool { return r.world.HungUp() > 0 && r.world.LiveCalls() == 0 })
			time.Sleep(time.Second) // virtual: until its end is stored, which nothing waits for
			r.store.View(func() {
				if r.store.IsSuppressed(number(0)) != (key == '9') {
					t.Errorf("key %q: suppressed %v", key, r.store.IsSuppressed(number(0)))
				}
				said := 0
				for _, e := range r.store.AllEvents() {
					if e.Type == journal.AttemptOptedOut {
						said++
					}
				}
				if want := map[bool]int{true: 1}[key == '9']; said != want {
					t.Errorf("key %q: %d events, want %d", key, said, want)
				}
			})
			if r.world.HungUp() != 1 {
				t.Errorf("%d BYEs after the message", r.world.HungUp())
			}
			rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(0)})
			if (engine.ErrorCode(err) == "suppressed") != (key == '9') {
				t.Errorf("key %q, called again: %+v %v", key, rep, err)
			}
		})
	}
}

func TestADoNotCallResultSuppressesTheNumberWhereverItIsCalledNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		r.resultsLike(attempt.Result{Disposition: "never again", DoNotCall: true})
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "a conversation with its result", func() bool { return r.detail().Counters.Completed == 1 })
		r.store.View(func() {
			if !r.store.IsSuppressed(number(0)) {
				t.Error("the number is not on the list")
			}
		})
		if _, err := r.tree.Dialout(context.Background(),
			campaign.Dialout{Bot: "bot", To: number(0)}); engine.ErrorCode(err) != "suppressed" {
			t.Errorf("dialout: %v", err)
		}
		if _, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id,
			Number: number(0)}); engine.ErrorCode(err) != "suppressed" {
			t.Errorf("trigger: %v", err)
		}
		if n := r.world.InvitedTo(number(0)); n != 1 {
			t.Errorf("%d INVITEs", n)
		}
	})
}

// The cap applies across campaigns and dialouts; a contact waits for it, whatever its retry delay,
// and a dialout is refused.
func TestANumberIsCalledAtMostAsOftenAsTheCapAllowsWithinItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} }
		r := newRig(t, busy, func(s *campaign.Settings) { s.MaxAttempts, s.RetryDelaySec, s.Concurrency = 3, 60, 5 })
		r.tree.Close()
		r.cap, r.tick = 2, 3*time.Second
		r.start()
		defer func() { r.tree.Close() }()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		dialout := func() error {
			_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(0)})
			return err
		}
		began := time.Now()
		if err := dialout(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(5*time.Minute, "the contact waits",
			func() bool { return r.contactOf(number(0)).Reason == engine.CodeCalleeCap })
		due := r.contactOf(number(0)).DueAt
		if n := r.world.InvitedTo(number(0)); n != 2 || due == nil || due.Sub(began) < 24*time.Hour ||
			due.Sub(began) > 24*time.Hour+time.Second {
			t.Errorf("%d calls, the next at %v, the first was at %s", n, due, began)
		}
		if err := dialout(); engine.ErrorCode(err) != engine.CodeCalleeCap {
			t.Errorf("the third within a day: %v", err)
		}
		if rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id,
			Number: number(0)}); err != nil || rep.Status != "queued" {
			t.Errorf("trigger: %+v %v", rep, err)
		}
		time.Sleep(22 * time.Hour) // virtual
		if n := r.world.InvitedTo(number(0)); n != 2 {
			t.Errorf("%d calls within the day", n)
		}
		r.until(4*24*time.Hour, "completed", r.completed)
		r.check()
		if c := r.contactOf(number(0)); c.State != contact.Failed || c.Reason != contact.ReasonExhausted || c.Used != 3 {
			t.Errorf("%s %q after %d calls", c.State, c.Reason, c.Used)
		}
	})
}

func TestATriggerOfANumberAtItsCapIsQueuedUntilItMayBeCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 5*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		r.tree.Close()
		r.cap, r.tick = 1, 3*time.Second
		r.start()
		defer func() { r.tree.Close() }()
		r.results()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(0)}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.Sleep(time.Minute) // virtual
		r.act(campaign.ActionStart)
		rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(0)})
		if err != nil || rep.Status != "queued" || rep.Reason != engine.CodeCalleeCap || rep.NextEligibleAt == nil ||
			rep.NextEligibleAt.Sub(began).Round(time.Minute) != 24*time.Hour {
			t.Fatalf("%+v %v", rep, err)
		}
		r.until(25*time.Hour, "called when the day is over", func() bool { return r.detail().Counters.Completed == 1 })
		if d := time.Since(began); d < 24*time.Hour {
			t.Errorf("after %s", d)
		}
	})
}
