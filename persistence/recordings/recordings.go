// Package recordings stores where the recordings of calls are, and what reviewers say of the
// verdicts on them.
package recordings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// Recordings stores where recordings are, and what reviewers say of the verdicts on them.
type Recordings struct{ db *table.DB }

// NewRecordings returns the Recordings stored in db.
func NewRecordings(db *table.DB) *Recordings { return &Recordings{db: db} }

// KeptRecording is a recording as retention sees it.
type KeptRecording struct {
	Attempt   engine.AttemptID
	ID        string // its storage place
	StartedAt time.Time
}

// ExpiredRecordings returns, in order of time, at most limit recordings that at now have been kept
// for longer than their campaign wants, or whose campaign no longer exists; it starts after the
// last one returned before.
func (s *Recordings) ExpiredRecordings(ctx context.Context, now time.Time, after KeptRecording,
	limit int) ([]KeptRecording, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT r.attempt_id, r.place, r.started_at FROM recordings r
		LEFT JOIN campaigns c ON c.id = r.campaign_id
		WHERE r.deleted_at IS NULL AND (r.started_at, r.attempt_id) > ($2, $3::uuid) AND r.started_at <= $1
		AND (c.id IS NULL OR r.started_at <= $1 - make_interval(days =>
		coalesce(nullif((c.settings->>'recording_retention_days')::integer, 0), 30)))
		ORDER BY r.started_at, r.attempt_id LIMIT $4`, now, after.StartedAt, orFirst(after.Attempt), limit)
	list, err := pgx.CollectRows(rows, ScanKept)
	return list, s.db.Wrap("expired recordings not read", err)
}

func ScanKept(row pgx.CollectableRow) (k KeptRecording, err error) {
	var id [16]byte
	err = row.Scan(&id, &k.ID, &k.StartedAt)
	k.Attempt = engine.AttemptID(column.FormatID(id))
	return k, err
}

const recordingGone = `WITH gone AS (
		UPDATE recordings SET deleted_at = $2 WHERE attempt_id = ANY($1::uuid[]) AND deleted_at IS NULL
			RETURNING attempt_id
	) UPDATE attempts a SET quality = jsonb_set(a.quality, '{recording,deleted_at}', to_jsonb($2::timestamptz))
	FROM gone WHERE a.id = gone.attempt_id AND a.quality ? 'recording'`

// RecordingsDeleted records that recordings were deleted.
func (s *Recordings) RecordingsDeleted(ctx context.Context, attempts []engine.AttemptID, at time.Time) error {
	return s.db.InTx(ctx, "deletion of recordings not recorded", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, recordingGone, attemptIDs(attempts), at); err != nil {
			return err
		}
		rows, err := s.written(ctx, tx, attempts...)
		if err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
}

// written are the attempts' rows, after a change of what is known of their recordings.
func (s *Recordings) written(ctx context.Context, tx pgx.Tx, attempts ...engine.AttemptID) (*table.Rows, error) {
	rows, ids := s.db.Written(), attemptIDs(attempts)
	owners, err := table.OwnersOf(ctx, tx, ids)
	for _, of := range owners {
		if err == nil {
			err = rows.Add(ctx, tx, of, table.PartQuality, "t.id = ANY($1::uuid[]) "+
				"AND t.campaign_id = $2 AND ($2 = '' OR t.run = $3) AND NOT t.live", ids, of.Campaign, of.Run)
		}
	}
	return rows, err
}

// NoteRecordingDeleted records that somebody deleted a recording.
func (s *Recordings) NoteRecordingDeleted(ctx context.Context, id engine.AttemptID, who engine.Who) error {
	return s.db.InTx(ctx, "deletion of a recording not recorded", func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, recordingGone, attemptIDs([]engine.AttemptID{id}), time.Now()); err != nil {
			return err
		}
		rows, err := s.written(ctx, tx, id)
		if err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, journal.RecordingDeleted, string(id), who)
	})
}

// RecordingsIncomplete marks recordings as partly missing.
func (s *Recordings) RecordingsIncomplete(ctx context.Context, attempts []engine.AttemptID) error {
	return s.db.InTx(ctx, "incomplete recordings not noted", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE attempts SET quality = jsonb_set(quality, '{recording,incomplete}', 'true')
			WHERE id = ANY($1::uuid[]) AND quality ? 'recording'`, attemptIDs(attempts))
		if err != nil {
			return err
		}
		rows, err := s.written(ctx, tx, attempts...)
		if err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
}

