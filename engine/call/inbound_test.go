package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

const ours = engine.PhoneNumber("+4930222222")

// cameIn is a call that came in; without a bot it hears a message.
func cameIn(bot engine.BotID) *TakeCall {
	return &TakeCall{Call: engine.IncomingCall{Attempt: first, Leg: first.Leg(1), Trunk: "trunk", Offer: []byte("offer"),
		Dialog: &engine.DialogState{ToTag: "far", Extra: "x"}, At: start}, To: ours, Caller: callee, Bot: bot,
		Message: "sorry", Returns: second, Variables: map[string]string{"name": "Ann"}}
}

func TestACallThatCameInIsDurableBeforeItIsAnswered(t *testing.T) {
	r := dialoutRig(t)
	r.on(cameIn("bot"), "own a", "count caller", "write 1 attempt.reserved +intent")
	w := r.write()
	a := w.Attempts[0]
	if !a.Inbound || a.Returns != second || a.To != callee || a.From != ours || a.Node != 8 ||
		a.Legs[0].Dialog == nil || a.InviteAt == nil {
		t.Errorf("%+v", a)
	}
	if n := w.Intent; !n.Incoming || n.Cap != nil || n.Refused != nil || n.Number != callee {
		t.Errorf("%+v", n)
	}
	r.on(&Durable{Step: 1}, "returned, at most 15m10s", "open media", "place leg a.1")
	if o := last[*OpenMedia](r).Open; string(o.Offered) != "offer" {
		t.Errorf("%+v", o)
	}
	if p := last[*PlaceLeg](r).Leg; !p.Incoming || p.To != callee {
		t.Errorf("%+v", p)
	}
	r.on(r.leg(1, engine.LegAnswered, answered), "answermedia", "to self *call.SeatGranted", "arm bridge 1.8s",
		"write 2 attempt.answered")
	r.on(&Durable{Step: 2}, "confirm a.1")
	r.on(last[*ToSelf](r).Event, "attach bot")
	if p := last[*AttachBot](r).Attach.Parameters; p["direction"] != "inbound" || p["name"] != "Ann" {
		t.Errorf("%v", p)
	}
	r.on(r.mediaEvent(engine.MediaBotConnected), "bot settled telling", "bot tried ", "arm call 15m0s",
		"count caller_served", "write 3 attempt.connected")
	r.on(&Durable{Step: 3})
	r.on(r.leg(1, engine.LegHungUp), "closemedia", "over", "write 4 attempt.ended +free")
	if a := r.write().Attempts[0]; a.Consumed || a.Number != 0 || a.Outcome != engine.OutcomeConnectedNoResult ||
		!r.write().Events[0].Data.Inbound {
		t.Errorf("%+v", a)
	}
}

func TestACallerWhoseNumberIsHeldIsBusy(t *testing.T) {
	r := dialoutRig(t)
	r.on(cameIn("bot"), "own a", "count caller", "write 1 attempt.reserved +intent")
	r.on(&Durable{Step: 1, Err: journal.ErrNumberHeld}, "refuse a.1 486", "count caller_turned_away", "over",
		"write 2 attempt.reserved attempt.ended +free")
}

func TestACallerWithoutANumberHoldsNone(t *testing.T) {
	r := dialoutRig(t)
	e := cameIn("")
	e.Caller = ""
	r.on(e, "own a", "count caller", "write 1 attempt.reserved")
	r.on(&Durable{Step: 1}, "returned, at most 1m10s", "open media", "place leg a.1")
	if o := last[*OpenMedia](r).Open; o.Listen.Voicemail != "sorry" {
		t.Errorf("%+v", o)
	}
	r.on(r.leg(1, engine.LegAnswered, answered), "count caller_served", "answermedia", "detachbot", "arm call 1m0s",
		"write 2 attempt.answered", "leavevoicemail")
	r.on(&Durable{Step: 2}, "confirm a.1")
	r.on(r.mediaEvent(engine.MediaPlayed), "hang up a.1")
	r.on(r.leg(1, engine.LegClosed), "closemedia", "over", "write 3 attempt.ended")
	if a := r.write().Attempts[0]; a.Outcome != engine.OutcomeCompleted || a.HungUpBy != engine.PartySystem || a.Consumed {
		t.Errorf("%+v", a)
	}
}

