// Package pool manages the connections to an installation's database: those for group commits,
// those for queries, and one for health probes.
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

// Pool holds the connections to an installation's database and reports its errors.
type Pool struct {
	Config Config
	Write  *pgxpool.Pool
	Read   *pgxpool.Pool
	Single *pgx.ConnConfig // for connections outside the pools
	probe  probe
	URL    string
	Forget func() // clears the state of a server that may have been replaced
}

// Open connects for queries.
func Open(ctx context.Context, url string, cfg Config) (*Pool, error) {
	p := &Pool{Config: cfg.WithDefaults(), URL: url, Forget: func() {}}
	var err error
	if p.Read, err = p.connect(ctx, p.Config.Readers, nil); err != nil {
		return nil, err
	}
	if err := p.configureSingle(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// OpenWriters connects for group commits, whose tables must exist. Each connection is prepared by prepare before it is
// used.
func (p *Pool) OpenWriters(ctx context.Context, prepare func(context.Context, *pgx.Conn) error) (err error) {
	p.Write, err = p.connect(ctx, p.Config.Writers, prepare)
	return err
}

// Close waits for running operations and closes every connection.
func (p *Pool) Close() {
	p.probe.close()
	if p.Write != nil {
		p.Write.Close()
	}
	p.Read.Close()
}

// durable makes a commit wait until it is on disk, and on that of a synchronous standby, whatever
// the server's default: an INVITE is sent once the commit is confirmed.
const durable = "SELECT set_config('synchronous_commit', 'on', false) " +
	"WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')"

// connect opens a pool: for group commits with prepare, otherwise for queries.
func (p *Pool) connect(ctx context.Context, conns int, prepare func(context.Context, *pgx.Conn) error) (*pgxpool.Pool,
	error) {
	pc, err := pgxpool.ParseConfig(p.URL)
	if err != nil {
		return nil, failure.BadURL(err)
	}
	pc.MaxConns = int32(conns) //nolint:gosec // a small number
	pc.MaxConnLifetimeJitter = 10 * time.Minute
	pc.MaxConnIdleTime = 10 * time.Minute
	var own []Setting
	if prepare != nil {
		own = []Setting{
			// The statements of a group commit take arrays of any length: one plan serves all, and
			// planning each time would cost more than the work. The plan must not be one made for a
			// nearly empty table.
			{"plan_cache_mode", "force_generic_plan"}, {"enable_seqscan", "off"},
			// The index over variables merges its pending entries in bulk: the default of 4 MB delays a
			// commit by 0.2 to 0.3 s.
			{"gin_pending_list_limit", "128kB"},
			// A transaction whose client has died or been cut off must not keep a number or a campaign
			// locked: a node that takes the campaign over waits for it, and has already waited five
			// seconds for a lease.
			{"idle_in_transaction_session_timeout", "3000"},
		}
	}
	Configure(pc.ConnConfig, p.Config, own...)
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

// configureSingle prepares the connections for imports.
func (p *Pool) configureSingle() (err error) {
	if p.Single, err = pgx.ParseConfig(p.URL); err != nil {
		return failure.BadURL(err)
	}
	// Inserted numbers stay locked until the owner has answered.
	Configure(p.Single, p.Config, Setting{"idle_in_transaction_session_timeout", "60000"})
	return nil
}

// Wrap adds context to a query's error; nil stays nil.
func (p *Pool) Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return p.Failed("database_error", what, err)
}

// Failed converts an error: either the database is unavailable, or the request was wrong.
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

// lost drops the idle connections when one was found dead: after a restart of the server they all
// are, and each would fail another query. Connections to a server that has become a standby are
// useless too: another may be the primary.
func (p *Pool) lost(why failure.Away) {
	if why == failure.Unreachable || why == failure.ReadOnly {
		p.reset()
	}
}

func (p *Pool) reset() {
	p.Forget()
	if p.Write != nil {
		p.Write.Reset()
	}
	p.Read.Reset()
}

// QueryRow runs a query that returns one row, for operator tools and tests.
func (p *Pool) QueryRow(ctx context.Context, sql string, dst ...any) error {
	return p.Wrap("query failed", p.Read.QueryRow(ctx, sql).Scan(dst...))
}

// ScanUTC makes times scan as UTC.
func ScanUTC(c *pgx.Conn) {
	c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
}
