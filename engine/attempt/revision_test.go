package attempt

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// A beep may revoke tentative answers within 20 s of the answer.
var (
	tentative      = Config{AMD: engine.AMDParallel, Listen: engine.AMDRules{Revise: 20 * time.Second}}
	leavesMessages = Config{AMD: engine.AMDParallel, Listen: engine.AMDRules{Revise: 20 * time.Second, Voicemail: "vm1"}}
)

// servedAs connects a call to its bot with a verdict that a beep may revise.
func (w *world) servedAs(v engine.Verdict) *world {
	w.answer()
	if w.m.Config.AMD == engine.AMDSequential {
		w.must(w.media(engine.MediaVerdict, verdict(v))).must(Event{Kind: SeatGranted}).must(
			w.media(engine.MediaBotConnected))
	} else {
		w.must(Event{Kind: SeatGranted}).must(w.media(engine.MediaBotConnected)).must(
			w.media(engine.MediaVerdict, verdict(v)))
	}
	if w.m.A.State != Connected {
		w.fail("%s", w.m.A.State)
	}
	return w
}

func (w *world) does(want string) *world {
	w.tb.Helper()
	if got := effectNames(w.last); got != want {
		w.fail("it does %q, want %q", got, want)
	}
	return w
}

func TestALaterBeepTakesTheBotOffAndTheLiveAnswerBack(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDParallel, engine.AMDSequential} {
		for _, v := range []engine.Verdict{engine.VerdictHuman, engine.VerdictUnknown, engine.VerdictSilence,
			engine.VerdictScreener} {
			cfg := tentative
			cfg.AMD = mode
			w := newWorld(t, cfg).servedAs(v)
			if !w.m.Tentative() || w.counted != 0 {
				t.Errorf("AMD %s, %s: it counts as a live answer at once", mode, v)
			}
			w.wait(3 * time.Second).must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine))).
				does("DetachBot Line(released) Record(revised) HangUp")
			w.must(w.leg(engine.LegClosed, 0)).is(Ended, engine.OutcomeMachine)
			if a := &w.m.A; a.WasConnected() || a.Verdict != engine.VerdictMachine || a.RevisedFrom != v || w.counted != 0 {
				t.Errorf("AMD %s, %s: %s from %s, connected %v, counted %d", mode, v, a.Verdict, a.RevisedFrom, a.WasConnected(),
					w.counted)
			}
		}
	}
}

func TestAnAnswerCountsOnceNoBeepCanReviseIt(t *testing.T) {
	ends := map[string]func(w *world){
		"its time is over": func(w *world) { w.wait(20 * time.Second).must(w.timer(TimerRevise)).does("CountLive") },
		"the callee hangs up": func(w *world) {
			w.must(w.leg(engine.LegHungUp, 0)).does("TrunkEvent(over) CountLive CloseMedia NumberFree Line(over) Over")
		},
		"the bot hangs up":  func(w *world) { w.must(w.media(engine.MediaBotClosed)).does("CountLive " + takenDown) },
		"the owner is lost": func(w *world) { w.must(Event{Kind: OwnerLost}) },
	}
	for name, end := range ends {
		w := newWorld(t, tentative).servedAs(engine.VerdictHuman)
		if end(w); w.counted != 1 {
			t.Errorf("%s: counted %d times", name, w.counted)
		}
		w.wait(time.Second)
		_ = w.apply(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)))
		if w.m.A.RevisedFrom != "" || w.m.A.Ending != nil && w.m.A.Ending.Outcome == engine.OutcomeMachine {
			t.Errorf("%s: a beep after that revised it", name)
		}
	}
}

func TestABotThatHasJudgedTheCallIsNotTakenOffByABeep(t *testing.T) {
	cfg := tentative
	w := newWorld(t, cfg).servedAs(engine.VerdictUnknown).must(Event{Kind: ResultStored, Result: result("voicemail")})
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine))).does("")
	cfg.Transfers = toAnybody
	w = newWorld(t, cfg).servedAs(engine.VerdictHuman).must(Event{Kind: TransferRequested, To: "sip:desk@pbx.example"})
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine))).does("")
}

func TestWithoutATimeForItNothingIsRevised(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDParallel}).servedAs(engine.VerdictUnknown)
	if w.m.Tentative() {
		t.Error("it can be revised")
	}
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine))).does("")
	late := tentative
	late.Listen.Revise = time.Second
	w = newWorld(t, late).answer().must(Event{Kind: SeatGranted}).must(Event{Kind: ResultStored, Result: result("sold")})
	w.must(w.media(engine.MediaBotConnected)).wait(2 * time.Second)
	if w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictHuman))); w.m.Tentative() {
		t.Error("its time was over when it was served")
	}
}