func TestAnAnswerThatWouldComeTooLateIsNone(t *testing.T) {
	r := dialoutRig(t)
	e := cameIn("bot")
	e.By = r.boot.Add(time.Second)
	r.on(e, "own a", "count caller", "write 1 attempt.reserved +intent")
	if r.call.SendBy != e.By {
		t.Errorf("%v, want %v", r.call.SendBy, e.By)
	}
}

// What keeps a call from being answered never becomes a call of ours.
func TestACallThatCannotBeAnsweredIsNotDialled(t *testing.T) {
	for _, why := range []engine.NotSentReason{engine.NotSentNoRoute, engine.NotSentTrunk, engine.NotSentMedia,
		engine.NotSentExpired, engine.NotSentHeld, engine.NotSentCancelled} {
		r := dialoutRig(t)
		r.on(cameIn("bot"), "own a", "count caller", "write 1 attempt.reserved +intent")
		r.on(&Durable{Step: 1}, "returned, at most 15m10s", "open media", "place leg a.1")
		code := "480"
		if why == engine.NotSentMedia {
			code = "488"
		}
		r.on(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = why }), "closemedia", "refuse a.1 "+code,
			"count caller_turned_away", "over", "write 2 attempt.ended +free")
	}
}

// The person calls back from one number while we ring at another, and asks not to be called.
func TestWhoCallsBackAndAsksNotToBeCalledIsNotRungAtAnotherNumber(t *testing.T) {
	for _, asks := range []bool{true, false} {
		r := up(t, withOther, nil)
		r.dialled(first)
		m := resultOf(second, func(r *attempt.Result) { r.DoNotCall = asks })
		m.CalledBack = &campaign.CalledBack{Attempt: second, Talk: time.Minute}
		r.apply(m)
		if !r.contact.Machine.C.Choice.Stopped() == asks || r.has("to self") != asks {
			t.Fatalf("asks %v: %v", asks, r.log)
		}
		if asks {
			r.clear()
			if r.apply(last[*ToSelf](r).Event); !r.has("cancel a.1") {
				t.Errorf("%v", r.log)
			}
		}
	}
}

// The person calls back, and that settles it, while the dial to their other number reaches nobody: they are
// not rung again, whether it was the first dial of the run or a later one.
func TestTheResultOfACallBackCountsWhenTheDialMeanwhileReachesNobody(t *testing.T) {
	for used := range 2 {
		r := up(t, func(c *contact.Contact) { withOther(c); c.Used = used }, func(rl *Rules) {
			rl.Policy.Redial.OnSystem = []engine.Outcome{engine.OutcomeBusy}
		})
		r.dialled(first)
		m := resultOf(second)
		m.CalledBack = &campaign.CalledBack{Attempt: second, Talk: time.Minute}
		r.apply(m)
		r.durable(r.call.Step)
		r.apply(r.leg(1, engine.LegRefused, code(486)))
		if c := r.write().Contacts[0]; c.State != contact.Completed || c.DueAt != nil || !c.HasResult {
			t.Errorf("after %d attempts: %s, due %v", used, c.State, c.DueAt)
		}
	}
}

// calls is what the contact is told of the person's call back.
func calls(news contact.Back, edit ...func(*campaign.CalledBack)) *StoreResult {
	m := &StoreResult{Call: second.Call(), CalledBack: &campaign.CalledBack{Attempt: second, News: news,
		AtMost: 15 * time.Minute}, Request: someone}
	for _, f := range edit {
		f(m.CalledBack)
	}
	return m
}

