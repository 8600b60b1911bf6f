package attempt

import (
	"testing"
	"time"

	"dialler/engine"
)

// --- AMD ---------------------------------------------------------------------

func TestParallelTheCallIsScreeningWithItsSeatHeldAndConnectedAtTheVerdict(t *testing.T) {
	for _, v := range []engine.Verdict{engine.VerdictHuman, engine.VerdictUnknown, engine.VerdictSilence,
		engine.VerdictScreener} {
		w := newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted})
		if w.m.A.State != Screening || !w.seat {
			t.Fatalf("%s, seat %v", w.m.A.State, w.seat)
		}
		w.must(w.media(engine.MediaBotConnected))
		if w.served > 0 {
			t.Fatal("served before the verdict")
		}
		w.wait(3*time.Second).must(w.timer(TimerBridge), w.media(engine.MediaVerdict, verdict(v)))
		if w.m.A.State != Connected || w.served != 1 {
			t.Errorf("%s: %s", v, w.m.A.State)
		}
		if got := w.armed[TimerCall].At; !got.Equal(t0.Add(15 * time.Minute)) {
			t.Errorf("the call limit counts from the bot's connection, not %v", got)
		}
	}
}

// An owner that is cut off abandons an answer late; the next one is told by the database, or by the
// bot's events, that it was served. Of the message that played it hears: no bot is there.
func TestACallWhoseLastOwnerHadTakenItOffItsBotIsEnded(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff}).answer()
	w.must(Event{Kind: SeatGranted}, w.media(engine.MediaBotConnected), w.media(engine.MediaPlayed))
	if _, ok := effect[HangUp](w); !ok || w.m.A.Ending == nil || w.m.A.Ending.HungUpBy != engine.PartySystem {
		t.Fatalf("%s, %+v", effectNames(w.last), w.m.A.Ending)
	}
	w.must(w.leg(engine.LegClosed, 0))
	w.is(Ended, engine.OutcomeConnectedNoResult)
}

func TestMachineFaxAndSITAreTornDownAndGiveTheirSeatBackAtTheVerdict(t *testing.T) {
	f := func(mode engine.AMDMode, v engine.Verdict, want engine.Outcome, before func(w *world)) {
		t.Helper()
		w := newWorld(t, Config{AMD: mode}).answer()
		before(w)
		w.must(w.media(engine.MediaVerdict, verdict(v)))
		if w.seat || w.m.A.Ending == nil {
			t.Errorf("AMD %s, %s: seat held %v, ending %v", mode, v, w.seat, w.m.A.Ending)
		}
		if _, ok := effect[HangUp](w); !ok {
			t.Errorf("AMD %s, %s: %s", mode, v, effectNames(w.last))
		}
		w.must(w.leg(engine.LegClosed, 0))
		w.is(Ended, want)
		if w.abandoned > 0 || w.served > 0 {
			t.Error("a machine is outside the abandon rate")
		}
	}
	nothing := func(*world) {}
	seat := func(w *world) { w.must(Event{Kind: SeatGranted}) }
	bot := func(w *world) { seat(w); w.must(w.media(engine.MediaBotConnected)) }
	for _, before := range []func(*world){nothing, seat, bot} {
		f(engine.AMDParallel, engine.VerdictMachine, engine.OutcomeMachine, before)
		f(engine.AMDParallel, engine.VerdictFax, engine.OutcomeFax, before)
		f(engine.AMDParallel, engine.VerdictSIT, engine.OutcomeInvalidNumber, before)
	}
	f(engine.AMDSequential, engine.VerdictMachine, engine.OutcomeMachine, nothing)
	f(engine.AMDSequential, engine.VerdictMachine, engine.OutcomeMachine, func(w *world) { // a later beep revises
		w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)), Event{Kind: SeatGranted})
	})
}

func TestASeatThatIsGrantedAfterTheMachineVerdictGoesBackAtOnce(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDParallel}).answer()
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)), Event{Kind: SeatGranted})
	if got := effectNames(w.last); got != "Line(released)" || w.seat {
		t.Error(got)
	}
}

func TestSequentialNoSeatWhileListening(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDSequential}).answer()
	if l, _ := effect[Line](w); l.Phase != PhaseListening {
		t.Errorf("line %s", l.Phase)
	}
	w.must(Event{Kind: SeatGranted})
	if w.seat || w.m.A.Seated || w.attached > 0 {
		t.Error("a seat was taken while listening")
	}
	if l := w.last[len(w.last)-1].(Line); l.Phase != PhaseListening {
		t.Errorf("the line is %s afterwards", l.Phase)
	}
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)))
	if l, _ := effect[Line](w); l.Phase != PhaseWaiting {
		t.Errorf("line %s", l.Phase)
	}
}

