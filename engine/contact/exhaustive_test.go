package contact

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

func moves() []move {
	plain := func(k Kind) move { return move{string(k), k, func(*world) Event { return Event{Kind: k} }} }
	end := func(name string, o engine.Outcome, edit ...func(*Attempt)) move {
		return move{"attempted " + name, Attempted, func(w *world) Event { return w.ended(o, edit...) }}
	}
	result := func(name, disposition string, back int, edit ...func(*Attempt)) move {
		return move{"result_stored " + name, ResultStored,
			func(w *world) Event { return w.result(w.n-back, disposition, edit...) }}
	}
	inAnHour := func(a *Attempt) { t := t0.Add(time.Hour); a.Callback = &CallbackWish{At: &t} }
	return []move{
		{"reserved", Reserved, func(w *world) Event {
			w.n++
			return Event{Kind: Reserved, Attempt: &Attempt{ID: attemptName(w.n)}}
		}},
		plain(Reached),
		end("no_answer", engine.OutcomeNoAnswer, rang),
		end("rejected", engine.OutcomeRejected),
		end("invalid", engine.OutcomeInvalidNumber),
		end("machine", engine.OutcomeMachine),
		end("abandoned", engine.OutcomeAbandoned),
		end("cancelled", engine.OutcomeCancelled),
		end("excluded", engine.OutcomeExcluded),
		end("throttled", engine.OutcomeThrottled, unconsumed),
		end("suppressed", engine.OutcomeBlocked, unconsumed),
		end("capped", engine.OutcomeCancelled, unconsumed, func(a *Attempt) {
			a.Refusal, a.RetryAfter = engine.CodeCalleeCap, time.Hour
		}),
		end("no result", engine.OutcomeConnectedNoResult, talked(time.Minute)),
		end("result", engine.OutcomeCompleted, withResult("sold")),
		end("call again", engine.OutcomeCompleted, withResult("call again")),
		end("callback", engine.OutcomeCompleted, withResult("later"), inAnHour),
		{"attempted repeated", Attempted, func(w *world) Event {
			w.n--
			ev := w.ended(engine.OutcomeNoAnswer)
			w.n++
			return ev
		}},
		result("sold", "sold", 0),
		result("call again", "call again", 0),
		result("callback", "later", 0, inAnHour),
		result("of a call without conversation", "x", 0, func(a *Attempt) { a.Connected = false }),
		result("of the attempt before, callback", "later", 1, inAnHour),
		{"result_stored of a call back", ResultStored, func(w *world) Event { return w.calledBack("sold", time.Minute) }},
		{"called_us, begins", CalledUs, func(w *world) Event { return w.callsUs(BackBegins, 15*time.Minute) }},
		{"called_us, owes its result", CalledUs, func(w *world) Event { return w.callsUs(BackOwes, 10*time.Minute) }},
		{"called_us, over", CalledUs, func(w *world) Event { return w.callsUs(BackOver, 0) }},
		plain(ResultTimedOut),
		{"result_timed_out late", ResultTimedOut,
			func(w *world) Event { return Event{Kind: ResultTimedOut, At: w.now.Add(time.Hour)} }},
		plain(ExcludedBy),
		{"excluded_by in call", ExcludedBy,
			func(*world) Event { return Event{Kind: ExcludedBy, InCall: true, Reason: "asked"} }},
		plain(Readmitted), plain(Suppressed),
		{"suppressed, one number", Suppressed,
			func(w *world) Event { return Event{Kind: Suppressed, Number: w.m.C.NextNumber()} }},
		plain(Triggered), plain(WindowEnded), plain(RunStopped),
		{"run_reset", RunReset, func(w *world) Event { return Event{Kind: RunReset, Run: w.m.C.Run + 1} }},
		{"run_reset for the unreached", RunReset,
			func(w *world) Event { return Event{Kind: RunReset, Run: w.m.C.Run + 1, Unreached: true} }},
		plain(CallbackDropped), plain(Deferred), plain(Retuned),
		plain(Hastened),
		{"callback_set in an hour", CallbackSet,
			func(w *world) Event { return Event{Kind: CallbackSet, Until: w.now.Add(time.Hour)} }},
		{"callback_set long ago", CallbackSet,
			func(w *world) Event { return Event{Kind: CallbackSet, Until: w.now.Add(-time.Hour)} }},
		{"lapsed", Lapsed, func(w *world) Event {
			w.m.C.NotBefore, w.m.C.ExpiresAt = nil, w.after(0)
			return Event{Kind: Lapsed}
		}},
	}
}

func explore(t *testing.T, edit func(*Policy), visit func(situation string, mv move, before, after *world, err error)) {
	start := newWorld(t, func(p *Policy) { p.MaxAttempts = 2 }, edit)
	found := map[string]*world{start.situation(): start}
	queue := []string{start.situation()}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, mv := range moves() {
			before, w := found[s], found[s].clone(t)
			w.wait(time.Second)
			err := w.apply(mv.ev(w))
			visit(s, mv, before, w, err)
			if w.m.C.State != Expired {
				w.m.C.ExpiresAt = nil // the other rules are those of a contact that does not expire
			}
			if next := w.situation(); found[next] == nil {
				found[next] = w
				queue = append(queue, next)
			}
		}
	}
}