func TestARestartedOwnerGoesOnWaitingForTheBeep(t *testing.T) {
	w := newWorld(t, tentative).servedAs(engine.VerdictHuman)
	m := Machine{A: w.m.A, Config: tentative}
	var armed bool
	for _, e := range m.Rearm(w.now, nil) {
		if a, ok := e.(Arm); ok && a.Timer == TimerRevise {
			armed = a.At.Equal(*w.m.A.RevisableUntil)
		}
	}
	if !armed || !m.Tentative() {
		t.Error("the end of its time is not waited for")
	}
}

func TestAMessageIsLeftOnAMachineAndThenTheCallEnds(t *testing.T) {
	leave := "DetachBot Line(released) Arm(call) LeaveVoicemail"
	judged := func(w *world) *world {
		return w.answer().must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)))
	}
	for name, w := range map[string]*world{
		"at its verdict": judged(newWorld(t, leavesMessages)).does(leave),
		"sequential":     judged(newWorld(t, Config{AMD: engine.AMDSequential, Listen: leavesMessages.Listen})).does(leave),
		"at a later beep": newWorld(t, leavesMessages).servedAs(engine.VerdictUnknown).
			must(Event{Kind: DigitPressed}),
	} {
		if name == "at a later beep" {
			w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine))).does(leave + " Record(revised)")
		}
		w.wait(9 * time.Second).must(w.media(engine.MediaPlayed)).does("HangUp")
		w.must(w.leg(engine.LegClosed, 0)).is(Ended, engine.OutcomeMachine)
		if at := w.m.A.VoicemailLeftAt; at == nil || !at.Equal(w.now) {
			t.Errorf("%s: left at %v", name, at)
		}
	}
}

func TestAMessageThatWasNotPlayedIsNotSaidToBeLeft(t *testing.T) {
	machine := func() *world {
		w := newWorld(t, leavesMessages).answer()
		return w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)))
	}
	w := machine()
	w.must(w.media(engine.MediaPlayed, func(e *engine.MediaEvent) { e.Error = "no beep" })).does("HangUp")
	w2 := machine()
	w2.wait(VoicemailLimit).must(w2.timer(TimerCall)).does("HangUp")
	w3 := machine()
	w3.must(w3.leg(engine.LegHungUp, 0))
	for _, w := range []*world{w, w2, w3} {
		if w.m.A.Ending.Outcome != engine.OutcomeMachine || w.m.A.VoicemailLeftAt != nil {
			t.Errorf("%+v, left %v", w.m.A.Ending, w.m.A.VoicemailLeftAt)
		}
	}
}

func TestOnlyAMachineGetsAMessage(t *testing.T) {
	for _, v := range []engine.Verdict{engine.VerdictFax, engine.VerdictSIT} {
		w := newWorld(t, leavesMessages).answer()
		w.must(w.media(engine.MediaVerdict, verdict(v))).does(takenDown)
	}
}

func TestARestartedOwnerLetsTheMessageEnd(t *testing.T) {
	w := newWorld(t, leavesMessages).answer()
	w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictMachine)))
	m := Machine{A: w.m.A, Config: leavesMessages}
	if got := effectNames(m.Rearm(w.now, nil)); got != "Arm(call)" {
		t.Errorf("it does %q", got)
	}
}

func TestEverySituationOfATentativeAnswerKeepsTheBooks(t *testing.T) {
	for _, cfg := range []Config{tentative, leavesMessages} {
		seen := 0
		explore(t, cfg, func(string, move, *world, *world, error) { seen++ })
		if seen < 15*len(moves()) {
			t.Errorf("only %d", seen)
		}
	}
}

