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
)

// tool runs a program of PostgreSQL.
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

// The drill: a dump of a dialler that is at work, restored into another server.
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
	w := newWorld(t, tuning{}, 0) // conversations last until somebody ends them
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 2})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		map[string]any{"mobile": newNumber()}, map[string]any{"mobile": newNumber()}, map[string]any{"mobile": newNumber()}}}).expect(200)
	eventually(t, "two conversations", func() bool { return w.detail(id).Live != nil && w.detail(id).Live.InProgress == 2 })

	u, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	schema := q.Get("search_path")
	q.Del("search_path")
	u.RawQuery = q.Encode()
	file := filepath.Join(t.TempDir(), "dump")
	w.tool("pg_dump", "--format=custom", "--schema="+schema, "--file="+file, "--dbname="+u.String())
	var live int
	w.query("SELECT count(*) FROM attempts WHERE live", &live)
	w.p.Close()
	placed := len(model.Ledger().Calls())

	w.tool("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+pg.URL(), file)
	other, err := url.Parse(pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	q = other.Query()
	q.Set("search_path", schema)
	other.RawQuery = q.Encode()
	w.url, w.flags.DatabaseURL = other.String(), other.String()

	if p, err := startTuned(ctx, w.flags, "main", zerolog.Nop(), w.times); engine.ErrorCode(err) != "database_restored" || !strings.Contains(err.Error(), "dialler db accept-restore") {
		if p != nil {
			p.Close()
		}
		t.Fatalf("a restored database is started on: %v", err)
	}
	accept := func() (was bool) {
		s, err := persistence.Open(ctx, w.url, persistence.Config{Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if was, err = s.AcceptRestore(ctx, engine.Who{Name: "drill"}); err != nil {
			t.Fatal(err)
		}
		return was
	}
	if !accept() || accept() {
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
