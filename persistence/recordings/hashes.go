package recordings

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/column"
)

// Hash is the SHA-256 of a recording's file.
type Hash = [32]byte

// UnhashedRecordings returns, in order of time, at most limit kept recordings without a hash, after
// the last one returned before.
func (s *Recordings) UnhashedRecordings(ctx context.Context, after KeptRecording, limit int) ([]KeptRecording, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT attempt_id, place, started_at FROM recordings
		WHERE deleted_at IS NULL AND sha256 IS NULL AND (started_at, attempt_id) > ($1, $2::uuid)
		ORDER BY started_at, attempt_id LIMIT $3`, after.StartedAt, orFirst(after.Attempt), limit)
	list, err := pgx.CollectRows(rows, ScanKept)
	return list, s.db.Wrap("recordings without a hash not read", err)
}

// orFirst gives the attempt after which a list goes on.
func orFirst(a engine.AttemptID) string {
	if a == "" {
		return "00000000000000000000000000000000"
	}
	return string(a)
}

// RecordingsHashed stores the hashes of files, and tells them to the history. A hash that is stored
// is not replaced. It returns the attempts whose recordings have no row yet.
func (s *Recordings) RecordingsHashed(ctx context.Context, sums map[engine.AttemptID]Hash) (absent []engine.AttemptID,
	err error) {
	ids, list := make([]string, 0, len(sums)), make([][]byte, 0, len(sums))
	for a, sum := range sums {
		if column.IsID(string(a)) {
			ids, list = append(ids, string(a)), append(list, sum[:])
		}
	}
	err = s.db.InTx(ctx, "hashes of recordings not stored", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, `UPDATE recordings r SET sha256 = n.sum FROM unnest($1::uuid[], $2::bytea[]) n(id, sum)
			WHERE r.attempt_id = n.id AND r.sha256 IS NULL RETURNING r.attempt_id`, ids, list)
		stored, err := pgx.CollectRows(rows, scanID)
		if err != nil {
			return err
		}
		rows, _ = tx.Query(ctx, `SELECT n.id FROM unnest($1::uuid[]) n(id)
			WHERE NOT EXISTS (SELECT FROM recordings r WHERE r.attempt_id = n.id)`, ids)
		if absent, err = pgx.CollectRows(rows, scanID); err != nil || len(stored) == 0 {
			return err
		}
		told := make(map[engine.AttemptID]string, len(stored))
		for _, a := range stored {
			sum := sums[a]
			told[a] = hex.EncodeToString(sum[:])
		}
		return s.db.Tell(ctx, tx, journal.Event{At: time.Now(), Type: journal.RecordingsHashed, Version: 1,
			Data: journal.Data{Recordings: told}})
	})
	return absent, err
}

// HashedRecording is a kept recording with its hash, as an audit sees it.
type HashedRecording struct {
	KeptRecording
	Campaign engine.CampaignID
	Run      int
	SHA256   Hash
	Node     string // that carried the call, "" when that is not known
}

// HashedRecordings returns, in order of time, at most limit recordings that are kept and have a hash;
// of one campaign unless it is "", of one run unless it is 0. It starts after the last one returned
// before.
func (s *Recordings) HashedRecordings(ctx context.Context, of engine.CampaignID, run int, after KeptRecording,
	limit int) ([]HashedRecording, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT r.attempt_id, r.place, r.started_at, r.campaign_id, coalesce(a.run, 0),
		r.sha256, coalesce(n.name, '')
		FROM recordings r LEFT JOIN attempts a ON a.id = r.attempt_id LEFT JOIN nodes n ON n.incarnation = a.incarnation
		WHERE r.deleted_at IS NULL AND r.sha256 IS NOT NULL AND (r.started_at, r.attempt_id) > ($1, $2::uuid)
		AND ($3 = '' OR r.campaign_id = $3) AND ($4 = 0 OR a.run = $4)
		ORDER BY r.started_at, r.attempt_id LIMIT $5`, after.StartedAt, orFirst(after.Attempt), string(of), run, limit)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h HashedRecording, err error) {
		var id [16]byte
		var sum []byte
		err = row.Scan(&id, &h.ID, &h.StartedAt, &h.Campaign, &h.Run, &sum, &h.Node)
		h.Attempt = engine.AttemptID(column.FormatID(id))
		copy(h.SHA256[:], sum)
		return h, err
	})
	return list, s.db.Wrap("recordings not read", err)
}

// HashFinding is a recording whose hash is missing or is not the one that the history tells.
type HashFinding struct {
	Attempt  engine.AttemptID
	Campaign engine.CampaignID
	Run      int
	What     string
}

const noHash = `SELECT r.attempt_id, r.campaign_id, a.run,
	'it has no hash: nobody can tell whether its file is what was recorded'
	FROM recordings r JOIN attempts a ON a.id = r.attempt_id
	WHERE r.deleted_at IS NULL AND r.sha256 IS NULL AND a.ended_at < $1 AND ($2 = '' OR r.campaign_id = $2)
	AND ($3 = 0 OR a.run = $3) ORDER BY r.started_at`

// otherHash compares with the first hash that the history tells: one that was removed is told again
// when the file is hashed anew. Hashes older than the history that is kept are told by nothing.
const otherHash = `WITH every AS (
		SELECT k.key::uuid AS id, k.value AS sum, e.at FROM events e, jsonb_each_text(e.data->'recordings') k
		WHERE e.type = 'recordings.hashed' AND e.seq <= 0
	), told AS (SELECT DISTINCT ON (id) id, sum FROM every ORDER BY id, at)
	SELECT a.id, a.campaign_id, a.run, CASE WHEN r.attempt_id IS NULL THEN 'its row was removed'
		WHEN t.id IS NULL THEN 'the history tells no hash of it'
		WHEN r.sha256 IS NULL THEN 'its hash was removed'
		ELSE 'its hash is not the one that the history tells' END
	FROM told t FULL JOIN recordings r ON r.attempt_id = t.id JOIN attempts a ON a.id = coalesce(t.id, r.attempt_id)
	WHERE CASE WHEN t.id IS NULL THEN r.sha256 IS NOT NULL AND r.started_at >= (SELECT min(at) FROM every)
		ELSE r.attempt_id IS NULL OR encode(r.sha256, 'hex') IS DISTINCT FROM t.sum END
	ORDER BY a.reserved_at, a.id`

// HashFindings passes the recordings without a hash whose calls ended before a time and, when it is
// asked about all campaigns, those whose hash is not the one that the history tells.
func (s *Recordings) HashFindings(ctx context.Context, of engine.CampaignID, run int, ended time.Time,
	f func(HashFinding)) error {
	read := func(sql string, args ...any) error {
		var x HashFinding
		var id [16]byte
		rows, _ := s.db.Read.Query(ctx, sql, args...)
		_, err := pgx.ForEachRow(rows, []any{&id, &x.Campaign, &x.Run, &x.What}, func() error {
			x.Attempt = engine.AttemptID(column.FormatID(id))
			f(x)
			return nil
		})
		return s.db.Wrap("hashes of recordings not read", err)
	}
	if err := read(noHash, ended, string(of), run); err != nil || of != "" {
		return err
	}
	return read(otherHash)
}
