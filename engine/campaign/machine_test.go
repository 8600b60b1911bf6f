package campaign

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/enginetest/golden"
)

var m0 = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world drives one campaign and checks the invariants of the package after
// each event.
type world struct {
	tb   reporter
	m    Machine
	now  time.Time
	last []Effect
	log  []string
}

func newWorld(tb reporter, edit ...func(*Settings)) *world {
	s := Settings{Name: "a", Bot: "b", Concurrency: 1}
	for _, f := range edit {
		f(&s)
	}
	return &world{tb: tb, now: m0,
		m: Machine{C: Campaign{ID: "c", State: Draft, Run: 1, Version: 1, Settings: s, CreatedAt: m0}}}
}

func (w *world) clone(tb reporter) *world {
	c := *w
	c.tb, c.log = tb, slices.Clone(w.log)
	return &c
}

func (w *world) fail(format string, args ...any) {
	w.tb.Helper()
	w.tb.Fatalf("%s\nafter\n  %s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n  "))
}

func (w *world) apply(ev Event) error {
	w.tb.Helper()
	w.now = w.now.Add(time.Minute)
	ev.At = w.now
	before := w.m.C
	effects, err := w.m.Apply(ev, nil)
	w.last = effects
	w.log = append(w.log, fmt.Sprintf("%s → %s %s %v", ev.Kind, w.situation(), names(effects), err))
	if err != nil {
		var e *engine.Error
		if !errors.As(err, &e) || e.Code == "" || e.Detail == "" {
			w.fail("a refusal without code and sentence: %v", err)
		}
		if len(effects) > 0 || !reflect.DeepEqual(before, w.m.C) {
			w.fail("a refused command changed something")
		}
		return err
	}
	w.check(ev, &before)
	return nil
}

func (w *world) check(ev Event, before *Campaign) {
	w.tb.Helper()
	c := &w.m.C
	changed := !reflect.DeepEqual(before, c)
	recorded := slices.ContainsFunc(w.last, func(e Effect) bool { _, ok := e.(Record); return ok })
	switch {
	case c.State == Completed && (c.CompletionReason == "") == (c.FailureReason == ""):
		w.fail("completed, and neither the one reason nor the other, or both")
	case c.State == Failed && c.FailureReason == "":
		w.fail("failed without a reason")
	case (c.State == Completed || c.State == Failed) && c.CompletedAt == nil:
		w.fail("ended without a time")
	case c.State == Running && (c.CompletionReason != "" || c.CompletedAt != nil || c.StartedAt == nil || !c.EverRun):
		w.fail("running with the marks of an end, or without a beginning")
	case c.Prepared && c.State != Draft:
		w.fail("prepared, but %s", c.State)
	case c.Prepared != (c.Previous != nil):
		w.fail("prepared %v, but previous %v", c.Prepared, c.Previous)
	case c.Run != before.Run && ev.Kind != Restart && ev.Kind != CancelRestart:
		w.fail("%s changed the run number", ev.Kind)
	case c.Run < 1:
		w.fail("run %d", c.Run)
	case changed && !recorded:
		w.fail("%s is not recorded", ev.Kind)
	case c.Version < before.Version:
		w.fail("the version went back")
	}
	for i, e := range w.last {
		switch e.(type) {
		case CancelRinging, HangUpCalls, Pump:
			for _, later := range w.last[i:] {
				if _, ok := later.(Record); ok {
					w.fail("%T before it is recorded", e)
				}
			}
		}
	}
}

func (w *world) situation() string {
	c := &w.m.C
	s := []string{string(c.State)}
	if c.Prepared {
		s = append(s, "prepared")
	} else if c.EverRun && c.State == Draft {
		s = append(s, "ever run")
	}
	if c.State == Completed {
		s = append(s, string(c.CompletionReason))
	}
	return strings.Join(s, ", ")
}

func (w *world) must(evs ...Event) *world {
	w.tb.Helper()
	for _, ev := range evs {
		if err := w.apply(ev); err != nil {
			w.fail("%v", err)
		}
	}
	return w
}

// refused checks that the event is refused with code.
func (w *world) refused(ev Event, code string) {
	w.tb.Helper()
	_ = w.refusal(ev, code) // its other contents are not checked
}

// refusal is the conflict with which the event is refused.
func (w *world) refusal(ev Event, code string) *engine.Error {
	w.tb.Helper()
	err := w.apply(ev)
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != code || e.Kind != engine.KindConflict {
		w.fail("%s: %v, want a conflict %s", ev.Kind, err, code)
	}
	return e
}

func (w *world) effects(want string) *world {
	w.tb.Helper()
	if got := names(w.last); got != want {
		w.fail("effects %q, want %q", got, want)
	}
	return w
}

func names(effects []Effect) string {
	s := make([]string, len(effects))
	for i, e := range effects {
		s[i] = strings.TrimPrefix(fmt.Sprintf("%T", e), "campaign.")
		switch e := e.(type) {
		case Record:
			s[i] += "(" + e.Action + ")"
		case CloseWaiting:
			s[i] += "(" + string(e.As) + ")"
		}
	}
	return strings.Join(s, " ")
}

