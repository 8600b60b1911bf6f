package attempt

import (
	"testing"
	"time"

	"dialler/engine"
)

var modes = []engine.AMDMode{engine.AMDOff, engine.AMDSequential, engine.AMDParallel}

func TestTheIntentIsDurableBeforeTheInviteLeaves(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began})
	if got := effectNames(w.last); got != "Line(dialling) Record(reserved) Dial" {
		t.Error(got)
	}
	if d, _ := effect[Dial](w); !Gated(d) || d.Leg != attemptID.Leg(1) {
		t.Errorf("%+v does not wait for the record", d)
	}
}

func TestTheDialogIsDurableBeforeTheAckLeaves(t *testing.T) {
	for _, mode := range modes {
		w := newWorld(t, Config{AMD: mode}).answer()
		c, ok := effect[Confirm](w)
		if !ok || !Gated(c) || w.m.A.Legs[0].Dialog == nil {
			t.Errorf("AMD %s: %s, dialog %v", mode, effectNames(w.last), w.m.A.Legs[0].Dialog)
		}
	}
}

func TestAnAttemptIsConsumedOnceItsInviteLeftUnlessTheTableSaysNo(t *testing.T) {
	f := func(consumed bool, cfg Config, end func(w *world)) {
		t.Helper()
		w := newWorld(t, cfg).must(Event{Kind: Began})
		end(w)
		if w.m.A.State != Ended || w.m.A.Consumed != consumed {
			t.Errorf("%s (%s): consumed %v", w.m.A.State, w.m.A.Outcome, w.m.A.Consumed)
		}
	}
	sent := func(w *world) *world { return w.must(w.leg(engine.LegSent, 0)) }
	none := Config{}
	f(false, none, func(w *world) { w.must(Event{Kind: IntentRefused, Err: engine.CodeNumberHeld}) })
	f(true, Config{MustConsume: true}, func(w *world) { w.must(Event{Kind: IntentRefused, Err: engine.CodeNumberHeld}) })
	// Other callers' calls to the number are not attempts of this contact.
	f(false, Config{MustConsume: true}, func(w *world) { w.must(Event{Kind: IntentRefused, Err: engine.CodeCalleeCap}) })
	f(false, none, func(w *world) { w.must(w.leg(engine.LegNotSent, 0, expired)) })
	f(false, none, func(w *world) { w.must(w.leg(engine.LegNotSent, 0, noRoute), Event{Kind: TrunkRefused}) })
	f(true, none, func(w *world) { sent(w).must(w.leg(engine.LegRefused, 486)) })
	f(false, none, func(w *world) { sent(w).must(w.leg(engine.LegRefused, 429)) })
	f(false, none, func(w *world) { sent(w).must(w.leg(engine.LegRefused, 407)) })
	// The first trunk's refusal counts even if the second was never reached.
	f(true, none, func(w *world) {
		sent(w).must(w.leg(engine.LegRefused, 503), Event{Kind: TrunkGranted, Trunk: "b"}).
			must(w.leg(engine.LegNotSent, 0, noRoute), Event{Kind: TrunkRefused})
	})
	f(true, none, func(w *world) { sent(w).must(w.leg(engine.LegRefused, 503), Event{Kind: CancelRequested}) })
	// The first trunk was never reached, the second let the phone ring.
	f(true, none, func(w *world) {
		w.must(w.leg(engine.LegNotSent, 0, noRoute), Event{Kind: TrunkGranted, Trunk: "b"})
		sent(w).must(w.leg(engine.LegRefused, 480))
	})
	// Cancelled: the result depends on whether the INVITE had left.
	f(false, none, func(w *world) { w.must(Event{Kind: ExcludeRequested}).must(w.leg(engine.LegNotSent, 0, cancelled)) })
	f(true, none, func(w *world) { sent(w).must(Event{Kind: ExcludeRequested}).must(w.leg(engine.LegRefused, 487)) })
	f(true, none, func(w *world) { w.must(Event{Kind: ExcludeRequested}); sent(w).must(w.leg(engine.LegClosed, 0)) })
	f(true, none, func(w *world) { w.must(Event{Kind: OwnerLost}) }) // it may have left
	// Three unconsumed attempts preceded.
	f(true, Config{MustConsume: true}, func(w *world) { sent(w).must(w.leg(engine.LegRefused, 429)) })
}

