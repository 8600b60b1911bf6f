package call

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/frequency"
	"dialler/engine/journal"
)

func TestACallFromItsDialToItsResult(t *testing.T) {
	r := newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, []any{dialOf(first)})
	r.call = &r.contact.Call
	r.on(&Started{}, "up", "own a", "count attempt", "line of a dialling", "write 1 attempt.reserved +contact +intent")
	r.on(&Durable{Step: 1}, "open media", "count leg_placed", "place leg a.1")
	r.on(r.leg(1, engine.LegSent), "count leg_sent", "trunk trunk a.1 sent", "arm ring 30s", "invite left")
	r.on(r.leg(1, engine.LegProvisional, code(180)), "line of a ringing")
	r.on(r.leg(1, engine.LegAnswered, answered), "trunk trunk a.1", "answermedia", "line of a waiting",
		"arm bridge 1.8s", "write 2 attempt.answered")
	r.on(&Durable{Step: 2}, "confirm a.1")
	r.on(&SeatGranted{Attempt: first}, "attach bot")
	r.on(r.mediaEvent(engine.MediaBotConnected, func(e *engine.MediaEvent) { e.Endpoint = "ws://bot" }),
		"bot settled telling", "bot tried ws://bot", "arm call 15m0s", "count served", "line of a served",
		"write 3 attempt.connected +contact")
	r.on(&Durable{Step: 3})
	r.now = r.now.Add(time.Minute)
	r.on(r.leg(1, engine.LegHungUp), "trunk trunk a.1 over", "closemedia", "release number of a answered",
		"line of a over", "over",
		"arm linger 3s", "write 4 attempt.ended +contact +free")
	if q := r.write().Attempts[0].Quality; q == nil || q.PacketsSent != 42 {
		t.Errorf("the end was written with quality %+v", q)
	}
	r.on(&StoreResult{Call: first.Call(), Result: attempt.Result{Disposition: "sold"}, Request: someone},
		"disarm linger", "count result", "write 5 result.stored +contact")
	r.on(&Durable{Step: 4}, "forget legs of a")
	r.on(&Durable{Step: 5}, "answer someone", "idle")
	r.on(&Stop{}, "stopped completed")
}

func TestWhatIsWrittenOfACall(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Attempt.Transfers.Allowed = []string{"+4930*", "sip:desk@pbx"} })
	r.p.cap = &journal.CalleeCap{Limits: []frequency.Limit{{What: frequency.Attempts, Most: 3}}}
	r.apply(dialOf(first))
	w := r.write()
	at, e := w.Attempts[0], w.Events[0]
	if w.Campaign != "cmp" || w.Epoch != 3 || at.Node != 7 || at.Epoch != 3 || at.To != callee || at.From != caller ||
		at.Bot != "bot" || at.Pass != 1 ||
		at.ResultToken != tokenHash("token of "+string(first.Call())) || !at.SendBy.Equal(start.Add(10*time.Second)) {
		t.Errorf("%+v", at)
	}
	if i := w.Intent; i.Attempt != first || i.Number != callee || i.Cap == nil || i.Refused != nil ||
		!i.Bound.Equal(at.HoldBound(&r.call.Machine.Config)) {
		t.Errorf("%+v", w.Intent)
	}
	if e.Campaign != "cmp" || e.Contact != "contact" || e.Attempt != first || e.Run != 1 || e.Data.Pass != 1 ||
		e.Data.Number != 1 || e.Data.Trunk != "trunk" ||
		e.Data.Before.Live || !e.Data.After.Live || !e.At.Equal(start) || e.Version != 1 {
		t.Errorf("%+v", e)
	}
	r.durable(1)
	open, place := last[*OpenMedia](r), last[*PlaceLeg](r)
	if open.Open.Attempt != first || open.Open.Node != 7 || open.Open.Epoch != 3 || open.Leg != first.Leg(1) {
		t.Errorf("%+v", open)
	}
	if l := place.Leg; l.SendBy != 1000+engine.BootTime(10*time.Second) || l.RingTimeout != 30*time.Second ||
		string(l.Offer) != "offer" || l.Trunk != "trunk" || place.Peer {
		t.Errorf("%+v", l)
	}
	r.apply(r.leg(1, engine.LegSent))
	r.now = r.now.Add(4 * time.Second)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	if d := r.write().Events[0].Data; d.RingMS != 4000 {
		t.Errorf("answered after %d ms", d.RingMS)
	}
	r.durable(2)
	r.apply(&SeatGranted{Attempt: first})
	b := last[*AttachBot](r)
	want := map[string]string{"name": "Ann", "campaign_id": "cmp", "contact_id": "contact", "run": "1",
		"from_number": string(caller), "to_number": string(callee),
		"attempt_id": string(first), "call_id": string(first.Call()),
		"result_url":   "https://dialler/api/v1/calls/" + string(first.Call()) + "/result",
		"result_token": "token of " + string(first.Call()),
		"api_base":     "https://dialler", "attempt_number": "1", "transfer_targets": "+4930*,sip:desk@pbx",
		"traceparent": "00-" + string(first) + "-" + string(first[16:]) + "-01"}
	if fmt.Sprint(b.Attach.Parameters) != fmt.Sprint(want) || b.Attach.AuthToken != "secret" ||
		b.Attach.Account != "AC1" || b.Attach.Session != "MZ"+engine.SessionID(first) ||
		b.Since != r.boot || !b.Attach.Deadline.Equal(r.now.Add(attempt.BridgeBudget)) {
		t.Errorf("%+v", b)
	}
}

