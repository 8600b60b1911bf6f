package persistence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"dialler/persistence/failure"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// lockPoll is how often the lock for migrations is asked for.
const lockPoll = 50 * time.Millisecond

// migrate brings the schema up to date. When several processes start at the same time, one does the
// work; the others wait for the lock and find it done. The lock is per schema, not per server.
func migrate(ctx context.Context, url string, cfg pool.Config) error {
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return failure.BadURL(err)
	}
	// Table locks are limited: every later writer would wait behind them.
	pool.Configure(cc, cfg, pool.Setting{Name: "lock_timeout", Value: pool.LockPatience})
	db := stdlib.OpenDB(*cc)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(2)

	conn, err := db.Conn(ctx)
	if err != nil {
		return failure.New(failure.AwayCode, "no connection to the database; is it running, and is DATABASE_URL "+
			"right?", err)
	}
	defer func() { _ = conn.Close() }()
	// It is asked for again and again: a session that waits in a statement has a snapshot, for whose end
	// CREATE INDEX CONCURRENTLY would wait.
	const lock = "SELECT pg_try_advisory_lock(hashtext('dialler.migrations'), hashtext(current_schema()))"
	for granted := false; !granted; {
		err := conn.QueryRowContext(ctx, lock).Scan(&granted)
		if err == nil && !granted && !pool.Sleep(ctx, lockPoll) {
			err = ctx.Err()
		}
		if err != nil {
			return failure.New("migration_failed", "the lock for schema changes was not granted", err)
		}
	}
	// The end of the session releases the lock, even when this process dies.
	provider, err := goose.NewProvider(goose.DialectPostgres, db, cfg.Migrations, goose.WithVerbose(false))
	if err != nil {
		return failure.New("migration_failed", "the schema changes cannot be read", err)
	}
	for try := 1; ; try++ {
		var done []*goose.MigrationResult
		err := dropUnfinished(ctx, db)
		if err == nil {
			done, err = provider.Up(ctx)
		}
		var part *goose.PartialError
		if errors.As(err, &part) {
			done = part.Applied
		}
		for _, r := range done {
			cfg.Log.Info().Str("migration", fmt.Sprint(r.Source.Version)).Dur("took_ms", r.Duration).Msg("schema changed")
		}
		if waits(err) && try < migrationTries && pool.Sleep(ctx, time.Second) {
			continue
		}
		if err != nil {
			return failure.New("migration_failed", "the schema could not be brought up to date; nothing was dialled",
				err)
		}
		break
	}
	if has, knows, err := provider.GetVersions(ctx); err == nil && has > knows {
		cfg.Log.Warn().Int64("schema", has).Int64("program", knows).
			Msg("the schema of the database is newer than this program's: a later version ran on it. One release back " +
				"works; further back nobody has tried, so start that later version")
	}
	if err := migrateJobs(ctx, url, cfg); err != nil {
		return failure.New("migration_failed", "the tables of jobs could not be brought up to date; nothing was "+
			"dialled", err)
	}
	return nil
}

// isCurrent says that a schema has this program's steps and no others, and no index whose build was aborted: most
// starts find it so. It asks on a connection that is needed anyway; the migrations take three of their own, and a lock.
func isCurrent(ctx context.Context, p *pool.Pool) bool {
	files, err := fs.Glob(p.Config.Migrations, "*.sql")
	if err != nil {
		return false
	}
	var knows, has []int64
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return false
		}
		knows = append(knows, v)
	}
	slices.Sort(knows)
	jobs, err := jobMigrations(nil)
	if err != nil {
		return false
	}
	var knowsJobs, hasJobs []int
	for _, m := range jobs.AllVersions() {
		knowsJobs = append(knowsJobs, m.Version)
	}
	var aborted bool
	err = p.Read.QueryRow(ctx, "SELECT ARRAY(SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY 1), "+
		"ARRAY(SELECT version::integer FROM river_migration ORDER BY 1), EXISTS ("+unfinished+")").
		Scan(&has, &hasJobs, &aborted)
	return err == nil && slices.Equal(has, knows) && slices.Equal(hasJobs, knowsJobs) && !aborted
}

// unfinished selects indexes whose build was aborted, and not those that are being built right now.
const unfinished = `SELECT format('%I.%I', n.nspname, c.relname) FROM pg_index i
	JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE NOT i.indisvalid AND c.relkind = 'i' AND n.nspname = current_schema() AND c.relname !~ '_cc(new|old)[0-9]*$'
		AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)`

// dropUnfinished drops indexes whose build was aborted: after a timeout, or the end of the process,
// CREATE INDEX CONCURRENTLY leaves an index that is never read, slows down every write, and
// occupies the name.
func dropUnfinished(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, unfinished)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	_ = rows.Close() // its connection is needed
	for _, name := range names {
		if _, err := db.ExecContext(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+name); err != nil {
			return err
		}
	}
	return nil
}