func ev(k Kind) Event { return Event{Kind: k} }

type move struct {
	name string
	ev   func(w *world) Event
}

func moves() []move {
	var ms []move
	for _, k := range Kinds {
		switch k {
		case Edit:
			edit := func(name string, f func(*world, *Event)) {
				ms = append(ms, move{"edit " + name, func(w *world) Event {
					s := w.m.C.Settings
					e := Event{Kind: Edit, Settings: &s, Version: w.m.C.Version}
					f(w, &e)
					return e
				}})
			}
			edit("pool", func(_ *world, e *Event) { e.Settings.Numbers = []engine.PhoneNumber{"+4930123456"} })
			edit("max attempts", func(_ *world, e *Event) { e.Settings.MaxAttempts++ })
			edit("nothing", func(*world, *Event) {})
			edit("name", func(_ *world, e *Event) { e.Settings.Name += "x" })
			edit("bot", func(_ *world, e *Event) { e.Settings.Bot += "x" })
			edit("of an old version", func(w *world, e *Event) { e.Version = w.m.C.Version + 1 })
			edit("of nothing", func(_ *world, e *Event) { e.Settings = nil })
		case Start:
			ms = append(ms, move{string(k), func(*world) Event { return ev(k) }},
				move{string(k) + " unconfigured", func(*world) Event { return Event{Kind: k, Failure: FailureConfigUnreachable} }})
		case Restart, Delete:
			ms = append(ms, move{string(k) + " while calls live", func(*world) Event { return Event{Kind: k, Draining: true} }},
				move{string(k), func(*world) Event { return ev(k) }})
		case Exhausted:
			ms = append(ms, move{string(k), func(*world) Event { return Event{Kind: k, Reason: ReasonRetriesDone} }})
		default:
			ms = append(ms, move{string(k), func(*world) Event { return ev(k) }})
		}
	}
	return ms
}

func explore(t *testing.T, edit func(*Settings), visit func(s string, mv move, before, after *world, err error)) {
	start := newWorld(t, edit)
	found := map[string]*world{start.situation(): start}
	queue := []string{start.situation()}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, mv := range moves() {
			before, w := found[s], found[s].clone(t)
			err := w.apply(mv.ev(w))
			visit(s, mv, before, w, err)
			if next := w.situation(); found[next] == nil {
				found[next] = w
				queue = append(queue, next)
			}
		}
	}
}

func TestEveryStateAndEventPairDoesWhatTheGoldenFileSays(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What a campaign does with every event in every situation it can be in.\n")
	for _, kind := range []struct {
		name string
		edit func(*Settings)
	}{
		{"an ordinary campaign", func(*Settings) {}},
		{"an always-on campaign whose Stop ends calls", func(s *Settings) { s.AlwaysOn, s.StopEndsCalls = true, true }},
	} {
		head := ""
		states := map[State]bool{}
		explore(t, kind.edit, func(s string, mv move, before, after *world, err error) {
			states[before.m.C.State] = true
			if s != head {
				head = s
				fmt.Fprintf(&b, "\n%s: %s\n", kind.name, s)
			}
			switch {
			case err != nil:
				fmt.Fprintf(&b, "  %-24s ✗ %s\n", mv.name, engine.ErrorCode(err))
			case len(after.last) == 0 && reflect.DeepEqual(before.m.C, after.m.C):
				fmt.Fprintf(&b, "  %-24s ignored\n", mv.name)
			default:
				fmt.Fprintf(&b, "  %-24s → %s: %s\n", mv.name, after.situation(), names(after.last))
			}
		})
		if len(states) != len(States) {
			t.Errorf("%s: only the states %v are reached", kind.name, states)
		}
	}
	golden.Check(t, "testdata/campaign.golden", b.String())
}

func TestEveryRowOfTheTableIsTaken(t *testing.T) {
	all := table.Rows()
	taken := map[int]bool{}
	for _, edit := range []func(*Settings){func(*Settings) {}, func(s *Settings) { s.AlwaysOn = true }} {
		explore(t, edit, func(_ string, mv move, before, _ *world, _ error) {
			e := mv.ev(before)
			if e.Kind == Edit && e.Settings == nil {
				return
			}
			for i := range all {
				if r := &all[i]; r.On == e.Kind && slices.Contains(r.From, before.m.C.State) &&
					(r.When == nil || r.When(&before.m, e)) {
					taken[i] = true
					return
				}
			}
		})
	}
	for i, r := range all {
		if !taken[i] {
			t.Errorf("no sequence of events takes the row %v on %s [%s]", r.From, r.On, r.Guard)
		}
	}
}

func TestWhateverComesTheInvariantsHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, func(s *Settings) {
			s.AlwaysOn, s.StopEndsCalls = rapid.Bool().Draw(rt, "always on"), rapid.Bool().Draw(rt, "ends calls")
		})
		all := moves()
		for range rapid.IntRange(0, 50).Draw(rt, "steps") {
			_ = w.apply(all[rapid.IntRange(0, len(all)-1).Draw(rt, "move")].ev(w))
		}
	})
}
