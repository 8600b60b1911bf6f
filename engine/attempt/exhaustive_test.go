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

// move is one way in which a kind of event can arrive.
type move struct {
	name string
	kind Kind
	ev   func(w *world) Event
}

// moves has at least one move of every kind, and one for each way in which an event's data selects
// a row.
func moves() []move {
	plain := func(k Kind) move { return move{string(k), k, func(*world) Event { return Event{Kind: k} }} }
	timer := func(k Kind, t Timer) move { return move{string(k), k, func(w *world) Event { return w.timer(t) }} }
	leg := func(name string, k Kind, kind engine.LegEventKind, code int, with ...func(*engine.LegEvent)) move {
		return move{name, k, func(w *world) Event { return w.leg(kind, code, with...) }}
	}
	media := func(name string, k Kind, kind engine.MediaEventKind, with ...func(*engine.MediaEvent)) move {
		return move{name, k, func(w *world) Event { return w.media(kind, with...) }}
	}
	notSent := func(why engine.NotSentReason) func(*engine.LegEvent) {
		return func(e *engine.LegEvent) { e.NotSent = why }
	}
	return []move{
		plain(Began), plain(IntentRefused),
		leg("leg_sent", LegSent, engine.LegSent, 0),
		leg("leg_not_sent no_route", LegNotSent, engine.LegNotSent, 0, notSent(engine.NotSentNoRoute)),
		leg("leg_not_sent expired", LegNotSent, engine.LegNotSent, 0, notSent(engine.NotSentExpired)),
		leg("leg_trying", LegTrying, engine.LegProvisional, 100),
		leg("leg_ringing", LegRinging, engine.LegProvisional, 180),
		leg("leg_answered", LegAnswered, engine.LegAnswered, 200),
		leg("leg_refused 486", LegRefused, engine.LegRefused, 486),
		leg("leg_refused 487", LegRefused, engine.LegRefused, 487),
		leg("leg_refused 503", LegRefused, engine.LegRefused, 503),
		leg("leg_refused 407", LegRefused, engine.LegRefused, 407),
		leg("leg_silent", LegSilent, engine.LegSilent, 0),
		leg("leg_hung_up", LegHungUp, engine.LegHungUp, 0),
		leg("leg_closed", LegClosed, engine.LegClosed, 0),
		{"trunk_granted", TrunkGranted, func(w *world) Event {
			if w.m.A.Trunk == "b" {
				return Event{Kind: TrunkGranted, Trunk: "c"}
			}
			return Event{Kind: TrunkGranted, Trunk: "b"}
		}},
		{"trunk_granted repeated", TrunkGranted,
			func(w *world) Event { return Event{Kind: TrunkGranted, Trunk: w.m.A.Trunk} }},
		plain(TrunkRefused),
		{"trunk_refused soon", TrunkRefused,
			func(w *world) Event { return Event{Kind: TrunkRefused, Until: w.now.Add(50 * time.Millisecond)} }},
		timer(TrunkDue, TimerTrunk),
		plain(SeatGranted),
		media("verdict_live", VerdictLive, engine.MediaVerdict, verdict(engine.VerdictHuman)),
		media("verdict_not_live", VerdictNotLive, engine.MediaVerdict, verdict(engine.VerdictMachine)),
		media("verdict_not_live by the bot", VerdictNotLive, engine.MediaBotVerdict, verdict(engine.VerdictMachine)),
		media("bot_connected", BotConnected, engine.MediaBotConnected),
		{"bot_connected late", BotConnected, func(w *world) Event {
			ev := w.media(engine.MediaBotConnected)
			ev.At = w.now.Add(time.Minute)
			return ev
		}},
		media("bot_failed", BotFailed, engine.MediaBotFailed),
		media("bot_first_audio", BotFirstAudio, engine.MediaBotFirstAudio),
		media("bot_closed", BotClosed, engine.MediaBotClosed),
		media("message_played", MessagePlayed, engine.MediaPlayed),
		media("media_silent", MediaSilent, engine.MediaSilent),
		media("media_silent on hold", MediaSilent, engine.MediaSilent, func(e *engine.MediaEvent) { e.OnHold = true }),
		media("media_failed", MediaFailed, engine.MediaFailed),
		media("intercepted", Intercepted, engine.MediaIntercepted),
		timer(RingTimedOut, TimerRing), timer(BridgeTimedOut, TimerBridge),
		{"bridge_timed_out unheard", BridgeTimedOut, func(w *world) Event {
			ev := w.timer(TimerBridge)
			ev.Unheard = true
			return ev
		}},
		timer(ScreenTimedOut, TimerScreen), timer(CallTimedOut, TimerCall), timer(RevisionTimedOut, TimerRevise),
		plain(CancelRequested), plain(ExcludeRequested), plain(HangUpRequested),
		{"hang_up_requested stop", HangUpRequested,
			func(*world) Event { return Event{Kind: HangUpRequested, By: engine.PartySystem} }},
		media("digit_pressed", DigitPressed, engine.MediaDigit),
		media("digit_pressed opt-out", DigitPressed, engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = '9' }),
		leg("digit_pressed info", DigitPressed, engine.LegDigit, 0, func(e *engine.LegEvent) { e.Digit = '5' }),
		leg("leg_fenced", LegFenced, engine.LegFenced, 0),
		leg("leg_referred", LegReferred, engine.LegReferred, 0),
		leg("leg_session", LegSession, engine.LegSession, 0),
		{"transfer_requested", TransferRequested,
			func(*world) Event { return Event{Kind: TransferRequested, To: "sip:desk@pbx.example"} }},
		{"transfer_requested number", TransferRequested,
			func(*world) Event { return Event{Kind: TransferRequested, To: "+493099999"} }},
		plain(TransferAnswered), plain(TransferFailed), plain(TransferEnded),
		{"result_stored", ResultStored, func(*world) Event { return Event{Kind: ResultStored, Result: result("sold")} }},
		{"owner_lost crash", OwnerLost, func(*world) Event { return Event{Kind: OwnerLost} }},
		{"owner_lost gone", OwnerLost, func(*world) Event { return Event{Kind: OwnerLost, Err: "gone"} }},
	}
}

