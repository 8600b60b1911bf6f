package simulate

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"dialler/engine/pacing/trial"
)

// WriteReport writes into a folder, which it creates: outcome.csv (one row per policy), runs.csv
// (one per run), course.csv (the course of each policy over time, the mean of its runs) and
// report.html, a self-contained page with the table and plots.
func WriteReport(dir string, p *Plan, outcomes []Outcome) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"outcome.csv", func(w io.Writer) error { return writeOutcomes(w, outcomes) }},
		{"runs.csv", func(w io.Writer) error { return writeRuns(w, p, outcomes) }},
		{"course.csv", func(w io.Writer) error { return writeCourses(w, p, outcomes) }},
		{"report.html", func(w io.Writer) error { return writePage(w, p, outcomes) }},
	} {
		if err := writeFile(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640) //nolint:gosec // the operator names the folder
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func cell(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func writeOutcomes(w io.Writer, outcomes []Outcome) error {
	lines := [][]string{{"policy", "ratio", "runs", "busy_pct", "connects_per_h", "clairvoyant_pct", "clairvoyant_pct_min",
		"clairvoyant_pct_max", "abandon_pct", "p95_30min_pct", "max_30min_pct", "over_at_end", "over_at_any_moment",
		"worst_excess", "dials_per_connect"}}
	for _, r := range rows(outcomes) {
		lines = append(lines, []string{r.Policy, cell(r.Ratio), strconv.Itoa(r.Runs), cell(r.BusyPct),
			cell(r.ConnectsPerHour), cell(r.ClairvoyantPct), cell(r.LeastPct), cell(r.MostPct), cell(r.AbandonPct),
			cell(r.P95Pct), cell(r.MaxPct), strconv.Itoa(r.OverAtEnd), strconv.Itoa(r.OverAtAnyMoment), cell(r.WorstExcess),
			cell(r.DialsPerConnect)})
	}
	return csv.NewWriter(w).WriteAll(lines)
}

func writeRuns(w io.Writer, p *Plan, outcomes []Outcome) error {
	lines := [][]string{{"policy", "seed", "length_s", "dials", "live", "abandoned", "machines", "busy_pct",
		"connects_per_h", "clairvoyant_pct", "abandon_pct", "over_at_end", "over_at_any_moment", "worst_excess"}}
	for i := range outcomes {
		for j := range outcomes[i].Runs {
			r := &outcomes[i].Runs[j]
			one := trial.Summarise(&p.Scenario, outcomes[i].Runs[j:j+1])
			row := RowOf(&one)
			lines = append(lines, []string{string(r.Policy), strconv.FormatUint(r.Seed, 10), cell(r.Length.Seconds()),
				strconv.Itoa(r.Dials), strconv.Itoa(r.Counts.Live), strconv.Itoa(r.Counts.Abandoned),
				strconv.Itoa(r.Counts.Machines), cell(row.BusyPct), cell(row.ConnectsPerHour), cell(row.ClairvoyantPct),
				cell(row.AbandonPct), strconv.FormatBool(r.OverEnd), strconv.FormatBool(r.OverEver), cell(row.WorstExcess)})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}

// moment is the state of a policy at a time, the mean of its runs.
type moment struct {
	until   time.Duration
	busy    float64 // share of the workers
	dials   float64 // a second
	abandon float64 // share of the live answers so far
}

// courseOf is the mean course over the runs still going at each time.
func courseOf(runs []trial.Result) []moment {
	var course []moment
	for k := 0; ; k++ {
		var m moment
		n := 0.0
		for i := range runs {
			if k >= len(runs[i].Course) {
				continue
			}
			c := &runs[i].Course[k]
			rate, _ := c.Counts.Rate()
			m.until = c.Until
			m.busy, m.dials, m.abandon = m.busy+c.Busy, m.dials+c.Dials, m.abandon+rate
			n++
		}
		if n == 0 {
			return course
		}
		m.busy, m.dials, m.abandon = m.busy/n, m.dials/n, m.abandon/n
		course = append(course, m)
	}
}

func writeCourses(w io.Writer, p *Plan, outcomes []Outcome) error {
	lines := [][]string{{"policy", "until_s", "workers", "busy_pct", "dials_per_s", "abandon_pct_so_far", "cap_pct"}}
	for i := range outcomes {
		for _, m := range courseOf(outcomes[i].Runs) {
			lines = append(lines, []string{string(outcomes[i].Summary.Policy), cell(m.until.Seconds()),
				cell(round(p.Scenario.Workers.At(m.until), 2)), cell(percent(m.busy)), cell(round(m.dials, 4)),
				cell(percent(m.abandon)), cell(percent(p.Scenario.Cap))})
		}
	}
	return csv.NewWriter(w).WriteAll(lines)
}
