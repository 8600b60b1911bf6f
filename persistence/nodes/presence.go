package nodes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
)

// Presence marks this process as serving the database: it is an advisory lock, shared by the nodes
// of a cluster and otherwise exclusive, on a session of its own. PostgreSQL ends the session with
// the process or its connection, so that no lease has to run out first. It is taken before anything
// is written, including the schema.
type Presence struct {
	cc  *pgx.ConnConfig
	cfg pool.Config
	me  ownership.Presence

	mu       sync.Mutex
	conn     *pgx.Conn           // nil: lost
	held     bool                // conn has the lock
	recorded bool                // conn has its row
	keeps    bool                // a connection stays with its session; asked once, for it may take others
	former   *ownership.Presence // the process that was replaced, nil if none
}

// servingLock is the lock's key, one per schema.
const servingLock = "hashtextextended(coalesce(current_schema(), '') || '.serving', 0)"

const (
	presencePatience = 3 * time.Second // with one statement
	presencePause    = 50 * time.Millisecond
)

// presenceSession makes the server notice within six seconds that the process's machine or network
// is gone, and prevents it from ending the session by itself.
const presenceSession = `SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3;
	SET tcp_user_timeout = 6000;
	SET idle_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = 0`

// Attend acquires the database. It returns Conflict "database_in_use" when another process serves
// it, and leaves that process alone.
func Attend(ctx context.Context, url string, cfg pool.Config, me ownership.Presence) (*Presence, error) {
	cfg = cfg.WithDefaults()
	cc, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, failure.BadURL(err)
	}
	pool.Configure(cc, cfg)
	p := &Presence{cc: cc, cfg: cfg, me: me}
	began, said := time.Now(), false
	for {
		others, err := p.take(ctx)
		if err != nil {
			p.Close()
			if errors.Is(err, errPooled) {
				return nil, err
			}
			return nil, failure.New(failure.AwayCode, "no connection to the database; is it running, and is "+
				"DATABASE_URL right?", err)
		}
		if others == nil {
			if err := p.awaitFormer(ctx); err != nil {
				p.Close()
				return nil, err
			}
			return p, nil
		}
		waited := time.Since(began)
		switch ownership.Admit(&me, others, waited) {
		case ownership.Replace:
			if err := p.replace(ctx, &others[0]); err != nil {
				p.Close()
				return nil, err
			}
			began = time.Now() // the former may get the lock again first, and then has to record itself again
			continue
		case ownership.GiveUp:
			p.Close()
			return nil, p.inUse(others)
		case ownership.EndOwn, ownership.AskAgain:
		}
		if !said && waited > presencePatience/2 {
			said = true
			cfg.Log.Info().Msg("another dialler serves this database but has been silent for seconds; waiting for the " +
				"database to notice its end")
		}
		if !pool.Sleep(ctx, presencePause) {
			p.Close()
			return nil, ctx.Err()
		}
	}
}

// replace ends the session of another process, which notices at its next renewal.
func (p *Presence) replace(ctx context.Context, other *ownership.Presence) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.former == nil {
		p.cfg.Log.Warn().Str("name", other.Name).Str("host", other.Host).Int("pid", other.PID).
			Msg("taking the place of the dialler that serves this database; it ends its calls")
	}
	p.former = other
	_, err := p.conn.Exec(ctx, "SELECT pg_terminate_backend(backend, 3000) FROM presence WHERE life = $1", other.Life)
	if err != nil {
		return failure.New("database_error", "the session of the dialler that serves this database was not ended",
			p.lost(err))
	}
	return nil
}

// awaitFormer waits until the replaced process has ended its calls: it then removes its row.
func (p *Presence) awaitFormer(ctx context.Context) error {
	if p.former == nil {
		return nil
	}
	for began := time.Now(); ; {
		there := false
		p.mu.Lock()
		err := p.conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM presence WHERE life = $1)", p.former.Life).Scan(&there)
		p.mu.Unlock()
		if err != nil {
			return failure.New("database_error", "could not read whether the other dialler has ended its calls", err)
		}
		if !there {
			return nil
		}
		if time.Since(began) >= ownership.FencedWithin {
			p.cfg.Log.Warn().Str("name", p.former.Name).Str("host", p.former.Host).Int("pid", p.former.PID).
				Msg("the other dialler did not confirm that it has ended its calls; their numbers are held until something " +
					"proves their end")
			return nil
		}
		if !pool.Sleep(ctx, presencePause) {
			return ctx.Err()
		}
	}
}

// Left reports that this process, which another one has replaced, has ended its calls.
func (p *Presence) Left(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return engine.Unavailable(failure.AwayCode, "no connection to the database", time.Second)
	}
	_, err := p.conn.Exec(ctx, "DELETE FROM presence WHERE life = $1", p.me.Life)
	return p.lost(err)
}

func (p *Presence) inUse(others []ownership.Presence) error {
	return ownership.InUse(fmt.Sprintf("database %s at %s:%d", p.cc.Database, p.cc.Host, p.cc.Port), &p.me, others)
}

