package attempt

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// This file states a second time, as rules instead of rows, what every event does in every
// situation. It judges the transition table independently; golden files only show that nothing
// changed.

const (
	illegal   = "illegal"
	nothing   = ""
	gaveBack  = "CloseMedia NumberFree Line(over) Over"
	takenDown = "DetachBot Line(released) HangUp"
	nowServed = "Line(served) Record(connected)"
)

func abandonedFor(c engine.AbandonCause) string {
	return "DetachBot Line(abandoned " + string(c) + ") Arm(call) Record(abandoned) PlayMessage"
}

// rule is what an attempt must do with a move: the state afterwards and the effects, or illegal.
type rule struct {
	w       *world
	a       *Attempt
	mv      move
	between bool // no leg is open
}

func (r *rule) stays(does string) string { return string(r.a.State) + ": " + does }

func to(s State, does string) string { return string(s) + ": " + does }

// ended says that everything is given back, the channel only if a leg holds it.
func (r *rule) ended() string {
	if !r.between || len(r.a.Legs) == 0 {
		return to(Ended, "TrunkEvent(over) "+gaveBack)
	}
	return to(Ended, gaveBack)
}

func (r *rule) is(kinds ...Kind) bool { return slices.Contains(kinds, r.mv.kind) }

// repeated says that the channel in use is granted again.
func (r *rule) repeated() bool { return strings.HasSuffix(r.mv.name, "repeated") && !r.between }

func (r *rule) want() string {
	timers := map[Kind]Timer{
		RingTimedOut:     TimerRing,
		BridgeTimedOut:   TimerBridge,
		ScreenTimedOut:   TimerScreen,
		CallTimedOut:     TimerCall,
		RevisionTimedOut: TimerRevise,
		TrunkDue:         TimerTrunk,
	}
	if t, ok := timers[r.mv.kind]; ok && r.w.m.epochs[t.slot()] == 0 {
		return r.stays(nothing) // it was never armed
	}
	if strings.HasPrefix(string(r.mv.kind), "leg_") && r.between {
		return r.stays(nothing) // the leg is already over
	}
	if r.is(ResultStored) {
		return r.stays("Record(result)") // before, during or after the conversation
	}
	if r.is(Began) {
		if len(r.a.Legs) == 0 && r.a.State == Reserved {
			return r.stays("Line(dialling) Record(reserved) Dial")
		}
		return illegal
	}
	switch {
	case r.is(LegReferred) && r.a.State != Ended:
		return r.stays("AnswerRefer") // declined: the callee's side is not asked
	case r.is(LegReferred, TransferRequested, TransferAnswered, TransferFailed, TransferEnded):
		return r.stays(nothing) // transfers are not allowed by default
	case r.is(LegSession) && slices.Contains(answeredUp, r.a.State):
		return r.stays("Record(leg)")
	case r.is(LegSession):
		return r.stays(nothing)
	case r.a.State == Ended:
		return r.overAlready()
	case r.a.Ending != nil:
		return r.ending()
	case slices.Contains([]State{Reserved, Dialling, Ringing}, r.a.State):
		return r.beforeAnswer()
	case r.is(IntentRefused, LegSent, LegNotSent, LegAnswered, LegRefused, LegSilent) ||
		r.is(MessagePlayed) && r.a.State != Connected:
		return illegal // answered: this event is no longer possible, and nothing plays
	case r.is(DigitPressed) && strings.HasSuffix(r.mv.name, "info"):
		return r.stays("HearDigit") // the media path did not deliver it to the bot
	case r.is(LegFenced, LegTrying, LegRinging, RingTimedOut, CancelRequested, ExcludeRequested, DigitPressed, Intercepted,
		TrunkRefused, TrunkDue, BotFirstAudio):
		return r.stays(nothing) // Stop and Exclude leave answered calls alone
	case r.is(TrunkGranted) && r.repeated():
		return r.stays(nothing)
	case r.is(TrunkGranted):
		return r.stays("TrunkEvent(over)")
	case r.a.State == Connected:
		return r.conversation()
	}
	return r.unserved()
}

