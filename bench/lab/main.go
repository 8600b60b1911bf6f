// Command lab contains tools for the dialler's developers: it trains and measures answer
// classification, measures the group commit and pacing, and checks whether the tests notice a
// changed rule. It is run in the root of the tree.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"dialler/bench/lab/foretell"
	"dialler/bench/lab/mutants"
	"dialler/bench/lab/pacing"
)

// cli is the command line.
type cli struct {
	AMD      amdCmd      `cmd:"" name:"amd" help:"Answer classification: measure it on recordings, train it."`
	Commit   commitCmd   `cmd:"" help:"Measure what it costs to make calls durable, on a PostgreSQL of its own."`
	Foretell foretellCmd `cmd:"" help:"Run real campaigns of ten kinds and compare with what the simulation foretold."`
	Mutants  mutantsCmd  `cmd:"" help:"Change every rule and limit a little: do the tests notice?"`
	Pacing   pacingCmd   `cmd:"" help:"Measure pacing in simulated scenarios; fail when a target is missed."`
}

func main() {
	c := new(cli)
	k := kong.Parse(c, kong.Name("lab"), kong.Description("What only the makers of the dialler need."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), help)
	if err := k.Run(c); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// logger logs to stderr: stdout is for a command's output.
func (c *cli) logger() zerolog.Logger {
	return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: "15:04:05.000"}).With().Timestamp().Logger()
}

// signals cancels the context at the first signal; the second ends the program.
func signals() (context.Context, context.CancelFunc) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, cancel)
	return ctx, cancel
}

type foretellCmd struct {
	Kinds    []int `help:"Numbers of the kinds, from 1; all when left out."`
	Parallel int   `help:"Campaigns at the same time." default:"1"`
}

// Run dials.
func (f *foretellCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	return foretell.Run(ctx, foretell.Config{Kinds: f.Kinds, Parallel: f.Parallel, Out: os.Stdout, Log: os.Stderr,
		Logger: c.logger().Level(zerolog.ErrorLevel)})
}

type mutantsCmd struct {
	Packages []string `help:"Packages to mutate, by folder; default: all of engine/… and http." placeholder:"DIR"`
	Match    string   `help:"Only mutants whose line of the report contains this."`
	Thorough bool     `help:"Also take every state out of every row of the tables, one at a time."`
	Parallel int      `help:"Mutants at the same time." default:"2"`
	JSON     bool     `name:"json" help:"Print every mutant as JSON."`
}

// Run judges.
func (m *mutantsCmd) Run(*cli) error {
	return mutants.Run(os.Stdout, os.Stderr, mutants.Config{Packages: m.Packages, Match: m.Match, Thorough: m.Thorough,
		Parallel: m.Parallel, JSON: m.JSON})
}

type pacingCmd struct {
	Out   string `help:"File that gets the page; default: standard output." placeholder:"FILE"`
	Date  string `help:"Date on the page; default: today's."`
	Fresh uint64 `help:"First of the fresh seeds." default:"1001"`
}

// Run measures.
func (p *pacingCmd) Run(*cli) error {
	ctx, cancel := signals()
	defer cancel()
	return pacing.Run(ctx, p.Out, p.Date, p.Fresh)
}
