package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/trunk"
	"dialler/process"
	"dialler/process/configfile"
	"dialler/process/keys"
)

// trunkCheckCmd checks a trunk without a call.
type trunkCheckCmd struct {
	storeFlags  `embed:""`
	Trunk       string        `arg:"" help:"${help_trunk_check_trunk}"`
	SIP         string        `name:"sip" help:"${help_trunk_check_sip}" default:":0" placeholder:"HOST:PORT"`
	SIPExternal string        `name:"sip-external" help:"${help_sip_external}" placeholder:"HOST"`
	Timeout     time.Duration `help:"How long each answer may take." default:"4s"`
	JSON        bool          `name:"json" help:"Print one JSON object: trunk, ok, code and findings."`
}

// checkedTrunk is what --json prints.
type checkedTrunk struct {
	Trunk string `json:"trunk"`
	OK    bool   `json:"ok"`
	// Code is the first fault's.
	Code     string                 `json:"code,omitempty"`
	Findings []process.TrunkFinding `json:"findings"`
}

// Run checks the trunk. Each kind of fault has an exit status of its own.
func (t *trunkCheckCmd) Run(c *cli, k *kong.Context, log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	settings, err := t.settings(ctx, c, log)
	if err != nil {
		return err
	}
	flags := process.Flags{SIP: t.SIP, SIPExternal: t.SIPExternal, ConfigPath: c.sources.path}
	found, err := process.CheckTrunk(ctx, &flags, settings, t.Timeout, log.Level(zerolog.ErrorLevel))
	if err != nil {
		return err
	}
	var fault *process.TrunkFinding
	for i := range found {
		if fault == nil && found[i].Fault != "" {
			fault = &found[i]
		}
	}
	if t.JSON {
		out := checkedTrunk{Trunk: t.Trunk, OK: fault == nil, Findings: found}
		if fault != nil {
			out.Code = fault.Fault
		}
		err = json.NewEncoder(k.Stdout).Encode(out)
	} else {
		err = printFindings(k.Stdout, found)
	}
	if err == nil && fault != nil {
		err = engine.Conflict(fault.Fault, fault.Detail)
	}
	return err
}

// printFindings prints a line a finding.
func printFindings(w io.Writer, found []process.TrunkFinding) error {
	for _, f := range found {
		result := "ok"
		switch {
		case f.Fault != "":
			result = "fault"
		case f.Warning:
			result = "warning"
		}
		if _, err := fmt.Fprintf(w, "%-8s%-12s%s\n", result, f.Step, f.Detail); err != nil {
			return err
		}
	}
	return nil
}

// settings finds the trunk: an address as it is, a name in the configuration file, else in the database.
func (t *trunkCheckCmd) settings(ctx context.Context, c *cli, log zerolog.Logger) (engine.TrunkSettings, error) {
	if scheme, _, uri := strings.Cut(t.Trunk, ":"); uri && strings.HasPrefix(strings.ToLower(scheme), "sip") {
		return trunkAt(t.Trunk)
	}
	id := engine.TrunkID(t.Trunk)
	list, err := configfile.Trunks(c.sources.path, keys.Variable)
	if err != nil {
		return engine.TrunkSettings{}, err
	}
	for _, f := range list {
		if f.ID == id {
			return f.TrunkSettings, nil
		}
	}
	s, done, err := t.openToRead(ctx, log)
	if err != nil {
		return engine.TrunkSettings{}, fmt.Errorf("no configuration file has the trunk %s, and the database: %w", t.Trunk,
			err)
	}
	defer done()
	stored, err := s.Trunks(ctx)
	if err != nil {
		return engine.TrunkSettings{}, err
	}
	for _, x := range stored {
		if x.ID == id {
			return x, nil
		}
	}
	return engine.TrunkSettings{}, engine.NotFound("trunk_not_found",
		"neither the configuration file nor the database has a trunk "+t.Trunk)
}

// trunkAt makes a trunk of an address: sip:host, sip:host:port;transport=tcp, sips:host.
func trunkAt(address string) (engine.TrunkSettings, error) {
	s := trunk.Defaults()
	rest, secure := strings.CutPrefix(strings.ToLower(address), "sips:")
	if !secure {
		rest = strings.TrimPrefix(rest, "sip:")
	}
	if !strings.Contains(rest, "@") {
		rest = "trunk@" + rest
	}
	u, ok := engine.ParseSIPURI("sip:" + rest)
	if !ok {
		return s, fmt.Errorf("%s is no address of a trunk; give sip:host[:port][;transport=udp|tcp|tls]", address)
	}
	s.ID, s.Host, s.Port = "address", u.Host, u.Port
	if s.Transport = "udp"; u.Transport != "" {
		s.Transport = u.Transport
	}
	if secure {
		s.Transport = "tls"
	}
	trunk.Complete(&s)
	return s, nil
}