func noRoute(e *engine.LegEvent)   { e.NotSent = engine.NotSentNoRoute }
func expired(e *engine.LegEvent)   { e.NotSent = engine.NotSentExpired }
func cancelled(e *engine.LegEvent) { e.NotSent = engine.NotSentCancelled }

func TestAnUnconsumedAttemptIsReportedWithoutANumber(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began}).must(w0(t).leg(engine.LegNotSent, 0, expired))
	if w.m.A.Number != 0 || w.m.A.Consumed {
		t.Errorf("number %d, consumed %v", w.m.A.Number, w.m.A.Consumed)
	}
}

// w0 is a world that only makes events.
func w0(t *testing.T) *world { return newWorld(t, Config{}).must(Event{Kind: Began}) }

func TestARefusalWithoutAFriendlyReasonKeepsItsRawCodeForDisplay(t *testing.T) {
	f := func(code int, want string) {
		t.Helper()
		w := newWorld(t, Config{}).must(Event{Kind: Began})
		w.must(w.leg(engine.LegSent, 0)).must(w.leg(engine.LegRefused, code))
		if w.m.A.Friendly != want || w.m.A.SIPCode != code {
			t.Errorf("%d: %q, code %d", code, w.m.A.Friendly, w.m.A.SIPCode)
		}
	}
	f(499, "")
	f(404, "Number not found")
}

func TestAFinalRefusalOfTheNetworkGoesToTheNextTrunkInTheSameAttempt(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began})
	w.must(w.leg(engine.LegSent, 0)).must(w.leg(engine.LegProvisional, 100)).must(w.leg(engine.LegRefused, 503))
	n, ok := effect[NextTrunk](w)
	if !ok || len(n.Tried) != 1 || n.Tried[0] != "a" {
		t.Fatalf("%s, tried %v", effectNames(w.last), n.Tried)
	}
	w.must(Event{Kind: TrunkGranted, Trunk: "b"})
	if d, _ := effect[Dial](w); d.Leg != attemptID.Leg(2) || d.Trunk != "b" {
		t.Fatalf("dialled %+v", d)
	}
	// The first trunk's ring timer is void; the second leg has its own.
	old := w.armed[TimerRing]
	w.must(TimerRing.Fired(w.now, old.Epoch))
	if w.m.A.Ending != nil {
		t.Fatal("the ring timer of a leg that is over ended the attempt")
	}
	w.wait(time.Second).must(w.leg(engine.LegSent, 0))
	if got := w.armed[TimerRing].At; !got.Equal(w.now.Add(30 * time.Second)) {
		t.Errorf("the second leg rings until %v", got)
	}
	// There was no response on this leg, whatever the first one's 100 meant.
	w.must(w.timer(TimerRing)).must(w.leg(engine.LegRefused, 487))
	w.is(Ended, engine.OutcomeTrunkError)
	if w.m.A.Trunk != "b" || len(w.m.A.Legs) != 2 || w.m.A.Legs[0].SIPCode != 503 {
		t.Errorf("legs %+v", w.m.A.Legs)
	}
}

func TestSilenceIsNotTheNextTrunkThePhoneMayBeRinging(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began}).must(w0(t).leg(engine.LegSent, 0))
	w.must(Event{Kind: LegSilent, At: w.now, Leg: &engine.LegEvent{Leg: attemptID.Leg(1), Seq: 2, Kind: engine.LegSilent}})
	if _, ok := effect[NextTrunk](w); ok || w.over > 0 {
		t.Fatalf("%s", effectNames(w.last))
	}
	// A late 200 while the leg is owned gets ACK and BYE; the number stays held until the leg is
	// over.
	w.legSeq[attemptID.Leg(1)] = 2
	w.wait(10 * time.Second).must(w.leg(engine.LegAnswered, 200))
	if got := effectNames(w.last); got != "Record(leg) Confirm HangUp" {
		t.Error(got)
	}
	w.must(w.leg(engine.LegClosed, 0))
	w.is(Ended, engine.OutcomeTrunkError)
}

