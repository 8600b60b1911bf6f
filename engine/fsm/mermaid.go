package fsm

import (
	"slices"
	"strings"
)

// Mermaid renders the table as a state diagram. The text depends only on the table: same rows, same
// bytes. Ignored events are left out; events that keep the state are one loop per state.
func (t *Table[S, E, M, Ev]) Mermaid() string {
	type edge struct{ from, to S }
	labels := make(map[edge][]string)
	leaves := make(map[S]bool) // states that some row leaves
	for i := range t.rows {
		r := &t.rows[i]
		if r.Ignore {
			continue
		}
		label := mermaidText(string(r.On))
		if r.Guard != "" {
			label += " [" + mermaidText(r.Guard) + "]"
		}
		for _, from := range r.From {
			to := r.To
			if to == "" {
				to = from
			}
			if to != from {
				leaves[from] = true
			}
			e := edge{from, to}
			if !slices.Contains(labels[e], label) {
				labels[e] = append(labels[e], label)
			}
		}
	}
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	b.WriteString("    [*] --> " + mermaidID(t.states[0]) + "\n")
	for _, from := range t.states {
		for _, to := range t.states {
			if l := labels[edge{from, to}]; l != nil {
				b.WriteString("    " + mermaidID(from) + " --> " + mermaidID(to) + " : " + strings.Join(l, "<br/>") + "\n")
			}
		}
		if !leaves[from] {
			b.WriteString("    " + mermaidID(from) + " --> [*]\n")
		}
	}
	return b.String()
}

// mermaidID turns a state into an identifier for the diagram, in which hyphens and spaces have a
// meaning.
func mermaidID[S ~string](s S) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, string(s))
}

// mermaidText escapes ":" and ";", which would end a label.
func mermaidText(s string) string {
	return strings.NewReplacer(":", " ", ";", ",", "\n", " ").Replace(s)
}
