package attempt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/enginetest/golden"
	"dialler/engine/fsm"
)

var twoAddresses = []string{"sip:bot@a.example", "sip:bot@b.example"}

// peer is an event of the newest far leg that is not over, otherwise of the newest.
func (w *world) peer(kind engine.LegEventKind, code int) Event {
	w.tb.Helper()
	p := w.newestPeer()
	if p == nil {
		return w.peerNumbered(w.m.nextLegID(), kind, code)
	}
	return w.peerNumbered(p.ID, kind, code)
}

func (w *world) peerNumbered(id engine.LegID, kind engine.LegEventKind, code int) Event {
	w.legSeq[id]++
	e := engine.LegEvent{Attempt: w.m.A.ID, Leg: id, Seq: w.legSeq[id], At: w.now, Kind: kind, Code: code}
	if kind == engine.LegAnswered {
		e.Dialog = &engine.DialogState{ToTag: "bot", CSeq: 1}
		e.SDP = []byte("v=0")
	}
	ev, _ := FromLeg(e)
	return ev
}

func (w *world) newestPeer() *Peer {
	for i := len(w.m.A.Peers) - 1; i >= 0; i-- {
		if w.m.A.Peers[i].State != PeerOver || i == 0 {
			return &w.m.A.Peers[i]
		}
	}
	return nil
}

// joins answers the far leg and joins its audio.
func (w *world) joins() *world {
	w.tb.Helper()
	p := w.newestPeer()
	w.must(w.peer(engine.LegAnswered, 200))
	return w.must(Event{Kind: PeerJoined, Peer: p.ID})
}

func peerMoves() []move {
	leg := func(name string, k Kind, kind engine.LegEventKind, code int) move {
		return move{"bot: " + name, k, func(w *world) Event { return w.peer(kind, code) }}
	}
	about := func(k Kind) move {
		return move{string(k), k, func(w *world) Event {
			ev := Event{Kind: k}
			if p := w.newestPeer(); p != nil {
				ev.Peer = p.ID
			}
			return ev
		}}
	}
	return []move{
		leg("leg_sent", LegSent, engine.LegSent, 0), leg("leg_not_sent", LegNotSent, engine.LegNotSent, 0),
		leg(
			"leg_trying",
			LegTrying,
			engine.LegProvisional,
			100,
		), leg("leg_ringing", LegRinging, engine.LegProvisional, 180),
		leg(
			"leg_answered",
			LegAnswered,
			engine.LegAnswered,
			200,
		), leg("leg_refused 486", LegRefused, engine.LegRefused, 486),
		leg("leg_silent", LegSilent, engine.LegSilent, 0), leg("leg_hung_up", LegHungUp, engine.LegHungUp, 0),
		leg(
			"leg_closed",
			LegClosed,
			engine.LegClosed,
			0,
		), leg("leg_fenced", LegFenced, engine.LegFenced, 0), leg("digit", DigitPressed, engine.LegDigit, 0),
		{"bot: session", LegSession, func(w *world) Event {
			ev := w.peer(engine.LegSession, 0)
			ev.Leg.Dialog = &engine.DialogState{}
			return ev
		}},

		{"bot: refer", LegReferred, func(w *world) Event {
			ev := w.peer(engine.LegReferred, 0)
			ev.Leg.ReferTo = "sip:desk@pbx.example"
			return ev
		}},
		about(PeerJoined), about(PeerUnfit), about(PeerDropped), about(PeerSilent),
		{string(PeerTimedOut), PeerTimedOut, func(w *world) Event { return w.timer(TimerPeer) }},
	}
}

func peersOf(w *world) (s string) {
	for i := range w.m.A.Peers {
		s += string(w.m.A.Peers[i].State) + " "
	}
	return s
}

func (w *world) peerSituation() string {
	s := w.situation()
	for i := range w.m.A.Peers {
		s += ", bot " + string(w.m.A.Peers[i].State)
	}
	return s
}