func TestAnAnswerThatClassificationNeverDecidesGoesToTheBot(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDSequential}).answer().wait(ScreenLimit)
	w.must(w.timer(TimerScreen), Event{Kind: SeatGranted}).must(w.media(engine.MediaBotConnected))
	if w.m.A.State != Connected || w.m.A.Verdict != engine.VerdictUnknown {
		t.Errorf("%s, %s", w.m.A.State, w.m.A.Verdict)
	}
	w = newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted}).must(
		w0(t).media(engine.MediaBotConnected))
	w.wait(ScreenLimit).must(w.timer(TimerScreen))
	if w.m.A.State != Connected || w.m.A.Verdict != engine.VerdictUnknown {
		t.Errorf("%s, %s", w.m.A.State, w.m.A.Verdict)
	}
}

// --- the 2 s rule ------------------------------------------------------------

func TestTheTwoSecondsCountFromThe200OrFromTheEndOfTheGreeting(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDOff, engine.AMDParallel} {
		w := newWorld(t, Config{AMD: mode}).answer()
		if got := w.armed[TimerBridge].At; !got.Equal(t0.Add(1800 * time.Millisecond)) {
			t.Errorf("AMD %s: until %v", mode, got.Sub(t0))
		}
		w.wait(time.Second).must(Event{Kind: SeatGranted})
		if b, _ := effect[AttachBot](w); !b.Deadline.Equal(t0.Add(1800 * time.Millisecond)) {
			t.Errorf("AMD %s: the bot has until %v", mode, b.Deadline.Sub(t0))
		}
	}
	w := newWorld(t, Config{AMD: engine.AMDSequential}).answer()
	if _, armed := w.armed[TimerBridge]; armed {
		t.Error("sequential: the time runs while the callee speaks")
	}
	greeted := t0.Add(1500 * time.Millisecond)
	w.wait(2 * time.Second).must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman),
		func(e *engine.MediaEvent) { e.GreetingEnd = greeted }))
	if got := w.armed[TimerBridge].At; !got.Equal(greeted.Add(1800 * time.Millisecond)) {
		t.Errorf("until %v", got.Sub(t0))
	}
	// Silence has no greeting; the callee waits from the verdict on.
	w = newWorld(t, Config{AMD: engine.AMDSequential}).answer().wait(4 * time.Second)
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictSilence)))
	if got := w.armed[TimerBridge].At; !got.Equal(t0.Add(5800 * time.Millisecond)) {
		t.Errorf("until %v", got.Sub(t0))
	}
}

func TestALiveAnswerThatNoBotServesInTimeIsAbandoned(t *testing.T) {
	f := func(mode engine.AMDMode, cause engine.AbandonCause, path func(w *world)) {
		t.Helper()
		w := newWorld(t, Config{AMD: mode}).answer()
		path(w)
		if got := effectNames(w.last); got != "DetachBot Line(abandoned "+string(cause)+
			") Arm(call) Record(abandoned) PlayMessage" {
			t.Errorf("AMD %s: %s", mode, got)
		}
		if w.seat {
			t.Error("the seat is still held")
		}
		// The message ends, then the call.
		w.must(w.media(engine.MediaPlayed))
		if _, ok := effect[HangUp](w); !ok {
			t.Error("the call does not end after the message")
		}
		w.must(w.leg(engine.LegClosed, 0))
		w.is(Ended, engine.OutcomeAbandoned)
		if w.m.A.Cause != cause || w.m.A.HungUpBy != engine.PartySystem {
			t.Errorf("cause %s, hung up by %s", w.m.A.Cause, w.m.A.HungUpBy)
		}
	}
	human := func(w *world) { w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman))) }
	late := func(w *world) { w.wait(BridgeBudget).must(w.timer(TimerBridge)) }
	seat := func(w *world) { w.must(Event{Kind: SeatGranted}) }
	f(engine.AMDOff, engine.AbandonNoSeat, late)
	f(engine.AMDParallel, engine.AbandonNoSeat, late)
	f(engine.AMDParallel, engine.AbandonNoSeat, func(w *world) { human(w); late(w) })
	f(engine.AMDSequential, engine.AbandonNoSeat, func(w *world) { human(w); late(w) })
	f(engine.AMDOff, engine.AbandonLateConnect, func(w *world) { seat(w); late(w) })
	f(engine.AMDParallel, engine.AbandonLateConnect, func(w *world) { seat(w); late(w) })
	f(engine.AMDOff, engine.AbandonLateConnect, func(w *world) { // the bot's event is first in the queue
		seat(w)
		w.wait(BridgeBudget + time.Millisecond).must(w.media(engine.MediaBotConnected))
	})
	f(engine.AMDOff, engine.AbandonCapacityLoss, func(w *world) { seat(w); w.must(w.media(engine.MediaBotFailed)) })
	f(engine.AMDParallel, engine.AbandonCapacityLoss, func(w *world) { seat(w); w.must(w.media(engine.MediaBotFailed)) })
	f(engine.AMDOff, engine.AbandonCapacityLoss, func(w *world) { w.must(Event{Kind: HangUpRequested}) })
}

