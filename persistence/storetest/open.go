package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/migrations"
	"dialler/persistence/private"
)

// patience is how long a server may take that is starting, recovering or busy.
const patience = 5 * time.Minute

// shared starts or adopts the test server, once per process.
var shared = sync.OnceValues(func() (*private.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := filepath.Join(os.TempDir(), "dialler-test-"+strconv.Itoa(os.Geteuid()))
	return private.Start(ctx, private.Config{Dir: dir, Name: "test", Log: zerolog.Nop(), StartTimeout: patience,
		Settings: noSync})
})

// noSync are settings with which a server does not wait for the disk: tests kill programs, not the machine. Nearly
// every test makes and drops a database, which flushes all that was written, and others waited seconds for that.
var noSync = []string{"fsync=off", "full_page_writes=off", "wal_compression=off"}

// schema is the schema of every test, in a database of the test's own.
const schema = "tested"

// server is the URL of the server that tests share: TEST_DATABASE_URL, whose user must be allowed
// to create databases, or one that is started.
func server(t testing.TB) string {
	t.Helper()
	if url := os.Getenv("TEST_DATABASE_URL"); url != "" {
		return url
	}
	s, err := shared()
	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
	return s.URL()
}

// URL returns a schema of its own with the current tables, all empty, in a database that is dropped
// at the end of the test. It is copied from a template: creating the tables takes a second of work.
func URL(t testing.TB) string {
	t.Helper()
	base := server(t)
	name, err := withTables(base)
	if err != nil {
		t.Fatalf("the tables that tests begin with were not made: %v", err)
	}
	return newDatabase(t, base, name)
}

// EmptyURL returns a schema of its own without tables, in a database that is dropped at the end of
// the test.
func EmptyURL(t testing.TB) string {
	t.Helper()
	base := server(t)
	u := newDatabase(t, base, "template0")
	Exec(t, u, "CREATE SCHEMA "+schema)
	return u
}

// AloneURL returns a schema of its own without tables on a server of the test's own: nobody else writes to
// its log, its own vacuum neither.
func AloneURL(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-alone-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server's user has to enter it
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := private.Start(ctx, private.Config{Dir: dir, Name: "alone", Log: zerolog.Nop(), StartTimeout: patience})
	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	Exec(t, s.URL(), "ALTER SYSTEM SET autovacuum = off")
	Exec(t, s.URL(), "SELECT pg_reload_conf()")
	u := newDatabase(t, s.URL(), "template0")
	Exec(t, u, "CREATE SCHEMA "+schema)
	return u
}

// newDatabase copies a database for the duration of the test.
func newDatabase(t testing.TB, base, from string) string {
	t.Helper()
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	name := "test_" + hex.EncodeToString(b[:])
	Exec(t, base, "CREATE DATABASE "+name+" TEMPLATE "+from+" ENCODING 'UTF8'"+strategy(t, base))
	u, err := of(base, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endSession(u)
		// The server may still have connections of a program that was killed.
		Exec(t, base, "DROP DATABASE "+name+" WITH (FORCE)")
	})
	return u
}

var strategies sync.Map // of servers