// TestABotByTelephoneDoesWhatTheGoldenFileSays goes through every situation
// that a call to a bot with two SIP addresses can be in.
func TestABotByTelephoneDoesWhatTheGoldenFileSays(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What an answered call to a bot with two SIP addresses does, AMD off.\n")
	taken := map[int]bool{}
	start := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	found := map[string]*world{start.peerSituation(): start}
	queue := []string{start.peerSituation()}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		head := "\n" + s + "\n"
		for _, mv := range append(moves(), peerMoves()...) {
			w := found[s].clone(t)
			w.wait(100 * time.Millisecond)
			ev := mv.ev(w)
			if strings.HasPrefix(mv.name, "leg_") && w.m.A.State == Ended {
				continue
			}
			notePeerRow(&w.m, ev, taken)
			err := w.apply(ev)
			if err != nil && !errors.Is(err, fsm.ErrIllegal) {
				t.Fatalf("%s × %s: %v", s, mv.name, err)
			}
			if next := w.peerSituation(); found[next] == nil {
				found[next] = w
				queue = append(queue, next)
			}
			// Events of the callee's side alone are in the other golden files.
			if err == nil && peersOf(w) != peersOf(found[s]) {
				b.WriteString(head)
				head = ""
				fmt.Fprintf(&b, "  %-24s → %s: %s\n", mv.name, w.peerSituation(), effectNames(w.last))
			}
		}
	}
	golden.Check(t, "testdata/peer.golden", b.String())
	all := peerTable.Rows()
	for i := range all {
		if !taken[i] && !all[i].Ignore {
			t.Errorf("no sequence of events takes the row %v on %s", all[i].From, all[i].On)
		}
	}
}

func notePeerRow(m *Machine, ev Event, taken map[int]bool) {
	i := m.peerOf(ev)
	if i < 0 || m.stalePeer(&m.A.Peers[i], ev) {
		return
	}
	all := peerTable.Rows()
	for j := range all {
		s := peerStep{m: m, p: &m.A.Peers[i]}
		if all[j].On == ev.Kind && slices.Contains(all[j].From, s.p.State) &&
			(all[j].When == nil || all[j].When(&s, ev)) {
			taken[j] = true
			return
		}
	}
}

// TestEveryFarLegStateHasAnAnswerToEveryEvent lists illegal events a second time, by hand.
func TestEveryFarLegStateHasAnAnswerToEveryEvent(t *testing.T) {
	illegal := map[PeerState][]Kind{
		PeerCalling:  {PeerJoined, PeerUnfit},
		PeerAnswered: {LegAnswered, LegNotSent, LegRefused, LegSilent},
		PeerUp:       {LegAnswered, LegNotSent, LegRefused, LegSilent},
		PeerOver: {
			LegSent,
			LegNotSent,
			LegTrying,
			LegRinging,
			LegAnswered,
			LegRefused,
			LegSilent,
			LegHungUp,
			LegClosed,
		},
	}
	for pair, c := range peerTable.Cover() {
		if got, want := c == fsm.Illegal, slices.Contains(illegal[pair.State], pair.Event); got != want {
			t.Errorf("%s × %s: illegal %v, want %v", pair.State, pair.Event, got, want)
		}
	}
}

func TestABotIsCalledBySIPOnceItsSeatIsThere(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted})
	d, ok := effect[DialPeer](w)
	if !ok || d.URI != twoAddresses[0] || d.Leg != attemptID.Leg(2) {
		t.Fatalf("%+v", w.last)
	}
	if want := t0.Add(BridgeBudget / 2); !d.SendBy.Equal(want) {
		t.Errorf("the first of two has until %v, want %v", d.SendBy, want)
	}
	w.joins()
	w.is(Connected, "")
	if w.m.A.Session != engine.SessionID(d.Leg) {
		t.Errorf("session %q is not the bot leg's Call-ID", w.m.A.Session)
	}
	if c, ok := effect[Confirm](w); !ok || c.Leg != d.Leg {
		t.Errorf("no ACK: %s", effectNames(w.last))
	}
}

func TestTheNextAddressOfABotIsTriedWhenOneRefusesAndTheLastRefusalIsAnAbandon(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted}).wait(300 * time.Millisecond)
	w.must(w.peer(engine.LegRefused, 503))
	d, ok := effect[DialPeer](w)
	if !ok || d.URI != twoAddresses[1] || !d.SendBy.Equal(t0.Add(BridgeBudget)) {
		t.Fatalf("%+v", w.last)
	}
	w.must(w.peerNumbered(d.Leg, engine.LegRefused, 486))
	if e := w.m.A.Ending; e == nil || e.Outcome != engine.OutcomeAbandoned || e.Cause != engine.AbandonCapacityLoss {
		t.Fatalf("%+v", e)
	}
}

