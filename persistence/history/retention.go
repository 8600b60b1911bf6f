package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/seal"
	entries "dialler/engine/spine"
	"dialler/persistence/column"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
	"dialler/persistence/spine"
	"dialler/persistence/table"
)

// Retention drops data older than the installation wants to keep, whole runs at a time: a run that
// is open, or that ended a moment ago, keeps all of its calls and events, however old they are.
// Events are dropped by the partition. Calls are deleted in batches: partitioning them would cost
// more than a tenth of the database's time per call, see docs/adr/0023-erasure-and-retention.md.

// Keep says how long data is kept; 0 keeps it forever.
type Keep struct {
	Attempts time.Duration // calls, with legs and ladders
	Events   time.Duration
	Ladders  time.Duration
	// Key signs the checkpoints of runs; it is required with Attempts or Events.
	Key seal.Signer
}

var errNoKey = engine.Invalid("signing_key_missing", "")

// LeastKept is the minimum time that calls and events are kept: abandons restrict us for 72 hours
// and over 30 days, a cap on calls to a number over 90 days.
const LeastKept = 90 * 24 * time.Hour

// Dropped says what Retain dropped.
type Dropped struct {
	Attempts, Runs, Ladders int
	Partitions              []string // of events
}

// retainBatch is how many attempts are deleted at a time.
const retainBatch = 2000

// closedRun is the SQL condition that a run is over for good.
const closedRun = `(r.run < c.run OR (r.run = c.run AND c.state IN ('completed', 'failed')
	AND NOT EXISTS (SELECT FROM attempts l WHERE l.campaign_id = c.id AND l.live)
	AND NOT EXISTS (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.result_due_at IS NOT NULL)))`

// How long the rows of a file that became no contacts are kept whole, so that they can be downloaded and
// corrected. Their lines, numbers and reasons stay with the import.
const (
	recordsKept = 7 * 24 * time.Hour
	// A check, or a file that failed, is followed by another one.
	checkedRecordsKept = 24 * time.Hour
)

// Retain drops everything whose retention has passed at now.
func (s *Records) Retain(ctx context.Context, now time.Time, keep Keep) (d Dropped, err error) {
	if err = s.dropRecords(ctx, now); err != nil {
		return d, err
	}
	if keep.Ladders > 0 {
		if d.Ladders, err = s.dropLadders(ctx, now.Add(-keep.Ladders)); err != nil {
			return d, err
		}
	}
	if keep.Attempts <= 0 && keep.Events <= 0 {
		return d, nil
	}
	if keep.Key == nil {
		return d, errNoKey
	}
	if keep.Attempts > 0 {
		if err = s.dropAttempts(ctx, now, now.Add(-keep.Attempts), keep.Key, &d); err != nil {
			return d, err
		}
	}
	if keep.Events > 0 {
		err = s.dropEvents(ctx, now, now.Add(-keep.Events), keep.Key, &d)
	}
	return d, err
}

// dropLadders deletes SIP ladders in batches, by their index on time.
func (s *Records) dropLadders(ctx context.Context, before time.Time) (n int, err error) {
	for {
		tag, err := s.db.Read.Exec(ctx, `DELETE FROM sip_ladders WHERE ctid = ANY (ARRAY(SELECT ctid FROM sip_ladders
			WHERE at <= $1 LIMIT $2))`, before, retainBatch)
		if err != nil {
			return n, s.db.Wrap("old SIP ladders not dropped", err)
		}
		if n += int(tag.RowsAffected()); tag.RowsAffected() < retainBatch {
			return n, nil
		}
	}
}