// A bot that is attached after the classification is told what came of it. The trace of whoever
// asked for the call goes on.
func TestTheBotIsToldTheVerdictAndTheTraceOfItsCall(t *testing.T) {
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := up(t, func(c *contact.Contact) {
		c.Variables["traceparent"], c.Variables["transfer_targets"], c.Variables["run"] = trace, "+4930*", "a marathon"
	},
		func(rl *Rules) { rl.Attempt.AMD = engine.AMDSequential })
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictScreener }))
	r.apply(&SeatGranted{Attempt: first})
	p := last[*AttachBot](r).Attach.Parameters
	if p["amd_verdict"] != "screener" || p["traceparent"] != trace {
		t.Errorf("%v", p)
	}
	if _, ok := p["transfer_targets"]; ok || p["run"] == "a marathon" {
		t.Errorf("a variable poses as what the dialler says: %v", p)
	}
}

func TestAnIdentityHeaderIsTheCarriersAlone(t *testing.T) {
	r := up(t, func(c *contact.Contact) { c.Variables[engine.IdentityVariable] = "signed" }, nil)
	r.apply(dialOf(first))
	r.durable(1)
	if h := last[*PlaceLeg](r).Leg.Headers; len(h) != 1 || h[0].Value != "signed" {
		t.Errorf("%+v", h)
	}
	r.apply(r.leg(1, engine.LegSent))
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.apply(&SeatGranted{Attempt: first})
	if p := last[*AttachBot](r).Attach.Parameters; p[engine.IdentityVariable] != "" {
		t.Errorf("%v", p)
	}
}

// No INVITE leaves before the intent is durable, no ACK before the answer is; the spool suffices.
func TestGatedEffectsWaitForTheirStep(t *testing.T) {
	for _, spooled := range []bool{false, true} {
		r := up(t, nil, nil)
		r.apply(dialOf(first))
		if r.has("place leg") || r.has("open media") {
			t.Fatal("the leg was placed before its intent was durable")
		}
		r.clear()
		r.apply(&Durable{Step: 1, Spooled: spooled})
		if !r.has("place leg") {
			t.Fatal("the leg was not placed")
		}
		r.apply(r.leg(1, engine.LegSent))
		r.apply(r.leg(1, engine.LegAnswered, answered))
		if r.has("confirm") {
			t.Fatal("confirmed before the answer was durable")
		}
		r.clear()
		r.apply(&Durable{Step: 2, Spooled: spooled})
		r.want("confirm a.1")
		if got := len(r.call.Pending); (got > 0) != spooled {
			t.Errorf("spooled %v: %d writes are pending", spooled, got)
		}
	}
}

