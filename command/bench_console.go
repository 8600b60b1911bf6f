package command

import (
	"fmt"
	"os"
	"time"

	"dialler/bench/load"
)

type benchConsoleCmd struct {
	Rate      int           `help:"Calls per second, all campaigns together." default:"200"`
	Campaigns int           `help:"Running campaigns." default:"20"`
	Consoles  int           `help:"Open consoles." default:"100"`
	Window    time.Duration `help:"Length of each measurement." default:"20s"`
	Rounds    int           `help:"Measurements, alternately without and with the consoles." default:"6"`
	Browser   []string      `sep:"none" help:"${help_bench_console_browser}" placeholder:"PROGRAM"`
	JSON      bool          `name:"json" help:"Print the figures as JSON."`
	Keep      bool          `help:"Keep data and logs."`
}

// Run measures and prints; a figure beyond its limit is an error.
func (b *benchConsoleCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := load.Consoles(ctx, load.ConsolesConfig{Binary: self, Rate: b.Rate, Campaigns: b.Campaigns,
		Consoles: b.Consoles, Window: b.Window, Rounds: b.Rounds,
		Browser: b.Browser, Keep: b.Keep,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }})
	if err != nil {
		return err
	}
	return (&benchTriggersCmd{JSON: b.JSON}).judged(f, f, f.Wrong())
}
