package persistence_test

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/persistence"
	"dialler/persistence/migrations"
	"dialler/persistence/storetest"
)

// busyUpgrade starts a process with one more schema change while a session writes.
type busyUpgrade struct {
	t            *testing.T
	writer, look *pgx.Conn
	up           chan error
	store        *persistence.Store // once up was heard
}

func startBusyUpgrade(t *testing.T, change string, writes ...string) *busyUpgrade {
	t.Helper()
	url := storetest.URL(t)
	storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	next := fstest.MapFS{"99999_next.sql": {Data: []byte(change)}}
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		next[name] = &fstest.MapFile{Data: b}
	}
	u := &busyUpgrade{t: t, up: make(chan error, 1)}
	for _, c := range []**pgx.Conn{&u.writer, &u.look} {
		if *c, err = pgx.Connect(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*c).Close(context.Background()) })
	}
	for _, sql := range writes {
		u.exec(sql)
	}
	go func() {
		var err error
		u.store, err = persistence.Open(t.Context(), url, persistence.Config{Writers: 1, Readers: 1, Migrations: next})
		u.up <- err
	}()
	return u
}

// exec has the writer do something.
func (u *busyUpgrade) exec(sql string) {
	u.t.Helper()
	if _, err := u.writer.Exec(u.t.Context(), sql); err != nil {
		u.t.Fatal(err)
	}
}

// until waits until so many sessions wait for the writer.
func (u *busyUpgrade) until(what string, waiting int) {
	u.t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		var n int
		if err := u.look.QueryRow(u.t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE $1::int = "+
			"ANY(pg_blocking_pids(pid))", u.writer.PgConn().PID()).Scan(&n); err != nil {
			u.t.Fatal(err)
		}
		if n == waiting {
			return
		}
		select {
		case err := <-u.up:
			u.t.Fatalf("the start has ended: %v", err)
		case <-deadline:
			u.t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// done ends the writer's transaction and waits for the start.
func (u *busyUpgrade) done() {
	u.t.Helper()
	u.exec("COMMIT")
	if err := <-u.up; err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(u.store.Close)
}

// An index that is built while calls go on waits for the transactions that write to its table. If
// one of them takes too long, the build is aborted; it is repeated as soon as possible, and the
// remains of the first do no harm.
func TestAnIndexThatWasBrokenOffIsMadeAnew(t *testing.T) {
	t.Parallel()
	u := startBusyUpgrade(t, "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY next_codes ON legs "+
		"(sip_code);\n", "BEGIN; LOCK TABLE legs IN ROW EXCLUSIVE MODE")
	u.until("the index waits for the writer", 1)
	u.until("it was broken off", 0)
	u.until("it is tried again", 1)
	u.done()
	var valid bool
	const look = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'next_codes'::regclass"
	if err := u.look.QueryRow(t.Context(), look).Scan(&valid); err != nil || !valid {
		t.Errorf("the index is whole: %v, %v", valid, err)
	}
}

// A change of two tables meets a transaction that writes to both in the other order. Whichever
// PostgreSQL ends, the call is written and the change is made.
func TestAChangeThatADeadlockEndsIsTriedAgain(t *testing.T) {
	t.Parallel()
	u := startBusyUpgrade(t, "-- +goose Up\nALTER TABLE legs ADD COLUMN next integer;\n"+
		"ALTER TABLE attempts ADD COLUMN next integer;\n",
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''500ms''', current_database()); END $$`,
		"SET deadlock_timeout = '10min'", // the change is ended
		"BEGIN; LOCK TABLE attempts IN ROW EXCLUSIVE MODE")
	u.until("the change waits for the writer", 1)
	u.exec("LOCK TABLE legs IN ROW EXCLUSIVE MODE") // which the change has locked
	u.done()
	var columns int
	if err := u.look.QueryRow(t.Context(), "SELECT count(*) FROM pg_attribute WHERE attname = 'next' AND attrelid IN "+
		"('legs'::regclass, 'attempts'::regclass)").Scan(&columns); err != nil || columns != 2 {
		t.Errorf("%d of two columns: %v", columns, err)
	}
}