func TestWhoCallsBackWhileTheDialIsBeingDecidedIsNotDialled(t *testing.T) {
	for _, asked := range []bool{false, true} { // by the hook, or by the run after it
		r := up(t, withOther, nil)
		r.p.eligible = true
		d := dialOf(first)
		r.apply(d)
		allow := &EligibilityKnown{Dial: d, Verdict: eligibility.Verdict{Decision: eligibility.Allow}}
		if asked {
			r.apply(allow)
		}
		r.apply(calls(contact.BackBegins))
		r.clear()
		if agreed := *d; asked {
			agreed.Eligible = true
			r.apply(&agreed)
		} else {
			r.apply(allow)
		}
		if r.call.Has() || !r.has("release number of a not dialled") || r.has("may dial") {
			t.Errorf("asked %v: %v", asked, r.log)
		}
	}
	// What was already on its way to the contact, too.
	r := up(t, withOther, nil)
	r.apply(calls(contact.BackBegins))
	r.apply(dialOf(first))
	if r.call.Has() {
		t.Errorf("%v", r.log)
	}
}

func TestADialUnderWayIsNotRetriedWhileThePersonTalksToUs(t *testing.T) {
	r := up(t, withOther, func(rl *Rules) {
		rl.Policy.Redial.OnSystem, rl.Policy.Redial.Delay = []engine.Outcome{engine.OutcomeBusy}, time.Minute
	})
	r.dialled(first)
	r.on(calls(contact.BackBegins), "write 2 +contact")
	r.on(&Durable{Step: 2}, "answer someone")
	r.apply(r.leg(1, engine.LegRefused, code(486)))
	if c := r.write().Contacts[0]; !c.DueAt.Equal(start.Add(15*time.Minute)) || c.Reason != contact.ReasonCallsBack {
		t.Errorf("due %v, %q", c.DueAt, c.Reason)
	}
	r.durable(r.call.Step)
	r.now = r.now.Add(2 * time.Minute)
	r.apply(calls(contact.BackOver))
	if w := r.write(); !w.Contacts[0].DueAt.Equal(start.Add(time.Minute)) || w.Events[0].Data.Reason != "calls_back" {
		t.Errorf("due %v, %+v", w.Contacts[0].DueAt, w.Events)
	}
}

