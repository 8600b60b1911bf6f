package persistence_test

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/persistence"
	"dialler/persistence/migrations"
	"dialler/persistence/storetest"
)

// An index that is built while calls go on waits for the transactions that write to its table. If
// one of them takes too long, the build is aborted; it is repeated as soon as possible, and the
// remains of the first do no harm.
func TestAnIndexThatWasBrokenOffIsMadeAnew(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	next := fstest.MapFS{"99999_next_index.sql": {Data: []byte("-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX " +
		"CONCURRENTLY next_codes ON legs (sip_code);\n")}}
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
	writer, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close(t.Context()) }()
	if _, err := writer.Exec(t.Context(), "BEGIN; LOCK TABLE legs IN ROW EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	type opened struct {
		store *persistence.Store
		err   error
	}
	up := make(chan opened, 1)
	go func() {
		s, err := persistence.Open(t.Context(), url, persistence.Config{Writers: 1, Readers: 1, Migrations: next})
		up <- opened{s, err}
	}()
	// waiting is how many sessions wait for the writer.
	look, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = look.Close(t.Context()) }()
	until := func(what string, waiting int) {
		t.Helper()
		deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
		defer tick.Stop()
		for {
			var n int
			if err := look.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE $1::int = "+
				"ANY(pg_blocking_pids(pid))", writer.PgConn().PID()).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n == waiting {
				return
			}
			select {
			case o := <-up:
				t.Fatalf("the start has ended: %v", o.err)
			case <-deadline:
				t.Fatalf("never: %s", what)
			case <-tick.C:
			}
		}
	}
	until("the index waits for the writer", 1)
	until("it was broken off", 0)
	until("it is tried again", 1)
	if _, err := writer.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	o := <-up
	if o.err != nil {
		t.Fatal(o.err)
	}
	defer o.store.Close()
	var valid bool
	if err := look.QueryRow(t.Context(), "SELECT indisvalid FROM pg_index WHERE indexrelid = 'next_codes'::regclass").Scan(
		&valid); err != nil || !valid {
		t.Errorf("the index is whole: %v, %v", valid, err)
	}
}
