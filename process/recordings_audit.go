package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dialler/engine"
	"dialler/media/recording"
	"dialler/persistence"
	"dialler/persistence/recordings"
)

// hashGrace is how long after its call a recording may be without a hash: a node that restarts, or
// whose database was away, catches up.
const hashGrace = time.Hour

// RecordingsAudited is what an audit of recordings came to.
type RecordingsAudited struct {
	Checked int `json:"checked"` // files that were read
	// Elsewhere are files that other nodes carried and that are not here.
	Elsewhere int                `json:"elsewhere"`
	Found     int                `json:"found"`
	Findings  []RecordingFinding `json:"findings"` // the first of them
}

// RecordingFinding is something wrong with a recording.
type RecordingFinding struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Run      int               `json:"run"`
	Attempt  engine.AttemptID  `json:"attempt_id"`
	What     string            `json:"what"`
}

func (r *RecordingsAudited) add(f RecordingFinding) {
	const most = 50
	if r.Found++; r.Found <= most {
		r.Findings = append(r.Findings, f)
	}
}

// RecordingsAuditor compares recordings with their hashes.
type RecordingsAuditor struct {
	Rows *recordings.Recordings
	// Files, unless nil, are read and compared as well.
	Files *recording.Recorder
	// Node, unless empty, is this node's name: files of calls that other nodes carried need not be
	// here.
	Node string
}

// Audit checks the recordings of a campaign, of all when it is "", of one run unless that is 0.
func (r *RecordingsAuditor) Audit(ctx context.Context, of engine.CampaignID, run int) (out RecordingsAudited,
	err error) {
	out.Findings = []RecordingFinding{}
	err = r.Rows.HashFindings(ctx, of, run, time.Now().Add(-hashGrace), func(f recordings.HashFinding) {
		out.add(RecordingFinding{f.Campaign, f.Run, f.Attempt, f.What})
	})
	if err != nil || r.Files == nil {
		return out, err
	}
	var last recordings.KeptRecording
	for {
		list, err := r.Rows.HashedRecordings(ctx, of, run, last, retentionBatch)
		if err != nil || len(list) == 0 {
			return out, err
		}
		last = list[len(list)-1].KeptRecording
		for i := range list {
			if err := r.file(ctx, &list[i], &out); err != nil {
				return out, err
			}
		}
	}
}

// file compares one file.
func (r *RecordingsAuditor) file(ctx context.Context, h *recordings.HashedRecording, out *RecordingsAudited) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sum, err := r.Files.Hash(h.ID)
	what := ""
	switch {
	case errors.Is(err, errNoRecording):
		if r.Node != "" && h.Node != "" && h.Node != r.Node {
			out.Elsewhere++
			return nil
		}
		// It may have been deleted, as it should be, since its row was read.
		if _, _, err := r.Rows.Recording(ctx, h.Attempt); err != nil {
			if known := (*engine.Error)(nil); errors.As(err, &known) && known.Code == "recording_deleted" {
				return nil
			}
			return err
		}
		what = "its file is missing, and nobody deleted it"
	case err != nil:
		return err
	default:
		out.Checked++
		if sum == h.SHA256 {
			return nil
		}
		what = "its file is not what was recorded"
	}
	out.add(RecordingFinding{Campaign: h.Campaign, Run: h.Run, Attempt: h.Attempt, What: what})
	return nil
}

// AuditRecordings prints what is wrong with recordings, and fails when anything is.
func AuditRecordings(ctx context.Context, s *persistence.Store, of engine.CampaignID, files *recording.Recorder,
	node string, out io.Writer, asJSON bool) error {
	a := RecordingsAuditor{Rows: s.Recordings, Files: files, Node: node}
	got, err := a.Audit(ctx, of, 0)
	if err != nil {
		return err
	}
	if asJSON {
		_ = json.NewEncoder(out).Encode(map[string]any{"recordings": &got}) // nothing that JSON cannot represent
	} else {
		for _, f := range got.Findings {
			_, _ = fmt.Fprintf(out, "%s run %d DIFFERS: recording of attempt %s: %s\n", f.Campaign, f.Run, f.Attempt, f.What)
		}
		if files != nil {
			_, _ = fmt.Fprintf(out, "%d recordings read; %d are on other nodes\n", got.Checked, got.Elsewhere)
		}
	}
	if got.Found > 0 {
		return fmt.Errorf("%d recordings are missing, or are not what was recorded", got.Found)
	}
	return nil
}
