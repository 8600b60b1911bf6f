package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// common are a run's most frequent events, each ready to be repeated. A thousand calls are live,
// and no contact can be dialled.
func common(t tester) (*world, map[string]func() any) {
	w := dialling(t, 1000, set(func(s *campaign.Settings) { s.Concurrency = 1000 }))
	w.pass(time.Second)
	w.forget()
	moved := &call.LineMoved{Contact: "c5", Attempt: w.s.Lines["c5"].Attempt, Phase: attempt.PhaseRinging, At: w.now}
	left := &call.InviteLeft{At: w.now}
	stands := &call.AnswerStands{Contact: "c6", Attempt: w.s.Lines["c6"].Attempt}
	persist := &call.Persist{Contact: "c7", Step: 1, Write: &journal.Write{Events: []journal.Event{
		{Type: journal.AttemptAnswered, Contact: "c7", At: w.now, Data: journal.Data{Pass: 1, RingMS: 900}}}}}
	durable := &Durable{}
	fired := &TimerFired{Timer: TimerTick}
	idle := &call.Idle{Contact: "c8"}
	return w, map[string]func() any{
		"LineMoved":  func() any { return moved },
		"InviteLeft": func() any { return left },
		"AnswerStands": func() any {
			w.s.Lines["c6"].Counted = false
			return stands
		},
		"Persist": func() any {
			w.s.Lines["c7"].Accepted = Steps{}
			return persist
		},
		"Durable": func() any {
			durable.Ticket = w.s.ticket(Continuation{Do: thenTriggerStored})
			return durable
		},
		"Tick": func() any {
			fired.Epoch = w.s.Epochs
			w.s.Later[fired.Epoch] = Deferred{Event: &tick{}}
			return fired
		},
		"Idle": func() any {
			w.s.Lines["c8"].Stopping = false
			return idle
		},
	}
}

func TestCommonEventsAllocateNothing(t *testing.T) {
	w, events := common(t)
	const runs = 1000
	first := w.s.Tickets
	for range runs + 1 {
		w.s.ticket(Continuation{Do: thenTriggerStored})
	}
	durable := &Durable{first}
	events["Durable"] = func() any {
		durable.Ticket++
		return durable
	}
	dst := make([]Effect, 0, 16)
	for _, name := range []string{"LineMoved", "InviteLeft", "AnswerStands", "Persist", "Durable"} {
		next := events[name]
		if n := testing.AllocsPerRun(runs, func() {
			dst, _ = w.s.Apply(Input{Now: w.now, Boot: w.boot, Event: next(), Process: w.proc}, dst[:0])
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	w, events := common(b)
	for _, name := range []string{"LineMoved", "InviteLeft", "AnswerStands", "Persist", "Durable", "Tick", "Idle"} {
		b.Run(name, func(b *testing.B) {
			dst := make([]Effect, 0, 16)
			next := events[name]
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = w.s.Apply(Input{Now: w.now, Boot: w.boot, Event: next(), Process: w.proc}, dst[:0])
			}
		})
	}
}

// A round is what a dial costs the run.
func BenchmarkARoundOf100(b *testing.B) {
	rows := empty(b).rows(100)
	b.ReportAllocs()
	for b.Loop() {
		w := ready(b, set(func(s *campaign.Settings) { s.Concurrency = 1000 }))
		w.s.Pace.Batch = 100
		w.due(rows, 0)
		w.seats(1000)
		w.round()
		if len(w.s.Lines) != 100 {
			b.Fatal(fmt.Sprint(len(w.s.Lines), " lines"))
		}
	}
}