func TestARefusalThatCrossesTheRingTimeoutIsBelieved(t *testing.T) {
	f := func(code int, want engine.Outcome, by engine.Party) {
		t.Helper()
		w := newWorld(t, Config{}).ring()
		w.wait(30 * time.Second).must(w.timer(TimerRing)).must(w.leg(engine.LegRefused, code))
		w.is(Ended, want)
		if w.m.A.HungUpBy != by || w.m.A.SIPCode != code {
			t.Errorf("hung up by %s, SIP code %d", w.m.A.HungUpBy, w.m.A.SIPCode)
		}
	}
	f(487, engine.OutcomeNoAnswer, engine.PartySystem)
	f(486, engine.OutcomeBusy, engine.PartyCallee)
	f(603, engine.OutcomeRejected, engine.PartyCallee)
	f(404, engine.OutcomeInvalidNumber, engine.PartyCallee)

	// But not when a rule required the CANCEL.
	w := newWorld(t, Config{}).ring()
	w.must(Event{Kind: ExcludeRequested}).must(w.leg(engine.LegRefused, 486))
	w.is(Ended, engine.OutcomeExcluded)
}

func TestNoAnswerAfterTheRingTimeout(t *testing.T) {
	w := newWorld(t, Config{RingTimeout: 20 * time.Second})
	w.ring()
	if got := w.armed[TimerRing].At; !got.Equal(t0.Add(20 * time.Second)) {
		t.Errorf("rings until %v", got)
	}
	w.wait(20 * time.Second).must(w.timer(TimerRing))
	if got := effectNames(w.last); got != "Line(released) Cancel" {
		t.Error(got)
	}
	w.must(w.leg(engine.LegRefused, 487))
	w.is(Ended, engine.OutcomeNoAnswer)
	if !w.m.A.RangUnanswered() {
		t.Error("it rang and was not answered")
	}
}

func TestAnAnnouncementBeforeTheAnswerMakesARefusalAnInvalidNumber(t *testing.T) {
	progress := func(w *world) Event {
		return w.leg(engine.LegProvisional, 183, func(e *engine.LegEvent) { e.SDP = []byte("v=0") })
	}
	early := func() *world {
		w := newWorld(t, Config{}).must(Event{Kind: Began})
		w.must(w.leg(engine.LegSent, 0), progress(w))
		if e, ok := effect[HearEarly](w); !ok || string(e.SDP) != "v=0" {
			t.Fatalf("a 183 with SDP: %s", effectNames(w.last))
		}
		return w.must(w.media(engine.MediaIntercepted))
	}
	w := early()
	w.must(w.leg(engine.LegRefused, 480))
	w.is(Ended, engine.OutcomeInvalidNumber)
	if w.m.A.SIPCode != 480 || w.m.A.Friendly != "Announced as out of service" {
		t.Errorf("code %d, %q", w.m.A.SIPCode, w.m.A.Friendly)
	}

	// No other trunk is asked about a number that is out of service.
	w = early()
	w.must(w.leg(engine.LegRefused, 503))
	w.is(Ended, engine.OutcomeInvalidNumber)

	// The announcement is repeated until we hang up.
	w = early()
	w.wait(30 * time.Second).must(w.timer(TimerRing)).must(w.leg(engine.LegRefused, 487))
	w.is(Ended, engine.OutcomeInvalidNumber)
	w = early()
	w.wait(30 * time.Second).must(w.timer(TimerRing))
	w.must(w.leg(engine.LegRefused, 486, func(e *engine.LegEvent) { e.Q850 = 17 }))
	w.is(Ended, engine.OutcomeBusy)

	// Another trunk knows nothing of it.
	w = early()
	w.must(w.leg(engine.LegRefused, 503, func(e *engine.LegEvent) { e.Q850 = 34 }))
	w.must(w.media(engine.MediaIntercepted)) // late
	w.must(Event{Kind: TrunkGranted, Trunk: "b"})
	w.must(w.leg(engine.LegSent, 0), progress(w), w.leg(engine.LegRefused, 480))
	w.is(Ended, engine.OutcomeNoAnswer)

	// Somebody answers.
	w = early()
	w.must(w.leg(engine.LegAnswered, 200))
	if w.m.A.Ending != nil {
		t.Error("an answer after an announcement is no conversation")
	}
}

func TestANumberIsFreeOnlyWithItsLegsLastEvent(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	w.must(w.media(engine.MediaBotClosed))
	if _, free := effect[NumberFree](w); free || w.seat {
		t.Error("the number is free, or the seat is held, while the BYE is under way")
	}
	w.must(w.leg(engine.LegClosed, 0))
	if _, free := effect[NumberFree](w); !free {
		t.Error("the number is not free")
	}
}