// AddRecording stores a recording that was not reported with the end of its attempt; it returns
// false when there is no such attempt.
func (s *Recordings) AddRecording(ctx context.Context, id engine.AttemptID, rec engine.Recording) (ok bool, err error) {
	b, err := json.Marshal(map[string]engine.Recording{"recording": rec})
	if err != nil {
		return false, fmt.Errorf("recording not encoded: %w", err)
	}
	err = s.db.InTx(ctx, "recording not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO recordings (attempt_id, campaign_id, place, started_at)
			SELECT a.id, a.campaign_id, $2, $3 FROM attempts a WHERE a.id = $1 ON CONFLICT (attempt_id) DO UPDATE
			SET place = recordings.place`,
			string(id), rec.ID, rec.StartedAt)
		if ok = err == nil && tag.RowsAffected() > 0; !ok {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE attempts SET quality = coalesce(quality, '{}') || $2::jsonb
			WHERE id = $1 AND (quality IS NULL OR NOT quality ? 'recording')`, string(id), string(b))
		if err != nil {
			return err
		}
		rows, err := s.written(ctx, tx, id)
		if err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
	return ok, err
}

// UnknownRecordings returns those of the attempts for which no recording is stored.
func (s *Recordings) UnknownRecordings(ctx context.Context, attempts []engine.AttemptID) ([]engine.AttemptID, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT u.id FROM unnest($1::uuid[]) AS u(id)
		WHERE NOT EXISTS (SELECT FROM recordings r WHERE r.attempt_id = u.id)`, attemptIDs(attempts))
	list, err := pgx.CollectRows(rows, scanID)
	return list, s.db.Wrap("unknown recordings not read", err)
}

// Recording returns where an attempt's recording is stored, and its campaign. It returns NotFound
// "recording_not_found" when there was none, "recording_deleted" when it has been deleted.
func (s *Recordings) Recording(ctx context.Context, id engine.AttemptID) (place string, campaign engine.CampaignID,
	err error) {
	if !column.IsID(string(id)) {
		return "", "", errNoRecording
	}
	var deleted *time.Time
	err = s.db.Read.QueryRow(ctx, "SELECT place, campaign_id, deleted_at FROM recordings WHERE attempt_id = $1",
		string(id)).
		Scan(&place, &campaign, &deleted)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", "", errNoRecording
	case err != nil:
		return "", "", s.db.Wrap("recording not read", err)
	case deleted != nil:
		return "", campaign, engine.NotFound("recording_deleted", "")
	}
	return place, campaign, nil
}

// CarriedBy names the node that carried and recorded a call; "" when that is not, or no longer,
// known.
func (s *Recordings) CarriedBy(ctx context.Context, id engine.AttemptID) (name string, err error) {
	err = s.db.Read.QueryRow(ctx, `SELECT coalesce(max(n.name), '') FROM attempts a JOIN nodes n USING (incarnation)
		WHERE a.id = $1`, string(id)).Scan(&name)
	return name, s.db.Wrap("the node of a recording not read", err)
}

// DroppedRecordings returns those of the attempts whose recording is due to be deleted.
func (s *Recordings) DroppedRecordings(ctx context.Context, attempts []engine.AttemptID) ([]engine.AttemptID, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT attempt_id FROM recordings
		WHERE attempt_id = ANY($1::uuid[]) AND deleted_at IS NOT NULL`, attemptIDs(attempts))
	list, err := pgx.CollectRows(rows, scanID)
	return list, s.db.Wrap("recordings no longer kept not read", err)
}

func scanID(row pgx.CollectableRow) (engine.AttemptID, error) {
	var id [16]byte
	err := row.Scan(&id)
	return engine.AttemptID(column.FormatID(id)), err
}

var errNoRecording = engine.NotFound("recording_not_found", "")

// attemptIDs leaves out strings that are not identifiers of ours.
func attemptIDs(list []engine.AttemptID) []string {
	out := make([]string, 0, len(list))
	for _, id := range list {
		if column.IsID(string(id)) {
			out = append(out, string(id))
		}
	}
	return out
}
