package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/persistence/access"
	"dialler/persistence/commit"
	"dialler/persistence/contacts"
	"dialler/persistence/failure"
	"dialler/persistence/history"
	"dialler/persistence/imports"
	"dialler/persistence/lists"
	"dialler/persistence/nodes"
	"dialler/persistence/pool"
	"dialler/persistence/recordings"
	"dialler/persistence/settings"
	"dialler/persistence/spine"
	"dialler/persistence/table"
	"dialler/persistence/webhooks"
)

// Config is the configuration of Open besides the URL.
type Config = pool.Config

// Store is the database of one installation. Its methods may be called from many goroutines; they
// block until the database answers or ctx ends.
type Store struct {
	db *table.DB
	*commit.Writer
	*contacts.Roster
	*imports.Files
	Lists      *lists.Lists
	Records    *history.Records
	Spine      *spine.Spine
	Endpoints  *webhooks.Endpoints
	Recordings *recordings.Recordings
	*settings.Configuration
	Accounts *access.Accounts

	// Look-ups for triggers.
	suppressed pool.Together[engine.PhoneNumber, journal.Suppression]
	abandoned  pool.Together[abandonOf, time.Time]
}

// CheckURL says whether a URL of a database can be read. The error does not contain it.
func CheckURL(url string) error {
	if _, err := pgx.ParseConfig(url); err != nil {
		return failure.BadURL(err)
	}
	return nil
}

// Open connects, migrates the schema under an advisory lock, and creates the partitions of the
// coming months. The URL is a PostgreSQL URL or key=value string; search_path in it selects the
// schema.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	conns, err := pool.Open(ctx, url, cfg)
	if err != nil {
		return nil, err
	}
	if !cfg.SkipMigrations && !isCurrent(ctx, conns) {
		err = migrate(ctx, url, conns.Config)
	}
	if err == nil {
		err = conns.OpenWriters(ctx, commit.Prepare)
	}
	if err != nil {
		conns.Close()
		return nil, err
	}
	db, err := table.Open(ctx, conns)
	if err != nil {
		conns.Close()
		return nil, err
	}
	endpoints, err := webhooks.NewEndpoints(db)
	if err != nil {
		conns.Close()
		return nil, err
	}
	signed := spine.New(db)
	s := &Store{
		Spine:         signed,
		Roster:        contacts.NewRoster(db),
		Files:         imports.NewFiles(db),
		Lists:         lists.NewLists(db),
		Records:       history.NewRecords(db, signed),
		Endpoints:     endpoints,
		Recordings:    recordings.NewRecordings(db),
		Configuration: settings.NewConfiguration(db),
		Accounts:      access.NewAccounts(db), db: db, Writer: commit.NewWriter(db)}
	s.abandoned.Ask = s.abandonedOf
	s.suppressed.Ask = s.suppressedOf
	if cfg.SkipMigrations {
		return s, nil
	}
	if err := s.Maintain(ctx, time.Now()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// UseRowKey sets the installation's key for the digests of rows, as Spine.Open returns it. A program
// that never calls it makes none, and an audit by it compares none.
func (s *Store) UseRowKey(k chain.RowKey) { s.db.RowKey.Store(&k) }

// HasRowKey says whether there is one.
func (s *Store) HasRowKey() bool { return s.db.RowKey.Load() != nil }

// Close waits for running operations and closes every connection.
func (s *Store) Close() {
	s.Files.Close()
	s.db.Close()
}

// Ping checks whether the database accepts commits; nil means it does.
func (s *Store) Ping(ctx context.Context) error {
	server, err := s.db.Ping(ctx)
	if err != nil {
		return err
	}
	return s.Arrived(ctx, server)
}

// QueryRow runs a query that returns one row, for operator tools and tests.
func (s *Store) QueryRow(ctx context.Context, sql string, dst ...any) error {
	return s.db.QueryRow(ctx, sql, dst...)
}

// Secret gives the installation's secret of that name.
func (s *Store) Secret(ctx context.Context, name string) ([]byte, error) {
	return s.db.Secret(ctx, name)
}

// OnReplaced calls f whenever the database refuses a write because another process took the
// campaign over: it is meant for a process that should be the only one.
func (s *Store) OnReplaced(f func()) { s.db.Epochs.OnReplaced(f) }

// Owners opens the part of the store that a cluster needs; close it before the store.
func (s *Store) Owners(ctx context.Context) (*nodes.Owners, error) {
	return nodes.OpenOwners(ctx, s.db.Pool)
}
