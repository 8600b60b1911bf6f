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

// keepsSession checks that a connection stays with one session of the server. The server itself names its own process
// when it connects, a pooler does not. Of a pooler's idle sessions others then take one or two, so that it has to give
// the connection another one, whichever it gives first.
func keepsSession(ctx context.Context, mine *pgx.Conn, cc *pgx.ConnConfig) error {
	backend, err := backendOf(ctx, mine)
	if err != nil || backend == mine.PgConn().PID() {
		return err
	}
	for range 2 {
		other, err := pgx.ConnectConfig(ctx, cc.Copy())
		if err != nil {
			return err
		}
		defer func() { _ = other.Close(closed) }()
		if _, err := other.Exec(ctx, "BEGIN; SELECT 1", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if now, err := backendOf(ctx, mine); err != nil {
			return err
		} else if now != backend {
			return errPooled
		}
	}
	return nil
}

func backendOf(ctx context.Context, c *pgx.Conn) (pid uint32, err error) {
	err = c.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}
