package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"dialler/bench/simulate"
	"dialler/engine"
)

type simCmd struct {
	File   string   `arg:"" optional:"" help:"${help_sim_file}"`
	JSON   bool     `name:"json" help:"Print the outcome as JSON."`
	Out    string   `help:"${help_sim_out}" placeholder:"DIR"`
	WhatIf []string `name:"what-if" sep:"none" help:"${help_sim_what_if}" placeholder:"KEY=V,V"`
	Seats  string   `help:"Compare these numbers of workers, such as 50,80." placeholder:"N,N"`
}

// Run plays a scenario and prints the results of each policy.
func (s *simCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	asked := s.Out
	s.Out = s.reportFolder()
	return s.play(ctx, os.Stdout, asked == "")
}

// noReport is the folder's name if no report is wanted.
const noReport = "none"

// reportFolder is the default folder of the report: visible, but beside nobody's files, and only
// for a scenario that has a name.
func (s *simCmd) reportFolder() string {
	switch {
	case s.Out == noReport:
		return ""
	case s.Out != "" || s.File == "" || s.File == "-" || len(s.WhatIf) > 0 || s.Seats != "":
		return s.Out
	}
	name := filepath.Base(s.File)
	return strings.TrimSuffix(name, filepath.Ext(name)) + ".report"
}

// play prints to w. With lenient, a report that cannot be written is mentioned but not an error:
// nobody asked for it.
func (s *simCmd) play(ctx context.Context, w io.Writer, lenient bool) error {
	plan, err := s.plan()
	if err != nil {
		return err
	}
	if plan.Campaign != nil {
		if lenient {
			s.Out = ""
		}
		return s.campaigns(ctx, w, &plan)
	}
	asked := s.WhatIf
	if s.Seats != "" {
		asked = append(asked, "seats="+strings.ReplaceAll(s.Seats, " ", ""))
	}
	if len(asked) > 0 {
		return s.compare(ctx, w, &plan, asked)
	}
	outcomes, err := simulate.Play(ctx, &plan)
	if err != nil {
		return err
	}
	if s.Out != "" {
		err := simulate.WriteReport(s.Out, &plan, outcomes)
		switch {
		case err == nil:
			fmt.Fprintln(os.Stderr, "report:", filepath.Join(s.Out, "report.html"))
		case lenient:
			fmt.Fprintln(os.Stderr, "no report:", err)
		default:
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if s.JSON {
		return simulate.WriteJSON(w, outcomes)
	}
	return simulate.WriteTable(w, outcomes)
}

// campaignGC is how much the heap of a simulated campaign may grow between two collections, in per
// cent.
const campaignGC = 10

// campaigns plays the campaign section of the scenario.
func (s *simCmd) campaigns(ctx context.Context, w io.Writer, plan *simulate.Plan) error {
	if s.Out != "" || len(s.WhatIf) > 0 || s.Seats != "" {
		return engine.Invalid("invalid_comparison",
			"--out, --what-if and --seats are for pacing only: leave them out, or remove the section campaign")
	}
	// Nearly all memory of a long list is live as long as its run.
	debug.SetGCPercent(campaignGC)
	list, err := simulate.PlayCampaigns(ctx, plan)
	if err != nil {
		return err
	}
	if s.JSON {
		return simulate.WriteCampaignJSON(w, list)
	}
	return simulate.WriteCampaignTable(w, list)
}

func (s *simCmd) plan() (simulate.Plan, error) {
	switch s.File {
	case "":
		return simulate.Standard(), nil
	case "-":
		return simulate.Read("standard input", os.Stdin)
	}
	f, err := os.Open(s.File)
	if err != nil {
		return simulate.Plan{}, engine.Invalid("scenario_not_readable",
			err.Error()+"; name a scenario file, or - for standard input")
	}
	defer f.Close() //nolint:errcheck // it was only read
	return simulate.Read(s.File, io.Reader(f))
}

func (s *simCmd) compare(ctx context.Context, w io.Writer, plan *simulate.Plan, asked []string) error {
	if s.Out != "" {
		return engine.Invalid("invalid_comparison", "--out writes the report of one scenario: leave it out of a comparison")
	}
	changes, err := simulate.ParseChanges(asked)
	if err != nil {
		return err
	}
	list, err := simulate.Compare(ctx, plan, changes)
	if err != nil {
		return err
	}
	if s.JSON {
		return simulate.WriteComparisonJSON(w, changes, list)
	}
	return simulate.WriteComparison(w, changes, list)
}
