package history

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine/seal"
)

// AuditLoose verifies the chains of events that belong to no campaign: calls outside campaigns, and
// changes to the installation. It reads the whole history once. Checkpoints of months whose events
// are gone must be signed with a trusted key.
func (s *Records) AuditLoose(ctx context.Context, trusted ...seal.Public) (out Audit, err error) {
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			a := &auditor{Audit: &out, ctx: ctx, tx: tx, progress: s.progress}
			if a.written, err = s.newWritten(a); err != nil {
				return err
			}
			defer a.written.close()
			if a.begun, err = readBegun(ctx, tx); err != nil {
				return err
			}
			kept := func() error { return a.checkpoints(trusted) }
			if err := s.beside(a, a.looseEvents, (*auditor).chainsAndRows); err != nil {
				return err
			}
			return run(kept, a.looseStrays, a.looseRemoved, a.waiting)
		})
	return out, s.db.Wrap("history of no campaign not audited", err)
}

// looseEvents checks every event against its digest. They are streamed: no index would allow
// reading them in pages.
func (a *auditor) looseEvents() error {
	// The start of chaining: an event without a digest must be older. The genesis of the spine knows
	// better, where there is one.
	var since time.Time
	err := a.tx.QueryRow(a.ctx, "SELECT max(tstamp)::timestamp AT TIME ZONE 'UTC' FROM goose_db_version "+
		"WHERE version_id = $1", chainMigration).Scan(&since)
	if err != nil {
		return err
	}
	return eachEvent(a.ctx, a.tx, "FROM events e WHERE e.seq <= 0", func(e *storedEvent) error {
		a.read()
		switch {
		case e.digest == nil && a.unchained(e, e.At.Before(since)):
			a.Unchained++
		case e.digest == nil:
			a.found(looseFinding(e, "an event that is in no batch: it was added, or its digest was removed"))
		case !e.whole():
			a.found(looseFinding(e, "the event is not as it was written"))
		}
		return nil
	})
}

func looseFinding(e *storedEvent, what string) Finding {
	return Finding{Table: "events", Attempt: e.Attempt, Seq: e.Seq, What: what + " (" + string(e.Type) + " at " +
		e.At.UTC().Format(time.RFC3339Nano) + ")"}
}

const (
	chainMigration = 20

	looseDigests = "SELECT e.digest FROM events e WHERE e.seq <= 0 AND e.digest IS NOT NULL"
	batchDigests = `SELECT substr(b.digests, 1 + 32 * i, 32) AS digest
		FROM event_batches b, generate_series(0, length(b.digests) / 32 - 1) i
		WHERE b.campaign_id = ''`
)

// looseStrays finds events whose digest no batch has.
func (a *auditor) looseStrays() error {
	return eachEvent(a.ctx, a.tx, "FROM events e WHERE e.seq <= 0 AND e.digest IN ("+looseDigests+" EXCEPT ALL "+
		batchDigests+") LIMIT $1", func(e *storedEvent) error {
		a.found(looseFinding(e, "an event that is in no batch: it was added"))
		return nil
	}, findingsCap)
}

// looseRemoved finds digests in batches whose event no longer exists.
func (a *auditor) looseRemoved() error {
	rows, _ := a.tx.Query(a.ctx, "WITH gone AS ("+batchDigests+" EXCEPT ALL "+looseDigests+`)
		SELECT b.run, b.n FROM event_batches b, gone g WHERE b.campaign_id = '' AND position(g.digest IN b.digests) > 0
		ORDER BY 1, 2 LIMIT $1`, findingsCap)
	f := Finding{Table: "event_batches", What: "an event of the batch, or its digest, was removed"}
	_, err := pgx.ForEachRow(rows, []any{&f.Run, &f.Batch}, func() error {
		a.found(f)
		return nil
	})
	return err
}

// auditWaiting compares the dialouts that wait for their time with their events: whoever was scheduled and
// has neither an attempt nor an end waits. Of what was scheduled in months whose events were dropped
// nothing is said; what people did then is kept, and is not asked.
const auditWaiting = `WITH told AS (
		SELECT e.attempt_id AS id, bool_or(e.type = 'dialout.scheduled') AS scheduled,
			bool_or(e.type IN ('attempt.reserved', 'attempt.ended')) AS begun
		FROM events e WHERE e.seq = 0 AND e.attempt_id IS NOT NULL
			AND e.type IN ('dialout.scheduled', 'attempt.reserved', 'attempt.ended')
		GROUP BY e.attempt_id
	), since AS (SELECT min(at) AS at FROM events WHERE seq <= 0 AND NOT activity)
	SELECT replace(coalesce(t.id, s.id)::text, '-', ''), CASE
		WHEN s.id IS NULL THEN 'it was scheduled, and neither waits nor has an end: its row was removed'
		WHEN EXISTS (SELECT FROM told x WHERE x.id = s.id AND x.scheduled)
			THEN 'it waits, although its events tell that it was dialled or has ended'
		ELSE 'it waits, and no event tells that it was scheduled: its row was added' END
	FROM (SELECT * FROM told WHERE scheduled AND NOT begun
		AND NOT EXISTS (SELECT FROM attempts a WHERE a.id = told.id)) t
	FULL JOIN scheduled_dialouts s ON s.id = t.id
	WHERE t.id IS NULL AND s.created_at >= (SELECT at FROM since) OR s.id IS NULL
	ORDER BY 1 LIMIT $1`

// waiting compares the dialouts that wait for their time with their events.
func (a *auditor) waiting() error {
	rows, _ := a.tx.Query(a.ctx, auditWaiting, findingsCap)
	f := Finding{Table: "scheduled_dialouts"}
	_, err := pgx.ForEachRow(rows, []any{&f.Attempt, &f.What}, func() error {
		a.found(f)
		return nil
	})
	return err
}