// overAlready gives late leases back and ignores everything else.
func (r *rule) overAlready() string {
	switch {
	case r.is(SeatGranted):
		return r.stays("Line(released)")
	case r.is(TrunkGranted):
		return r.stays("TrunkEvent(over)")
	}
	return r.stays(nothing)
}

// ending handles an attempt whose end is decided. Only the leg's last event, or the loss of its
// owner, completes it; another request to end it ends the leg at once.
func (r *rule) ending() string {
	answered := r.a.AnsweredAt != nil || r.w.answered(r.w.m.last())
	switch {
	case r.is(LegNotSent, LegRefused, LegHungUp, LegClosed, OwnerLost),
		r.is(IntentRefused) && r.a.State == Reserved && r.a.InviteAt == nil:
		return r.ended()
	case r.is(LegAnswered): // a 200 that crosses our CANCEL
		return r.stays("Record(leg) Confirm HangUp")
	case r.is(DigitPressed) && strings.HasSuffix(r.mv.name, "opt-out") && r.a.Ending.Outcome == engine.OutcomeAbandoned &&
		!r.a.Ending.OptedOut:
		return r.stays("Record(opted_out)")
	case r.is(MessagePlayed, MediaSilent, CallTimedOut, HangUpRequested) && answered:
		return r.stays("HangUp")
	case r.is(MessagePlayed, MediaSilent, CallTimedOut, HangUpRequested):
		return r.stays("Cancel")
	}
	return r.overAlready()
}

func (r *rule) beforeAnswer() string {
	ringing, begun := r.a.State == Ringing, len(r.a.Legs) > 0
	arm := "" // the first proof that the INVITE left starts the ring timer
	if l := r.w.m.last(); l != nil && l.SentAt == nil {
		arm = "Arm(ring)"
	}
	line := "Line(dialling)"
	if ringing {
		line = "Line(ringing)"
	}
	and := func(s ...string) string { return strings.TrimSpace(strings.Join(s, " ")) }
	switch r.mv.kind {
	case IntentRefused:
		if r.a.State != Reserved {
			return illegal
		}
		return r.ended()
	case LegSent:
		if ringing {
			return illegal
		}
		return to(Dialling, "Arm(ring)")
	case LegNotSent:
		if ringing {
			return illegal
		}
		if strings.HasSuffix(r.mv.name, "expired") { // its time is over, whatever the trunk
			return r.ended()
		}
		return to(Dialling, "TrunkEvent(over) NextTrunk")
	case LegTrying:
		if ringing {
			return r.stays(nothing)
		}
		return to(Dialling, arm)
	case LegRinging:
		if ringing {
			return r.stays(nothing)
		}
		return to(Ringing, and(arm, "Line(ringing)"))
	case LegAnswered:
		switch r.w.m.Config.AMD {
		case engine.AMDSequential:
			return to(Screening, "TrunkEvent AnswerMedia Line(listening) Arm(screen) Record(answered) Confirm")
		case engine.AMDParallel:
			return to(Answered, "TrunkEvent AnswerMedia Line(waiting) Arm(bridge) Arm(screen) Record(answered) Confirm")
		}
		return to(Answered, "TrunkEvent AnswerMedia Line(waiting) Arm(bridge) Record(answered) Confirm")
	case LegRefused:
		if !strings.HasSuffix(r.mv.name, "503") { // the callee's answer, or a fault of our own
			return r.ended()
		}
		if ringing {
			return to(Dialling, "TrunkEvent(over) Line(dialling) NextTrunk")
		}
		return to(Dialling, "TrunkEvent(over) NextTrunk")
	case LegSilent: // no other trunk: the phone may be ringing
		return r.stays("TrunkEvent Line(released)")
	case LegFenced:
		return r.stays("Line(released) Cancel")
	case LegHungUp, LegClosed, OwnerLost:
		return r.ended()
	case TrunkGranted:
		switch {
		case begun && r.between:
			return r.stays("Record(leg) Dial")
		case r.repeated():
			return r.stays(nothing)
		}
		return r.stays("TrunkEvent(over)")
	case TrunkRefused:
		switch {
		case begun && r.between && strings.HasSuffix(r.mv.name, "soon"):
			return r.stays("Arm(trunk)") // the token comes soon
		case begun && r.between:
			return r.ended()
		}
		return r.stays(nothing)
	case TrunkDue:
		if r.between {
			return r.stays("NextTrunk")
		}
		return r.stays(nothing)
	case RingTimedOut:
		if r.between {
			return r.stays(nothing)
		}
		return r.stays("Line(released) Cancel")
	case CancelRequested, ExcludeRequested, HangUpRequested:
		if r.between {
			return r.ended()
		}
		return r.stays("Line(released) Cancel")
	case SeatGranted:
		return r.stays("Line(released) " + line)
	case DigitPressed, Intercepted, BridgeTimedOut, ScreenTimedOut, CallTimedOut:
		return r.stays(nothing)
	}
	return illegal // no other media before the answer
}