// take connects if necessary and takes the lock. others are the processes that have it, nil when it
// is ours.
func (p *Presence) take(ctx context.Context) (others []ownership.Presence, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, p.cc.Copy())
		if err != nil {
			return nil, err
		}
		pool.ScanUTC(conn)
		p.conn = conn
		if !p.keeps { // other errors are those of what follows as well
			if err := keepsSession(ctx, conn, p.cc); errors.Is(err, errPooled) {
				return nil, p.lost(err)
			}
			p.keeps = true
		}
		if _, err := conn.Exec(ctx, presenceSession); err != nil {
			return nil, p.lost(err)
		}
	}
	try := "SELECT pg_try_advisory_lock(" + servingLock + ")"
	if p.me.Cluster {
		try = "SELECT pg_try_advisory_lock_shared(" + servingLock + ")"
	}
	for {
		if err := p.conn.QueryRow(ctx, try).Scan(&p.held); err != nil || p.held {
			return nil, p.lost(err)
		}
		all, err := p.holders(ctx)
		if err != nil {
			return nil, p.lost(err)
		}
		if len(all) > 0 { // otherwise it was released in the meantime
			return all, nil
		}
	}
}

// lost closes the session after an error.
func (p *Presence) lost(err error) error {
	if err != nil && p.conn != nil {
		_ = p.conn.Close(closed)
		p.conn, p.held, p.recorded = nil, false, false
	}
	return err
}

// closed makes a connection close without a termination message: the server may not be listening.
var closed = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// holders lists the processes that have the lock, and ends sessions of our own left over from a
// broken connection.
func (p *Presence) holders(ctx context.Context) ([]ownership.Presence, error) {
	const locked = ` FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid `
	const which = ` WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.pid <> pg_backend_pid()
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (l.classid::bigint << 32 | l.objid::bigint) = ` + servingLock
	const seen = `l.mode = 'ShareLock', coalesce(extract(epoch FROM clock_timestamp() - a.state_change), 0)::float8, `
	var named bool
	if err := p.conn.QueryRow(ctx, "SELECT to_regclass('presence') IS NOT NULL").Scan(&named); err != nil {
		return nil, err
	}
	sql := "SELECT " + seen + "'', '', '', 0, now()" + locked + which
	if named {
		sql = "SELECT " + seen + "coalesce(n.life, ''), coalesce(n.name, ''), coalesce(n.host, ''), coalesce(n.pid, " +
			"0), coalesce(n.since, now())" +
			locked + "LEFT JOIN presence n ON n.backend = l.pid" + which + " ORDER BY n.since"
	}
	rows, _ := p.conn.Query(ctx, sql)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h ownership.Presence, err error) {
		var silent float64
		err = row.Scan(&h.Cluster, &silent, &h.Life, &h.Name, &h.Host, &h.PID, &h.Since)
		h.Silent = time.Duration(silent * float64(time.Second))
		return h, err
	})
	if err == nil && named {
		_, err = p.conn.Exec(ctx, "SELECT pg_terminate_backend(l.pid)"+locked+"JOIN presence n ON n.backend = l.pid "+
			"AND n.life = $1"+which, p.me.Life)
	}
	return all, err
}

// Record stores this process's details beside its lock, once there is a schema.
func (p *Presence) Record(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.record(ctx)
}

func (p *Presence) record(ctx context.Context) error {
	if !p.held {
		return nil // recorded together with the next lock
	}
	_, err := p.conn.Exec(ctx, `WITH gone AS (
			DELETE FROM presence n WHERE n.backend <> pg_backend_pid() AND NOT EXISTS (SELECT FROM pg_locks l
				WHERE l.locktype = 'advisory' AND l.pid = n.backend)
		) INSERT INTO presence (backend, life, name, host, pid, since) VALUES (pg_backend_pid(), $1, $2, $3, $4, $5)
		ON CONFLICT (backend) DO UPDATE SET life = excluded.life, name = excluded.name, host = excluded.host,
		pid = excluded.pid, since = excluded.since`,
		p.me.Life, p.me.Name, p.me.Host, p.me.PID, p.me.Since)
	if p.recorded = err == nil; p.recorded {
		return nil
	}
	if p.conn.IsClosed() {
		err = p.lost(err)
	}
	return failure.New("database_error", "could not record who serves the database", err)
}

// Renew keeps the process registered, and takes the lock again after the session was lost, for
// example with the database. It returns Conflict "database_in_use" when another process was faster;
// any other error is a temporary one of the database.
func (p *Presence) Renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, presencePatience)
	defer cancel()
	if p.hold(ctx) {
		return nil
	}
	others, err := p.take(ctx)
	if err != nil || others == nil {
		if err == nil {
			err = p.Record(ctx)
		}
		return err
	}
	if ownership.Admit(&p.me, others, presencePatience) == ownership.GiveUp {
		return p.inUse(others)
	}
	return engine.Unavailable(failure.AwayCode, "an earlier database session of this process has not ended yet",
		time.Second)
}

// hold says whether the session is alive.
func (p *Presence) hold(ctx context.Context) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.held {
		return false
	}
	if _, err := p.conn.Exec(ctx, "SELECT 1"); p.lost(err) != nil {
		return false
	}
	if !p.recorded {
		_ = p.record(ctx) // the database was read-only at the time; retry
	}
	return p.held
}

// Close ends the session: another process may serve the database at once.
func (p *Presence) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), presencePatience)
	defer cancel()
	if p.recorded {
		_, _ = p.conn.Exec(ctx, "DELETE FROM presence WHERE backend = pg_backend_pid()") // the next one sees to it else
	}
	_ = p.conn.Close(ctx)
	p.conn = nil
}