func TestStopCancelsRingingLegsAndConversationsFinish(t *testing.T) {
	w := newWorld(t, Config{}).ring().must(Event{Kind: CancelRequested})
	if _, ok := effect[Cancel](w); !ok {
		t.Error("a ringing leg is not cancelled")
	}
	w.must(w0(t).leg(engine.LegRefused, 487)) // sequence 1 again: stale
	if w.m.A.State == Ended {
		t.Error("a repeated sequence number was taken for news")
	}
	w.must(w.leg(engine.LegRefused, 487))
	w.is(Ended, engine.OutcomeCancelled)

	for _, mode := range modes {
		w = newWorld(t, Config{AMD: mode}).converse().must(Event{Kind: CancelRequested}, Event{Kind: ExcludeRequested})
		if len(w.last) > 0 {
			t.Errorf("a conversation was disturbed: %s", effectNames(w.last))
		}
		// The Stop option that also ends conversations; a callee who has just picked up still gets
		// one.
		stop := Event{Kind: HangUpRequested, By: engine.PartySystem}
		if w := newWorld(t, Config{AMD: mode}).answer().must(stop); w.m.A.Ending != nil || len(w.last) > 0 {
			t.Errorf("a live answer was abandoned: %s", effectNames(w.last))
		}
		w.must(stop).must(w.leg(engine.LegClosed, 0))
		w.is(Ended, engine.OutcomeConnectedNoResult)
		if w.m.A.HungUpBy != engine.PartySystem {
			t.Errorf("hung up by %s", w.m.A.HungUpBy)
		}
	}
}

func TestALegThatIsCancelledWhileItsAnswerIsUnderWayIsHungUp(t *testing.T) {
	w := newWorld(t, Config{}).ring().must(Event{Kind: ExcludeRequested}).must(w0(t).leg(engine.LegSent, 0))
	w.must(w.leg(engine.LegAnswered, 200))
	if got := effectNames(w.last); got != "Record(leg) Confirm HangUp" {
		t.Error(got)
	}
	w.must(w.leg(engine.LegClosed, 0))
	w.is(Ended, engine.OutcomeExcluded)
	if !w.m.A.Consumed || w.m.A.AnsweredAt != nil {
		t.Error("it was dialled, and nobody of ours answered")
	}
}

// --- the conversation --------------------------------------------------------

func TestTheCallLimitEndsTheConversation(t *testing.T) {
	w := newWorld(t, Config{CallLimit: time.Minute}).converse()
	if got := w.armed[TimerCall].At; !got.Equal(w.m.A.BotConnectedAt.Add(time.Minute)) {
		t.Errorf("until %v", got)
	}
	w.now = *w.m.A.BotConnectedAt
	w.wait(time.Minute).must(w.timer(TimerCall))
	w.wait(time.Second).must(w.leg(engine.LegClosed, 0))
	w.is(Ended, engine.OutcomeConnectedNoResult)
	if w.m.A.HungUpBy != engine.PartySystem || w.m.A.Talk() != time.Minute {
		t.Errorf("hung up by %s after %v: the BYE's answer is not talk", w.m.A.HungUpBy, w.m.A.Talk())
	}
}

func TestTheBotClosingItsSocketMeansHangUp(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	w.must(w.media(engine.MediaBotClosed)).must(w.leg(engine.LegClosed, 0))
	if w.is(Ended, engine.OutcomeConnectedNoResult); w.m.A.HungUpBy != engine.PartyBot {
		t.Errorf("hung up by %s", w.m.A.HungUpBy)
	}
	// Even while classification is still listening: it had the caller.
	w = newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted})
	w.must(w.media(engine.MediaBotConnected)).wait(time.Second).must(w.media(engine.MediaBotClosed))
	w.wait(time.Second).must(w.leg(engine.LegClosed, 0))
	if w.is(Ended, engine.OutcomeConnectedNoResult); w.served != 1 || w.m.A.Talk() != time.Second {
		t.Errorf("served %d, talk %v", w.served, w.m.A.Talk())
	}
}

func TestNeitherRTPNorRTCPEndsTheCallAsMediaError(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	w.must(w.media(engine.MediaSilent)).must(w.leg(engine.LegClosed, 0))
	w.is(Ended, engine.OutcomeMediaError)
}