func TestATriggerDialsNobodyWhoTalksToUs(t *testing.T) {
	r := up(t, func(c *contact.Contact) { withOther(c); c.State, c.DueAt, c.Used = contact.Completed, nil, 2 }, nil)
	r.on(calls(contact.BackBegins), "write 1 +contact")
	r.on(&Durable{Step: 1}, "answer someone", "idle")
	d := dialOf(first)
	d.Reopens, d.Trigger = true, &Trigger{Command: campaign.Trigger{Number: callee}, Request: "q"}
	r.on(d, "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"write 2 contact.triggered +contact")
	r.on(&Durable{Step: 2}, "stored "+string(callee), "answer q queued calls_back", "idle")
	if c := &r.contact.Machine.C; c.State != contact.Pending || !c.DueAt.Equal(start.Add(15*time.Minute)) {
		t.Errorf("%s, due %v", c.State, c.DueAt)
	}
}

// A result that is passed on again after a fault counts once.
func TestAResultThatIsPassedOnAgainCountsOnce(t *testing.T) {
	r := up(t, withOther, nil)
	r.apply(calls(contact.BackBegins))
	r.durable(r.call.Step)
	told := calls("")
	told.Result = attempt.Result{Disposition: "sold"}
	r.apply(told)
	r.durable(r.call.Step)
	r.clear()
	again := *told
	again.Late = true
	r.on(&again, "answer someone", "idle")
	// One that is passed on for the first time counts.
	r = up(t, withOther, nil)
	r.on(&again, "write 1 contact.changed +contact")
	if c := r.write().Contacts[0]; c.State != contact.Completed || c.LastDisposition != "sold" {
		t.Errorf("%+v", c)
	}
}

// Who asked not to be called is told so once: a later trigger is not undone by being told again.
func TestWhoAskedInACallBackNotToBeCalledIsToldSoOnce(t *testing.T) {
	r := up(t, withOther, nil)
	told := calls("")
	told.Result = attempt.Result{Disposition: "no", DoNotCall: true}
	r.apply(told)
	r.durable(r.call.Step)
	later := calls(contact.BackOver, func(b *campaign.CalledBack) { b.Attempt = "ffff" + b.Attempt[4:] })
	r.apply(later)
	r.durable(r.call.Step)
	if c := &r.contact.Machine.C; c.Choice&contact.ChoiceKept == 0 || !c.KnowsCallBack(second) {
		t.Fatalf("%+v", c)
	}
	r.clear()
	again := *told
	again.Late = true
	r.on(&again, "answer someone", "idle")
}

// Who presses the key in a call back is called at none of their numbers.
func TestTheOptOutKeyInACallBackStopsThePerson(t *testing.T) {
	for _, calling := range []bool{false, true} {
		r := up(t, withOther, nil)
		if calling {
			r.dialled(first)
		}
		r.apply(calls(contact.BackOver, func(b *campaign.CalledBack) { b.OptedOut = true }))
		if w := r.write(); !w.Contacts[0].Choice.Stopped() {
			t.Fatalf("calling %v: %+v", calling, w)
		}
		r.durable(r.call.Step)
		r.apply(last[*ToSelf](r).Event)
		if calling {
			if !r.has("cancel a.1") {
				t.Errorf("it rings on: %v", r.log)
			}
			r.apply(r.leg(1, engine.LegRefused, code(487)))
		}
		if c := r.write().Contacts[0]; c.State != contact.Failed || c.DueAt != nil || c.Reason != engine.CodeSuppressed {
			t.Errorf("calling %v: %s (%q), due %v", calling, c.State, c.Reason, c.DueAt)
		}
	}
}

// abandoned is a call back whose bot does not come in time: the caller hears the message.
func abandoned(t *testing.T) *rig {
	t.Helper()
	r := dialoutRig(t)
	r.apply(cameIn("bot"))
	r.durable(1)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(r.call.Step)
	r.now = r.now.Add(attempt.BridgeBudget)
	r.apply(last[*ToSelf](r).Event)
	r.apply(&TimerFired{Attempt: first, Timer: attempt.TimerBridge, Epoch: last[*Arm](r).Fired.Epoch})
	r.durable(r.call.Step)
	r.clear()
	return r
}

func TestTheContactIsToldOfTheOptOutKeyInACallBack(t *testing.T) {
	for message, r := range map[bool]*rig{false: abandoned(t), true: dialoutRig(t)} {
		if message {
			r.apply(cameIn(""))
			r.durable(1)
			r.apply(r.leg(1, engine.LegAnswered, answered))
			r.durable(r.call.Step)
			r.clear()
		}
		r.apply(r.mediaEvent(engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = '9' }))
		if w := r.write(); len(w.Suppressions) != 1 || w.Suppressions[0].Number != callee {
			t.Fatalf("message %v: %+v", message, r.log)
		}
		r.durable(r.call.Step)
		r.apply(r.leg(1, engine.LegHungUp))
		r.clear()
		if r.durable(r.call.Step); !r.has("returned, over, opted out") {
			t.Errorf("message %v: %v", message, r.log)
		}
	}
}