func TestWhatNeedsNoWriteIsDoneAtOnce(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	c := r.call
	c.enter(Input{Now: r.now, Boot: r.boot, Process: r.p}, nil, r.contact)
	c.steps = append(c.steps, attempt.Confirm{Leg: first.Leg(1)})
	c.carryOut(0, r.now)
	if done := c.leave(); len(done) != 1 || len(c.Gated) != 0 {
		t.Errorf("%v", done)
	}
}

func TestAnOlderStepReleasesNothing(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Policy.MaxAttempts = 2 }) // an edit, written first
	if r.call.Step != 1 {
		t.Fatalf("step %d", r.call.Step)
	}
	r.apply(dialOf(first))
	r.clear()
	r.on(&Durable{Step: 1})
	r.on(&Durable{Step: 2}, "open media", "count leg_placed", "place leg a.1")
}

func TestAnInviteLeavesWhileTheLeasesAreValid(t *testing.T) {
	sec := engine.BootTime(time.Second)
	for name, c := range map[string]struct {
		validity Validity
		lease    engine.BootTime
		want     engine.BootTime
	}{
		"within the window":          {want: 1000 + 10*sec},
		"while the trunk is granted": {validity: Validity{By: 1000 + 4*sec}, want: 1000 + 4*sec},
		"a grant that lasts longer":  {validity: Validity{By: 1000 + 40*sec}, want: 1000 + 10*sec},
		"while the node has a lease": {lease: 1000 + 2*sec, want: 1000 + 2*sec},
	} {
		r := up(t, nil, nil)
		r.p.leaseEnds = c.lease
		d := dialOf(first)
		d.Validity = c.validity
		r.apply(d)
		r.durable(1)
		if by := last[*PlaceLeg](r).Leg.SendBy; by != c.want {
			t.Errorf("%s: by %d, want %d", name, by, c.want)
		}
		if by := r.call.Machine.A.SendBy; c.lease != 0 && !by.Equal(start.Add(2*time.Second)) {
			t.Errorf("%s: stored as %s", name, by)
		}
	}
}

// A trunk limited to a number of INVITEs per second is given no more than that.
func TestAnInviteThatIsEarlyIsHeldBack(t *testing.T) {
	r := up(t, nil, nil)
	d := dialOf(first)
	d.Validity.From = r.boot.Add(200 * time.Millisecond)
	r.apply(d)
	r.clear()
	r.on(&Durable{Step: 1}, "arm held 200ms")
	r.boot = r.boot.Add(199 * time.Millisecond)
	r.on(&TimerFired{Attempt: first, Timer: TimerHeld}, "arm held 1ms")
	r.on(&TimerFired{Attempt: second, Timer: TimerHeld}) // of another attempt
	r.boot = r.boot.Add(time.Millisecond)
	r.on(&TimerFired{Attempt: first, Timer: TimerHeld}, "open media", "count leg_placed", "place leg a.1")

	// It is given up while it is held back.
	r = up(t, nil, nil)
	d.Validity.From = r.boot.Add(200 * time.Millisecond)
	r.apply(d)
	r.durable(1)
	r.clear()
	r.on(&End{}, "line of a released", "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"over",
		"write 2 attempt.ended +contact +free")
	r.boot = r.boot.Add(time.Second)
	r.on(&TimerFired{Attempt: first, Timer: TimerHeld})
	r.on(&Durable{Step: 2}, "forget legs of a", "idle")
}