// dropRecords empties the records of rejected rows, an import at a time. It steps from one import that has some
// to the next by their index.
func (s *Records) dropRecords(ctx context.Context, now time.Time) error {
	rows, _ := s.db.Read.Query(ctx, `WITH RECURSIVE has AS (
			(SELECT r.import_id FROM import_rejected r WHERE r.record <> '' ORDER BY r.import_id LIMIT 1)
			UNION ALL
			SELECT (SELECT r.import_id FROM import_rejected r WHERE r.record <> '' AND r.import_id > h.import_id
				ORDER BY r.import_id LIMIT 1)
			FROM has h WHERE h.import_id IS NOT NULL
		) SELECT h.import_id::text FROM has h JOIN imports i ON i.id = h.import_id
		WHERE i.finished_at <= CASE WHEN i.state = 'active' THEN $1::timestamptz ELSE $2::timestamptz END`,
		now.Add(-recordsKept), now.Add(-checkedRecordsKept))
	due, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, id := range due {
		if err == nil {
			_, err = s.db.Read.Exec(ctx, "UPDATE import_rejected SET record = '' WHERE import_id = $1 AND record <> ''", id)
		}
	}
	return s.db.Wrap("old records of files not dropped", err)
}

type runOf struct {
	campaign engine.CampaignID
	run      int
}

// dropAttempts deletes the calls of runs whose last call began before the given time, and dialouts
// older than it.
func (s *Records) dropAttempts(ctx context.Context, now, before time.Time, key seal.Signer, d *Dropped) error {
	rows, _ := s.db.Read.Query(ctx, `SELECT c.id, r.run FROM campaigns c
		CROSS JOIN LATERAL (SELECT a.reserved_at FROM attempts a WHERE a.campaign_id = c.id ORDER BY a.reserved_at
		LIMIT 1) oldest
		CROSS JOIN LATERAL (SELECT a.run FROM attempts a WHERE a.campaign_id = c.id
		GROUP BY a.run HAVING max(coalesce(a.ended_at, a.reserved_at)) < $1) r
		WHERE oldest.reserved_at < $1 AND `+closedRun, before)
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r runOf, err error) {
		err = row.Scan(&r.campaign, &r.run)
		return r, err
	})
	if err != nil {
		return s.db.Wrap("old runs not read", err)
	}
	for _, r := range runs {
		err := s.db.InTxOf(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, "totals of a run not kept",
			func(tx pgx.Tx) error {
				if err := spine.Lock(ctx, tx); err != nil {
					return err
				}
				return s.makeCheckpoint(ctx, tx, r.campaign, r.run, now, attemptsGone, key)
			})
		if s.notOurs(err) {
			continue
		}
		if err != nil {
			return err
		}
		n, err := s.deleteAttempts(ctx, r.campaign, "campaign_id = $1 AND run = $3", r.run)
		d.Attempts += n
		if err != nil {
			return err
		}
		d.Runs++
	}
	n, err := s.deleteAttempts(ctx, "", "campaign_id = $1 AND reserved_at < $3 AND NOT live", before)
	d.Attempts += n
	if by := s.spine.Signer(); err == nil && by != nil && d.Attempts > 0 {
		_, err = s.spine.Append(ctx, by, entries.KindRetention, entries.Retention{Attempts: d.Attempts})
	}
	return err
}

// notOurs says whether a checkpoint does not match its signature, and logs it: the data that it
// covers is kept, and the rest of the retention continues.
func (s *Records) notOurs(err error) bool {
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != "checkpoint_not_ours" {
		return false
	}
	s.db.Config.Log.Error().Err(err).Msg("expired data is kept: the checkpoint of its run does not match its " +
		"signature")
	return true
}