// Also when nothing came of it: the contact need not wait any longer.
func TestTheContactIsToldOfTheEndOfEveryCallBack(t *testing.T) {
	r := dialoutRig(t)
	r.apply(cameIn("bot"))
	r.durable(1)
	r.apply(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = engine.NotSentCancelled }))
	r.clear()
	if r.durable(r.call.Step); !r.has("returned, over") {
		t.Errorf("it gave up: %v", r.log)
	}
	r = abandoned(t)
	r.apply(r.leg(1, engine.LegHungUp))
	r.clear()
	if r.durable(r.call.Step); !r.has("returned, over") {
		t.Errorf("no bot came: %v", r.log)
	}
	r = dialoutRig(t)
	r.apply(cameIn(""))
	r.durable(1)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(r.call.Step)
	r.apply(r.leg(1, engine.LegHungUp))
	r.clear()
	if r.durable(r.call.Step); !r.has("returned, over") {
		t.Errorf("it heard the message: %v", r.log)
	}
}

// talking is a call back that has its bot.
func talking(t *testing.T) *rig {
	r := dialoutRig(t)
	r.on(cameIn("bot"), "own a", "count caller", "write 1 attempt.reserved +intent")
	r.on(&Durable{Step: 1}, "returned, at most 15m10s", "open media", "place leg a.1")
	r.on(r.leg(1, engine.LegAnswered, answered), "answermedia", "to self *call.SeatGranted", "arm bridge 1.8s",
		"write 2 attempt.answered")
	r.on(last[*ToSelf](r).Event, "attach bot")
	r.on(r.mediaEvent(engine.MediaBotConnected), "bot settled telling", "bot tried ", "arm call 15m0s",
		"count caller_served", "write 3 attempt.connected")
	return r
}

func TestTheContactIsToldOfTheEndOfACallBack(t *testing.T) {
	r := talking(t)
	r.on(r.leg(1, engine.LegHungUp), "closemedia", "over", "write 4 attempt.ended +free")
	r.on(&Durable{Step: 4}, "returned, owes", "forget legs of a", "confirm a.1", "dialout over 0")
	if c := last[*Returned](r).Command; c.Call != second.Call() || c.CalledBack.Attempt != first {
		t.Errorf("%+v", c)
	}
}

// The talk so far says nothing: the result is judged by the whole.
func TestAResultDuringACallBackIsPassedOnWithItsEnd(t *testing.T) {
	r := talking(t)
	r.on(&StoreResult{Call: first.Call(), Result: attempt.Result{Disposition: "interested"}}, "count result",
		"write 4 result.stored")
	r.now = r.now.Add(2 * time.Second)
	r.on(r.leg(1, engine.LegHungUp), "closemedia", "over", "write 5 attempt.ended +free")
	r.on(&Durable{Step: 5}, "returned with result", "forget legs of a", "confirm a.1", "dialout over 1")
	if c := last[*Returned](r).Command; c.Result.Disposition != "interested" || c.CalledBack.Talk < 2*time.Second {
		t.Errorf("%+v, %+v", c, c.CalledBack)
	}
}

// Who withholds their number is known to nobody: no number is suppressed.
func TestACallerWithoutANumberIsNotSuppressed(t *testing.T) {
	r := dialoutRig(t)
	e := cameIn("bot")
	e.Caller, e.Returns = "", ""
	r.apply(e)
	r.durable(1)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.apply(last[*ToSelf](r).Event)
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.apply(&StoreResult{Call: first.Call(), Result: attempt.Result{DoNotCall: true}})
	if w := r.write(); w.Suppressions != nil || w.Attempts[0].Result == nil {
		t.Errorf("%+v", w.Suppressions)
	}
}

// A bot that has two directions trusts what it is told.
func TestAVariableDoesNotPoseAsTheDirection(t *testing.T) {
	told := func(a attempt.Attempt) string {
		return Parameters(&a, map[string]string{"direction": "inbound"}, "", "")["direction"]
	}
	if out, in := told(attempt.Attempt{ID: first}), told(attempt.Attempt{ID: first, Inbound: true}); out != "" ||
		in != "inbound" {
		t.Errorf("%q, %q", out, in)
	}
	p := Parameters(&attempt.Attempt{ID: first}, map[string]string{"direction": "outgoing"}, "", "")
	if p["direction"] != "outgoing" {
		t.Errorf("a variable with another value is %q", p["direction"])
	}
}