func TestAnotherTrunkIsUsedWhileEverythingElseIsGranted(t *testing.T) {
	sec := engine.BootTime(time.Second)
	refused := func(r *rig) {
		r.apply(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = engine.NotSentNoRoute }))
	}
	r := up(t, nil, nil)
	d := dialOf(first)
	d.Validity.By = 1000 + 5*sec
	r.apply(d)
	r.durable(1)
	r.clear()
	refused(r)
	r.want("trunk trunk a.1 classified over", "reserve trunk for a.2")
	// for an earlier attempt
	r.on(&TrunkReserved{Attempt: second, Leg: second.Leg(2), Trunk: "other"}, "trunk other b.2 over")
	r.on(&TrunkReserved{Attempt: second, Leg: second.Leg(2)})
	r.on(&TrunkReserved{Attempt: first, Leg: first.Leg(2), Trunk: "other", Validity: Validity{From: 1000 + sec,
		By: 1000 + 8*sec}}, "write 2 leg.added")
	r.on(&Durable{Step: 2}, "arm held 1s")
	r.boot += sec
	r.on(&TimerFired{Attempt: first, Timer: TimerHeld}, "open media", "count leg_placed", "place leg a.2")
	if l := last[*PlaceLeg](r).Leg; l.Trunk != "other" || l.SendBy != 1000+5*sec { // the grant of the seat ends then
		t.Errorf("%+v", l)
	}

	r = up(t, nil, nil)
	r.apply(dialOf(first))
	r.durable(1)
	refused(r)
	r.clear()
	r.on(&TrunkReserved{Attempt: first, Leg: first.Leg(2), Constraint: engine.ConstraintTrunkChannels,
		RetryAt: r.now.Add(time.Hour)},
		"closemedia", "release number of a not dialled", "line of a over", "over",
		"write 2 attempt.ended +contact +free")
}

func TestAPausedCampaignTriesNoOtherTrunk(t *testing.T) {
	for _, paused := range []bool{false, true} {
		r := up(t, nil, nil)
		r.dialled(first)
		r.apply(r.leg(1, engine.LegRefused, code(503)))
		if !r.has("reserve trunk") {
			t.Fatalf("%v", r.log)
		}
		r.clear()
		r.apply(rulesOf(func(rl *Rules) { rl.Paused = paused }))
		if r.has("over") != paused {
			t.Errorf("paused %v: %v", paused, r.log)
		}
	}
}

func TestWithoutAMediaPathTheLegIsNotPlaced(t *testing.T) {
	r := up(t, nil, nil)
	r.noMedia = errAway
	r.apply(dialOf(first))
	r.clear()
	r.on(&Durable{Step: 1}, "open media", "trunk trunk a.1 classified over", "release number of a not dialled",
		"line of a over", "over",
		"write 2 attempt.ended +contact +free")
	if r.call.MediaOpen {
		t.Error("nothing is open")
	}
	r.on(&MediaOpened{Leg: first.Leg(1)}) // nobody asked
	r.on(&MediaClosed{})
}

// A refused intent goes into the history with the end of its attempt.
func TestARefusedIntentIsToldWithTheEndOfItsAttempt(t *testing.T) {
	until := start.Add(time.Hour)
	held := *journal.ErrNumberHeld
	held.Until = until
	place := func(r *rig) {
		if r.contact != nil {
			r.apply(dialOf(first))
		} else {
			r.apply(placed1(first))
		}
	}
	for _, dialout := range []bool{false, true} {
		r := up(t, nil, nil)
		own := " +contact"
		if dialout {
			r, own = dialoutRig(t), ""
		}
		place(r)
		r.clear()
		r.apply(&Durable{Step: 1, Err: &held})
		if r.has("place leg") || !r.has("write 2 attempt.reserved attempt.ended"+own) {
			t.Errorf("dialout %v: %v", dialout, r.log)
		}
		if w := r.write(); w.Attempts[0].State != attempt.Ended || w.Events[1].Data.Consumed || w.Intent != nil {
			t.Errorf("dialout %v: %+v", dialout, w)
		}

		// The attempt had been given up before.
		r = up(t, nil, nil)
		if dialout {
			r = dialoutRig(t)
		}
		place(r)
		r.clear()
		if dialout {
			r.apply(&Keys{Attempt: first})
		} else {
			r.apply(&End{})
		}
		if !r.has("write 2 attempt.ended") {
			t.Errorf("%v", r.log)
		}
		r.clear()
		r.apply(&Durable{Step: 1, Err: &held})
		if !r.has("write 3 attempt.reserved") {
			t.Errorf("dialout %v: %v", dialout, r.log)
		}
	}
}