// unserved handles an answered call without a bot. Seat, verdict and bot may come in any order; the
// 2 s rule waits for none of them.
func (r *rule) unserved() string {
	screening := r.a.State == Screening
	has := screening && r.a.BotUp // the bot has the call, classification still listens
	live := func() string {
		switch {
		case has:
			return to(Connected, "Arm(call) "+nowServed)
		case screening && !r.a.Seated: // sequential: a seat is wanted from here on
			return to(Bridging, "Line(waiting) Arm(bridge)")
		}
		return to(Bridging, nothing)
	}
	switch r.mv.kind {
	case SeatGranted:
		switch {
		case r.a.Seated:
			return r.stays(nothing)
		case screening:
			return r.stays("Line(released) Line(listening)")
		case r.w.m.Config.AMD == engine.AMDParallel && r.a.Verdict == "":
			return to(Screening, "AttachBot")
		}
		return to(Bridging, "AttachBot")
	case VerdictNotLive, MediaFailed, MediaSilent:
		return r.stays(takenDown)
	case VerdictLive:
		return live()
	case ScreenTimedOut:
		if screening {
			return live()
		}
	case BotConnected:
		switch {
		case !r.a.Seated:
		case strings.HasSuffix(r.mv.name, "late"):
			return r.stays(abandonedFor(engine.AbandonLateConnect))
		case !screening:
			return to(Connected, "Arm(call) "+nowServed)
		}
	case BotFailed:
		if r.a.Seated {
			return r.stays(abandonedFor(engine.AbandonCapacityLoss))
		}
	case BotClosed, HangUpRequested:
		switch {
		case strings.HasSuffix(r.mv.name, "stop"):
		case has:
			return to(Connected, nowServed+" "+takenDown)
		case r.a.Seated || r.is(HangUpRequested):
			return r.stays(abandonedFor(engine.AbandonCapacityLoss))
		}
	case BridgeTimedOut:
		switch {
		case has:
		case r.a.Seated && strings.HasSuffix(r.mv.name, "unheard"):
			return r.stays(abandonedFor(engine.AbandonCapacityLoss))
		case r.a.Seated:
			return r.stays(abandonedFor(engine.AbandonLateConnect))
		default:
			return r.stays(abandonedFor(engine.AbandonNoSeat))
		}
	case LegHungUp:
		return r.ended()
	case LegClosed, OwnerLost:
		return to(Ended, "Line(abandoned capacity_loss) TrunkEvent(over) "+gaveBack)
	}
	return r.stays(nothing)
}

// conversation is ended by the events that end it; nothing else matters.
func (r *rule) conversation() string {
	switch {
	case r.is(LegHungUp, LegClosed, OwnerLost):
		return r.ended()
	case r.is(BotClosed, CallTimedOut, MediaSilent, HangUpRequested, MessagePlayed): // none of ours: nobody talks there
		return r.stays(takenDown)
	case strings.HasSuffix(r.mv.name, "by the bot") && r.a.Verdict != "":
		return r.stays("DetachBot Line(released) Record(revised) HangUp")
	}
	return r.stays(nothing)
}