// situation is the state together with everything that a guard can ask.
func (w *world) situation() string {
	a := &w.m.A
	s := []string{string(a.State)}
	if a.State == Ended {
		if !betweenLegs(&w.m, Event{}) {
			return s[0] + ", lost with its leg open"
		}
		return s[0]
	}
	if len(a.Legs) == 0 {
		s = append(s, "not begun")
	} else if betweenLegs(&w.m, Event{}) {
		s = append(s, "between trunks")
	}
	if w.m.epochs[TimerTrunk.slot()] > 0 && a.Ending == nil && (a.State == Dialling || w.m.wantsTrunk()) {
		s = append(s, "a trunk was awaited")
	}
	if a.Ending != nil {
		what := "ending"
		if a.AnsweredAt == nil && w.answered(w.m.last()) {
			what = "ending, answer crossed"
		} else if a.State == Reserved && a.InviteAt != nil {
			what = "ending, INVITE crossed"
		} else if a.Ending.Outcome == engine.OutcomeAbandoned {
			what = "ending, abandoned"
			if a.Ending.OptedOut {
				what += ", opted out"
			}
		}
		if a.Ending.Voicemail {
			what += ", voicemail"
		}
		if a.Ending.Playing {
			what += ", a message plays"
		}
		s = append(s, what)
		return strings.Join(s, ", ") // the rest is irrelevant by then
	}
	if a.Verdict != "" {
		s = append(s, "judged")
	}
	if a.Seated {
		s = append(s, "seated")
	}
	if a.BotUp {
		s = append(s, "bot up")
	}
	if w.m.Tentative() {
		s = append(s, "tentative")
	}
	if t := a.Transfer; t != nil {
		s = append(s, fmt.Sprintf("transfer %d %s %s", min(t.Tried, 2), t.Kind, t.Result))
	}
	return strings.Join(s, ", ")
}

// movesOf leaves out the events of far legs where a config allows none.
func movesOf(cfg Config) []move {
	if len(cfg.Transfers.Allowed) == 0 && len(cfg.BotURIs) == 0 {
		return moves()
	}
	return append(moves(), peerMoves()...)
}

// explore drives the machine from its start through every situation that any
// sequence of moves leads to, and calls visit for each situation × move.
func explore(t *testing.T, cfg Config, visit func(situation string, mv move, before, after *world,
	err error)) (situations []string) {
	start := newWorld(t, cfg)
	found := map[string]*world{start.situation(): start}
	queue := []string{start.situation()}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		situations = append(situations, s)
		for _, mv := range movesOf(cfg) {
			before, w := found[s], found[s].clone(t)
			w.wait(100 * time.Millisecond)
			err := w.apply(mv.ev(w))
			visit(s, mv, before, w, err)
			if next := w.situation(); found[next] == nil {
				found[next] = w
				queue = append(queue, next)
			}
		}
	}
	return situations
}

