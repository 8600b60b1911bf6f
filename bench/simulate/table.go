package simulate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"dialler/engine/pacing/trial"
)

// Row is one policy's outcome as printed. Shares are per cent.
type Row struct {
	Policy          string  `json:"policy"`
	BusyPct         float64 `json:"busy_pct"`
	ConnectsPerHour float64 `json:"connects_per_h"`
	ClairvoyantPct  float64 `json:"clairvoyant_pct"`
	AbandonPct      float64 `json:"abandon_pct"`
	P95Pct          float64 `json:"p95_30min_pct"`
	MaxPct          float64 `json:"max_30min_pct"`
	OverAtEnd       int     `json:"over_at_end"`        // runs
	OverAtAnyMoment int     `json:"over_at_any_moment"` // runs
	WorstExcess     float64 `json:"worst_excess"`       // calls
	Runs            int     `json:"runs"`
	DialsPerConnect float64 `json:"dials_per_connect"`
	LeastPct        float64 `json:"clairvoyant_pct_min"`
	MostPct         float64 `json:"clairvoyant_pct_max"`
	Ratio           float64 `json:"ratio,omitempty"`
}

// RowOf rounds a summary for printing.
func RowOf(s *trial.Summary) Row {
	return Row{
		Policy: string(s.Policy), BusyPct: percent(s.Busy), ConnectsPerHour: round(s.Connects, 1),
		ClairvoyantPct: percent(s.Clairvoyant), AbandonPct: percent(s.Abandon), P95Pct: percent(s.P95),
		MaxPct:    percent(s.Max),
		OverAtEnd: s.OverEnd, OverAtAnyMoment: s.OverEver, WorstExcess: round(s.Excess, 2), Runs: s.Runs,
		DialsPerConnect: round(s.DialsEach, 2), LeastPct: percent(s.Least), MostPct: percent(s.Most), Ratio: s.Ratio,
	}
}

func rows(outcomes []Outcome) []Row {
	r := make([]Row, len(outcomes))
	for i := range outcomes {
		r[i] = RowOf(&outcomes[i].Summary)
	}
	return r
}

func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

func percent(v float64) float64 { return round(100*v, 3) }

// label is the policy, with its ratio if it has one.
func (r *Row) label() string {
	if r.Ratio > 0 {
		return r.Policy + " " + strconv.FormatFloat(r.Ratio, 'g', 4, 64)
	}
	return r.Policy
}

// headings are the headings of the outcome table, followed by its cells.
var headings = []string{"policy", "busy %", "connects/h", "% of clairvoyant", "abandon %", "p95 30 min %",
	"max 30 min %", "over the cap at the end", "at any moment", "worst excess"}

func (r *Row) cells() []string {
	f := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	of := func(n int) string { return fmt.Sprintf("%d/%d", n, r.Runs) }
	if r.Policy == string(trial.Clairvoyant) {
		of = func(int) string { return "0" } // it is calculated, not played
	}
	return []string{r.label(), f(r.BusyPct, 1), f(r.ConnectsPerHour, 1), f(r.ClairvoyantPct, 1), f(r.AbandonPct, 2),
		f(r.P95Pct, 2), f(r.MaxPct, 2), of(r.OverAtEnd), of(r.OverAtAnyMoment), f(r.WorstExcess, 1)}
}

// WriteTable prints the outcome for people.
func WriteTable(w io.Writer, outcomes []Outcome) error {
	lines := [][]string{headings}
	for _, r := range rows(outcomes) {
		lines = append(lines, r.cells())
	}
	return writeLines(w, lines)
}

func writeLines(w io.Writer, lines [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, l := range lines {
		for i, c := range l {
			if i > 0 {
				c = "\t" + c
			}
			if _, err := io.WriteString(t, c); err != nil {
				return err
			}
		}
		if _, err := io.WriteString(t, "\n"); err != nil {
			return err
		}
	}
	return t.Flush()
}

// WriteJSON prints the outcome for machines.
func WriteJSON(w io.Writer, outcomes []Outcome) error {
	return encode(w, struct {
		Policies []Row `json:"policies"`
	}{rows(outcomes)})
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
