package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"dialler/bench/lab/commit"
)

type commitCmd struct {
	Loads    []int         `help:"Events a second that are offered; a call has five." default:"500,1000,2000,4000,8000"`
	Batches  []int         `help:"Events of one COPY." default:"100,250,500,1000"`
	Groups   []int         `help:"Writes that are spooled at a time." default:"1,10,100"`
	Duration time.Duration `help:"Length of each measurement." default:"10s"`
	Turns    int           `help:"Offer each load so often without and with digests of rows, in turns, and nothing else."`
	JSON     bool          `name:"json" help:"Print the figures as JSON."`
}

// Run measures and prints.
func (b *commitCmd) Run(*cli) error {
	ctx, cancel := signals()
	defer cancel()
	f, err := commit.Run(ctx, commit.Config{Loads: b.Loads, Batches: b.Batches, Groups: b.Groups, Duration: b.Duration,
		Turns: b.Turns,
		Log:   func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }})
	if err != nil {
		return err
	}
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(f)
	}
	f.Print(os.Stdout)
	return nil
}
