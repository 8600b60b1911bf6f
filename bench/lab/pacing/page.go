package pacing

import (
	"fmt"
	"strings"

	"dialler/engine/pacing/trial"
)

// block is a table of the page: cases with one set of seeds.
type block struct {
	title string
	rows  []measured
	mean  bool // it includes the rows of the means
}

// write writes the results page.
func write(date string, blocks []block, progressive, hybrid float64, notes string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Pacing, simulated\n\n%s, `make bench-pacing`. Cells: connects as %% of the clairvoyant bound "+
		"(mean over the seeds) @ abandon %%"+
		" (runs over the cap at the end, at any moment; by how many calls at worst). A target is the least share that is "+
		"asked; what is always asked:"+
		" nobody over the cap at the end, strict at no moment (but where workers are withdrawn without notice), "+
		"progressive without an abandon.\n\n", date)
	fmt.Fprintf(&b, "One core simulates %.1f million attempts a minute with `progressive`, %.1f million with `hybrid` "+
		"at 50 workers (asked: 3 and 0.6).\n",
		progressive/1e6, hybrid/1e6)
	for i := range blocks {
		k := &blocks[i]
		fmt.Fprintf(&b, "\n## %s\n\n| scenario | progressive | hybrid | target | prototype | strict | target | prototype "+
			"| |\n|---|---|---|---|---|---|---|---|---|\n", k.title)
		for j := range k.rows {
			m := &k.rows[j]
			verdict := "met"
			if len(m.misses) > 0 {
				verdict = strings.Join(m.misses, "; ")
			}
			fmt.Fprintf(
				&b,
				"| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
				m.name,
				result(m, trial.Progressive),
				result(m, trial.Hybrid),
				target(m, m.hybrid),
				plain(m.before),
				result(m, trial.Strict),
				target(m, m.strict),
				plain(m.beforeStrict),
				verdict,
			)
		}
		if k.mean {
			h, s, misses := means(k.rows)
			verdict := "met"
			if len(misses) > 0 {
				verdict = strings.Join(misses, "; ")
			}
			fmt.Fprintf(&b, "| mean of B1 to B9 | | %.1f | ≥ %.1f | %.1f | %.1f | ≥ %.1f | %.1f | %s |\n", h, meanHybrid,
				meanHybrid, s, meanStrict, meanStrict, verdict)
		}
	}
	return b.String() + notes
}

func result(m *measured, by trial.Policy) string {
	s := m.by[by]
	text := fmt.Sprintf("%.1f @ %.2f (%d, %d of %d", 100*s.Clairvoyant, 100*s.Abandon, s.OverEnd, s.OverEver, s.Runs)
	if s.Excess > 0 {
		text += fmt.Sprintf("; %.1f", s.Excess)
	}
	return text + ")"
}

func target(m *measured, least float64) string {
	switch {
	case m.none:
		return "= progressive"
	case least == 0:
		return ""
	}
	return fmt.Sprintf("≥ %.0f", least)
}

func plain(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", v)
}
