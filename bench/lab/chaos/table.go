package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// String is the report in one line.
func (r *Report) String() string {
	return fmt.Sprintf("seed %d: %d kills, %d faults (%d at no step), %d lives judged after 5 s, %.0f s; "+
		"%d legs, %d Call-IDs, %d attempts, %d lost, %d legs unsent, %d abandons by loss; "+
		"acknowledged %v (%d unsure at first), %d rows, %d results; %d differences",
		r.Seed, r.Kills, r.Faults, r.Missed, r.Judged, r.Took.Seconds(), r.Legs, r.CallIDs, r.Attempts, r.Lost, r.Unsent,
		r.Abandons, r.Acked, r.Unsure, r.Rows, r.Results, len(r.Failures))
}

// total sums reports up.
type total struct {
	seeds []string
	sum   Report
}

func (s *total) add(r *Report) {
	s.seeds = append(s.seeds, fmt.Sprint(r.Seed))
	if s.sum.ByLabel == nil {
		s.sum.ByLabel, s.sum.Acked = map[string]int{}, map[request]int{}
	}
	for k, n := range r.ByLabel {
		s.sum.ByLabel[k] += n
	}
	for k, n := range r.Acked {
		s.sum.Acked[k] += n
	}
	for _, x := range []struct {
		to   *int
		from int
	}{
		{&s.sum.Kills, r.Kills}, {&s.sum.Faults, r.Faults}, {&s.sum.Missed, r.Missed}, {&s.sum.Judged, r.Judged},
		{&s.sum.Legs, r.Legs}, {&s.sum.Attempts, r.Attempts}, {&s.sum.CallIDs, r.CallIDs}, {&s.sum.Lost, r.Lost},
		{&s.sum.Unsent, r.Unsent}, {&s.sum.Abandons, r.Abandons}, {&s.sum.Unsure, r.Unsure}, {&s.sum.Rows, r.Rows},
		{&s.sum.Results, r.Results}, {&s.sum.Events, r.Events},
	} {
		*x.to += x.from
	}
	s.sum.Failures = append(s.sum.Failures, r.Failures...)
}

// table gives the figures as Markdown.
func (s *total) table(took time.Duration) string {
	var b strings.Builder
	r := &s.sum
	row := func(what string, n any) { fmt.Fprintf(&b, "| %s | %v |\n", what, n) }
	fmt.Fprintf(&b, "Seeds %s, %.1f minutes.\n\n| figure | |\n|---|---:|\n", strings.Join(s.seeds, ", "), took.Minutes())
	row("kills of the dialler", r.Kills)
	row("faults that it lived through", r.Faults)
	row("of both, those whose step did not come in time and that were dealt at random", r.Missed)
	row("lives judged by the carrier after 5 s", r.Judged)
	row("attempts", r.Attempts)
	row("legs in the database", r.Legs)
	row("Call-IDs at the carrier", r.CallIDs)
	row("attempts lost", r.Lost)
	row("legs that were never sent", r.Unsent)
	row("answered calls lost before a bot served them", r.Abandons)
	for _, k := range slices.Sorted(maps.Keys(r.Acked)) {
		row("acknowledged: "+string(k), r.Acked[k])
	}
	row("of them first sent to a life that did not answer", r.Unsure)
	row("rows of acknowledged lists and files", r.Rows)
	row("acknowledged results", r.Results)
	row("events folded and compared with the tables", r.Events)
	row("**differences between the ledgers**", fmt.Sprintf("**%d**", len(r.Failures)))
	b.WriteString("\n| kill or fault | times |\n|---|---:|\n")
	for _, k := range slices.Sorted(maps.Keys(r.ByLabel)) {
		row(k, r.ByLabel[k])
	}
	return b.String()
}
