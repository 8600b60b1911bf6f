package attempt

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
)

var toAnybody = TransferRules{Allowed: []string{"+4930*", "sip:*@pbx.example"}, Limit: 2}

func ask(to string) Event { return Event{Kind: TransferRequested, To: to} }

// refers is the REFER of a bot's leg.
func (w *world) refers(to string) Event {
	ev := w.peerNumbered(w.m.A.Peers[0].ID, engine.LegReferred, 0)
	ev.Leg.ReferTo = to
	return ev
}

func TestWhoMayBeTransferredToIsListed(t *testing.T) {
	for entry, ok := range map[string]bool{
		"+4930123": true, "+4930*": true, "+4*": true, "+*": false, "+": false, "+0*": false, "*": false, "4930": false,
		"+49x": false, "+123456789012345": true, "+1234567890123456": false, "sip:desk@pbx": true, "sip:*@pbx": true,
		"sip:*@pbx:5070;transport=tls": true,
		"sip:*":                        false, "sip:*@": false, "sip:pbx": false, "tel:+49": false, "": false,
	} {
		if got := CheckTransferTarget(entry); got != ok {
			t.Errorf("%q: %v", entry, got)
		}
	}
	w := newWorld(t, Config{AMD: engine.AMDOff,
		Transfers: TransferRules{Allowed: []string{"+4930*", "+431234567", "sip:*@pbx.example", "sip:desk@other",
			"sip:+4940777777@gw"}, Limit: 1}}).converse()
	for to, want := range map[string]string{
		"+4930123456": "", "+431234567": "", "+4312345678": "transfer_not_allowed", "+4940123456": "transfer_not_allowed",
		"sip:anna@pbx.example": "", "sip:anna@pbx.example.org": "transfer_not_allowed", "sip:desk@other": "",
		"sip:else@other":      "transfer_not_allowed",
		"sip:a@b@pbx.example": "transfer_target", "tel:+4930123456": "", "sip:+4930123456@whatever": "",
		"sip:+4940777777@gw":   "",
		"sip:+4940777777@else": "transfer_not_allowed", "+493": "transfer_target", "desk": "transfer_target",
		"": "transfer_target",
	} {
		if err := w.m.JudgeTransfer(to); (want == "") != (err == nil) || err != nil && engine.ErrorCode(err) != want {
			t.Errorf("%q: %v, want %q", to, err, want)
		}
	}
}

func TestACallIsTransferredOnlyWhileABotTalksAndAsOftenAsAllowed(t *testing.T) {
	code := func(w *world) string { return engine.ErrorCode(w.m.JudgeTransfer("sip:desk@pbx.example")) }
	w := newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).answer()
	if got := code(w); got != "call_not_connected" {
		t.Errorf("answered: %s", got)
	}
	w = newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	for range toAnybody.Limit {
		if err := w.m.JudgeTransfer("sip:desk@pbx.example"); err != nil {
			t.Fatal(err)
		}
		w.must(ask("sip:desk@pbx.example"))
		if got := code(w); got != "transfer_in_progress" {
			t.Errorf("calling: %s", got)
		}
		w.must(w.peer(engine.LegRefused, 486))
		if tr := w.m.A.Transfer; tr.Result != TransferRefused || tr.SIPCode != 486 || tr.EndedAt == nil {
			t.Errorf("%+v", tr)
		}
		w.is(Connected, "")
	}
	if got := code(w); got != "transfer_limit" {
		t.Errorf("after %d: %s", toAnybody.Limit, got)
	}
	w.must(Event{Kind: HangUpRequested})
	if got := code(w); got != "call_not_connected" {
		t.Errorf("ending: %s", got)
	}
	off := newWorld(t, Config{AMD: engine.AMDOff}).converse()
	if got := code(off); got != "transfer_not_allowed" {
		t.Errorf("off: %s", got)
	}
	off.must(ask("sip:desk@pbx.example"))
	if off.m.A.Transfer != nil || len(off.m.A.Peers) > 0 {
		t.Error("a campaign that transfers nothing did")
	}
}