// deleteAttempts deletes attempts and their dependent rows, in batches.
func (s *Records) deleteAttempts(ctx context.Context, id engine.CampaignID, which string, args ...any) (n int,
	err error) {
	of := table.Owner{Campaign: string(id)}
	args = append([]any{string(id), retainBatch}, args...)
	for {
		var dropped []string
		err := s.db.InTx(ctx, "old attempts not dropped", func(tx pgx.Tx) error {
			rows, _ := tx.Query(ctx, "SELECT id::text FROM attempts WHERE "+which+" LIMIT $2 FOR UPDATE", args...)
			var err error
			if dropped, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
				return err
			}
			gone := s.db.Written()
			for _, p := range []*table.Part{table.PartAttempt, table.PartResult, table.PartQuality} {
				if err := gone.Remove(ctx, tx, of, p, "t.id = ANY($1::uuid[])", dropped); err != nil {
					return err
				}
			}
			if err := gone.Remove(ctx, tx, of, table.PartLeg, "t.attempt_id = ANY($1::uuid[])", dropped); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `WITH l AS (DELETE FROM legs WHERE attempt_id = ANY($1::uuid[])),
				s AS (DELETE FROM sip_ladders WHERE attempt_id = ANY($1::uuid[])),
				r AS (DELETE FROM recordings WHERE attempt_id = ANY($1::uuid[]) AND deleted_at IS NOT NULL)
				DELETE FROM attempts WHERE id = ANY($1::uuid[])`, dropped)
			if err != nil {
				return err
			}
			return s.db.TellWritten(ctx, tx, gone)
		})
		if err != nil {
			return n, err
		}
		if n += len(dropped); len(dropped) < retainBatch {
			return n, nil
		}
	}
}

// dropEvents drops the partitions of events that ended before a time and whose runs are over for
// good, with the last of their events. The activity log stays: it is small, and describes runs.
func (s *Records) dropEvents(ctx context.Context, now, before time.Time, key seal.Signer, d *Dropped) error {
	rows, _ := s.db.Read.Query(ctx, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{6}$' ORDER BY 1`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return s.db.Wrap("event partitions not read", err)
	}
	for _, name := range names {
		month, err := time.Parse("200601", strings.TrimPrefix(name, "events_"))
		if err != nil || month.AddDate(0, 1, 0).After(before) {
			continue
		}
		var open bool
		err = s.db.Read.QueryRow(ctx, fmt.Sprintf(`SELECT EXISTS (
			SELECT FROM (SELECT DISTINCT campaign_id, run FROM %s WHERE seq > 0) r
			JOIN campaigns c ON c.id = r.campaign_id
			WHERE NOT %s OR EXISTS (SELECT FROM events e WHERE e.campaign_id = r.campaign_id AND e.run = r.run
			AND e.seq > 0 AND e.at >= $1 AND NOT e.activity))`,
			pgx.Identifier{name}.Sanitize(), closedRun), before).Scan(&open)
		if err != nil {
			return s.db.Wrap("runs of a partition not read", err)
		}
		if open {
			s.db.Config.Log.Info().Str("partition",
				name).Msg("old events are kept: a run that they belong to is not over, or ended recently")
			continue
		}
		dropped, err := s.dropPartition(ctx, name, month, now, key)
		if err != nil {
			return err
		}
		if !dropped {
			continue
		}
		s.spine.Written()
		d.Partitions = append(d.Partitions, name)
	}
	return nil
}

// heads reads where chains end.
func heads(ctx context.Context, tx pgx.Tx, which string, args ...any) ([]entries.Head, error) {
	rows, _ := tx.Query(ctx, "SELECT campaign_id, run, n, encode(hash, 'hex') FROM event_heads WHERE "+which+
		" ORDER BY campaign_id, run", args...)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h entries.Head, err error) {
		err = row.Scan(&h.Campaign, &h.Run, &h.N, &h.Hash)
		return h, err
	})
}