func TestEveryStateAndEventPairDoesWhatTheGoldenFileSays(t *testing.T) {
	f := func(mode engine.AMDMode) {
		t.Helper()
		var b strings.Builder
		fmt.Fprintf(&b, "# What an attempt with AMD %s does with every event in every situation it can be in.\n", mode)
		var head string
		var lines []string
		var ignored, illegal []string
		flush := func() {
			if head == "" {
				return
			}
			fmt.Fprintf(&b, "\n%s\n", head)
			for _, l := range lines {
				b.WriteString("  " + l + "\n")
			}
			fmt.Fprintf(&b, "  ignored: %s\n  illegal: %s\n", strings.Join(ignored, ", "), strings.Join(illegal, ", "))
			lines, ignored, illegal = nil, nil, nil
		}
		states, kinds := map[State]bool{}, map[Kind]bool{}
		situations := explore(t, Config{AMD: mode}, func(s string, mv move, before, after *world, err error) {
			if s != head {
				flush()
				head = s
			}
			states[before.m.A.State], kinds[mv.kind] = true, true
			switch {
			case err != nil:
				if !errors.Is(err, fsm.ErrIllegal) {
					t.Fatalf("%s × %s: %v", s, mv.name, err)
				}
				illegal = append(illegal, mv.name)
			case len(after.last) == 0 && after.situation() == s:
				ignored = append(ignored, mv.name)
			default:
				line := fmt.Sprintf("%-24s → %s", mv.name, after.situation())
				if after.m.A.State == Ended && before.m.A.State != Ended {
					line += " (" + string(after.m.A.Outcome) + ")"
				} else if after.m.A.Ending != nil && before.m.A.Ending == nil {
					line += " (" + string(after.m.A.Ending.Outcome) + ")"
				}
				if len(after.last) > 0 {
					line += ": " + effectNames(after.last)
				}
				lines = append(lines, line)
			}
		})
		flush()
		for _, k := range Kinds {
			if !kinds[k] {
				t.Errorf("no move of kind %s", k)
			}
		}
		for _, s := range States {
			if !states[s] && !(s == Screening && mode == engine.AMDOff) && !(s == Answered && mode == engine.AMDSequential) {
				t.Errorf("AMD %s: state %s is never reached; situations %v", mode, s, situations)
			}
		}
		golden.Check(t, "testdata/amd_"+string(mode)+".golden", b.String())
	}
	f(engine.AMDOff)
	f(engine.AMDSequential)
	f(engine.AMDParallel)
}

// TestEveryRowOfTheTableIsTaken finds rows that no sequence of events reaches: nothing would prove
// such rules.
func TestEveryRowOfTheTableIsTaken(t *testing.T) {
	taken := map[int]map[State]bool{}
	all := table.Rows()
	note := func(_ string, mv move, before, _ *world, _ error) {
		w := before.clone(t)
		w.wait(100 * time.Millisecond)
		ev := mv.ev(w)
		if w.m.stale(ev) {
			return
		}
		for i := range all {
			if r := &all[i]; r.On == mv.kind && slices.Contains(r.From, w.m.A.State) && (r.When == nil || r.When(&w.m, ev)) {
				if taken[i] == nil {
					taken[i] = map[State]bool{}
				}
				taken[i][w.m.A.State] = true
				w.m.class = nil
				return
			}
		}
	}
	for _, mode := range []engine.AMDMode{engine.AMDOff, engine.AMDSequential, engine.AMDParallel} {
		explore(t, Config{AMD: mode}, note)
	}
	for _, cfg := range []Config{tentative, leavesMessages, {AMD: engine.AMDOff, Transfers: toAnybody},
		{AMD: engine.AMDOff, BotURIs: twoAddresses[:1], Transfers: toAnybody}, {AMD: engine.AMDOff, Plays: true}} {
		explore(t, cfg, note)
	}
	for i, r := range all {
		if len(taken[i]) == 0 {
			t.Errorf("no sequence of events takes the row %v on %s [%s]", r.From, r.On, r.Guard)
		}
	}
}