func TestATransferTakesTheBotOffGivesItsSeatBackAndEndsWithEitherSide(t *testing.T) {
	for _, calleeFirst := range []bool{true, false} {
		w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses[:1], Transfers: toAnybody}).answer()
		w.must(Event{Kind: SeatGranted}).joins().wait(time.Second).must(w.refers("sip:desk@pbx.example"))
		if a, ok := effect[AnswerRefer](w); !ok || !a.Accept || a.Leg != attemptID.Leg(2) {
			t.Fatalf("%s", effectNames(w.last))
		}
		if d, ok := effect[DialPeer](w); !ok || d.URI != "sip:desk@pbx.example" || d.Leg != attemptID.Leg(3) ||
			d.Trunk != "" {
			t.Fatalf("%+v", w.last)
		}
		w.joins()
		if n, ok := effect[NotifyRefer](w); !ok || n.Code != 200 || n.Leg != attemptID.Leg(2) {
			t.Errorf("%s", effectNames(w.last))
		}
		if h, ok := effect[HangUp](w); !ok || h.Leg != attemptID.Leg(2) || w.seat || w.m.A.Seated {
			t.Errorf("%s, seat %v", effectNames(w.last), w.seat)
		}
		if c, ok := effect[Confirm](w); !ok || c.Leg != attemptID.Leg(3) {
			t.Errorf("%s", effectNames(w.last))
		}
		if w.m.PhaseNow() != PhaseReleased || w.m.A.Transfer.Result != TransferBridged {
			t.Errorf("%s %+v", w.m.PhaseNow(), w.m.A.Transfer)
		}
		w.wait(time.Minute)
		if calleeFirst {
			w.must(w.leg(engine.LegHungUp, 0))
			w.is(Ended, engine.OutcomeConnectedNoResult)
			if h, ok := effect[HangUp](w); !ok || h.Leg != attemptID.Leg(3) {
				t.Errorf("%s", effectNames(w.last))
			}
		} else {
			w.must(w.peerNumbered(attemptID.Leg(3), engine.LegHungUp, 0))
			if h, ok := effect[HangUp](w); !ok || h.Leg != attemptID.Leg(1) || w.m.A.Ending.HungUpBy != engine.PartyTarget {
				t.Errorf("%s %+v", effectNames(w.last), w.m.A.Ending)
			}
			w.must(w.leg(engine.LegClosed, 0))
			w.is(Ended, engine.OutcomeConnectedNoResult)
		}
		if tr := w.m.A.Transfer; tr.Result != TransferBridged || tr.EndedAt == nil || tr.By != "refer" || tr.Kind != "sip" ||
			!tr.AnsweredAt.Before(*tr.EndedAt) {
			t.Errorf("%+v", tr)
		}
	}
}

func TestATransferToANumberHasATrunksChannelAndGivesItBack(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	w.must(ask("+493012345"))
	if n, ok := effect[NextTrunk](w); !ok || len(n.Tried) != 0 || len(w.m.A.Peers) != 0 {
		t.Fatalf("%s", effectNames(w.last))
	}
	w.must(Event{Kind: TrunkGranted, Trunk: "a"}) // the same trunk as the callee's leg
	d, ok := effect[DialPeer](w)
	if !ok || d.URI != "tel:+493012345" || d.Trunk != "a" {
		t.Fatalf("%+v", w.last)
	}
	w.must(w.peer(engine.LegRefused, 503))
	e, ok := effect[TrunkEvent](w)
	if !ok || !e.Over || e.Leg != d.Leg || e.Class == nil || w.m.A.Transfer.Result != TransferRefused {
		t.Fatalf("%+v %+v", w.last, w.m.A.Transfer)
	}
	w.must(ask("+493012345"), Event{Kind: TrunkRefused})
	if tr := w.m.A.Transfer; tr.Result != TransferUnreached || tr.Tried != 2 {
		t.Errorf("%+v", tr)
	}
	w.is(Connected, "")
}