func TestEveryEventDoesInEverySituationWhatTheRulesSay(t *testing.T) {
	for _, mode := range modes {
		pairs := 0
		explore(t, Config{AMD: mode}, func(s string, mv move, before, after *world, err error) {
			pairs++
			r := rule{w: before, a: &before.m.A, mv: mv, between: betweenLegs(&before.m, Event{})}
			got := illegal
			if err == nil {
				got = to(after.m.A.State, effectNames(after.last))
			}
			if want := r.want(); got != want {
				t.Errorf("AMD %s, %s: %s gives %q, want %q", mode, s, mv.name, got, want)
			}
		})
		if pairs < 15*len(moves()) {
			t.Errorf("AMD %s: only %d situations × moves were seen", mode, pairs)
		}
	}
}

func TestWhatHappenedIsReportedThoughTheEndWasDecided(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began}).must(Event{Kind: ExcludeRequested})
	w.wait(1).must(w.leg(engine.LegSent, 0))
	sent := w.now
	w.wait(1).must(w.leg(engine.LegProvisional, 100))
	tried := w.now
	w.wait(1).must(w.leg(engine.LegProvisional, 180))
	rang := w.now
	w.wait(1).
		must(w.leg(engine.LegProvisional, 183), w.leg(engine.LegProvisional, 180)).
		must(w.leg(engine.LegRefused, 487))
	w.is(Ended, engine.OutcomeExcluded)
	if a := &w.m.A; !a.InviteAt.Equal(sent) || !a.TryingAt.Equal(tried) || !a.RingingAt.Equal(rang) {
		t.Errorf("INVITE %v, first response %v, ringing %v", a.InviteAt, a.TryingAt, a.RingingAt)
	}
}

func TestTheTimeOfTheFirstResponseIsStored(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began}).must(w0(t).leg(engine.LegSent, 0))
	w.legSeq[w.openLeg()] = 1
	w.wait(1).must(w.leg(engine.LegProvisional, 100))
	first := w.now
	w.wait(1).must(w.leg(engine.LegProvisional, 100))
	if !w.m.A.TryingAt.Equal(first) || !w.m.A.Legs[0].TryingAt.Equal(first) {
		t.Errorf("first response at %v", w.m.A.TryingAt)
	}
}

func TestTheTimeOfTheFirstBotAudioIsStored(t *testing.T) {
	f := func(w *world) {
		t.Helper()
		w.wait(1).must(w.media(engine.MediaBotFirstAudio))
		first := w.now
		w.wait(1).must(w.media(engine.MediaBotFirstAudio))
		if at := w.m.A.BotFirstAudioAt; at == nil || !at.Equal(first) {
			t.Errorf("%s: first audio at %v, want %v", w.m.A.State, at, first)
		}
	}
	f(newWorld(t, Config{}).converse())
	f(newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(Event{Kind: SeatGranted}))
	f(newWorld(t, Config{AMD: engine.AMDSequential}).answer())
}

func TestAudioOfABotThatWasTakenOffIsNotTheFirst(t *testing.T) {
	for _, mode := range modes {
		for _, w := range []*world{newWorld(t, Config{AMD: mode}).answer(), newWorld(t, Config{AMD: mode}).converse()} {
			w.must(w.media(engine.MediaSilent)).must(w.media(engine.MediaBotFirstAudio))
			if w.m.A.BotFirstAudioAt != nil {
				t.Errorf("AMD %s, %s", mode, w.m.A.State)
			}
		}
	}
}

