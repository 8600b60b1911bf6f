// Package pool holds the connections to the database of one installation: those of
// the group commits, those of queries, and one that asks how the database is.
package pool

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"dialler/persistence/failure"
)

// Pool are the connections of one installation's database, and how its errors
// are told.
type Pool struct {
	Config Config
	Write  *pgxpool.Pool
	Read   *pgxpool.Pool
	Single *pgx.ConnConfig // of connections that are in no pool
	probe  probe
	URL    string
	Forget func() // what is remembered of the server, which may be another now
}

// OpenPool connects. Every connection of the group commits is prepared by
// prepare before it is used.
func Open(ctx context.Context, url string, cfg Config, prepare func(context.Context, *pgx.Conn) error) (*Pool, error) {
	p := &Pool{Config: cfg.WithDefaults(), URL: url, Forget: func() {}}
	var err error
	if p.Write, err = p.connect(ctx, p.Config.Writers, prepare); err != nil {
		return nil, err
	}
	if p.Read, err = p.connect(ctx, p.Config.Readers, nil); err != nil {
		p.Write.Close()
		return nil, err
	}
	if err := p.configureSingle(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close waits for what runs and closes every connection.
func (p *Pool) Close() {
	p.probe.close()
	p.Write.Close()
	p.Read.Close()
}

// durable has what is committed be on disk, and on that of a synchronous standby, when the
// server says so, whatever it does unasked: an INVITE leaves by its word.
const durable = "SELECT set_config('synchronous_commit', 'on', false) " +
	"WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"

// connect opens a pool: of the group commits with prepare, else of queries.
func (p *Pool) connect(ctx context.Context, conns int, prepare func(context.Context, *pgx.Conn) error) (*pgxpool.Pool,
	error) {
	pc, err := pgxpool.ParseConfig(p.URL)
	if err != nil {
		return nil, failure.BadURL(err)
	}
	pc.MaxConns = int32(conns) //nolint:gosec // a small number
	pc.MaxConnLifetimeJitter = 10 * time.Minute
	pc.MaxConnIdleTime = 10 * time.Minute
	Configure(pc.ConnConfig, p.Config)
	if prepare != nil {
		// The statements of a group commit take arrays of any length: one plan
		// serves all, and planning each time would cost more than the work.
		// It must not be one for a table that had hardly a row when it was made.
		pc.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
		pc.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
		// The index over variables takes in what was inserted in a lump: one of 4 MB,
		// the default, holds a commit up for 0.2 to 0.3 p.
		pc.ConnConfig.RuntimeParams["gin_pending_list_limit"] = "128kB"
		// A transaction whose client is gone, or cut off, must not keep a number or
		// a campaign locked: who takes the campaign over waits for it, and has
		// waited for a lease of five seconds already.
		pc.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "3000"
	}
	if prepare == nil {
		p.probe.guard(pc)
	}
	pc.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		ScanUTC(c)
		if _, err := c.Exec(ctx, durable); err != nil {
			return err
		}
		if prepare == nil {
			return nil
		}
		if err := note(ctx, c); err != nil {
			return err
		}
		return prepare(ctx, c)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, failure.New(failure.AwayCode, "no connection to the database", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, failure.New(failure.AwayCode, "no connection to the database; is it running, and is DATABASE_URL "+
			"right?", err)
	}
	return pool, nil
}

// configureSingle prepares the connections of imports.
func (p *Pool) configureSingle() (err error) {
	if p.Single, err = pgx.ParseConfig(p.URL); err != nil {
		return failure.BadURL(err)
	}
	Configure(p.Single, p.Config)
	// Inserted numbers are locked until the owner has answered.
	p.Single.RuntimeParams["idle_in_transaction_session_timeout"] = "60000"
	return nil
}

// Wrap gives a query's error its place; nil stays nil.
func (p *Pool) Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return p.Failed("database_error", what, err)
}

// Failed is the answer to an error: that the database is away, or that something
// is wrong with what was asked of it.
func (p *Pool) Failed(code, what string, err error) error {
	v, why := failure.Judge(err)
	if v != failure.AwayNow {
		return failure.New(code, what, err)
	}
	p.lost(why)
	var known *failure.Error
	if errors.As(err, &known) && known.Why != "" {
		return known
	}
	return failure.OfAway(why, err)
}

// lost drops the idle connections when one was found dead: after a restart of
// the server they all are, and each would fail one query more. Those to a server
// that is a standby now are of no use either: another may be the primary.
func (p *Pool) lost(why failure.Away) {
	if why == failure.Unreachable || why == failure.ReadOnly {
		p.reset()
	}
}

func (p *Pool) reset() {
	p.Forget()
	p.Write.Reset()
	p.Read.Reset()
}

// QueryRow runs a query of the operator's tools and tests that gives one row.
func (p *Pool) QueryRow(ctx context.Context, sql string, dst ...any) error {
	return p.Wrap("query failed", p.Read.QueryRow(ctx, sql).Scan(dst...))
}

// ScanUTC makes times come in UTC.
func ScanUTC(c *pgx.Conn) {
	c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
}
