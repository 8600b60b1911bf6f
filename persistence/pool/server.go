package pool

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"dialler/persistence/failure"
)

// Server is one life of one server, from its start to its end: its history (the
// cluster's identifier and the timeline), and when it was started. One that takes
// another's place, or that was started again, may have lost what was committed last.
type Server string

// History is the same before and after a restart in which nothing was lost.
func (s Server) History() string {
	history, _, _ := strings.Cut(string(s), " ")
	return history
}

// whichServer asks for it. The timeline is that which is written on; 0 when it may not
// be read.
const whichServer = `(SELECT system_identifier FROM pg_control_system())::text || ':' ||
	CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
		AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
		THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) ELSE '0' END
	|| ' ' || extract(epoch FROM pg_postmaster_start_time())::text`

// server is where a connection keeps its own.
const server = "server"

// note has a connection of the group commits know its server.
func note(ctx context.Context, c *pgx.Conn) error {
	var s string
	var standby bool
	if err := c.QueryRow(ctx, "SELECT pg_is_in_recovery(), "+whichServer).Scan(&standby, &s); err != nil {
		return err
	}
	if standby { // once it is promoted it has another history
		return failure.OfAway(failure.ReadOnly, errReadOnly)
	}
	c.PgConn().CustomData()[server] = Server(s)
	return nil
}

// ServerOf is that of a connection of the group commits.
func ServerOf(c *pgx.Conn) Server {
	s, _ := c.PgConn().CustomData()[server].(Server)
	return s
}
