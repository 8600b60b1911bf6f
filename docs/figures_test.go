package docs

import (
	"fmt"
	"strings"
	"testing"

	"dialler/engine/tally"
)

// Each figure comes from the specification, or is explained on a page.
func TestEveryFigureSaysWhereItComesFrom(t *testing.T) {
	stands := sources(t)
	for i := range tally.Figures {
		switch f := &tally.Figures[i]; {
		case !f.Inner:
			stands(f.Name, f.Source)
		case f.Source != "":
			t.Errorf("%s of %s is not shown, and has a source", f.Name, f.Of)
		}
	}
}

// whereFiguresStand says where people find the figures of each object, in the order of the page.
var whereFiguresStand = []struct {
	of   tally.Object
	text string
}{
	{tally.OfCounters, "Counters and rates of a run: `counters` of a campaign and of its runs."},
	{tally.OfPass, "Passes: `passes` of a campaign. Pass *n* is the set of the contacts' *n*th attempts in the run."},
	{tally.OfCallbacks, "Callbacks: `callbacks` of a campaign."},
	{tally.OfTotals, "What a finished run came to: `totals` of a campaign."},
	{tally.OfLive, "Live figures: `live` of a campaign."},
	{tally.OfLedger, "The abandon ledgers: `ledgers` and `rolling` of `live`."},
	{tally.OfSeries, "The course of a run, step by step: `/api/v1/campaigns/{id}/series`."},
	{tally.OfBreakdown, "What the dials of a run came to: `/api/v1/campaigns/{id}/breakdown`."},
	{tally.OfNumber, "A caller ID of ours: `/api/v1/numbers`."},
}

func TestThePageOfFiguresIsInStepWithTheirTable(t *testing.T) {
	var out strings.Builder
	out.WriteString(`# Figures

Written by ` + "`go test ./docs -update`" + ` from ` + "`engine/tally/figures.go`" + `; do not edit.

Counters tell facts of a run, not present states: a finished campaign still shows them. The same figure comes
from the events, from the tables and from the running campaign, at every moment. A share or a mean is null
while there is nothing to divide by. *Counts* is what a figure is a number of; *over* is what a share or a mean
is divided by.
`)
	shown := 0
	for _, place := range whereFiguresStand {
		fmt.Fprintf(&out,
			"\n## %s\n\n%s\n\n| figure | called | counts | what it is | over | of |\n|---|---|---|---|---|---|\n",
			place.of, place.text)
		for i := range tally.Figures {
			f := &tally.Figures[i]
			if f.Of != place.of || f.Inner {
				continue
			}
			shown++
			over := ""
			if f.Over != "" {
				over = "`" + f.Over + "`"
			}
			text := f.Formula
			if f.Hidden {
				text += " The console hides it at zero."
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", f.Name, f.Label, f.Unit, text, over, f.Period)
		}
	}
	for i := range tally.Figures {
		if !tally.Figures[i].Inner {
			shown--
		}
	}
	if shown != 0 {
		t.Errorf("%d figures stand in no part of the page", -shown)
	}
	inStep(t, "figures.md", out.String())
}