func TestATargetThatDoesNotAnswerIsCalledOffAfterTheRingTimeout(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	w.must(ask("sip:desk@pbx.example"))
	arm, ok := effect[Arm](w)
	if !ok || arm.Timer != TimerPeer || !arm.At.Equal(w.now.Add(w.m.Config.RingTimeout)) {
		t.Fatalf("%+v", w.last)
	}
	w.must(w.peer(engine.LegProvisional, 180)).wait(w.m.Config.RingTimeout).must(w.timer(TimerPeer))
	if _, ok := effect[Cancel](w); !ok || w.m.A.Transfer.Result != TransferNoAnswer || w.m.A.Transfer.SIPCode != 480 {
		t.Errorf("%s %+v", effectNames(w.last), w.m.A.Transfer)
	}
	w.is(Connected, "")
}

func TestACalleeWhoHangsUpCallsTheTargetOff(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	w.must(ask("sip:desk@pbx.example"), w.leg(engine.LegHungUp, 0))
	w.is(Ended, engine.OutcomeConnectedNoResult)
	if _, ok := effect[Cancel](w); !ok || w.m.A.Transfer.Result != TransferGivenUp || !w.m.A.OpenLeg() {
		t.Errorf("%s %+v", effectNames(w.last), w.m.A.Transfer)
	}
}

func TestABotMayHangUpOnceItHasHandedOver(t *testing.T) {
	start := func() *world {
		w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses[:1], Transfers: toAnybody}).answer()
		w.must(Event{Kind: SeatGranted}).joins().must(w.refers("tel:+4930999999"), Event{Kind: TrunkGranted, Trunk: "b"})
		w.must(w.peerNumbered(attemptID.Leg(2), engine.LegHungUp, 0))
		if w.m.A.State != Connected || w.m.A.Ending != nil || w.seat || w.m.PhaseNow() != PhaseReleased {
			t.Fatalf("%s %+v, seat %v", w.m.A.State, w.m.A.Ending, w.seat)
		}
		return w
	}
	w := start()
	w.joins()
	if w.m.A.Transfer.Result != TransferBridged {
		t.Errorf("%+v", w.m.A.Transfer)
	}
	w = start()
	w.must(w.peerNumbered(attemptID.Leg(3), engine.LegRefused, 486))
	if e := w.m.A.Ending; e == nil || e.HungUpBy != engine.PartyBot || w.m.A.Transfer.Result != TransferRefused {
		t.Errorf("%+v %+v", e, w.m.A.Transfer)
	}
}

func TestAReferFromTheCalleesSideOrForbiddenIsDeclined(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses[:1], Transfers: toAnybody}).answer()
	w.must(Event{Kind: SeatGranted}).joins()
	ev := w.leg(engine.LegReferred, 0)
	ev.Leg.ReferTo = "sip:desk@pbx.example"
	for _, ev := range []Event{ev, w.refers("sip:elsewhere@example.org")} {
		w.must(ev)
		if a, ok := effect[AnswerRefer](w); !ok || a.Accept || w.m.A.Transfer != nil || len(w.m.A.Peers) != 1 {
			t.Errorf("%s", effectNames(w.last))
		}
	}
}

func TestARestartedOwnerGoesOnCallingTheTargetOrGivesItUp(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	w.must(ask("sip:desk@pbx.example"))
	deadline := w.m.transferDeadline()
	if !slices.ContainsFunc(w.m.Rearm(w.now, nil), func(e Effect) bool {
		a, ok := e.(Arm)
		return ok && a.Timer == TimerPeer && a.At.Equal(deadline)
	}) {
		t.Error("the target has no time limit any more")
	}
	w = newWorld(t, Config{AMD: engine.AMDOff, Transfers: toAnybody}).converse()
	w.must(ask("+493012345")) // the trunk's answer goes to the earlier owner
	w.m.Rearm(w.now, nil)
	if w.m.A.Transfer.Result != TransferUnreached {
		t.Errorf("%+v", w.m.A.Transfer)
	}
}
