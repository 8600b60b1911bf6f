package campaign_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/redial"
)

// together is a campaign, one contact of it and the contact's attempts, joined as the actors join
// them. The invariants of all three hold after any event.
type together struct {
	t   *rapid.T
	now time.Time
	c   campaign.Machine
	p   contact.Machine // the person
	a   *attempt.Machine

	attempts, consumed int // of the run; how many are consumed
	callbacks          int // consumed ones for callbacks
	callback           bool
	legSeq, mediaSeq   int
	excluded           bool // the contact was told, and it was not lifted
}

func (w *together) do(k campaign.Kind) bool {
	effects, err := w.c.Apply(campaign.Event{Kind: k, At: w.now, Draining: w.a != nil}, nil)
	if err != nil {
		return false
	}
	for _, e := range effects {
		switch e := e.(type) {
		case campaign.CloseWaiting:
			_ = w.tell(contact.Event{Kind: map[contact.State]contact.Kind{
				contact.WindowClosed: contact.WindowEnded, contact.ManuallyStopped: contact.RunStopped}[e.As]})
		case campaign.CancelRinging:
			w.drive(attempt.Event{Kind: attempt.CancelRequested})
		case campaign.ResetContacts:
			w.attempts, w.consumed, w.callbacks = 0, 0, 0
			_ = w.tell(contact.Event{Kind: contact.RunReset, Run: w.c.C.Run})
		}
	}
	return true
}

func (w *together) policy() contact.Policy {
	p := contact.Policy{MaxAttempts: 3, ResultTimeout: 15 * time.Minute, Callbacks: true,
		Redial: redial.Rule{Delay: time.Minute,
			OnSystem: []engine.Outcome{engine.OutcomeBusy, engine.OutcomeNoAnswer}, OnCustom: []string{"again"}}}
	switch {
	case w.c.C.CompletionReason == campaign.ReasonManuallyStopped:
		p.ClosedAs = contact.ManuallyStopped
	case w.c.C.CompletionReason == campaign.ReasonWindowEnded:
		p.ClosedAs = contact.WindowClosed
	}
	return p
}

func (w *together) tell(ev contact.Event) error {
	ev.At, ev.Policy = w.now, w.policy()
	return w.p.Apply(ev)
}

// dial reserves an attempt, as the run does for a due contact.
func (w *together) dial() {
	c := &w.p.C
	if w.c.C.State != campaign.Running || w.a != nil || c.DueAt == nil || w.now.Before(*c.DueAt) {
		return
	}
	w.attempts++
	w.callback = c.DueClass == contact.DueCallback
	id := engine.AttemptID(strings.Repeat("0", 30) + string(rune('a'+w.attempts/10%6)) + string(rune('0'+w.attempts%10)))
	if err := w.tell(contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: id}}); err != nil {
		w.t.Fatalf("a contact that is due takes no attempt: %v", err)
	}
	w.legSeq, w.mediaSeq = 0, 0
	w.a = &attempt.Machine{Config: attempt.Config{RingTimeout: 30 * time.Second, CallLimit: time.Minute},
		A: attempt.Attempt{ID: id, Run: w.c.C.Run, State: attempt.Reserved, Trunk: "a", Number: 1}}
	w.drive(attempt.Event{Kind: attempt.Began})
}

func (w *together) drive(ev attempt.Event) {
	if w.a == nil {
		return
	}
	ev.At = w.now
	before := w.a.A.WasConnected()
	effects, err := w.a.Apply(ev, nil)
	if err != nil {
		return
	}
	for _, e := range effects {
		if _, dials := e.(attempt.Dial); dials && w.excluded && ev.Kind != attempt.Began {
			w.t.Fatalf("an INVITE after the exclusion, on %s", ev.Kind)
		}
	}
	if !before && w.a.A.WasConnected() {
		_ = w.tell(contact.Event{Kind: contact.Reached})
	}
	if w.a.A.State == attempt.Ended {
		w.ended()
	}
}

func (w *together) ended() {
	a := &w.a.A
	w.a = nil
	s := &contact.Attempt{ID: a.ID, Run: a.Run, Outcome: a.Outcome, Consumed: a.Consumed, Connected: a.WasConnected(),
		Rang: a.RangUnanswered(), Talk: a.Talk(), EndedAt: *a.EndedAt}
	if a.Result != nil {
		s.HasResult, s.Disposition = true, a.Result.Disposition
		if a.Result.Callback != nil {
			s.Callback = &contact.CallbackWish{At: a.Result.Callback.At}
		}
	}
	if a.Consumed {
		w.consumed++
		if w.callback {
			w.callbacks++
		}
	}
	if err := w.tell(contact.Event{Kind: contact.Attempted, Attempt: s}); err != nil {
		w.t.Fatalf("the end of its attempt is illegal in %s: %v", w.p.C.State, err)
	}
}