func TestAnAddressThatDoesNotAnswerLeavesHalfOfTheTimeToTheNext(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted})
	first := w.m.A.Peers[0].ID
	arm, ok := effect[Arm](w)
	if !ok || arm.Timer != TimerPeer || !arm.At.Equal(t0.Add(900*time.Millisecond)) {
		t.Fatalf("%+v", w.last)
	}
	w.wait(900 * time.Millisecond).must(w.timer(TimerPeer))
	if c, ok := effect[Cancel](w); !ok || c.Leg != first {
		t.Fatalf("no CANCEL: %s", effectNames(w.last))
	}
	second := w.m.A.Peers[1].ID
	// The first address answers after all, but too late.
	w.must(w.peerNumbered(first, engine.LegAnswered, 200))
	if h, ok := effect[HangUp](w); !ok || h.Leg != first {
		t.Fatalf("no BYE: %s", effectNames(w.last))
	}
	w.must(w.peerNumbered(second, engine.LegAnswered, 200), Event{Kind: PeerJoined, Peer: second})
	w.is(Connected, "")
}

func TestABotLegMustStandWithin18Seconds(t *testing.T) {
	for _, late := range []time.Duration{0, time.Nanosecond} {
		w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses[:1]}).answer()
		w.must(Event{Kind: SeatGranted}).wait(BridgeBudget + late).joins()
		if (w.m.A.State == Connected) != (late == 0) {
			t.Errorf("%v late: %s", late, w.m.A.State)
		}
		if late > 0 {
			if w.m.A.Ending.Cause != engine.AbandonLateConnect || w.m.A.Peers[0].State != PeerLeaving {
				t.Errorf("%+v, bot %s", w.m.A.Ending, w.m.A.Peers[0].State)
			}
			if _, ok := effect[HangUp](w); !ok {
				t.Errorf("the bot's leg is not ended: %s", effectNames(w.last))
			}
		}
	}
}

func TestEitherSidesByeEndsBoth(t *testing.T) {
	t.Run("bot", func(t *testing.T) {
		w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
		w.must(Event{Kind: SeatGranted}).joins().must(w.peer(engine.LegHungUp, 0))
		if h, ok := effect[HangUp](w); !ok || h.Leg != attemptID.Leg(1) || w.m.A.Ending.HungUpBy != engine.PartyBot {
			t.Fatalf("%s, %+v", effectNames(w.last), w.m.A.Ending)
		}
		w.must(w.leg(engine.LegClosed, 0))
		w.is(Ended, engine.OutcomeConnectedNoResult)
		if w.m.A.OpenLeg() {
			t.Error("a leg is left open")
		}
	})
	t.Run("callee", func(t *testing.T) {
		w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
		w.must(Event{Kind: SeatGranted}).joins().must(w.leg(engine.LegHungUp, 0))
		w.is(Ended, engine.OutcomeConnectedNoResult)
		if h, ok := effect[HangUp](w); !ok || h.Leg != attemptID.Leg(2) || !w.m.A.OpenLeg() {
			t.Fatalf("%s; open %v", effectNames(w.last), w.m.A.OpenLeg())
		}
		w.must(w.peer(engine.LegClosed, 0))
		if w.m.A.OpenLeg() {
			t.Error("the bot's leg is over and counts as open")
		}
	})
}

func TestAMachineVerdictTakesTheSIPBotOff(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDParallel, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted}).joins()
	w.is(Screening, "")
	if _, ok := effect[Record](w); !ok {
		t.Errorf("the bot's dialog is not recorded before its ACK: %s", effectNames(w.last))
	}
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)))
	if w.m.A.Peers[0].State != PeerLeaving || w.m.A.Ending.Outcome != engine.OutcomeMachine {
		t.Fatalf("bot %s, %+v", w.m.A.Peers[0].State, w.m.A.Ending)
	}
}

func TestABotWhoseSDPCannotBeUsedIsAnotherOnesTurn(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted}, w.peer(engine.LegAnswered, 200))
	w.must(Event{Kind: PeerUnfit, Peer: w.m.A.Peers[0].ID})
	if h, ok := effect[HangUp](w); !ok || h.Leg != w.m.A.Peers[0].ID || len(w.m.A.Peers) != 2 {
		t.Fatalf("%s", effectNames(w.last))
	}
	if w.m.A.ServedAt != nil {
		t.Error("a bot that hears nothing has served nobody")
	}
}

func TestARestartedOwnerEndsTheBotsLegOfACallWhoseEndIsDecided(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff, BotURIs: twoAddresses}).answer()
	w.must(Event{Kind: SeatGranted}).joins().must(Event{Kind: HangUpRequested})
	effects := w.m.Rearm(w.now, nil)
	var ended []engine.LegID
	for _, e := range effects {
		if h, ok := e.(HangUp); ok {
			ended = append(ended, h.Leg)
		}
	}
	if !slices.Contains(ended, attemptID.Leg(1)) || !slices.Contains(ended, attemptID.Leg(2)) {
		t.Fatalf("BYE again for %v only", ended)
	}
}
