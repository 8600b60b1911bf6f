package fsm

import (
	"fmt"
	"slices"
)

// Row is one line of a transition table: in each of the states From, the
// event On leads to the state To, if the guard When holds.
type Row[S, E ~string, M, Ev any] struct {
	From []S
	On   E
	// Guard names the condition When in diagrams and error messages; both are
	// given or neither. A nil When always holds.
	Guard string
	When  func(m M, ev Ev) bool
	// To is the next state, "" to stay.
	To S
	// Do is the action; it runs before the caller assigns the new state and may
	// be nil.
	Do func(m M, ev Ev)
	// Ignore marks a late event known to be harmless: no action, no change of state.
	Ignore bool
	// Why is a sentence with the reason for the row.
	Why string
}

// Pair is one cell of the state × event matrix.
type Pair[S, E ~string] struct {
	State S
	Event E
}

// Table is a consistent set of rows. It is immutable and safe for concurrent
// use as long as the actions are.
type Table[S, E ~string, M, Ev any] struct {
	name   string
	states []S
	events []E
	rows   []Row[S, E, M, Ev]
	cells  map[Pair[S, E]][]cell[S, M, Ev]
}

// cell is a row for one pair, with To resolved.
type cell[S ~string, M, Ev any] struct {
	when   func(m M, ev Ev) bool
	do     func(m M, ev Ev)
	to     S
	ignore bool
}

// New checks the rows and builds the table. states[0] is the initial state of the diagram. An
// inconsistent table is a programming error that no caller can handle, so New panics; tables are
// package variables, so it does so at start.
func New[S, E ~string, M, Ev any](name string, states []S, events []E, rows []Row[S, E, M, Ev]) *Table[S, E, M, Ev] {
	t := &Table[S, E, M, Ev]{
		name:   name,
		states: slices.Clone(states),
		events: slices.Clone(events),
		rows:   slices.Clone(rows),
		cells:  make(map[Pair[S, E]][]cell[S, M, Ev], len(states)*len(events)),
	}
	if len(states) == 0 || len(events) == 0 {
		t.broken("no states or no events")
	}
	unique(t, "state", t.states)
	unique(t, "event", t.events)
	guards := make(map[Pair[S, E]][]string)
	for i := range t.rows {
		t.add(i, guards)
	}
	return t
}

func (t *Table[S, E, M, Ev]) add(i int, guards map[Pair[S, E]][]string) {
	r := &t.rows[i]
	at := fmt.Sprintf("row %d (%v on %q)", i, r.From, r.On)
	switch {
	case len(r.From) == 0:
		t.broken(at + ": no from state")
	case !slices.Contains(t.events, r.On):
		t.broken(at + ": unknown event")
	case r.To != "" && !slices.Contains(t.states, r.To):
		t.broken(at + fmt.Sprintf(": unknown state %q", r.To))
	case (r.When == nil) != (r.Guard == ""):
		t.broken(at + ": a guard needs both a name and a function")
	case r.Ignore && (r.To != "" || r.Do != nil):
		t.broken(at + ": an ignored event neither acts nor changes the state")
	}
	for _, from := range r.From {
		if !slices.Contains(t.states, from) {
			t.broken(at + fmt.Sprintf(": unknown state %q", from))
		}
		p := Pair[S, E]{from, r.On}
		// An unguarded row takes everything: any row after it is unreachable, and so is a second
		// row under the same guard.
		for _, g := range guards[p] {
			if g == "" || g == r.Guard {
				t.broken(at + fmt.Sprintf(": unreachable in %q, an earlier row with guard %q takes it", from, g))
			}
		}
		guards[p] = append(guards[p], r.Guard)
		to := r.To
		if to == "" {
			to = from
		}
		t.cells[p] = append(t.cells[p], cell[S, M, Ev]{when: r.When, do: r.Do, to: to, ignore: r.Ignore})
	}
}

func unique[T ~string, S, E ~string, M, Ev any](t *Table[S, E, M, Ev], what string, names []T) {
	for i, n := range names {
		if n == "" || slices.Contains(names[:i], n) {
			t.broken(fmt.Sprintf("%s %q is empty or listed twice", what, n))
		}
	}
}

func (t *Table[S, E, M, Ev]) broken(why string) {
	panic("fsm: table " + t.name + ": " +
		why) //nolint:forbidigo // a table is built when the program starts; a broken one is a mistake in its source
}

// Step finds the first row for the event whose guard holds, runs its action and returns the next
// state. The caller assigns it:
//
//	to, err := table.Step(m.State, ev.Kind, m, ev)
//	if err == nil {
//		m.State = to
//	}
//
// While the action runs, the machine is still in its old state.
func (t *Table[S, E, M, Ev]) Step(from S, on E, m M, ev Ev) (to S, err error) {
	cells := t.cells[Pair[S, E]{from, on}]
	for i := range cells {
		c := &cells[i]
		if c.when != nil && !c.when(m, ev) {
			continue
		}
		if c.do != nil {
			c.do(m, ev)
		}
		return c.to, nil
	}
	return from, &IllegalError{Machine: t.name, State: string(from), Event: string(on)}
}

// Name is the machine's name.
func (t *Table[S, E, M, Ev]) Name() string { return t.name }

// States lists the states, the initial one first.
func (t *Table[S, E, M, Ev]) States() []S { return slices.Clone(t.states) }

// Events lists the event kinds.
func (t *Table[S, E, M, Ev]) Events() []E { return slices.Clone(t.events) }

// Rows returns the rows as written, for documents and for mutation tests that build a table with
// one row changed.
func (t *Table[S, E, M, Ev]) Rows() []Row[S, E, M, Ev] { return slices.Clone(t.rows) }

// IllegalError says that a machine has no row for an event in its state. It
// is counted and logged; nothing has changed.
type IllegalError struct {
	Machine string
	State   string
	Event   string
}

func (e *IllegalError) Error() string {
	return "fsm: " + e.Machine + ": event " + e.Event + " is illegal in state " + e.State
}

// Is makes every IllegalError match ErrIllegal.
func (e *IllegalError) Is(target error) bool { return target == ErrIllegal }

// ErrIllegal matches any IllegalError in errors.Is.
var ErrIllegal error = &IllegalError{Machine: "any", State: "any", Event: "any"}