func TestOnlyTheIntentOfTheFirstLegIsRefused(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.clear()
	rejected := &engine.Error{Kind: engine.KindInternal, Code: "write_rejected"}
	r.on(&Durable{Step: 2, Err: rejected}, "confirm a.1") // the call is not left unconfirmed
}

// A database that has lost its last second does not know a call that is live here.
func TestANumberThatIsBeingCalledFromHereIsHeldWhateverTheDatabaseSays(t *testing.T) {
	for _, calling := range []bool{true, false} {
		r := up(t, nil, nil)
		r.p.calling = calling
		r.apply(dialOf(first))
		if got := last[*Persist](r).Write.Intent.Refused; (got != nil) != calling ||
			calling && engine.ErrorCode(got) != engine.CodeNumberHeld {
			t.Errorf("refused: %v", got)
		}
	}
}

// An owner that learns from the database that another owner has the call drops everything that
// waits and ends the call here, whatever the write was about.
func TestACallWhoseOwnerWasReplacedGoesNoFurtherHere(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.clear()
	r.on(&Durable{Step: 2, Err: journal.ErrStaleEpoch}, "replaced a, 1 legs", "idle")
	// The write was spooled, so that the ACK left and the bot joined, and is refused now.
	r = up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.apply(&Durable{Step: 2, Spooled: true})
	r.clear()
	r.on(&Durable{Step: 2, Err: journal.ErrStaleEpoch}, "replaced a, 1 legs", "idle")
	// A call that is over ends nothing.
	r = up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegRefused))
	r.clear()
	r.on(&Durable{Step: r.call.Step, Err: journal.ErrStaleEpoch}, "forget legs of a", "idle")
}

func TestTimersOfAnOlderAttemptAreDropped(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	arm := last[*Arm](r)
	if arm.Fired.Timer != attempt.TimerRing || arm.Fired.Attempt != first {
		t.Fatalf("%+v", arm)
	}
	stale := arm.Fired
	stale.Epoch--
	r.on(&stale)
	other := arm.Fired
	other.Attempt = second
	r.on(&other)
	r.now = r.now.Add(30 * time.Second)
	r.on(&arm.Fired, "line of a released", "cancel a.1")
}

// A call is not hung up because the node that carries it cannot be heard.
func TestABridgeThatTimesOutWithASilentNode(t *testing.T) {
	for _, unheard := range []bool{false, true} {
		r := up(t, nil, nil)
		r.dialled(first)
		r.apply(r.leg(1, engine.LegAnswered, answered))
		r.durable(2)
		var bridge TimerFired
		for _, e := range r.all {
			if a, ok := e.(*Arm); ok && a.Fired.Timer == attempt.TimerBridge {
				bridge = a.Fired
			}
		}
		r.apply(&SeatGranted{Attempt: first})
		r.clear()
		r.p.unheard = unheard
		r.now = r.now.Add(attempt.BridgeBudget)
		r.apply(&bridge)
		if got := r.call.Machine.A.Ending; got == nil || (got.Cause == engine.AbandonCapacityLoss) != unheard {
			t.Errorf("unheard %v: %+v", unheard, got)
		}
	}
}

func TestAnUnknownEventIsRefused(t *testing.T) {
	r := up(t, nil, nil)
	r.apply(struct{}{})
	if !r.has("refused") {
		t.Errorf("%v", r.log)
	}
	r = up(t, nil, nil)
	r.talking(first)
	r.apply(&SeatGranted{Attempt: first})
	if !r.has("refused") && len(r.log) > 0 {
		t.Errorf("%v", r.log)
	}
}

func TestThePageOfBotsNamesEveryParameter(t *testing.T) {
	page, err := os.ReadFile("../../docs/bots.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range standard {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/bots.md does not name %s", name)
		}
	}
}
