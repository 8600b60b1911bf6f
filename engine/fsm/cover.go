package fsm

// Coverage says how a table handles one event in one state.
type Coverage string

const (
	Handled Coverage = "handled" // some row always matches
	Guarded Coverage = "guarded" // every row has a guard: handled, or illegal when none holds
	Ignored Coverage = "ignored" // a late event known to be harmless, whatever the guards
	Illegal Coverage = "illegal" // no row
)

// Cover returns the coverage of every state × event pair, for exhaustive tests: a new state or
// event that nobody thought about shows up as Illegal.
func (t *Table[S, E, M, Ev]) Cover() map[Pair[S, E]]Coverage {
	cover := make(map[Pair[S, E]]Coverage, len(t.states)*len(t.events))
	for _, s := range t.states {
		for _, e := range t.events {
			p := Pair[S, E]{s, e}
			cover[p] = coverage(t.cells[p])
		}
	}
	return cover
}

func coverage[S ~string, M, Ev any](cells []cell[S, M, Ev]) Coverage {
	if len(cells) == 0 {
		return Illegal
	}
	ignored := true
	for i := range cells {
		ignored = ignored && cells[i].ignore
	}
	switch {
	case cells[len(cells)-1].when != nil:
		// Even if all of them ignore it: if no guard holds the event is illegal.
		return Guarded
	case ignored:
		return Ignored
	}
	return Handled
}