func TestABotThatStandsInTimeIsNotLate(t *testing.T) {
	w := newWorld(t, Config{}).answer().must(Event{Kind: SeatGranted}).wait(BridgeBudget)
	w.must(w.media(engine.MediaBotConnected))
	if w.m.A.State != Connected {
		t.Errorf("%s", w.m.A.State)
	}
}

func TestAMessageThatNeverEndsDoesNotKeepTheLine(t *testing.T) {
	w := newWorld(t, Config{}).answer().wait(BridgeBudget).must(w0(t).timer(TimerBridge))
	w.must(w.timer(TimerBridge))
	if got := w.armed[TimerCall].At; !got.Equal(w.now.Add(MessageLimit)) {
		t.Errorf("until %v", got)
	}
	w.must(w.timer(TimerCall))
	if _, ok := effect[HangUp](w); !ok {
		t.Error("the line is kept")
	}
}

func TestACalleeWhoHangsUpBeforeTheBotIsThereIsOutsideTheRate(t *testing.T) {
	for _, mode := range modes {
		w := newWorld(t, Config{AMD: mode}).answer().must(Event{Kind: SeatGranted})
		w.must(w.leg(engine.LegHungUp, 0))
		w.is(Ended, engine.OutcomeCallerHungUp)
		if w.abandoned+w.served > 0 || w.m.A.HungUpBy != engine.PartyCallee {
			t.Errorf("abandoned %d, served %d", w.abandoned, w.served)
		}
	}
}

func TestAnsweredButNotConnectedAndLostCountsAsAbandoned(t *testing.T) {
	f := func(err string, path func(w *world), want engine.Outcome, cause engine.AbandonCause) {
		t.Helper()
		w := newWorld(t, Config{})
		path(w)
		w.must(Event{Kind: OwnerLost, Err: err})
		w.is(Ended, want)
		if w.m.A.Cause != cause || !w.m.A.Consumed {
			t.Errorf("cause %q, consumed %v", w.m.A.Cause, w.m.A.Consumed)
		}
	}
	ring := func(w *world) { w.ring() }
	answer := func(w *world) { w.answer() }
	converse := func(w *world) { w.converse() }
	f("", ring, engine.OutcomeLost, "")
	f("", answer, engine.OutcomeAbandoned, engine.AbandonCapacityLoss)
	f("", converse, engine.OutcomeLost, "")
	f("", func(w *world) { w.converse().must(Event{Kind: ResultStored, Result: result("x")}) }, engine.OutcomeCompleted,
		"")
	f("", func(w *world) { w.ring().must(Event{Kind: ExcludeRequested}) }, engine.OutcomeExcluded, "")
	// A leg that is gone while the process is alive is our own fault.
	f("gone", ring, engine.OutcomeSystemError, "")
	f("gone", answer, engine.OutcomeAbandoned, engine.AbandonCapacityLoss)
	f("gone", converse, engine.OutcomeSystemError, "")
}

func TestTheOptOutKeyIsHeardOnceAndOnlyDuringTheMessage(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff}).answer()
	press := func(key byte, want int) {
		t.Helper()
		w.must(w.media(engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = key }))
		got := 0
		for _, e := range w.last {
			if r, ok := e.(Record); ok && r.What == WhatOptedOut {
				got++
			}
		}
		if got != want || len(w.last) != want {
			t.Errorf("key %c: %v", key, w.last)
		}
	}
	press('9', 0) // nothing plays yet
	w.wait(3 * time.Second).must(w.timer(TimerBridge))
	press('1', 0)
	press('9', 1)
	press('9', 0)
	w.must(w.media(engine.MediaPlayed), w.leg(engine.LegClosed, 0))
	if a := &w.m.A; a.Outcome != engine.OutcomeAbandoned || a.Ending == nil || !a.Ending.OptedOut {
		t.Errorf("%s %+v", a.Outcome, a.Ending)
	}
}
