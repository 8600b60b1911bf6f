package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
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
		r.on(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = why }), "closemedia", "refuse a.1 480",
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
	r.on(&Durable{Step: 4}, "returned, at most 0s", "forget legs of a", "confirm a.1", "dialout over 0")
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
