package pool

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"dialler/persistence/failure"
)

// Server identifies one run of a server, from start to stop: by its history (the cluster's
// identifier and the timeline) and its start time. A server that replaces another, or was
// restarted, may have lost its latest commits.
type Server string

// History is unchanged by a restart in which nothing was lost.
func (s Server) History() string {
	history, _, _ := strings.Cut(string(s), " ")
	return history
}

// whichServer queries the identity. The timeline is the one currently written to; 0 if we have no
// permission to read it.
const whichServer = `(SELECT system_identifier FROM pg_control_system())::text || ':' ||
	CASE WHEN NOT pg_is_in_recovery() AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')
		AND has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
		THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) ELSE '0' END
	|| ' ' || extract(epoch FROM pg_postmaster_start_time())::text`

// server is the key under which a connection stores its Server.
const server = "server"

// note records the server of a connection for group commits.
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

// ServerOf returns the server of a connection for group commits.
func ServerOf(c *pgx.Conn) Server {
	s, _ := c.PgConn().CustomData()[server].(Server)
	return s
}
