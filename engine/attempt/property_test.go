package attempt

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest"
)

// stress sends an attempt a sequence of moves: in any order, repeated, some replayed from the first
// (as after a re-attach), timers late. The world checks the contract after every step; illegal
// events are part of the exercise.
func stress(tb reporter, d enginetest.Draws, steps int) *world {
	modes := []engine.AMDMode{engine.AMDOff, engine.AMDSequential, engine.AMDParallel}
	w := newWorld(tb, Config{AMD: modes[d.Pick(3)], MustConsume: d.Pick(8) == 0})
	all := moves()
	var heard []Event
	bytes, _ := d.(*enginetest.ByteDraws)
	if d.Pick(8) != 0 { // mostly a call that has begun
		w.must(Event{Kind: Began})
	}
	for i := 0; i < steps && (bytes == nil || !bytes.Empty()); i++ {
		w.wait(time.Duration(d.Pick(4)) * 700 * time.Millisecond)
		switch d.Pick(12) {
		case 0: // a repetition
			if len(heard) > 0 {
				_ = w.apply(heard[d.Pick(len(heard))])
			}
		case 1: // the port replays everything
			for _, ev := range heard {
				if ev.Leg != nil || ev.Media != nil {
					_ = w.apply(ev)
				}
			}
		case 2: // a timer of an earlier epoch
			ev := w.timer([]Timer{TimerRing, TimerBridge, TimerScreen, TimerCall, TimerTrunk}[d.Pick(5)])
			ev.Epoch -= 1 + d.Pick(3)
			before := copyAttempt(&w.m.A)
			_ = w.apply(ev)
			if len(w.last) > 0 || before.State != w.m.A.State {
				w.fail("a timer of an old epoch did something")
			}
		case 3, 4, 5: // a likely next event
			_ = w.apply(w.likely(d))
		default:
			ev := all[d.Pick(len(all))].ev(w)
			heard = append(heard, ev)
			_ = w.apply(ev)
		}
	}
	return w
}

// likely returns an event that a well-behaved world would send now, so that sequences get as far as
// conversations.
func (w *world) likely(d enginetest.Draws) Event {
	a := &w.m.A
	switch a.State {
	case Reserved:
		if len(a.Legs) == 0 {
			return Event{Kind: Began}
		}
		return w.leg(engine.LegSent, 0)
	case Dialling:
		if betweenLegs(&w.m, Event{}) {
			switch d.Pick(4) {
			case 0:
				return Event{Kind: TrunkRefused, Until: w.now.Add(time.Duration(d.Pick(900)) * time.Millisecond)}
			case 1:
				return w.timer(TimerTrunk)
			}
			return Event{Kind: TrunkGranted, Trunk: []engine.TrunkID{"b", "c"}[d.Pick(2)]}
		}
		return w.leg(engine.LegProvisional, 180)
	case Ringing:
		return w.leg(engine.LegAnswered, 200)
	case Answered, Bridging:
		if !a.Seated {
			return Event{Kind: SeatGranted}
		}
		return w.media(engine.MediaBotConnected)
	case Screening:
		if a.Seated && !a.BotUp {
			return w.media(engine.MediaBotConnected)
		}
		return w.media(engine.MediaVerdict, verdict(engine.VerdictHuman))
	case Connected:
		return w.media(engine.MediaBotFirstAudio)
	case Ended:
	}
	return Event{Kind: ResultStored, Result: result("x")}
}

// finish ends an attempt by means that must work in any state: its leg closes, or no further trunk
// is found, or it is cancelled before it begins.
func (w *world) finish() {
	switch {
	case w.m.A.State == Ended:
	case len(w.m.A.Legs) == 0:
		w.must(Event{Kind: CancelRequested})
	case betweenLegs(&w.m, Event{}):
		w.must(Event{Kind: TrunkRefused})
	default:
		w.must(w.leg(engine.LegClosed, 0))
	}
	if w.m.A.State != Ended {
		w.fail("the attempt does not end with its leg")
	}
}

func TestEveryExitPathGivesAllLeasesBackAndReachesEndedExactlyOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := stress(rt, enginetest.RapidDraws{T: rt}, rapid.IntRange(0, 60).Draw(rt, "steps"))
		w.finish()
		// Late events no longer change anything.
		for i := range 10 {
			_ = w.apply(moves()[(i*7+rapid.IntRange(0, 60).Draw(rt, "late"))%len(moves())].ev(w))
		}
	})
}

func TestEveryExitPathOfManySeededCalls(t *testing.T) {
	for seed := range uint64(4000) {
		d := enginetest.FromSeed(seed)
		w := stress(enginetest.Seeded{T: t, Seed: seed}, d, d.Pick(60))
		w.finish()
		for range 5 {
			_ = w.apply(moves()[d.Pick(len(moves()))].ev(w))
		}
	}
}

func FuzzAttempt(f *testing.F) {
	f.Add([]byte{0, 1, 1})
	f.Add([]byte{2, 1, 1, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		stress(t, &enginetest.ByteDraws{B: b}, 200).finish()
	})
}

// TestARestartedOwnerSeesTheSameCall replays everything from the first event to
// a machine that starts from a stored row, as after a crash of the actor.
func TestARestartedOwnerSeesTheSameCall(t *testing.T) {
	f := func(mode engine.AMDMode) {
		t.Helper()
		w := newWorld(t, Config{AMD: mode})
		w.must(Event{Kind: Began})
		stored := copyAttempt(&w.m.A) // durable with the intent
		ports := []Event{w.leg(engine.LegSent, 0), w.leg(engine.LegProvisional, 180), w.leg(engine.LegAnswered, 200)}
		w.must(ports...)
		var media []Event
		if mode == engine.AMDSequential {
			media = append(media, w.media(engine.MediaVerdict, verdict(engine.VerdictHuman)))
			w.must(media...)
		}
		w.must(Event{Kind: SeatGranted})
		bot := w.media(engine.MediaBotConnected)
		media = append(media, bot)
		w.must(bot)
		if mode == engine.AMDParallel {
			v := w.wait(2*time.Second).media(engine.MediaVerdict, verdict(engine.VerdictHuman))
			media = append(media, v)
			w.must(v)
		}
		// The owner restarts, long after the 2 s.
		r := newWorld(t, Config{AMD: mode})
		r.m.A, r.now, r.legSeq[w.openLeg()] = stored, w.now.Add(time.Minute), 3
		for _, e := range r.m.Rearm(r.now, nil) {
			if a, ok := e.(Arm); ok && a.At.Before(r.now.Add(RearmGrace)) {
				t.Errorf("timer %s fires before the replay", a.Timer)
			}
		}
		r.must(ports...)
		if a := r.armed[TimerBridge]; mode != engine.AMDSequential && a.At.Before(r.now.Add(RearmGrace)) {
			t.Error("the replayed answer is judged by the clock before its bot is heard of")
		}
		if mode == engine.AMDSequential {
			r.must(media[0])
		}
		r.must(Event{Kind: SeatGranted}).must(media...)
		if r.m.A.State != Connected || !r.m.A.BotConnectedAt.Equal(*w.m.A.BotConnectedAt) || r.m.A.Verdict != w.m.A.Verdict {
			t.Errorf("AMD %s: after the replay %s, connected at %v", mode, r.m.A.State, r.m.A.BotConnectedAt)
		}
		r.finish()
	}
	f(engine.AMDOff)
	f(engine.AMDSequential)
	f(engine.AMDParallel)
}