// strategy is how a template is copied: file by file where a checkpoint costs nothing, which takes half the work of a
// copy that goes through the log.
func strategy(t testing.TB, base string) string {
	t.Helper()
	if how, known := strategies.Load(base); known {
		return how.(string) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	var how string
	Row(t, base, []any{&how}, "SELECT CASE WHEN current_setting('fsync') = 'off' AND "+
		"current_setting('server_version_num')::integer >= 150000 THEN ' STRATEGY FILE_COPY' ELSE '' END")
	strategies.Store(base, how)
	return how
}

// of is the URL of the tested schema in one of the server's databases.
func of(base, database string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("TEST_DATABASE_URL is no URL: %w", err)
	}
	u.Path = "/" + database
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

var tables = struct {
	sync.Mutex
	name string
}{}

// withTables returns the name of the database with the current tables. The first test program on
// the server creates it; its name contains the digest of the migrations. It lacks what is specific
// to an installation: its secrets.
func withTables(base string) (name string, err error) {
	tables.Lock()
	defer tables.Unlock()
	if tables.name != "" {
		return tables.name, nil
	}
	digest := sha256.New()
	err = fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(migrations.FS, path)
		_, _ = fmt.Fprintf(digest, "%s %d\n%s", path, len(b), b)
		return err
	})
	if err != nil {
		return "", err
	}
	name = "tables_" + hex.EncodeToString(digest.Sum(nil)[:8])
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, base)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	// Released when the session ends.
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext('dialler.tests'))"); err != nil {
		return "", err
	}
	var there bool
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there)
	if err == nil && !there {
		err = makeTables(ctx, c, base, name)
	}
	if err == nil {
		tables.name = name
	}
	return name, err
}

// makeTables builds the database under another name, so that an interrupted one is never used.
func makeTables(ctx context.Context, c *pgx.Conn, base, name string) error {
	unfinished := name + "_unfinished"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + unfinished + " WITH (FORCE)",
		"CREATE DATABASE " + unfinished + " TEMPLATE template0 ENCODING 'UTF8'"} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return err
		}
	}
	u, err := of(base, unfinished)
	if err != nil {
		return err
	}
	in, err := pgx.Connect(ctx, u)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close(ctx) }()
	if _, err := in.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return err
	}
	s, err := persistence.Open(ctx, u, persistence.Config{Writers: 1, Readers: 1})
	if err != nil {
		return err
	}
	s.Close()
	if _, err := in.Exec(ctx, "DELETE FROM settings"); err != nil {
		return err
	}
	if err := in.Close(ctx); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

// Open returns a store on a schema of its own, closed at the end of the test.
func Open(t testing.TB) *persistence.Store {
	t.Helper()
	return OpenAt(t, URL(t), persistence.Config{})
}

// RowKey is the key of the digests of rows in tests.
var RowKey = chain.RowKey{1, 2, 3}

var tampered sync.Map // names of tests

// Tampered says that the test changed rows that Audited would find.
func Tampered(t testing.TB) { tampered.Store(t.Name(), true) }

// Audited fails the test if a row is not as the dialler wrote it.
func Audited(t testing.TB, s *persistence.Store) {
	t.Helper()
	ctx := context.Background()
	if _, yes := tampered.Load(t.Name()); yes || t.Failed() || s.Ping(ctx) != nil {
		return
	}
	audit := func(a history.Audit, err error) {
		t.Helper()
		var e *engine.Error
		if errors.As(err, &e) && e.Kind == engine.KindUnavailable {
			return // the test closed it, or cut it off
		}
		if err != nil {
			t.Errorf("not audited: %v", err)
		}
		for _, f := range a.Findings {
			// Rows of some tests have no events, and some tests hold the signing key themselves.
			if f.Row != "" || f.Table == "event_batches" || f.Table == "event_heads" {
				t.Errorf("the audit of %q finds: %s", a.Campaign, f)
			}
		}
	}
	list, err := s.Records.Campaigns(ctx)
	audit(history.Audit{}, err)
	for _, id := range list {
		audit(s.Records.Apart(1).Audit(ctx, id)) // as large ones are
	}
	audit(s.Records.AuditLoose(ctx))
}

// OpenAt opens a store at a URL, closed at the end of the test.
func OpenAt(t testing.TB, url string, cfg persistence.Config) *persistence.Store {
	t.Helper()
	if cfg.Writers == 0 {
		cfg.Writers, cfg.Readers = 3, 4
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := persistence.Open(ctx, url, cfg)
	if err != nil {
		t.Fatalf("store not opened: %v", err)
	}
	s.UseRowKey(RowKey)
	t.Cleanup(s.Close)
	t.Cleanup(func() { Audited(t, s) })
	return s
}
