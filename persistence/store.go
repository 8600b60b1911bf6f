package persistence

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/migrations"
)

// Config is what Open may be told beside the URL.
type Config struct {
	Log zerolog.Logger
	// Writers is how many group commits may run at the same time, 4. They have
	// connections of their own, so that no query keeps a call waiting.
	Writers int
	// Readers is how many queries may run at the same time, 8.
	Readers int
	// Imports is how many files of contacts may be open at the same time, 4:
	// each has a connection of its own.
	Imports int
	// ConnectTimeout bounds one attempt to connect, 5 s.
	ConnectTimeout time.Duration
	// ChartLimit bounds each statement that counts calls for a chart, 5 s.
	ChartLimit time.Duration
	// Dial replaces the way to the server; tests put faults in here.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Tracer sees each statement; tests ask for its plan.
	Tracer pgx.QueryTracer
	// SkipMigrations leaves the schema as it is: for a process that must not
	// change it.
	SkipMigrations bool
	// Migrations are the steps of the schema, those of package migrations; tests
	// have those of a version that is still to come.
	Migrations fs.FS
	// Now is the clock of the program, time.Now; that of the server may differ.
	Now func() time.Time
	// Secrets seal passwords of trunks, tokens of bots and secrets of webhooks; nil:
	// they are stored as they are.
	Secrets *SecretKeys
}

