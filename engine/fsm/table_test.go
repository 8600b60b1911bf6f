package fsm

import (
	"errors"
	"strings"
	"testing"
)

type state string

type kind string

type door struct {
	State  state
	locked bool
	log    []string
}

type event struct{ note string }

type row = Row[state, kind, *door, event]

var (
	doorStates = []state{"closed", "open", "gone"}
	doorEvents = []kind{"push", "pull", "slam", "remove"}
)

func unlocked(d *door, _ event) bool { return !d.locked }
func locked(d *door, _ event) bool   { return d.locked }

func doorRows() []row {
	return []row{
		{From: []state{"closed"}, On: "push", Guard: "unlocked", When: unlocked, To: "open",
			Do: func(d *door, ev event) { d.log = append(d.log, string(d.State)+" "+ev.note) }},
		{From: []state{"open"}, On: "pull", To: "closed"},
		{From: []state{"closed"}, On: "pull", Ignore: true, Why: "already closed"},
		{From: []state{"open", "closed"}, On: "remove", To: "gone"},
		{From: []state{"open"}, On: "slam", Guard: "locked", When: locked,
			Do: func(d *door, _ event) { d.log = append(d.log, "bounced") }},
		{From: []state{"open"}, On: "slam", To: "closed"},
	}
}

var doorTable = New("door", doorStates, doorEvents, doorRows())

func TestTheFirstRowWhoseGuardHoldsIsTaken(t *testing.T) {
	f := func(from state, on kind, lock bool, to state, logged string) {
		t.Helper()
		d := &door{State: from, locked: lock}
		got, err := doorTable.Step(d.State, on, d, event{note: "x"})
		if err != nil || got != to || strings.Join(d.log, ",") != logged {
			t.Fatalf("%s on %s: got %q, %v, log %v; want %q, %q", from, on, got, err, d.log, to, logged)
		}
		if d.State != from {
			t.Fatal("Step must leave the assignment of the state to its caller")
		}
	}
	f("closed", "push", false, "open", "closed x") // the action sees the old state
	f("open", "pull", false, "closed", "")
	f("closed", "pull", false, "closed", "")
	f("open", "slam", true, "open", "bounced")
	f("open", "slam", false, "closed", "")
	f("open", "remove", false, "gone", "")
}

func TestAnEventWithoutARowIsATypedErrorAndChangesNothing(t *testing.T) {
	f := func(from state, on kind, lock bool) {
		t.Helper()
		d := &door{State: from, locked: lock}
		to, err := doorTable.Step(from, on, d, event{})
		var illegal *IllegalError
		if !errors.Is(err, ErrIllegal) || !errors.As(err, &illegal) {
			t.Fatalf("%s on %s: error %v", from, on, err)
		}
		if illegal.Machine != "door" || illegal.State != string(from) || illegal.Event != string(on) {
			t.Fatalf("error names %+v", illegal)
		}
		if to != from || d.log != nil {
			t.Fatal("an illegal event acted")
		}
	}
	f("gone", "push", false)
	f("closed", "slam", false)
	f("closed", "push", true) // its only guard does not hold
	f("nowhere", "push", false)
	f("open", "sing", false)
}

func TestCoverNamesEveryPair(t *testing.T) {
	cover := doorTable.Cover()
	if len(cover) != len(doorStates)*len(doorEvents) {
		t.Fatalf("%d pairs covered", len(cover))
	}
	f := func(s state, e kind, want Coverage) {
		t.Helper()
		if got := cover[Pair[state, kind]{s, e}]; got != want {
			t.Fatalf("%s × %s is %s, want %s", s, e, got, want)
		}
	}
	f("closed", "push", Guarded)
	f("open", "pull", Handled)
	f("closed", "pull", Ignored)
	f("open", "slam", Handled)
	f("gone", "remove", Illegal)
}

func TestNewRefusesAnInconsistentTable(t *testing.T) {
	f := func(says string, rows ...row) {
		t.Helper()
		defer func() {
			t.Helper()
			r := recover()
			if s, _ := r.(string); !strings.Contains(s, says) {
				t.Fatalf("panic %v, want one that says %q", r, says)
			}
		}()
		New("bad", doorStates, doorEvents, rows)
	}
	in := []state{"open"}
	f("unknown event", row{From: in, On: "sing"})
	f("unknown state", row{From: []state{"ajar"}, On: "push"})
	f("unknown state", row{From: in, On: "push", To: "ajar"})
	f("no from state", row{On: "push"})
	f("unreachable", row{From: in, On: "push"}, row{From: in, On: "push"})
	f("unreachable", row{From: in, On: "push"}, row{From: in, On: "push", Guard: "locked", When: locked})
	f("unreachable", row{From: in, On: "push", Guard: "locked", When: locked},
		row{From: in, On: "push", Guard: "locked", When: locked})
	f("unreachable", row{From: []state{"open", "open"}, On: "push"})
	f("guard needs", row{From: in, On: "push", When: locked})
	f("guard needs", row{From: in, On: "push", Guard: "locked"})
	f("neither acts", row{From: in, On: "push", Ignore: true, To: "closed"})
	f("neither acts", row{From: in, On: "push", Ignore: true, Do: func(*door, event) {}})
}

func TestNewRefusesDoubledNames(t *testing.T) {
	f := func(states []state, events []kind) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Fatalf("accepted %v, %v", states, events)
			}
		}()
		New("bad", states, events, []row{})
	}
	f(nil, doorEvents)
	f(doorStates, nil)
	f([]state{"open", "open"}, doorEvents)
	f([]state{""}, doorEvents)
	f(doorStates, []kind{"push", "push"})
}

func TestTheDiagramIsDrawnFromTheRows(t *testing.T) {
	const want = `stateDiagram-v2
    [*] --> closed
    closed --> open : push [unlocked]
    closed --> gone : remove
    open --> closed : pull<br/>slam
    open --> open : slam [locked]
    open --> gone : remove
    gone --> [*]
`
	for range 10 {
		if got := doorTable.Mermaid(); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	d := &door{State: "open"}
	if n := testing.AllocsPerRun(100, func() {
		if to, err := doorTable.Step(d.State, "slam", d, event{}); err != nil || to != "closed" {
			t.Fatal(to, err)
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkStep(b *testing.B) {
	d := &door{State: "open"}
	ev := event{note: "x"}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = doorTable.Step(d.State, "slam", d, ev)
	}
}
