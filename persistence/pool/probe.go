package pool

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dialler/persistence/failure"
)

// probe checks the health of the database over a connection of its own: the others are occupied by
// group commits and long queries and so prove nothing.
//
// While the last probe failed, queries are refused at once: otherwise each would wait out its own
// timeout, and a console with ten of them would hang. Commits are still tried, so that nothing
// depends on the probe alone.
type probe struct {
	one  sync.Mutex
	conn *pgx.Conn
	away atomic.Pointer[failure.Error] // failure of the last probe, nil: it succeeded

	mu    sync.Mutex
	conns map[*readConn]struct{} // of the pool for queries
}

// Ping checks whether the database accepts commits, and returns which server it is; a nil error
// means it does. If it does not answer before ctx ends, it gets one more second. The user of the
// store must ping regularly: queries are refused between a failed Ping and the next successful one.
func (p *Pool) Ping(ctx context.Context) (Server, error) {
	q := &p.probe
	q.one.Lock()
	defer q.one.Unlock()
	stood := q.conn != nil && !q.conn.IsClosed()
	server, readOnly, err := q.ask(ctx, p.Single)
	if err != nil && stood && ctx.Err() == nil {
		// A broken connection says nothing of the current server: it may have been restarted
		// between two probes.
		server, readOnly, err = q.ask(ctx, p.Single)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// Was this process itself without CPU time for that long?
		again, cancel := context.WithTimeout(context.WithoutCancel(ctx), secondLook)
		server, readOnly, err = q.ask(again, p.Single)
		cancel()
	}
	if err == nil && readOnly {
		q.away.Store(nil)
		p.lost(failure.ReadOnly)
		return "", failure.OfAway(failure.ReadOnly, errReadOnly)
	}
	if err == nil {
		q.away.Store(nil)
		return server, nil
	}
	v, why := failure.Judge(err)
	if v != failure.AwayNow {
		q.away.Store(nil)
		return "", failure.New("database_error", "the database does not report its state", err)
	}
	p.lost(why)
	e := failure.OfAway(why, err)
	if why == failure.Unreachable || why == failure.Silent {
		q.away.Store(e.(*failure.Error)) //nolint:errorlint // it is made so
	} else {
		q.away.Store(nil)
	}
	if why == failure.Silent {
		q.cut()
		p.reset() // their state is unknown
	}
	return "", e
}

// secondLook is how long a database that did not answer may take for the second probe.
const secondLook = time.Second

var errReadOnly = errors.New("transactions are read-only")

func (p *probe) ask(ctx context.Context, to *pgx.ConnConfig) (server Server, readOnly bool, err error) {
	if p.conn == nil || p.conn.IsClosed() {
		if p.conn, err = pgx.ConnectConfig(ctx, to.Copy()); err != nil {
			p.conn = nil
			return "", false, err
		}
	}
	err = p.conn.QueryRow(ctx, "SELECT "+whichServer+", pg_is_in_recovery() OR "+
		"current_setting('transaction_read_only')::boolean").Scan(&server, &readOnly)
	if err != nil || readOnly { // another server may be the primary by now
		p.hangUp()
	}
	return server, readOnly, err
}

func (p *probe) hangUp() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = p.conn.Close(ctx)
		p.conn = nil
	}
}

func (p *probe) close() {
	p.one.Lock()
	defer p.one.Unlock()
	p.hangUp()
}

// idleCheck is how long a connection may have been idle before it is checked; the pool does the
// same by default.
const idleCheck = time.Second

// guard makes the pool for queries refuse them while the database is unavailable.
func (p *probe) guard(c *pgxpool.Config) {
	refuse := func() error {
		if e := p.away.Load(); e != nil {
			return e
		}
		return nil
	}
	c.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { return refuse() }
	c.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) { return true, refuse() }
	c.ShouldPing = func(_ context.Context, q pgxpool.ShouldPingParams) bool {
		return p.away.Load() == nil && q.IdleDuration > idleCheck
	}
	c.ConnConfig.DialFunc = p.watch(c.ConnConfig.DialFunc)
}

// cut ends the queries waiting for a server that does not answer.
func (p *probe) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Conn.Close() // the pool notices and cleans up
	}
}

// watch tracks the connections that dial makes.
func (p *probe) watch(d pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		r := &readConn{Conn: c, of: p}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.conns == nil {
			p.conns = map[*readConn]struct{}{}
		}
		p.conns[r] = struct{}{}
		return r, nil
	}
}

type readConn struct {
	net.Conn
	of *probe
}

func (c *readConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
