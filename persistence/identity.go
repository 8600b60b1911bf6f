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

// A database that was restored from a backup knows nothing of what was done
// since: who asked not to be called, who was called. It is told by what a
// backup cannot take along: the server's identifier and the database's own, and
// the timeline, which every recovery to a moment and every promotion of a
// standby begins anew. Whoever runs on the database notes them every few
// seconds, so that a standby that takes over under a running dialler is none.

// identity is what a restored copy has another one of.
type identity struct {
	System   int64     `json:"system"`   // of the cluster, made by initdb
	Database int64     `json:"database"` // oid
	Timeline int       `json:"timeline"` // 0 when it may not be read
	At       time.Time `json:"at"`       // when it was noted last
}

const identityName = "database.identity"

// wasRestored is the error of a database that was restored.
func wasRestored(at time.Time) error {
	return engine.Conflict("database_restored", "this database was restored from a backup, or moved: it was last in use at "+at.UTC().Format(time.RFC3339)+
		" on another server or timeline. Suppressions, exclusions and calls since then are lost, so that nobody is dialled. "+
		"Bring them back (see docs/upgrade.md), or accept that with: dialler db accept-restore")
}

// readIdentity asks for the timeline that is written on: the one of the last
// checkpoint is the former for minutes after a promotion.
func readIdentity(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (i identity, err error) {
	err = q.QueryRow(ctx, `SELECT (SELECT system_identifier FROM pg_control_system()), (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
		CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE') AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
			THEN ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer ELSE 0 END, now()`).
		Scan(&i.System, &i.Database, &i.Timeline, &i.At)
	return i, err
}

func (i identity) same(as identity) bool {
	return i.System == as.System && i.Database == as.Database && (i.Timeline == as.Timeline || i.Timeline == 0 || as.Timeline == 0)
}

func storedIdentity(ctx context.Context, tx pgx.Tx) (i identity, ok bool, err error) {
	var raw []byte
	err = tx.QueryRow(ctx, "SELECT value FROM settings WHERE name = $1 FOR UPDATE", identityName).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return i, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &i)
	}
	return i, err == nil, err
}

func keepIdentity(ctx context.Context, tx pgx.Tx, i identity) error {
	_, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", identityName, i)
	return err
}

// InUse notes that the database is in use. Conflict "database_restored" when it
// is a restored one that nobody has accepted yet. last is what it gave before,
// zero at first: a process that went on over a promotion, and finds its last
// note there, has lost nothing.
func (s *Store) InUse(ctx context.Context, last time.Time) (at time.Time, err error) {
	err = s.inTx(ctx, "use of the database not noted", func(tx pgx.Tx) error {
		known, ok, err := storedIdentity(ctx, tx)
		if err != nil {
			return err
		}
		now, err := readIdentity(ctx, tx)
		if err != nil {
			return err
		}
		if ok && !now.same(known) && (last.IsZero() || known.At.Before(last)) {
			return wasRestored(known.At)
		}
		at = now.At
		return keepIdentity(ctx, tx, now)
	})
	return at, err
}

// AcceptRestore has a restored database be used as it is: it is recorded who
// said so. false when it is none.
func (s *Store) AcceptRestore(ctx context.Context, who engine.Who) (was bool, err error) {
	err = s.inTx(ctx, "the restored database not accepted", func(tx pgx.Tx) error {
		known, ok, err := storedIdentity(ctx, tx)
		if err != nil {
			return err
		}
		now, err := readIdentity(ctx, tx)
		if err != nil || !ok || now.same(known) {
			return err
		}
		was = true
		if err := keepIdentity(ctx, tx, now); err != nil {
			return err
		}
		return s.note(ctx, tx, journal.RestoreAccepted, known.At.UTC().Format(time.RFC3339), who)
	})
	return was, err
}
