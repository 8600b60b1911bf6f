package command

import (
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/process"
)

type dbEraseCmd struct {
	storeFlags    `embed:""`
	Number        string        `help:"${help_db_erase_number}" required:"" placeholder:"NUMBER"`
	Suppress      *bool         `help:"${help_db_erase_suppress}" negatable:""`
	RecordingsDir string        `name:"recordings-dir" help:"${help_db_erase_recordings_dir}" placeholder:"DIR"`
	CalleePeriod  time.Duration `name:"callee-period" help:"Longest period of the limits on calls to a number." default:"0"`
}

// Run erases a person, who must no longer be open in any campaign.
func (d *dbEraseCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	n, err := number.Parse(d.Number)
	if err != nil {
		return err
	}
	s, done, err := d.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	data, err := process.DataDir(d.DataDir, d.Instance)
	if err != nil {
		return err
	}
	files, err := d.recordings(d.RecordingsDir, log)
	if err != nil {
		return err
	}
	defer files.Close()
	e := process.Eraser{Store: s, Files: files, CalleePeriod: d.CalleePeriod,
		Flights: process.NewFlights(data, func() process.Flags { return process.Flags{} }, time.Now, log)}
	out, err := e.Erase(ctx, n, d.Suppress, engine.Who{Name: "command line"})
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(os.Stdout, "erased: %d contacts, %d attempts, %d recordings; called again: %s\n", out.Contacts,
		out.Attempts, out.Recordings, calledAgain(&out))
	return nil
}

func calledAgain(out *engine.ErasedPerson) string {
	switch {
	case out.Suppressed:
		return "never"
	case out.RestsUntil != nil:
		return "not before " + out.RestsUntil.UTC().Format(time.RFC3339)
	}
	return "if the number is added again"
}
