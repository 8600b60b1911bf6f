package process

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/http"
	"dialler/persistence/storetest"
)

// privateDir is a data folder for a private PostgreSQL.
func privateDir(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-e2e-") // reached by the server's user, too
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// refusedBeside runs a second serve, which must end by itself, and gives the line
// that it said.
func refusedBeside(t *testing.T, database string, args ...string) string {
	t.Helper()
	cmd := program(t, database, append([]string{"serve", "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 3 || stdout.Len() > 0 {
		t.Fatalf("a second serve (%v): %v, want exit status 3\n%s%s", args, err, &stdout, &stderr)
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	return lines[len(lines)-1]
}

func (w *world) readiness() (status int, why string) {
	w.t.Helper()
	var v struct{ Checks []http.Check }
	r := w.send("GET", "/readyz", nil)
	r.into(&v)
	for _, c := range v.Checks {
		if c.Name == "replaced" {
			why = c.Detail
		}
	}
	return r.status, why
}

func TestASecondDiallerOnADatabaseIsRefusedAndTheFirstGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0) // conversations last until somebody hangs up
	w.silently(0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 8})
	var calls []engine.CallID
	for range 5 {
		call := w.trigger(id, newNumber(), nil).AttemptID.Call()
		w.session(call, "talks", func(s bot.Session) bool { return s.FramesIn > 0 })
		calls = append(calls, call)
	}
	before, host := w.census(), ""
	host, _ = os.Hostname()
	for _, args := range [][]string{nil, {"--cluster=automanaged://" + ports.AddressOf(t), "--cluster-listen=" + ports.AddressOf(t)}} {
		said := refusedBeside(t, w.url, args...)
		for _, want := range []string{"dialler: ", " is in use by dialler \"" + host + "\"", "host " + host, "pid " + strconv.Itoa(os.Getpid()),
			"since " + w.p.started.UTC().Format(time.RFC3339)} {
			if !strings.Contains(said, want) {
				t.Errorf("the refusal does not say %q: %s", want, said)
			}
		}
	}
	if after := w.census(); after != before {
		t.Errorf("the refused one wrote: %s, before %s", after, before)
	}
	if left, err := os.ReadDir(dataDir(t)); err != nil || len(left) > 0 {
		t.Errorf("the refused one left %v in its folder, %v", left, err)
	}
	if status, why := w.readiness(); status != 200 || why != "" {
		t.Errorf("/readyz of the first: %d %s", status, why)
	}
	if rows := model.Ledger().Calls(); len(rows) != len(calls) {
		t.Errorf("%d calls were placed", len(rows))
	}
	for _, row := range model.Ledger().Calls() {
		if !row.EndedAt.IsZero() || row.AnsweredAt.IsZero() {
			t.Errorf("a call of the first was ended: %+v", row)
		}
	}
	for _, call := range calls {
		if got := w.call(call); got.Outcome != "" || got.AnsweredAt == nil {
			t.Errorf("%+v", got)
		}
	}
}

func TestADiallerThatWasKilledIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	for range 3 {
		first := serve(t, url)
		if err := first.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.cmd.Wait()
		started := time.Now()
		second := serve(t, url)
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("up after %v", took)
		}
		second.terminate()
	}
}

// postmaster is the process of the private PostgreSQL in a folder, 0: none.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(dir, databaseName, "data*", "postmaster.pid"))
	if len(found) == 0 {
		return 0
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestASecondDiallerOnAPrivateDatabaseLeavesItRunning(t *testing.T) {
	t.Parallel()
	dir := privateDir(t)
	first := serve(t, "", "--data-dir="+dir)
	server := postmaster(t, dir)
	said := refusedBeside(t, "", "--data-dir="+dir, "--spool-size=0")
	if want := "pid " + strconv.Itoa(first.cmd.Process.Pid); !strings.Contains(said, want) {
		t.Errorf("%s, want %s", said, want)
	}
	if now := postmaster(t, dir); now != server || syscall.Kill(server, 0) != nil {
		t.Fatalf("PostgreSQL was %d, is %d", server, now)
	}
	// The orphan of one that was killed is adopted at once, and stopped with the next.
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	serve(t, "", "--data-dir="+dir).terminate()
	if now := postmaster(t, dir); now != 0 {
		t.Errorf("PostgreSQL still runs as %d", now)
	}
}

func TestADiallerWhoseCampaignsAnotherTookOverIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	w.ended(w.trigger(id, newNumber(), nil).AttemptID.Call(), engine.OutcomeCompleted)
	if status, why := w.readiness(); status != 200 || why != "" {
		t.Fatalf("/readyz: %d %s", status, why)
	}
	// What another process does at its start.
	w.exec("UPDATE campaigns SET epoch = epoch + 1")
	if r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": newNumber()}); r.status == 200 {
		t.Errorf("a trigger of a campaign that is another's: %s", r)
	}
	if status, why := w.readiness(); status != 503 || !strings.Contains(why, "stale_epoch") {
		t.Errorf("/readyz: %d %s", status, why)
	}
	for _, r := range []answer{
		w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": newNumber()}),
		w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()}),
		w.operator("GET", "/api/v1/campaigns", nil),
	} {
		if r.status != 503 || r.code() != "replaced" || !regexp.MustCompile("another process.*start this one again").MatchString(string(r.body)) {
			t.Errorf("%s, want 503 replaced", r)
		}
	}
	w.operator("GET", "/api/v1/health", nil).expect(200)
	w.send("GET", "/healthz", nil).expect(200)
	w.restart()
	if status, _ := w.readiness(); status != 200 {
		t.Errorf("/readyz after a restart: %d", status)
	}
}

func TestADiallerWhosePlaceAnotherTookIsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{})
	w.exec("SELECT pg_terminate_backend(backend) FROM presence")
	eventually(t, "the place is taken anew", func() bool {
		var n int
		w.query("SELECT count(*) FROM presence JOIN pg_stat_activity ON pid = backend", &n)
		return n == 1
	})
	if status, why := w.readiness(); status != 200 || why != "" {
		t.Fatalf("/readyz: %d %s", status, why)
	}
}
