package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dialler/bench/load"
)

type benchTriggersCmd struct {
	Connections []int         `help:"${help_bench_triggers_connections}" default:"64,128"`
	Duration    time.Duration `help:"Length of each measurement." default:"10s"`
	Profiles    string        `help:"Folder for CPU and allocation profiles of the engine." placeholder:"DIR"`
	Repeats     int           `help:"${help_bench_triggers_repeats}" placeholder:"N"`
	Keys        int           `help:"Idempotency-Keys of --repeats." default:"5000"`
	Kills       int           `help:"How often --repeats kills the engine." default:"1"`
	JSON        bool          `name:"json" help:"Print the figures as JSON."`
	Keep        bool          `help:"Keep data and logs."`
	Floor       string        `help:"Serve the bare handler." hidden:""`
	FloorKey    string        `help:"Its key." hidden:""`
}

// Run measures and prints; a trigger that is not accepted, not stored or late is
// an error.
func (b *benchTriggersCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	if b.Floor != "" {
		return load.Floor(ctx, b.Floor, b.FloorKey)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if b.Repeats > 0 {
		f, err := load.Repeats(ctx, load.RepeatsConfig{Binary: self, Keys: b.Keys, Repeats: b.Repeats, Kills: b.Kills,
			Keep: b.Keep, Log: log})
		if err != nil {
			return err
		}
		return b.judged(f, f, f.Failures)
	}
	f, err := load.Triggers(ctx, load.TriggersConfig{Binary: self, Connections: b.Connections, Duration: b.Duration,
		Profiles: b.Profiles, Keep: b.Keep,
		Log: log})
	if err != nil {
		return err
	}
	return b.judged(f, f, f.Wrong())
}

// judged prints the figures, and fails if any are wrong.
func (b *benchTriggersCmd) judged(f any, page interface{ Print(out io.Writer) }, wrong []string) error {
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(f); err != nil {
			return err
		}
	} else {
		page.Print(os.Stdout)
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