func TestADecidedEndStandsHoweverTheLegEnds(t *testing.T) {
	seat := Event{Kind: SeatGranted}
	decided := map[string]func(t *testing.T) *world{
		"reserved": func(t *testing.T) *world {
			return newWorld(t, Config{}).must(Event{Kind: Began}, Event{Kind: ExcludeRequested})
		},
		"ringing":  func(t *testing.T) *world { return newWorld(t, Config{}).ring().must(Event{Kind: ExcludeRequested}) },
		"answered": func(t *testing.T) *world { w := newWorld(t, Config{}).answer(); return w.must(w.timer(TimerBridge)) },
		"connected": func(t *testing.T) *world {
			w := newWorld(t, Config{}).converse()
			return w.must(w.media(engine.MediaSilent))
		},
		"dialling": func(t *testing.T) *world {
			w := newWorld(t, Config{}).must(Event{Kind: Began})
			return w.must(w.leg(engine.LegSent, 0)).must(Event{Kind: ExcludeRequested})
		},
		"screening": func(t *testing.T) *world {
			w := newWorld(t, Config{AMD: engine.AMDParallel}).answer().must(seat)
			return w.must(w.media(engine.MediaVerdict, verdict(engine.VerdictFax)))
		},
		"bridging": func(t *testing.T) *world {
			w := newWorld(t, Config{}).answer().must(seat)
			return w.must(w.media(engine.MediaBotFailed))
		},
	}
	for state, path := range decided {
		for _, last := range []func(w *world) Event{
			func(w *world) Event { return w.leg(engine.LegHungUp, 0) },
			func(w *world) Event { return w.leg(engine.LegClosed, 0) },
			func(*world) Event { return Event{Kind: OwnerLost} },
			func(*world) Event { return Event{Kind: OwnerLost, Err: "gone"} },
		} {
			w := path(t)
			if string(w.m.A.State) != state {
				t.Fatalf("%s, want %s", w.m.A.State, state)
			}
			want := *w.m.A.Ending
			w.must(last(w))
			if a := &w.m.A; a.State != Ended || a.Outcome != want.Outcome || a.Cause != want.Cause ||
				a.HungUpBy != want.HungUpBy {
				t.Errorf("%s: %s, %s, %q by %s, want %+v", state, a.State, a.Outcome, a.Cause, a.HungUpBy, want)
			}
		}
	}
}

func TestOnly18xIsRinging(t *testing.T) {
	for code := 100; code < 200; code++ {
		ev, ok := FromLeg(engine.LegEvent{Kind: engine.LegProvisional, Code: code})
		if want := code/10 == 18; !ok || (ev.Kind == LegRinging) != want {
			t.Errorf("%d is %s", code, ev.Kind)
		}
	}
}

func TestClassificationThatNeverDecidesIsUnknownAfterSixSeconds(t *testing.T) {
	for _, mode := range []engine.AMDMode{engine.AMDSequential, engine.AMDParallel} {
		if got := newWorld(t, Config{AMD: mode}).answer().armed[TimerScreen].At; !got.Equal(t0.Add(6 * time.Second)) {
			t.Errorf("AMD %s: until %v", mode, got.Sub(t0))
		}
	}
}

func TestARepeatedEventIsNoNews(t *testing.T) {
	w := newWorld(t, Config{}).must(Event{Kind: Began})
	sent := w.leg(engine.LegSent, 0)
	if w.must(sent, sent); len(w.last) > 0 {
		t.Error(effectNames(w.last))
	}
	w = newWorld(t, Config{}).converse()
	silent := w.media(engine.MediaSilent)
	if w.must(silent, silent); len(w.last) > 0 {
		t.Error(effectNames(w.last))
	}
}

func TestNewsOfTheMediaWithoutANumberIsTakenAndForgetsNone(t *testing.T) {
	w := newWorld(t, Config{AMD: engine.AMDParallel}).answer()
	numbered := w.media(engine.MediaBotFirstAudio)
	w.must(numbered, Event{Kind: SeatGranted})
	digit, _ := FromMedia(engine.MediaEvent{Attempt: attemptID, Kind: engine.MediaDigit, Digit: '1'})
	w.must(digit)
	if w.m.A.MediaSeq != numbered.Media.Seq {
		t.Error("what was followed is forgotten")
	}
	human, _ := FromMedia(
		engine.MediaEvent{Attempt: attemptID, Kind: engine.MediaVerdict, Verdict: engine.VerdictHuman},
	)
	w = newWorld(t, Config{AMD: engine.AMDParallel}).answer()
	if w.must(human); w.m.A.Verdict != engine.VerdictHuman {
		t.Error("a verdict without a number was taken for old")
	}
}

func TestWithoutACallLimitTheEndIsWhenItIsHeardOf(t *testing.T) {
	w := newWorld(t, Config{}).converse()
	w.m.Config.CallLimit = 0
	w.wait(time.Hour).must(w.leg(engine.LegHungUp, 0))
	if !w.m.A.EndedAt.Equal(w.now) {
		t.Errorf("ended at %v", w.m.A.EndedAt)
	}
}