func TestTheBotsWordRevisesTheVerdictAtAnyTime(t *testing.T) {
	unlistened := Config{AMD: engine.AMDParallel}
	for _, v := range []engine.Verdict{engine.VerdictMachine, engine.VerdictFax, engine.VerdictSIT} {
		for _, mode := range []engine.AMDMode{engine.AMDParallel, engine.AMDSequential} {
			for name, c := range map[string]struct {
				cfg   Config
				until func(w *world)
				stood bool
			}{
				"while a beep may revise it": {tentative, func(*world) {}, false},
				"when it had stood": {tentative, func(w *world) {
					w.wait(20 * time.Second).must(w.timer(TimerRevise)).wait(10 * time.Minute)
				}, true},
				"past its time, before its timer": {tentative, func(w *world) { w.wait(21 * time.Second) }, true},
				"where nothing is listened for":   {unlistened, func(w *world) { w.wait(time.Minute) }, true},
			} {
				cfg := c.cfg
				cfg.AMD = mode
				w := newWorld(t, cfg).servedAs(engine.VerdictHuman)
				c.until(w)
				w.must(w.media(engine.MediaBotVerdict, verdict(v)))
				got := strings.TrimPrefix(effectNames(w.last), "CountLive ")
				if got != "DetachBot Line(released) Record(revised) HangUp" {
					t.Errorf("%s %s: it does %q", name, v, got)
				}
				w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictFax))) // once
				w.wait(time.Second).must(w.leg(engine.LegClosed, 0)).is(Ended, disposition.ForVerdict(v))
				a := &w.m.A
				if a.Verdict != v || a.RevisedFrom != engine.VerdictHuman || a.WasConnected() != c.stood || a.Seated {
					t.Errorf("%s %s: %s from %s, connected %v", name, v, a.Verdict, a.RevisedFrom, a.WasConnected())
				}
				if counted := c.cfg.Listen.Revise > 0 && c.stood; (w.counted == 1) != counted {
					t.Errorf("%s %s: counted %d times", name, v, w.counted)
				}
			}
		}
	}
}

func TestTheBotsWordIsHeardAfterItsResultAndWhileATargetIsCalled(t *testing.T) {
	cfg := tentative
	cfg.Transfers = toAnybody
	for name, before := range map[string]Event{
		"a result": {Kind: ResultStored, Result: result("voicemail")},
		"a target": {Kind: TransferRequested, To: "sip:desk@pbx.example"},
	} {
		w := newWorld(t, cfg).servedAs(engine.VerdictHuman).must(before)
		w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictMachine)))
		w.must(w.leg(engine.LegClosed, 0)).is(Ended, engine.OutcomeMachine)
		// The conversation has been reported and cannot be revoked, so it counts.
		if w.counted != 1 || !w.m.A.WasConnected() || w.m.A.RevisedFrom != engine.VerdictHuman {
			t.Errorf("%s: counted %d times, from %q", name, w.counted, w.m.A.RevisedFrom)
		}
	}
}

func TestTheBotsWordLeavesAMessageOnAMachine(t *testing.T) {
	w := newWorld(t, leavesMessages).servedAs(engine.VerdictHuman).wait(time.Minute)
	w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictMachine))).
		does("CountLive DetachBot Line(released) Arm(call) LeaveVoicemail Record(revised)")
	w.wait(9 * time.Second).must(w.media(engine.MediaPlayed)).does("HangUp")
	w.must(w.leg(engine.LegClosed, 0)).is(Ended, engine.OutcomeMachine)
	w = newWorld(t, leavesMessages).servedAs(engine.VerdictHuman)
	w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictFax))).
		does("DetachBot Line(released) Record(revised) HangUp")
}

func TestTheBotsWordDecidesWhileClassificationListens(t *testing.T) {
	w := newWorld(t, tentative).answer().must(Event{Kind: SeatGranted}).must(Event{Kind: BotConnected})
	w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictMachine))).does(takenDown)
	if a := &w.m.A; a.RevisedFrom != "" || a.WasConnected() || a.Ending.Outcome != engine.OutcomeMachine {
		t.Errorf("%s from %q, connected %v", a.Verdict, a.RevisedFrom, a.WasConnected())
	}
}

func TestWithoutClassificationThereIsNoVerdictThatTheBotCouldRevise(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDOff}).converse()
	w.must(w.media(engine.MediaBotVerdict, verdict(engine.VerdictMachine))).does("")
}

func TestWhatIsHeardRevisesToMachineFaxOrSITAndOnce(t *testing.T) {
	for _, v := range []engine.Verdict{engine.VerdictMachine, engine.VerdictFax, engine.VerdictSIT} {
		w := newWorld(t, tentative).servedAs(engine.VerdictHuman).wait(8 * time.Second)
		w.must(w.media(engine.MediaVerdict, verdict(v))).does("DetachBot Line(released) Record(revised) HangUp")
		w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictFax)),
			w.media(engine.MediaBotVerdict, verdict(engine.VerdictFax)))
		w.must(w.leg(engine.LegClosed, 0)).is(Ended, disposition.ForVerdict(v))
		if a := &w.m.A; a.Verdict != v || a.RevisedFrom != engine.VerdictHuman || a.WasConnected() || w.counted != 0 {
			t.Errorf("%s: %s from %s, connected %v, counted %d", v, a.Verdict, a.RevisedFrom, a.WasConnected(), w.counted)
		}
	}
}
