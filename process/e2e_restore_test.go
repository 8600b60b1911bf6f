package process

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/private"
	"dialler/process/keys"
)

// tool runs a PostgreSQL tool.
func (w *world) tool(name string, args ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	path, err := private.Tool(ctx, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.CommandContext(ctx, path, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// server returns the address and schema of the world's database.
func (w *world) server() (address, schema string) {
	w.t.Helper()
	u, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	q := u.Query()
	schema = q.Get("search_path")
	q.Del("search_path")
	u.RawQuery = q.Encode()
	return u.String(), schema
}

// backup dumps the world's database.
func (w *world) backup() (file string) {
	w.t.Helper()
	address, schema := w.server()
	file = filepath.Join(w.t.TempDir(), "dump")
	w.tool("pg_dump", "--format=custom", "--schema="+schema, "--file="+file, "--dbname="+address)
	return file
}

// refusesRestored checks that no dialler starts on the database.
func (w *world) refusesRestored() {
	w.t.Helper()
	p, err := startTuned(context.Background(), w.flags, "main", zerolog.Nop(), w.times)
	if p != nil {
		p.Close()
	}
	if engine.ErrorCode(err) != "database_restored" || !strings.Contains(err.Error(), "dialler db accept-restore") {
		w.t.Fatalf("the start on a restored database: %v", err)
	}
}

// acceptRestore does the same as the command.
func (w *world) acceptRestore() bool {
	w.t.Helper()
	ctx := context.Background()
	s, err := persistence.Open(ctx, w.url, persistence.Config{Log: zerolog.Nop()})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	key, err := keys.Signing(w.flags.SigningKey, "")
	if err == nil {
		_, err = OpenSpine(ctx, s, key, w.flags.DataDir, zerolog.Nop())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	was, err := s.AcceptRestore(ctx, engine.Who{Name: "drill"})
	if err != nil {
		w.t.Fatal(err)
	}
	return was
}

// An older backup is restored in place: server, database and timeline are the same, and later calls
// and suppressions are forgotten.
func TestAnOlderBackupPutBackIntoTheSameDatabaseDialsNobody(t *testing.T) {
	t.Parallel()
	f := func(name string, backup func(w *world) string, restore func(w *world, dump string), marked bool) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tuning{}, 0)
			model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
			id := w.running(map[string]any{"concurrency": 1, "always_on": true})
			dump := backup(w)
			mobile := newNumber()
			w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
				map[string]any{"contacts": []any{map[string]any{"mobile": mobile}}}).expect(200)
			eventually(t, "a call after the backup", func() bool { return len(model.Ledger().Calls()) == 1 })
			w.p.Close()
			w.start() // a start on the remaining data finds no restore
			w.p.Close()
			restore(w, dump)
			w.refusesRestored()
			w.refusesRestored()
			if was := w.acceptRestore(); was != marked {
				t.Errorf("a mark in the database: %t, want %t", was, marked)
			}
			w.start()
			if calls := model.Ledger().Calls(); len(calls) != 1 {
				t.Errorf("%d calls after the restore, want the one before it", len(calls))
			}
		})
	}
	clean := func(w *world, dump string) {
		address, _ := w.server()
		w.tool("pg_restore", "--clean", "--if-exists", "--no-owner", "--exit-on-error", "--dbname="+address, dump)
	}
	f("tables made anew", (*world).backup, clean, true)
	f("rows alone", (*world).backup, func(w *world, dump string) {
		address, schema := w.server()
		w.exec(`DO $$ DECLARE t text; BEGIN
			FOR t IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = '` + schema + `'
			LOOP EXECUTE 'TRUNCATE ' || t || ' CASCADE'; END LOOP; END $$`)
		w.tool("pg_restore", "--data-only", "--disable-triggers", "--no-owner", "--exit-on-error", "--dbname="+address, dump)
	}, true)
	// Its note has no transaction; only the data folder knows of a later one.
	f("a backup of an earlier release", func(w *world) string {
		w.p.Close()
		w.exec("UPDATE settings SET value = value - 'transaction' WHERE name = 'database.identity'")
		dump := w.backup()
		w.flags.DataDir = w.t.TempDir() // separate, because other tests use other databases
		w.start()
		return dump
	}, clean, false)
}

// The drill: a dump of a running dialler is restored into another server.
func TestADumpOfARunningDiallerIsRestoredAndDialsNobodyBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	// The server after the loss of the first.
	ctx := context.Background()
	dir := filepath.Join(os.TempDir(), "dialler-restore-"+strconv.Itoa(os.Getpid()))
	pg, err := private.Start(ctx, private.Config{Dir: dir, Name: "restored", Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(); _ = os.RemoveAll(dir) })
	w := newWorld(t, tuning{}, 0) // conversations last until they are ended
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 2})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		map[string]any{"mobile": newNumber()}, map[string]any{"mobile": newNumber()},
		map[string]any{"mobile": newNumber()}}}).expect(200)
	eventually(t, "two conversations", func() bool {
		return w.detail(id).Live != nil && w.detail(id).Live.InProgress == 2
	})

	_, schema := w.server()
	file := w.backup()
	var live int
	w.query("SELECT count(*) FROM attempts WHERE live", &live)
	w.p.Close()
	placed := len(model.Ledger().Calls())

	w.tool("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+pg.URL(), file)
	other, err := url.Parse(pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	q := other.Query()
	q.Set("search_path", schema)
	other.RawQuery = q.Encode()
	w.url, w.flags.DatabaseURL = other.String(), other.String()

	w.refusesRestored()
	if !w.acceptRestore() || w.acceptRestore() {
		t.Fatal("a restored database is accepted once")
	}
	w.start()
	if n := len(model.Ledger().Calls()); live != 2 || n < placed {
		t.Fatalf("%d calls lived at the dump, %d at the carrier", live, n)
	}
	var lost int
	eventually(t, "what lived is closed as lost", func() bool {
		w.query("SELECT count(*) FROM attempts WHERE NOT live AND outcome = '"+string(engine.OutcomeLost)+"'", &lost)
		return lost == live
	})
	// Their numbers rest: the third contact is called, they are not.
	eventually(t, "the campaign goes on", func() bool { return len(model.Ledger().Calls()) > placed })
	seen := map[engine.PhoneNumber]int{}
	for _, c := range model.Ledger().Calls() {
		seen[c.Number]++
	}
	for n, calls := range seen {
		if calls > 1 {
			t.Errorf("%s was called %d times", n, calls)
		}
	}
	if out, err := w.audit(""); err != nil {
		t.Errorf("the audit: %v\n%s", err, out)
	}
	w.act(id, "stop").expect(200)
}