func (s *Records) dropPartition(ctx context.Context, name string, month, now time.Time, key seal.Signer) (dropped bool,
	err error) {
	partition := pgx.Identifier{name}.Sanitize()
	rows, _ := s.db.Read.Query(ctx, "SELECT DISTINCT r.campaign_id, r.run FROM "+partition+" r "+
		"JOIN campaigns c ON c.id = r.campaign_id WHERE r.seq > 0")
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r runOf, err error) {
		err = row.Scan(&r.campaign, &r.run)
		return r, err
	})
	if err != nil {
		return false, s.db.Wrap("runs of a partition not read", err)
	}
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if err := spine.Lock(ctx, tx); err != nil {
			return err
		}
		gone := entries.Retention{Partition: name}
		for _, r := range runs {
			if err := s.makeCheckpoint(ctx, tx, r.campaign, r.run, now, eventsGone, key); err != nil {
				return err
			}
			ended, err := heads(ctx, tx, "campaign_id = $1 AND run = $2", string(r.campaign), r.run)
			if err != nil {
				return err
			}
			gone.Chains = append(gone.Chains, ended...)
			for _, sql := range []string{
				"DELETE FROM event_batches WHERE campaign_id = $1 AND run = $2",
				"DELETE FROM event_heads WHERE campaign_id = $1 AND run = $2",
				"DELETE FROM webhook_cursors WHERE campaign_id = $1 AND run = $2",
			} {
				if _, err := tx.Exec(ctx, sql, string(r.campaign), r.run); err != nil {
					return err
				}
			}
		}
		// The chains of events outside a campaign's sequence are numbered by their month
		// (chain.go).
		first, _ := strconv.Atoi(month.Format("200601"))
		if err := s.keepMonth(ctx, tx, partition, first, now, key); err != nil {
			return err
		}
		ended, err := heads(ctx, tx, "campaign_id = '' AND run BETWEEN $1 AND $2", first*100, first*100+99)
		if err != nil {
			return err
		}
		gone.Chains = append(gone.Chains, ended...)
		if err := s.spine.Note(ctx, tx, entries.KindRetention, gone); err != nil {
			return err
		}
		carried := s.db.Written()
		if err := carry(ctx, tx, first, carried); err != nil {
			return err
		}
		for _, t := range []string{"event_batches", "event_heads", "webhook_cursors"} {
			if _, err := tx.Exec(ctx, "DELETE FROM "+t+" WHERE campaign_id = '' AND run BETWEEN $1 AND $2", first*100,
				first*100+99); err != nil {
				return err
			}
		}
		for _, sql := range []string{
			"SET LOCAL lock_timeout = '" + pool.LockPatience + "'",
			"CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT * FROM " + partition + " WHERE activity",
			"DROP TABLE " + partition,
			// The figures in a run's events are in its checkpoint, and their chain is gone. The
			// other events start a new chain.
			"UPDATE kept SET digest = NULL, data = data - '{before,after,moves}'::text[] WHERE seq > 0",
			"INSERT INTO events SELECT * FROM kept WHERE digest IS NULL",
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		kept := tx.Conn().PgConn().ExecParams(ctx, "INSERT INTO events AS t SELECT * FROM kept WHERE digest IS NOT NULL"+
			table.ReturnLinks, nil, nil, nil, column.Binary).Read()
		if kept.Err != nil {
			return kept.Err
		}
		return s.db.Chain(ctx, tx, kept.Rows, carried)
	})
	if state, _ := failure.SQLState(err); state == "55P03" {
		s.db.Config.Log.Warn().Str("partition", name).Msg("a partition is in use and was not dropped; it is tried " +
			"again")
		return false, nil
	}
	if s.notOurs(err) {
		return false, nil
	}
	return err == nil, s.db.Wrap("old events not dropped", err)
}

// carry takes the last digest of each row along that a month of no campaign has: the rows stay when
// their events are dropped.
func carry(ctx context.Context, tx pgx.Tx, month int, to *table.Rows) error {
	var last ledger
	defer last.close()
	rows, err := tx.Query(ctx, "SELECT rows FROM event_batches WHERE campaign_id = '' AND run BETWEEN $1 AND $2 "+
		"AND rows IS NOT NULL", month*100, month*100+99)
	if err == nil {
		err = each(rows, nil, pgx.RowTo[[]byte], func(b *[]byte) (err error) {
			damaged := chain.Entries(*b, func(e *chain.Entry) {
				if err == nil {
					err = last.add(&record{Entry: *e})
				}
			})
			return errors.Join(err, damaged)
		})
	}
	if err != nil {
		return err
	}
	return last.each(func(list []record) {
		e := slices.MaxFunc(list, func(x, y record) int { return cmp.Compare(x.Order, y.Order) })
		if !e.Gone() {
			to.First(table.Owner{}, &e.Entry)
		}
	})
}
