package command

import (
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/cdr"
	"dialler/process"
)

type auditCmd struct {
	CDR auditCDRCmd `cmd:"" name:"cdr" help:"${help_audit_cdr}"`
}

type auditCDRCmd struct {
	storeFlags        `embed:""`
	File              string            `arg:"" help:"The carrier's file; - is standard input." type:"path"`
	Columns           map[string]string `help:"${help_audit_cdr_columns}" mapsep:"," placeholder:"FIELD=NAME,…"`
	Zone              string            `help:"Time zone of times without one, Europe/Berlin." default:"UTC"`
	TimeLayout        string            `help:"${help_audit_cdr_time_layout}" placeholder:"LAYOUT"`
	Country           string            `help:"${help_audit_cdr_country}" placeholder:"DE"`
	From              string            `help:"${help_audit_cdr_from}" placeholder:"TIME"`
	To                string            `help:"End of the window, exclusive." placeholder:"TIME"`
	Trunk             string            `help:"Only our calls through this trunk."`
	Answered          bool              `help:"The file has answered calls only."`
	StartTolerance    time.Duration     `help:"How far apart times may be." default:"5s"`
	DurationTolerance time.Duration     `help:"How far apart durations may be." default:"2s"`
	Within            time.Duration     `help:"${help_audit_cdr_within}" default:"1m"`
	ShowNumbers       bool              `help:"Print phone numbers in clear."`
	Matched           bool              `help:"List the calls that match as well."`
	JSON              bool              `name:"json" help:"${help_audit_cdr_json}"`
}

// usualColumns are the names that --columns need not give.
var usualColumns = map[string]string{cdr.CallID: cdr.CallID, cdr.To: cdr.To, cdr.From: cdr.From, cdr.Start: cdr.Start,
	cdr.Duration: cdr.Duration}

// Run matches; it fails when the two sides differ.
func (c *auditCDRCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	if err := c.there(); err != nil {
		return err
	}
	a, err := c.audit()
	if err != nil {
		return err
	}
	file := os.Stdin
	if c.File != "-" {
		if file, err = os.Open(c.File); err != nil {
			return engine.Invalid(cdr.Unreadable, err.Error())
		}
		defer func() { _ = file.Close() }()
	}
	s, done, err := c.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	sum, err := a.Audit(ctx, s, file, os.Stdout)
	if err == nil && !sum.Same() {
		err = fmt.Errorf("%d calls are not the same on both sides", sum.Differing+sum.OnlyOurs+sum.OnlyCarrier)
	}
	return err
}

func (c *auditCDRCmd) audit() (a process.CDRAudit, err error) {
	bad := func(format string, args ...any) (process.CDRAudit, error) {
		return a, engine.Invalid(cdr.Unreadable, fmt.Sprintf(format, args...))
	}
	zone, err := time.LoadLocation(c.Zone)
	if err != nil {
		return bad("--zone %s is no time zone", c.Zone)
	}
	columns := c.Columns
	if len(columns) == 0 {
		columns = usualColumns
	}
	a = process.CDRAudit{Format: cdr.Format{Columns: columns, Zone: zone, Layout: c.TimeLayout, Country: c.Country},
		Limits: cdr.Limits{Within: c.Within, Start: c.StartTolerance, Duration: c.DurationTolerance, Answered: c.Answered},
		Trunk:  engine.TrunkID(c.Trunk), ShowNumbers: c.ShowNumbers, ShowMatched: c.Matched, JSON: c.JSON}
	for _, t := range []struct {
		flag, text string
		at         *time.Time
	}{{"--from", c.From, &a.Limits.From}, {"--to", c.To, &a.Limits.To}} {
		if t.text == "" {
			continue
		}
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
			if *t.at, err = time.ParseInLocation(layout, t.text, zone); err == nil {
				break
			}
		}
		if err != nil {
			return bad("%s %s is no time: write 2026-11-21, 2026-11-21T08:00 or RFC 3339", t.flag, t.text)
		}
	}
	return a, nil
}