func closedAs(s State) func(*Policy) { return func(p *Policy) { p.ClosedAs = s } }

func TestEveryStateAndEventPairDoesWhatTheGoldenFileSays(t *testing.T) {
	whatHappens(t, "contact", "What a contact (two attempts at most) does with every event in every situation it can "+
		"be in.", func(*Policy) {})
	whatHappens(t, "contact_short", "The same where conversations of a minute are short (Redial Only Under).",
		under(2*time.Minute))
}

func whatHappens(t *testing.T, file, title string, policy func(*Policy)) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# " + title + "\n")
	var head string
	var lines, ignored, illegal []string
	flush := func() {
		if head != "" {
			fmt.Fprintf(&b, "\n%s\n", head)
			for _, l := range lines {
				b.WriteString("  " + l + "\n")
			}
			fmt.Fprintf(&b, "  ignored: %s\n  illegal: %s\n", strings.Join(ignored, ", "), strings.Join(illegal, ", "))
		}
		lines, ignored, illegal = nil, nil, nil
	}
	states, kinds := map[State]bool{}, map[Kind]bool{}
	explore(t, policy, func(s string, mv move, before, after *world, err error) {
		if s != head {
			flush()
			head = s
		}
		states[before.m.C.State], kinds[mv.kind] = true, true
		switch {
		case err != nil:
			if !errors.Is(err, fsm.ErrIllegal) {
				t.Fatalf("%s × %s: %v", s, mv.name, err)
			}
			illegal = append(illegal, mv.name)
		case after.m.C.Version == before.m.C.Version:
			ignored = append(ignored, mv.name)
		default:
			lines = append(lines, strings.TrimRight(fmt.Sprintf("%-52s → %s", mv.name, after.situation()), " "))
		}
	})
	flush()
	for _, k := range Kinds {
		if !kinds[k] {
			t.Errorf("no move of kind %s", k)
		}
	}
	for _, s := range States {
		if !states[s] {
			t.Errorf("state %s is never reached", s)
		}
	}
	golden.Check(t, "testdata/"+file+".golden", b.String())
}

// TestEveryRowOfTheTableIsTaken finds rows that no sequence of events reaches: nothing would prove
// such rules.
func TestEveryRowOfTheTableIsTaken(t *testing.T) {
	all := table.Rows()
	taken := map[int]bool{}
	elsewhere := false // results are of another run, and say not to call again
	listAll := func(p *Policy) { p.Redial.OnSystem = append(p.Redial.OnSystem, engine.OutcomeConnectedNoResult) }
	visit := func(policy func(*Policy), others ...engine.PhoneNumber) func(string, move, *world, *world, error) {
		return func(_ string, mv move, before, _ *world, _ error) {
			w := before.clone(t)
			w.m.C.Number, w.m.C.Alternates = one, person(t, others...).m.C.Alternates
			w.wait(time.Second)
			policy(&w.p)
			ev := mv.ev(w)
			if ev.Policy = w.p; ev.At.IsZero() {
				ev.At = w.now
			}
			if elsewhere && ev.Kind == ResultStored {
				ev.Attempt.Run, ev.Attempt.DoNotCall = w.m.C.Run+1, true
			}
			w.m.fate = w.m.judge(ev)
			for i := range all {
				if r := &all[i]; r.On == mv.kind && slices.Contains(r.From, w.m.C.State) && (r.When == nil || r.When(&w.m, ev)) {
					taken[i] = true
					return
				}
			}
		}
	}
	inAnHour := func(p *Policy) { p.Clip = func(t time.Time) (time.Time, bool) { return t.Add(time.Hour), true } }
	fewer := func(p *Policy) { p.MaxAttempts = 1 }
	never := func(p *Policy) { p.Clip = func(t time.Time) (time.Time, bool) { return t, false } }
	for _, policy := range []func(*Policy){func(*Policy) {}, listAll, closedAs(ManuallyStopped), closedAs(WindowClosed),
		inAnHour, never, fewer} {
		explore(t, func(p *Policy) {}, visit(func(p *Policy) { policy(p) }))
		explore(t, func(p *Policy) {}, visit(func(p *Policy) { listAll(p); policy(p) }))
		explore(t, under(2*time.Minute), visit(policy))
		explore(t, func(p *Policy) {}, visit(policy, two))
	}
	elsewhere = true
	explore(t, func(*Policy) {}, visit(func(*Policy) {}, two))
	for i, r := range all {
		if !taken[i] {
			t.Errorf("no sequence of events takes the row %v on %s [%s]", r.From, r.On, r.Guard)
		}
	}
}