func (c Config) withDefaults() Config {
	if c.Writers <= 0 {
		c.Writers = 4
	}
	if c.Readers <= 0 {
		c.Readers = 8
	}
	if c.Imports <= 0 {
		c.Imports = 4
	}
	if c.ChartLimit <= 0 {
		c.ChartLimit = 5 * time.Second
	}
	if c.Migrations == nil {
		c.Migrations = migrations.FS
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	return c
}

// Store is the database of one installation. Its methods may be called from
// many goroutines; they block until the database answered or ctx ended.
type Store struct {
	cfg    Config
	write  *pgxpool.Pool
	read   *pgxpool.Pool
	groups sync.Pool // of *group
	shapes atomic.Pointer[layouts]
	marks  legMarks
	key    []byte // under which the numbers of erased persons are hashed

	single  *pgx.ConnConfig // of connections that are in no pool
	imports importSessions
	probe   probe
	acting  atomic.Int32 // the incarnation of ActAs
	epochs  epochs

	// What a trigger asks, and any request with an Idempotency-Key.
	replies    together[replyKey, journal.Reply]
	byNumber   together[numberOf, contact.Contact]
	suppressed together[engine.PhoneNumber, journal.Suppression]
	abandoned  together[abandonOf, time.Time]

	url    string
	jobs   *river.Client[pgx.Tx] // puts jobs into queues
	outbox atomic.Pointer[Outbox]
}

// Open connects, brings the schema up to date under an advisory lock, and
// makes the partitions of the coming months. The URL is a PostgreSQL URL or
// key=value string; search_path in it chooses the schema.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	if !cfg.SkipMigrations {
		if err := migrate(ctx, url, cfg); err != nil {
			return nil, err
		}
	}
	s := &Store{cfg: cfg, url: url}
	s.groups.New = func() any { return newGroup() }
	s.replies.ask, s.byNumber.ask, s.abandoned.ask = s.repliesOf, s.contactsByNumber, s.abandonedOf
	s.suppressed.ask = s.suppressedOf
	var err error
	if s.jobs, err = newEnqueuer(); err != nil {
		return nil, err
	}
	if s.write, err = s.connect(ctx, url, cfg.Writers, true); err != nil {
		return nil, err
	}
	if s.read, err = s.connect(ctx, url, cfg.Readers, false); err != nil {
		s.write.Close()
		return nil, err
	}
	if err := s.configureSingle(url); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.loadShapes(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.loadKey(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if cfg.SkipMigrations {
		return s, nil
	}
	if err := s.Maintain(ctx, time.Now()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close waits for what runs and closes every connection.
func (s *Store) Close() {
	s.imports.closeAll()
	s.probe.close()
	s.write.Close()
	s.read.Close()
}

func (s *Store) connect(ctx context.Context, url string, conns int, writer bool) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, badURL(err)
	}
	pc.MaxConns = int32(conns) //nolint:gosec // a small number
	pc.MaxConnLifetimeJitter = 10 * time.Minute
	pc.MaxConnIdleTime = 10 * time.Minute
	configure(pc.ConnConfig, s.cfg)
	if writer {
		// The statements of a group commit take arrays of any length: one plan
		// serves all, and planning each time would cost more than the work.
		// It must not be one for a table that had hardly a row when it was made.
		pc.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
		pc.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
		// The index over variables takes in what was inserted in a lump: one of 4 MB,
		// the default, holds a commit up for 0.2 to 0.3 s.
		pc.ConnConfig.RuntimeParams["gin_pending_list_limit"] = "128kB"
		// A transaction whose client is gone, or cut off, must not keep a number or
		// a campaign locked: who takes the campaign over waits for it, and has
		// waited for a lease of five seconds already.
		pc.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "3000"
	}
	if !writer {
		s.probe.guard(pc)
	}
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		scanUTC(c)
		if writer {
			return prepareCommit(ctx, c)
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, failure(awayCode, "no connection to the database", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, failure(awayCode, "no connection to the database; is it running, and is DATABASE_URL right?", err)
	}
	return pool, nil
}

// configure sets what every connection of ours has.
func configure(c *pgx.ConnConfig, cfg Config) {
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "dialler"
	}
	c.RuntimeParams["jit"] = "off" // compiling costs more than these queries take
	c.RuntimeParams["timezone"] = "UTC"
	c.ConnectTimeout, c.Tracer = cfg.ConnectTimeout, cfg.Tracer
	if cfg.Dial != nil {
		c.DialFunc = cfg.Dial
	}
}

// configureSingle prepares the connections of imports.
func (s *Store) configureSingle(url string) (err error) {
	if s.single, err = pgx.ParseConfig(url); err != nil {
		return badURL(err)
	}
	configure(s.single, s.cfg)
	// Inserted numbers are locked until the owner has answered.
	s.single.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	return nil
}

func badURL(error) error {
	// The parser's text may repeat the password.
	return engine.Invalid("database_url_invalid", "DATABASE_URL is not a PostgreSQL URL or key=value string")
}

// failure is an error of the database with a code and a remedy; the cause
// stays reachable for the log and for errors.As.
func failure(code, detail string, cause error) error {
	return &databaseError{says: engine.Unavailable(code, detail, time.Second), cause: cause}
}

type databaseError struct {
	says  *engine.Error
	cause error
	why   Away // "" = it is not away
}

func (e *databaseError) Error() string   { return e.says.Error() + ": " + e.cause.Error() }
func (e *databaseError) Unwrap() []error { return []error{e.says, e.cause} }

// sqlState gives the code of an error that the server reported, else "".
func sqlState(err error) (state, constraint string) {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code, pg.ConstraintName
	}
	return "", ""
}

// wrap gives a query's error its place; nil stays nil.
func (s *Store) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return s.failed("database_error", what, err)
}

// failed is the answer to an error: that the database is away, or that something
// is wrong with what was asked of it.
func (s *Store) failed(code, what string, err error) error {
	v, why := judge(err)
	if v != awayNow {
		return failure(code, what, err)
	}
	s.lost(why)
	var known *databaseError
	if errors.As(err, &known) && known.why != "" {
		return known
	}
	return awayError(why, err)
}

// lost drops the idle connections when one was found dead: after a restart of
// the server they all are, and each would fail one query more. Those to a server
// that is a standby now are of no use either: another may be the primary.
func (s *Store) lost(why Away) {
	if why == Unreachable || why == ReadOnly {
		s.reset()
	}
}

func (s *Store) reset() {
	s.marks.forget()
	s.write.Reset()
	s.read.Reset()
}