func TestAHoldThatNobodyEndsEndsTheConversationNotAsMediaError(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	silent := w.media(engine.MediaSilent)
	silent.Media.OnHold = true
	w.must(silent)
	if h, ok := effect[HangUp](w); !ok || h.Cause.Q850 != 16 {
		t.Errorf("%+v", h)
	}
	w.must(w.leg(engine.LegClosed, 0)).is(Ended, engine.OutcomeConnectedNoResult)
	if w.m.A.HungUpBy != engine.PartySystem || w.m.A.Friendly != "The call was on hold for too long" {
		t.Errorf("hung up by %s, %q", w.m.A.HungUpBy, w.m.A.Friendly)
	}
}

func TestAConversationWithAStoredResultIsCompleted(t *testing.T) {
	f := func(path func(w *world)) {
		t.Helper()
		w := newWorld(t, Config{}).converse()
		path(w)
		w.is(Ended, engine.OutcomeCompleted)
	}
	store := Event{Kind: ResultStored, Result: result("sold")}
	f(func(w *world) { w.must(store).must(w.leg(engine.LegHungUp, 0)) })
	f(func(w *world) { w.must(w.media(engine.MediaBotClosed), store).must(w.leg(engine.LegClosed, 0)) })
	f(func(w *world) { w.must(w.leg(engine.LegHungUp, 0), store) }) // late
}

func TestARepeatedResultReplacesTheFirstAndSaysSo(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	w.must(Event{Kind: ResultStored, Result: result("sold")})
	if w.m.A.Result.Revision != 0 {
		t.Error("the first result is a revision")
	}
	w.must(Event{Kind: ResultStored, Result: result("not sold")})
	if r := w.m.A.Result; r.Revision != 1 || r.Disposition != "not sold" {
		t.Errorf("%+v", r)
	}
	// A callback request counts as new only once.
	wish := func(says bool, want bool) {
		t.Helper()
		r := result("later")
		r.Callback = &Callback{Requested: says}
		if w.must(Event{Kind: ResultStored, Result: r}); w.m.A.Result.Wished != want {
			t.Errorf("wished before: %v, want %v", w.m.A.Result.Wished, want)
		}
	}
	wish(false, false)
	wish(true, false)
	wish(false, true)
	wish(true, true)
}

func TestAResultBeforeTheConversationCountsOnceItIsOne(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted}).must(
		w0(t).media(engine.MediaBotConnected))
	w.mediaSeq++
	for range 2 {
		if w.must(Event{Kind: ResultStored, Result: result("sold")}); w.m.A.CountsResult() {
			t.Error("a result without a conversation counts")
		}
	}
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)))
	if got := effectNames(w.last); got != "Arm(call) Line(served) Record(connected)" || !w.m.A.CountsResult() {
		t.Errorf("%s, counts %v", got, w.m.A.CountsResult())
	}
	if w.must(Event{Kind: ResultStored, Result: result("sold")}); w.m.A.CountsResult() {
		t.Error("counted twice")
	}
}

func TestTalkOfAConversationWhoseEndNobodySawIsBoundedByTheCallLimit(t *testing.T) {
	w := newWorld(t, Config{}).converse().wait(24 * time.Hour).must(Event{Kind: OwnerLost})
	if w.m.A.Talk() != 15*time.Minute {
		t.Errorf("talk %v", w.m.A.Talk())
	}
}

// --- what must not happen -----------------------------------------------------

func TestEventsOfALegThatIsOverAreNoNews(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began})
	w.must(w.leg(engine.LegSent, 0)).must(w.leg(engine.LegRefused, 503), Event{Kind: TrunkGranted, Trunk: "b"})
	first := attemptID.Leg(1)
	for seq, kind := range map[int]engine.LegEventKind{8: engine.LegClosed, 9: engine.LegHungUp, 10: engine.LegAnswered} {
		ev, _ := FromLeg(engine.LegEvent{Attempt: attemptID, Leg: first, Seq: seq, At: w.now, Kind: kind})
		if w.must(ev); len(w.last) > 0 || w.m.A.State != Dialling {
			t.Errorf("%s of the first leg, which is over, while the second rings: %s", kind, effectNames(w.last))
		}
	}
}

func TestMediaOfAnotherAttemptIsNoNews(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	ev := w.media(engine.MediaBotClosed, func(e *engine.MediaEvent) { e.Attempt = "another" })
	if w.must(ev); w.m.A.Ending != nil {
		t.Error("another attempt's bot ended this call")
	}
}

