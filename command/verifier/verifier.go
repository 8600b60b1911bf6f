// Package verifier checks a record of a run and prints what it is and what is wrong with it. It must
// not know the database, calls, or the network: its program, dialler-verify, is small enough to be read.
package verifier

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"dialler/engine"
	"dialler/engine/evidence"
	"dialler/engine/seal"
)

// Verify checks a file. key is the file of a trusted public key, "" without. The error is
// "signer_unknown" for a file that is whole and that nobody vouches for.
func Verify(file, key string, asJSON bool, out io.Writer) error {
	var trusted *seal.Public
	if key != "" {
		text, err := os.ReadFile(key) //nolint:gosec // the user names it
		if err != nil {
			return err
		}
		p, err := seal.ParsePublic(text)
		if err != nil {
			return err
		}
		trusted = &p
	}
	f, err := os.Open(file) //nolint:gosec // the user names it
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
	return Print(out, &v, trusted != nil, asJSON)
}

// Print prints a verdict, and returns what is wrong.
func Print(out io.Writer, v *evidence.Verdict, trusted, asJSON bool) error {
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
		for _, a := range m.Anchors {
			_, _ = fmt.Fprintf(out, "%s was shown seal %d at %s, which covers %d of %d batches; ask whether its hash there is "+
				"%s\n", a.URL, a.N, a.At.Format(time.RFC3339), a.Batch, m.Batches, a.Hash)
		}
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
