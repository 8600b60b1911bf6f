package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"dialler/engine"
	"dialler/engine/evidence"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/persistence"
)

// ExportEvidence writes the file completely or not at all. With files, unless nil, the recordings of
// the run are read and compared with their hashes; what is wrong with them is a finding.
func ExportEvidence(ctx context.Context, s *persistence.Store, key seal.Signer, id engine.CampaignID, run int, by,
	path string, files *RecordingsAuditor) (m evidence.Manifest, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".evidence") // 0600
	if err != nil {
		return m, fmt.Errorf("the file cannot be written: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	m, err = writeEvidence(ctx, s, key, id, run, by, f, files)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return m, err
	}
	return m, os.Rename(f.Name(), path)
}

func writeEvidence(ctx context.Context, s *persistence.Store, key seal.Signer, id engine.CampaignID, run int, by string,
	out io.Writer, files *RecordingsAuditor) (evidence.Manifest, error) {
	if run == 0 {
		c, err := s.Campaign(ctx, id)
		if err != nil {
			return evidence.Manifest{}, err
		}
		run = c.Run
	}
	w := evidence.NewWriter(out, evidence.Manifest{Run: run, MadeAt: time.Now().UTC().Truncate(time.Second), MadeBy: by,
		Program: programVersion()}, key)
	if err := s.Records.Evidence(ctx, id, run, w, append(s.Spine.Keys(), key.Public())...); err != nil {
		return evidence.Manifest{}, err
	}
	if files != nil {
		audited, err := files.Audit(ctx, id, run)
		if err != nil {
			return evidence.Manifest{}, err
		}
		for _, f := range audited.Findings {
			w.Finding(fmt.Sprintf("recording of attempt %s: %s", f.Attempt, f.What))
		}
	}
	m, err := w.End()
	if err != nil || s.Spine.Signer() == nil {
		return m, err
	}
	text, err := json.MarshalIndent(&m, "", "  ") // as it was signed
	if err != nil {
		return m, err
	}
	sum := sha256.Sum256(text)
	_, err = s.Spine.Append(ctx, key, spine.KindExport, spine.Export{Chain: spine.Chain{Campaign: id, Run: run},
		Manifest: hex.EncodeToString(sum[:]), Findings: len(m.Findings), Signed: key.Public().Fingerprint()})
	return m, err
}

// programVersion returns the name and version of this program.
func programVersion() string { return "dialler " + ThisBuild().Version }

// RunExists implements http.Evidence.
func (f *Front) RunExists(ctx context.Context, id engine.CampaignID, run int) error {
	return f.Store.Records.RecordOf(ctx, id, run)
}

// OpenEvidence implements http.Evidence. The file is already unlinked, so nothing of it remains
// even if this process dies. It is in the TMPDIR folder.
func (f *Front) OpenEvidence(
	ctx context.Context,
	id engine.CampaignID,
	run int,
	who engine.Who,
) (io.ReadSeekCloser, error) {
	key, err := f.p.signingKey()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "dialler-evidence") // 0600
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err == nil {
		_, err = writeEvidence(ctx, f.Store, key, id, run, who.Name, file, nil)
	}
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return file, nil
}
