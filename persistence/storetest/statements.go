package storetest

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// session is the connection to a database for the statements of tests. It is kept: to begin one takes the server
// more than most statements do.
type session struct {
	mu   sync.Mutex
	conn *pgx.Conn
}

var kept sync.Map // of URLs

// Exec runs statements on a database. Their settings end with them; a transaction that goes on, or a lock, needs a
// connection of the test's own.
func Exec(t testing.TB, url, sql string) {
	t.Helper()
	onSession(t, url, sql, func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, sql); err != nil {
			return err
		}
		_, err := c.Exec(ctx, "RESET ALL")
		return err
	})
}

// Row reads the row of a query.
func Row(t testing.TB, url string, into []any, sql string, args ...any) {
	t.Helper()
	onSession(t, url, sql, func(ctx context.Context, c *pgx.Conn) error {
		// Unprepared: the test may change what its tables are.
		return c.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(into...)
	})
}

func onSession(t testing.TB, url, what string, f func(context.Context, *pgx.Conn) error) {
	t.Helper()
	found, _ := kept.LoadOrStore(url, &session{})
	s := found.(*session) //nolint:forcetypeassert,errcheck // nothing else is stored
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.Ping(ctx) != nil { // the test may have restarted the server
		var err error
		if s.conn, err = pgx.Connect(ctx, url); err != nil {
			t.Fatalf("the test database does not answer: %v", err)
		}
	}
	if err := f(ctx, s.conn); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// EndSessions ends those that are kept; a statement that follows begins another.
func EndSessions() {
	kept.Range(func(url, _ any) bool {
		endSession(url)
		return true
	})
}

func endSession(url any) {
	found, there := kept.LoadAndDelete(url)
	if !there {
		return
	}
	s := found.(*session) //nolint:forcetypeassert,errcheck // nothing else is stored
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.Close(context.Background())
	}
}
