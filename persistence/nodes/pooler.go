package nodes

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

// errPooled refuses a pooler that gives a session to another client after each transaction: everybody
// would have the lock of the presence, and find the statements that others prepared.
var errPooled = engine.Unavailable("database_pooled", "the pooler before the database gives a connection to "+
	"another client after each transaction; set its pool_mode=session, or name the database itself in DATABASE_URL", 0)

// keepsSession checks that a connection stays with one session of the server. Of a pooler's idle sessions
// others take one or two meanwhile, so that it has to give another one, whichever it gives first.
func keepsSession(ctx context.Context, cc *pgx.ConnConfig) error {
	cc = cc.Copy()
	cc.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	var conns []*pgx.Conn
	defer func() {
		for _, c := range conns {
			_ = c.Close(closed)
		}
	}()
	connect := func() (*pgx.Conn, error) {
		c, err := pgx.ConnectConfig(ctx, cc.Copy())
		if err != nil {
			return nil, err
		}
		conns = append(conns, c)
		return c, nil
	}
	mine, err := connect()
	if err != nil {
		return err
	}
	var backends []int32
	for range 3 {
		var backend int32
		if err := mine.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
			return err
		}
		if backends = append(backends, backend); backend != backends[0] {
			return errPooled
		}
		if len(backends) == 3 {
			break
		}
		other, err := connect()
		if err != nil {
			return err
		}
		if _, err := other.Exec(ctx, "BEGIN; SELECT 1"); err != nil {
			return err
		}
	}
	return nil
}
