package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/persistence"
	"dialler/persistence/private"
)

// patience is how long a server that comes up, recovers or is asked by many may take.
const patience = 5 * time.Minute

// shared starts or adopts the test server once a process.
var shared = sync.OnceValues(func() (*private.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := filepath.Join(os.TempDir(), "dialler-test-"+strconv.Itoa(os.Geteuid()))
	return private.Start(ctx, private.Config{Dir: dir, Name: "test", Log: zerolog.Nop(), StartTimeout: patience})
})

// URL gives a schema of its own on the shared server, empty, and drops it at
// the end of the test. With TEST_DATABASE_URL it lies on that server instead.
func URL(t testing.TB) string {
	t.Helper()
	base := os.Getenv("TEST_DATABASE_URL")
	if base == "" {
		s, err := shared()
		if err != nil {
			t.Fatalf("this test needs a PostgreSQL server: %v", err)
		}
		base = s.URL()
	}
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	schema := "test_" + hex.EncodeToString(b[:])
	exec(t, base, "CREATE SCHEMA "+schema)
	t.Cleanup(func() { exec(t, base, "DROP SCHEMA "+schema+" CASCADE") })

	u, err := url.Parse(base)
	if err != nil {
		t.Fatalf("TEST_DATABASE_URL is no URL: %v", err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func exec(t testing.TB, url, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatalf("the test database does not answer: %v", err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, sql); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// Open gives a store on a schema of its own, closed at the end of the test.
func Open(t testing.TB) *persistence.Store {
	t.Helper()
	return OpenAt(t, URL(t), persistence.Config{})
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
	t.Cleanup(s.Close)
	return s
}