func TestASecondTrunkIsNeverDialledWhileALegIsOpen(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began}).must(w0(t).leg(engine.LegSent, 0))
	w.must(Event{Kind: TrunkGranted, Trunk: "b"})
	if got := effectNames(w.last); got != "TrunkEvent(over)" || len(w.m.A.Legs) != 1 {
		t.Errorf("%s, %d legs", got, len(w.m.A.Legs))
	}
	w.must(Event{Kind: TrunkGranted, Trunk: "a"}, Event{Kind: TrunkRefused})
	if len(w.last) > 0 || w.m.A.State != Dialling {
		t.Errorf("%s, %s", effectNames(w.last), w.m.A.State)
	}
}

func TestARestartedOwnerEndsWhatWasToEnd(t *testing.T) {
	f := func(want string, path func(w *world)) {
		t.Helper()
		w := newWorld(t, Config{})
		path(w)
		if got := effectNames(w.m.Rearm(w.now.Add(time.Hour), nil)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("", func(w *world) { w.must(Event{Kind: Began}) })
	f("Arm(ring)", func(w *world) { w.ring() })
	f("Cancel", func(w *world) { w.ring().must(Event{Kind: ExcludeRequested}) })
	f("NextTrunk", func(w *world) { w.ring().must(w.leg(engine.LegRefused, 503)) })
	f("Arm(bridge)", func(w *world) { w.answer() })
	f("Arm(call)", func(w *world) { w.converse() })
	f("HangUp", func(w *world) { w.converse(); w.must(w.media(engine.MediaBotClosed)) })
	f("Arm(call)", func(w *world) { w.answer().wait(time.Minute); w.must(w.timer(TimerBridge)) })
	f("", func(w *world) { w.converse(); w.must(w.leg(engine.LegHungUp, 0)) })

	w := newWorld(t, Config{AMD: engine.AMDSequential}).answer()
	if got := effectNames(w.m.Rearm(w.now, nil)); got != "Arm(screen)" {
		t.Errorf("sequential: %q", got)
	}
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)))
	if got := effectNames(w.m.Rearm(w.now, nil)); got != "Arm(bridge)" {
		t.Errorf("sequential, judged: %q", got)
	}
	w = newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted})
	if got := effectNames(w.m.Rearm(w.now, nil)); got != "Arm(bridge) Arm(screen)" {
		t.Errorf("parallel: %q", got)
	}
}

func TestATimerOfAnEarlierOwnerDoesNothing(t *testing.T) {
	w := newWorld(t, Config{}).answer()
	old := w.armed[TimerBridge]
	w.m.Rearm(w.now, nil)
	if w.must(TimerBridge.Fired(w.now.Add(time.Hour), old.Epoch)); w.m.A.Ending != nil {
		t.Error("an earlier owner's timer ended the call")
	}
}

func TestTheNetworksLastWordOnTheCallerIDIsKept(t *testing.T) {
	says := func(a string) func(*engine.LegEvent) { return func(e *engine.LegEvent) { e.Attestation = a } }
	w := newWorld(t, Config{}).must(Event{Kind: Began})
	is := func(want string) {
		t.Helper()
		if w.m.A.Attestation != want {
			t.Errorf("%q, want %q", w.m.A.Attestation, want)
		}
	}
	w.must(w.leg(engine.LegSent, 0))
	is("")
	w.must(w.leg(engine.LegProvisional, 180, says("B")))
	is("B")
	w.must(w.leg(engine.LegProvisional, 183))
	is("B")
	w.must(w.leg(engine.LegRefused, 503, says("C")), Event{Kind: TrunkGranted, Trunk: "b"})
	is("C")
	w.must(w.leg(engine.LegSent, 0), w.leg(engine.LegAnswered, 200, says("A")))
	is("A")
}

// SEMANTICS §9: delay = dial time − scheduled time.
func TestTheDelayOfACallbackIsFromItsTimeToItsDial(t *testing.T) {
	at := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	after := func(d time.Duration) *time.Time {
		x := at.Add(d)
		return &x
	}
	a := Attempt{CallbackAt: &at, ReservedAt: after(time.Second), InviteAt: after(1500 * time.Millisecond)}
	if ms, ok := a.CallbackDelayMS(); !ok || ms != 1500 {
		t.Errorf("%d ms, %v", ms, ok)
	}
	a.InviteAt = nil
	if ms, ok := a.CallbackDelayMS(); !ok || ms != 1000 {
		t.Errorf("of one that is about to be dialled: %d ms, %v", ms, ok)
	}
	a.CallbackAt = nil
	if _, ok := a.CallbackDelayMS(); ok {
		t.Error("of no callback")
	}
}
