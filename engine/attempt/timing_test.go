package attempt

import (
	"testing"
	"time"

	"dialler/engine"
)

// BenchmarkAttempt drives a whole call, from the leases to the stored result,
// through the machine.
func BenchmarkAttempt(b *testing.B) {
	for _, c := range wholeCalls() {
		b.Run(c.name, func(b *testing.B) {
			buf := make([]Effect, 0, 16)
			b.ReportAllocs()
			for b.Loop() {
				c.play(b, buf)
			}
		})
	}
}

// TestAWholeCallStaysWithinItsBudgetOfAllocations allows for the times, the leg with its name, and
// the effects that carry data.
func TestAWholeCallStaysWithinItsBudgetOfAllocations(t *testing.T) {
	budget := map[string]float64{"no_answer": 14, "conversation": 24}
	for _, c := range wholeCalls() {
		buf := make([]Effect, 0, 16)
		if n := testing.AllocsPerRun(100, func() { c.play(t, buf) }); n > budget[c.name] {
			t.Errorf("%s: %v allocations, budget %v", c.name, n, budget[c.name])
		}
	}
}

type wholeCall struct {
	name   string
	cfg    Config
	events []Event
}

func (c *wholeCall) play(tb testing.TB, buf []Effect) {
	m := Machine{A: Attempt{ID: attemptID, State: Reserved, Trunk: "a", Number: 1}, Config: c.cfg}
	for _, ev := range c.events {
		if _, err := m.Apply(ev, buf); err != nil {
			tb.Fatal(err)
		}
	}
	if m.A.State != Ended {
		tb.Fatal(m.A.State)
	}
}

func wholeCalls() []wholeCall {
	leg := func(seq int, kind engine.LegEventKind, code int) Event {
		ev, _ := FromLeg(engine.LegEvent{Attempt: attemptID, Leg: attemptID.Leg(1), Seq: seq, At: t0, Kind: kind, Code: code})
		return ev
	}
	media := func(seq int, kind engine.MediaEventKind, v engine.Verdict) Event {
		ev, _ := FromMedia(engine.MediaEvent{Attempt: attemptID, Seq: seq, At: t0, Kind: kind, Verdict: v})
		return ev
	}
	var calls []wholeCall
	f := func(name string, cfg Config, events ...Event) {
		cfg.RingTimeout, cfg.CallLimit = 30*time.Second, 15*time.Minute
		calls = append(calls, wholeCall{name, cfg, events})
	}
	began := Event{Kind: Began, At: t0}
	seat := Event{Kind: SeatGranted, At: t0}
	f("no_answer", Config{}, began, leg(1, engine.LegSent, 0), leg(2, engine.LegProvisional, 100),
		leg(3, engine.LegProvisional, 180), leg(4, engine.LegRefused, 480))
	f("conversation", Config{AMD: engine.AMDParallel}, began, leg(1, engine.LegSent, 0),
		leg(2, engine.LegProvisional, 180), leg(3, engine.LegAnswered, 200), seat, media(1, engine.MediaBotConnected, ""),
		media(2, engine.MediaBotFirstAudio, ""), media(3, engine.MediaVerdict, engine.VerdictHuman),
		Event{Kind: ResultStored, At: t0, Result: &Result{Disposition: "x"}},
		leg(4, engine.LegHungUp, 0))
	return calls
}
