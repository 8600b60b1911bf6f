package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
)

// A database restored from a backup knows nothing of what happened since: who asked not to be
// called, who was called. Four marks distinguish it from the one that was in use; no backup
// restores all of them unchanged:
//
//   - the server's identifier and the database's own;
//   - the timeline, of which every point-in-time recovery and every promotion of a
//     standby starts a new one;
//   - the transaction that wrote the note: a row that was put back by a dump has
//     the transaction of its restore in xmin;
//   - the last note that a process keeps in its data folder, which no dump holds.
//
// Every process that uses the database renews the note every few seconds, so that a standby that
// takes over under a running dialler is not mistaken for a backup.

// identity is the note that records that the database was in use.
type identity struct {
	System   int64     `json:"system"`   // of the cluster, made by initdb
	Database int64     `json:"database"` // oid
	Timeline int       `json:"timeline"` // 0 if we have no permission to read it
	At       time.Time `json:"at"`       // never earlier than the previous note
	// Transaction is the transaction that wrote the note; 0 in a note of an earlier release.
	Transaction int64 `json:"transaction"`
	schema      string
	rewritten   bool // by another transaction: the row was copied
}

const identityName = "database.identity"

// LastUse is a process's last note on a database, kept outside the database.
type LastUse struct {
	System   int64     `json:"system"`
	Database int64     `json:"database"`
	Schema   string    `json:"schema"`
	At       time.Time `json:"at"`
	// Running means that the process has used the database without interruption since. It may
	// continue over the promotion of a standby that lost nothing.
	Running bool `json:"-"`
}

// wasRestored is the error for a restored database.
func wasRestored(at time.Time) error {
	return engine.Conflict("database_restored", "this database was restored from a backup, or moved; its data ends at "+
		at.UTC().Format(time.RFC3339)+". Suppressions, exclusions and calls since then are lost, so nobody is "+
		"dialled. "+
		"Bring them back (see docs/upgrade.md), or accept that with: dialler db accept-restore")
}

// readIdentity reads the timeline currently written to: for minutes after a promotion, the last
// checkpoint still names the former one.
func readIdentity(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (i identity, err error) {
	err = q.QueryRow(ctx, `SELECT (SELECT system_identifier FROM pg_control_system()),
		(SELECT oid::bigint FROM pg_database WHERE datname = current_database()), current_schema(),
		CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
			AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
			THEN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer ELSE 0 END,
		clock_timestamp(), pg_current_xact_id()::xid::text::bigint`).
		Scan(&i.System, &i.Database, &i.schema, &i.Timeline, &i.At, &i.Transaction)
	return i, err
}

// restored says whether known, the note in the database, was put there by a backup, as judged by a
// process that sees now and whose last note is last.
func (known identity) restored(now identity, last LastUse) bool {
	ofIt := now.System == last.System && now.Database == last.Database && now.schema == last.Schema
	if (last.Running || ofIt) && known.At.Before(last.At) {
		return true
	}
	return !last.Running && !known.same(now)
}

func (known identity) same(now identity) bool {
	return known.System == now.System && known.Database == now.Database && !known.rewritten &&
		(known.Timeline == now.Timeline || known.Timeline == 0 || now.Timeline == 0)
}

func storedIdentity(ctx context.Context, tx pgx.Tx) (i identity, ok bool, err error) {
	var raw []byte
	var writer int64
	err = tx.QueryRow(ctx, "SELECT value, xmin::text::bigint FROM settings WHERE name = $1 FOR UPDATE",
		identityName).Scan(&raw, &writer)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &i)
	}
	i.rewritten = i.Transaction != 0 && i.Transaction != writer
	return i, err == nil, err
}

// keepIdentity writes the note. Its transaction must have no savepoint: a row written after one has
// the subtransaction in xmin.
func keepIdentity(ctx context.Context, tx pgx.Tx, i identity) error {
	_, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE "+
		"SET value = excluded.value", identityName, i)
	return err
}

// InUse records that the database is in use. It returns Conflict "database_restored" for a restored
// database that nobody has accepted yet. last is the result of the previous call, by this process
// or its predecessor on the same data folder.
func (s *Store) InUse(ctx context.Context, last LastUse) (use LastUse, err error) {
	err = s.db.InTx(ctx, "use of the database not recorded", func(tx pgx.Tx) error {
		known, ok, err := storedIdentity(ctx, tx)
		if err != nil {
			return err
		}
		now, err := readIdentity(ctx, tx)
		if err != nil {
			return err
		}
		if ok && known.restored(now, last) {
			return wasRestored(known.At)
		}
		if now.At.Before(known.At) { // the server's clock was set back
			now.At = known.At
		}
		use = LastUse{System: now.System, Database: now.Database, Schema: now.schema, At: now.At, Running: true}
		return keepIdentity(ctx, tx, now)
	})
	return use, err
}

// Unsafe names the settings with which the server may lose what it has confirmed as durable. It
// leaves out synchronous_commit, which the store sets itself.
func (s *Store) Unsafe(ctx context.Context) ([]string, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT name FROM pg_settings WHERE reset_val = 'off' "+
		"AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name")
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, s.db.Wrap("settings of the server not read", err)
}

// AcceptRestore accepts a restored database as it is and records who did so, also in the spine. It
// returns false when the database bears no mark of a restore; a note in a data folder may still show
// one, and this accepts that too.
func (s *Store) AcceptRestore(ctx context.Context, who engine.Who) (was bool, err error) {
	err = s.db.InTx(ctx, "the restored database not accepted", func(tx pgx.Tx) error {
		known, ok, err := storedIdentity(ctx, tx)
		if err != nil {
			return err
		}
		now, err := readIdentity(ctx, tx)
		if err != nil || !ok {
			return err
		}
		was = !known.same(now)
		if err := s.Spine.Accept(ctx, tx, who.Name); err != nil {
			return err
		}
		if err := keepIdentity(ctx, tx, now); err != nil {
			return err
		}
		return s.db.Note(ctx, tx, journal.RestoreAccepted, known.At.UTC().Format(time.RFC3339), who)
	})
	return was, err
}
