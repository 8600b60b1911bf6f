package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/evidence"
	"dialler/engine/seal"
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
	key, err := keys.Signing(x.SigningKey, dir)
	if err != nil {
		return err
	}
	s, done, err := x.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
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
func (x *verifyEvidenceCmd) Run() error {
	var trusted *seal.Public
	if x.Key != "" {
		text, err := os.ReadFile(x.Key)
		if err != nil {
			return err
		}
		p, err := seal.ParsePublic(text)
		if err != nil {
			return err
		}
		trusted = &p
	}
	f, err := os.Open(x.File)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	v, err := evidence.Verify(f, info.Size(), trusted)
	if err != nil {
		return err
	}
	return printVerdict(os.Stdout, &v, trusted != nil, x.JSON)
}

func printVerdict(out io.Writer, v *evidence.Verdict, trusted, asJSON bool) error {
	m := &v.Manifest
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		_ = enc.Encode(v) // contains nothing that JSON cannot represent
	} else {
		_, _ = fmt.Fprintf(out, "campaign %s (%s) run %d, made %s\n", m.Campaign, m.Name, m.Run,
			m.MadeAt.Format(time.RFC3339))
		_, _ = fmt.Fprintf(out, "%d attempts, %d answered, %d served, %d abandoned: %.3f %% of %d live answers; at most "+
			"%.3f %% allowed\n",
			m.Attempts, m.Answered, m.Served, m.Abandoned, float64(m.RatePPM)/10_000, m.LiveAnswers, float64(m.CapPPM)/10_000)
		for _, w := range v.Wrong {
			_, _ = fmt.Fprintf(out, "WRONG: %s\n", w)
		}
	}
	if n := len(v.Wrong); n > 0 {
		return fmt.Errorf("the file is not what was signed: %d things are wrong", n)
	}
	if !trusted {
		return engine.Conflict("signer_unknown", fmt.Sprintf("the file is whole, but anybody may have signed it (key %s): "+
			"give the installation's public key with --key", v.Key))
	}
	if !asJSON {
		_, _ = fmt.Fprintf(out, "the file is whole; signed with the key %s, which is trusted\n", v.Key)
	}
	return nil
}