func (w *together) leg(kind engine.LegEventKind, code int) {
	if w.a == nil || len(w.a.A.Legs) == 0 {
		return
	}
	w.legSeq++
	e := engine.LegEvent{Attempt: w.a.A.ID, Leg: w.a.A.Legs[len(w.a.A.Legs)-1].ID, Seq: w.legSeq, At: w.now, Kind: kind,
		Code: code}
	if kind == engine.LegAnswered {
		e.Dialog = &engine.DialogState{ToTag: "x"}
	}
	if ev, ok := attempt.FromLeg(e); ok {
		w.drive(ev)
	}
}

func (w *together) media(kind engine.MediaEventKind) {
	if w.a != nil {
		w.mediaSeq++
		if ev, ok := attempt.FromMedia(engine.MediaEvent{Attempt: w.a.A.ID, Seq: w.mediaSeq, At: w.now, Kind: kind}); ok {
			w.drive(ev)
		}
	}
}

func (w *together) check() {
	c := &w.p.C
	switch {
	case (c.Attempt != "") != (w.a != nil):
		w.t.Fatalf("the contact's live attempt is %q, and there is one: %v", c.Attempt, w.a != nil)
	case w.a != nil && c.DueAt != nil:
		w.t.Fatal("due while it is called")
	case w.consumed > 3+w.callbacks:
		w.t.Fatalf("%d consumed attempts in one run, %d of callbacks", w.consumed, w.callbacks)
	case w.c.C.State == campaign.Completed && w.a == nil && c.DueAt != nil && !c.State.Processed() &&
		w.policy().ClosedAs != "":
		w.t.Fatalf("the run is over, and its contact is %s and due", c.State)
	case c.State == contact.Completed && !c.HasResult:
		w.t.Fatal("completed without a result")
	case w.excluded && w.a == nil && c.State != contact.Excluded && c.ResultDueAt == nil:
		w.t.Fatalf("excluded, no call lives, and it is %s", c.State)
	}
}

func TestCampaignContactAndAttemptAgreeWhateverComes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &together{t: t, now: time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
		due := w.now
		w.c.C = campaign.Campaign{ID: "c", State: campaign.Draft, Run: 1, Version: 1, CreatedAt: w.now}
		w.p.C = contact.Contact{ID: "p", Run: 1, State: contact.Pending, Max: 3, DueAt: &due, DueClass: contact.DueFirst,
			Version: 1}
		steps := []func(){
			func() { w.do(campaign.Start) }, func() { w.do(campaign.Pause) }, func() { w.do(campaign.Resume) },
			func() { w.do(campaign.Stop) }, func() { w.do(campaign.WindowEnded) },
			func() {
				if w.a == nil {
					w.do(campaign.Restart)
				}
			},
			w.dial, w.dial, w.dial, w.dial,
			func() { w.leg(engine.LegSent, 0) }, func() { w.leg(engine.LegProvisional, 180) },
			func() { w.leg(engine.LegAnswered, 200) }, func() { w.leg(engine.LegAnswered, 200) },
			func() { w.leg(engine.LegRefused, 486) }, func() { w.leg(engine.LegRefused, 404) },
			func() { w.leg(engine.LegRefused, 503) },
			func() { w.leg(engine.LegClosed, 0) }, func() { w.leg(engine.LegHungUp, 0) },
			func() { w.drive(attempt.Event{Kind: attempt.SeatGranted}) },
			func() { w.drive(attempt.Event{Kind: attempt.SeatGranted}) },
			func() { w.media(engine.MediaBotConnected) }, func() { w.media(engine.MediaBotConnected) },
			func() { w.media(engine.MediaBotClosed) },
			func() { w.media(engine.MediaBotFailed) },
			func() { w.drive(attempt.Event{Kind: attempt.TrunkGranted, Trunk: "b"}) },
			func() { w.drive(attempt.Event{Kind: attempt.TrunkRefused}) },
			func() { w.drive(attempt.Event{Kind: attempt.OwnerLost}) },
			func() {
				w.drive(attempt.Event{Kind: attempt.ResultStored, Result: &attempt.Result{Disposition: "again"}})
			},
			func() {
				w.drive(attempt.Event{Kind: attempt.ResultStored,
					Result: &attempt.Result{Callback: &attempt.Callback{Requested: true}}})
			},
			func() { _ = w.tell(contact.Event{Kind: contact.ResultTimedOut}) },
			func() { // an exclusion cancels a ringing call and leaves a conversation alone
				talks := w.a != nil && w.a.A.AnsweredAt != nil && w.a.A.Ending == nil
				if w.tell(contact.Event{Kind: contact.ExcludedBy, InCall: talks}) == nil {
					w.excluded = true
					w.drive(attempt.Event{Kind: attempt.ExcludeRequested})
				}
			},
			func() { // contacts are added to a run in progress
				if on := w.c.C.State == campaign.Running || w.c.C.State == campaign.Paused; on &&
					w.tell(contact.Event{Kind: contact.Readmitted}) == nil {
					w.excluded = false
				}
			},
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 61, 1000}).Draw(t, "seconds")) * time.Second)
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
			w.check()
		}
	})
}
