package persistence

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"dialler/persistence/migrations"
)

// migrate brings the schema up to date. Of several processes that start at
// the same time one does the work; the others wait at the lock and find it
// done. The lock is of the schema, not of the server.
func migrate(ctx context.Context, url string, cfg Config) error {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return badURL(err)
	}
	configure(cc, cfg)
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(2)

	conn, err := db.Conn(ctx)
	if err != nil {
		return failure(awayCode, "no connection to the database; is it running, and is DATABASE_URL right?", err)
	}
	defer func() { _ = conn.Close() }()
	const lock = "SELECT pg_advisory_lock(hashtext('dialler.migrations'), hashtext(current_schema()))"
	if _, err := conn.ExecContext(ctx, lock); err != nil {
		return failure("migration_failed", "the lock for schema changes was not given", err)
	}
	// The session's end gives the lock back, also when this process dies.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithVerbose(false))
	if err != nil {
		return failure("migration_failed", "the schema changes cannot be read", err)
	}
	done, err := provider.Up(ctx)
	if err != nil {
		return failure("migration_failed", "the schema could not be brought up to date; nothing was dialled", err)
	}
	for _, r := range done {
		cfg.Log.Info().Str("migration", fmt.Sprint(r.Source.Version)).Dur("took", r.Duration).Msg("schema changed")
	}
	return nil
}

// eventMonths is how many months ahead partitions are made.
const eventMonths = 3

// Maintain makes the event partitions of the coming months and drops what has
// served its time: replies older than a day, number holds long expired, sessions
// that are over, imports that nobody will finish, old SIP ladders. Open calls it; a process that
// runs for long calls it once in a while.
func (s *Store) Maintain(ctx context.Context, now time.Time) error {
	if err := s.makePartitions(ctx, now); err != nil {
		return err
	}
	if _, err := s.PurgeReplies(ctx, now); err != nil {
		return err
	}
	if err := s.purgeSessions(ctx, now); err != nil {
		return err
	}
	if _, err := s.CloseOrphanedImports(ctx, now); err != nil {
		return err
	}
	if err := s.purgeLadders(ctx, now); err != nil {
		return err
	}
	if _, err := s.read.Exec(ctx, "DELETE FROM suppressions WHERE until <= $1", now); err != nil {
		return s.wrap("suppressions that ran out not dropped", err)
	}
	_, err := s.read.Exec(ctx, "DELETE FROM number_holds WHERE hold_until < now() - interval '1 hour'")
	return s.wrap("expired number holds not dropped", err)
}

// makePartitions makes one partition a month. Events of a month without one go
// to the default partition: nothing is lost, it is only slower to drop.
func (s *Store) makePartitions(ctx context.Context, now time.Time) error {
	first := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	for i := range eventMonths {
		from := first.AddDate(0, i, 0)
		name := "events_" + from.Format("200601")
		var there bool
		if err := s.read.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
			return s.wrap("event partitions not read", err)
		}
		if there {
			continue
		}
		sql := fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s PARTITION OF events FOR VALUES FROM ('%s') TO ('%s')",
			pgx.Identifier{name}.Sanitize(), from.Format(time.RFC3339), from.AddDate(0, 1, 0).Format(time.RFC3339))
		_, err := s.read.Exec(ctx, sql)
		switch state, _ := sqlState(err); state {
		case "", "42P07", "23505": // done, or another process was faster
		case "23514": // events of that month are in the default partition already
			s.cfg.Log.Warn().Str("partition", name).Msg("events of this month stay in the default partition")
			continue
		default:
			return s.wrap("event partition not made", err)
		}
		if state, _ := sqlState(err); err != nil && state == "" {
			return s.wrap("event partition not made", err)
		}
	}
	return nil
}
