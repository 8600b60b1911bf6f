package persistence_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// A false alarm keeps a call centre from dialling: table maintenance by an administrator, and the
// server's own work on old rows, are no restore.
func TestMaintenanceIsNoRestore(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	use, err := s.InUse(t.Context(), persistence.LastUse{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"VACUUM FREEZE settings", "VACUUM FULL settings", "CLUSTER settings USING settings_pkey", "REINDEX TABLE settings",
		"ALTER TABLE settings SET (fillfactor = 90)", "ANALYZE settings",
	} {
		run(t, url, sql)
		use.Running = false
		next, err := s.InUse(t.Context(), use)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		use = next
	}
	// The row as a dump restores it.
	run(t, url, "CREATE TABLE copied AS SELECT * FROM settings")
	run(t, url, "DELETE FROM settings")
	run(t, url, "INSERT INTO settings SELECT * FROM copied")
	if _, err := s.InUse(t.Context(), persistence.LastUse{}); engine.ErrorCode(err) != "database_restored" {
		t.Errorf("a row that was copied: %v", err)
	}
}

// When several processes share a database, none takes another's note for a loss, whatever the
// server's clock does.
func TestANoteOfUseIsNeverEarlierThanTheOneBefore(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	first, err := s.InUse(t.Context(), persistence.LastUse{})
	if err != nil {
		t.Fatal(err)
	}
	// A note of another process, written when the clock was an hour ahead.
	run(t, url, `UPDATE settings SET value = jsonb_set(jsonb_set(value, '{at}', to_jsonb(now() + interval '1 hour')),
		'{transaction}', to_jsonb(pg_current_xact_id()::xid::text::bigint)) WHERE name = 'database.identity'`)
	second, err := s.InUse(t.Context(), first)
	if err != nil || second.At.Before(first.At.Add(30*time.Minute)) {
		t.Fatalf("%v after %v: %v", second.At, first.At, err)
	}
	if _, err := s.InUse(t.Context(), second); err != nil {
		t.Error(err)
	}
}

// A confirmed commit is durable, even on a server that does not ensure that by default; and such a
// server is named.
func TestCommitsAreDurableWhateverTheServerDoesUnasked(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	run(t, url, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$")
	s := storetest.OpenAt(t, url, persistence.Config{})
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	_, err = c.Exec(t.Context(), "CREATE TABLE seen AS SELECT current_setting('synchronous_commit') AS how")
	if err != nil {
		t.Fatal(err)
	}
	run(t, url, `CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`)
	run(t, url, "CREATE TRIGGER see AFTER INSERT OR UPDATE ON settings EXECUTE FUNCTION see()")
	if _, err := s.InUse(t.Context(), persistence.LastUse{}); err != nil {
		t.Fatal(err)
	}
	var how string
	if err := c.QueryRow(t.Context(), "SELECT string_agg(DISTINCT how, ' ') FROM seen").Scan(&how); err != nil {
		t.Fatal(err)
	}
	if how != "off on" {
		t.Errorf("asked for nothing, and of the store: %s", how)
	}
	if names, err := s.Unsafe(t.Context()); err != nil || !slices.Contains(names, "synchronous_commit") {
		t.Errorf("named are %v, %v", names, err)
	}
}
