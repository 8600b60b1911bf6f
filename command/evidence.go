package command

import (
	"fmt"
	"os"

	"github.com/rs/zerolog"

	"dialler/command/verifier"
	"dialler/engine"
	"dialler/process"
	"dialler/process/keys"
)

type exportCmd struct {
	Evidence exportEvidenceCmd `cmd:"" help:"${help_export_evidence}"`
}

type exportEvidenceCmd struct {
	storeFlags `embed:""`
	Campaign   string `required:"" help:"The campaign's identifier."`
	RunNumber  int    `name:"run" help:"Which run; the current one when 0." default:"0" placeholder:"N"`
	Out        string `short:"o" required:"" help:"The file to write, readable by its owner only." placeholder:"FILE"`
	filesFlags `embed:""`
}

// Run exports.
func (x *exportEvidenceCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	if err := x.there(); err != nil {
		return err
	}
	dir, err := process.DataDir(x.DataDir, x.Instance)
	if err != nil {
		return err
	}
	if _, err := keys.Signing(x.SigningKey, dir); err != nil { // makes it if there is none
		return err
	}
	s, done, err := x.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	key, err := keys.Signing(x.SigningKey, dir) // opening may have completed a rotation
	if err != nil {
		return err
	}
	files, err := x.chosen(&x.storeFlags, log)
	if err != nil {
		return err
	}
	var recordings *process.RecordingsAuditor
	if files != nil {
		defer files.Close()
		recordings = &process.RecordingsAuditor{Rows: s.Recordings, Files: files, Node: x.Node}
	}
	m, err := process.ExportEvidence(ctx, s, key, engine.CampaignID(x.Campaign), x.RunNumber, "dialler export evidence",
		x.Out, recordings)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d attempts, %d abandoned of %d live answers; signed with the key %s\n", x.Out, m.Attempts,
		m.Abandoned, m.LiveAnswers, key.Public().Fingerprint())
	if n := len(m.Findings); n > 0 {
		for _, f := range m.Findings {
			fmt.Printf("DIFFERS: %s\n", f)
		}
		return fmt.Errorf("the file is written, and says that the tables do not match the history in %d places", n)
	}
	return nil
}

type verifyCmd struct {
	Evidence verifyEvidenceCmd `cmd:"" help:"${help_verify_evidence}"`
}

type verifyEvidenceCmd struct {
	File string `arg:"" help:"The file." type:"existingfile"`
	Key  string `help:"${help_verify_evidence_key}" type:"existingfile" placeholder:"PUBLIC"`
	JSON bool   `name:"json" help:"Print the manifest and what is wrong as JSON."`
}

// Run verifies; it fails when anything is wrong with the file, and differently when no trusted key
// says who signed it.
func (x *verifyEvidenceCmd) Run() error { return verifier.Verify(x.File, x.Key, x.JSON, os.Stdout) }