// migrateJobs brings River's tables up to date by River's own migrations, each in a transaction.
func migrateJobs(ctx context.Context, url string, cfg pool.Config) error {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return failure.BadURL(err)
	}
	pc.MaxConns = 1
	pool.Configure(pc.ConnConfig, cfg)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := jobMigrations(pool)
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func jobMigrations(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	return rivermigrate.New(riverpgxv5.New(pool),
		&rivermigrate.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

// waits says that a migration did not get its locks in time, or not all of them: a transaction that
// had some waited for others (a deadlock), and PostgreSQL chose the migration to be ended.
func waits(err error) bool {
	state, _ := failure.SQLState(err)
	return state == "55P03" || state == "40P01"
}

// migrationTries bounds how often a migration is retried that did not get its locks: once a second.
const migrationTries = 120

// Maintain creates the event partitions of the coming months and drops expired data: replies older
// than a day, number holds long expired, expired sessions, imports that nobody will finish, nodes
// that left a month ago. Open calls it; a long-running process must call it now and then. Data kept
// for days or years is dropped by Retain.
func (s *Store) Maintain(ctx context.Context, now time.Time) error {
	if err := s.makePartitions(ctx, now); err != nil {
		return err
	}
	if _, err := s.PurgeReplies(ctx, now); err != nil {
		return err
	}
	if err := s.Accounts.PurgeSessions(ctx, now); err != nil {
		return err
	}
	if _, err := s.CloseOrphanedImports(ctx, now); err != nil {
		return err
	}
	if err := s.dropExpired(ctx, now); err != nil {
		return err
	}
	if err := s.closeUnwatchedLegs(ctx, now); err != nil {
		return err
	}
	if err := s.Endpoints.PurgeWebhooks(ctx, now); err != nil {
		return err
	}
	if err := s.ForgetSearched(ctx); err != nil {
		return err
	}
	// Calls refer to the node they were placed on for longer than anybody needs it.
	if _, err := s.db.Read.Exec(ctx, `DELETE FROM nodes n WHERE coalesce(left_at,
		expires_at) < clock_timestamp() - interval '30 days'
		AND NOT EXISTS (SELECT FROM owners w WHERE w.incarnation = n.incarnation)`); err != nil {
		return s.db.Wrap("old nodes not dropped", err)
	}
	_, err := s.db.Read.Exec(ctx, "DELETE FROM number_holds WHERE hold_until < now() - interval '1 hour'")
	return s.db.Wrap("expired number holds not dropped", err)
}

// unwatchedSince is how far back to look for unwatched legs whose number has had another call
// since: short enough to be read at every start.
const unwatchedSince = 15 * time.Minute

// closeUnwatchedLegs ends the legs of lost attempts that no process watched long enough to see them
// end, in a series of crashes: when the hold of the number ends, the call counts as over.
func (s *Store) closeUnwatchedLegs(ctx context.Context, now time.Time) error {
	// Identifiers of attempts begin with their time, in milliseconds.
	from := fmt.Sprintf("%012x%020x", now.Add(-unwatchedSince).UnixMilli(), 0)
	// The row of an ended hold still exists, however long it was.
	return s.db.InTx(ctx, "unwatched legs not closed", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, `UPDATE legs l SET ended_at = $1 FROM attempts a, number_holds h
			WHERE h.hold_until <= now() AND a.id = h.attempt_id AND NOT a.live AND l.attempt_id = a.id
			AND l.ended_at IS NULL RETURNING a.id::text`, now)
		held, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		rows, _ = tx.Query(ctx, `UPDATE legs l SET ended_at = $2 FROM attempts a
			WHERE l.attempt_id >= $1::uuid AND l.ended_at IS NULL AND a.id = l.attempt_id AND NOT a.live
				AND NOT EXISTS (SELECT FROM number_holds h WHERE h.attempt_id = l.attempt_id AND (h.hold_until IS NULL
				OR h.hold_until > now())) RETURNING a.id::text`, from, now)
		free, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		ids := append(held, free...)
		owners, err := table.OwnersOf(ctx, tx, ids)
		if err != nil {
			return err
		}
		written := s.db.Written()
		for _, of := range owners {
			err := written.Add(ctx, tx, of, table.PartLeg, "t.attempt_id = ANY($1::uuid[]) AND t.attempt_id IN "+
				"(SELECT a.id FROM attempts a WHERE a.id = ANY($1::uuid[]) AND a.campaign_id = $2 "+
				"AND ($2 = '' OR a.run = $3))", ids, of.Campaign, of.Run)
			if err != nil {
				return err
			}
		}
		return s.db.TellWritten(ctx, tx, written)
	})
}

// dropExpired removes numbers that were suppressed for a time that has passed.
func (s *Store) dropExpired(ctx context.Context, now time.Time) error {
	return s.db.InTx(ctx, "expired suppressions not dropped", func(tx pgx.Tx) error {
		rows := s.db.Written()
		if err := rows.Remove(ctx, tx, table.Owner{}, table.PartSuppression, "t.until <= $1", now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM suppressions WHERE until <= $1", now); err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
}

// eventMonths is how many months ahead partitions are created.
const eventMonths = 3

// eventPartition is the name of a month's partition.
func eventPartition(month time.Time) string { return "events_" + month.Format("200601") }

// makePartitions creates one partition of the events per month. Events of a month without one go to
// the default partition: nothing is lost, but they are slower to drop.
func (s *Store) makePartitions(ctx context.Context, now time.Time) error {
	first := time.Date(now.UTC().Year(), now.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	for i := range eventMonths {
		from := first.AddDate(0, i, 0)
		name := eventPartition(from)
		var there bool
		if err := s.db.Read.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
			return s.db.Wrap("event partitions not read", err)
		}
		if there {
			continue
		}
		err := s.db.ChangeSchema(ctx, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s PARTITION OF events FOR VALUES "+
			"FROM ('%s') TO ('%s')",
			pgx.Identifier{name}.Sanitize(), from.Format(time.RFC3339), from.AddDate(0, 1, 0).Format(time.RFC3339)))
		switch state, _ := failure.SQLState(err); state {
		case "42P07", "23505": // another process was faster
		case "23514": // the default partition already has events of that month
			s.db.Config.Log.Warn().Str("partition", name).Msg("events of this month stay in the default partition")
		case "55P03": // the table is busy; the partition is not needed yet
			s.db.Config.Log.Warn().Str("partition", name).Msg("a partition is not made yet; it is tried again")
		default:
			if err != nil {
				return s.db.Wrap("event partition not made", err)
			}
		}
	}
	return nil
}
