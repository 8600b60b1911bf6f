package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"dialler/bench/load"
)

type benchAMDCmd struct {
	Dir    string `arg:"" help:"Folder with WAV files, and a labels.csv if there is one." type:"existingdir"`
	Repeat int    `help:"Calls of each recording in each mode." default:"1"`
	Rate   int    `help:"Calls per second, all modes together." default:"5"`
	JSON   bool   `name:"json" help:"Print the figures as JSON."`
	Keep   bool   `help:"Keep data and logs."`
}

// Run calls everybody and prints; a verdict that differs from its recording's is an error.
func (b *benchAMDCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := load.AMD(ctx, load.AMDConfig{Binary: self, Dir: b.Dir, Repeat: b.Repeat, Rate: b.Rate, Keep: b.Keep,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }})
	if err != nil {
		return err
	}
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(f); err != nil {
			return err
		}
	} else {
		f.Print(os.Stdout)
	}
	if wrong := f.Wrong(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
