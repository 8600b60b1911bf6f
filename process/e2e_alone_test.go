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
	"dialler/engine/ownership"
	"dialler/http"
	"dialler/persistence"
	"dialler/persistence/nodes"
	"dialler/persistence/storetest"
)

// privateDir is a data folder for a private PostgreSQL.
func privateDir(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-e2e-") // the server's user must reach it too
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// refusedBeside runs a second serve, which must end by itself, and returns the line that it
// printed.
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
	for _, args := range [][]string{nil, {"--cluster=automanaged://" + ports.AddressOf(t),
		"--cluster-listen=" + ports.AddressOf(t)}} {
		said := refusedBeside(t, w.url, args...)
		for _, want := range []string{"dialler: ", " is in use by dialler \"" + host + "\"", "host " + host,
			"pid " + strconv.Itoa(os.Getpid()), "since " + w.p.started.UTC().Format(time.RFC3339)} {
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
		began := time.Now()
		first := serve(t, url)
		free := time.Since(began) // of an unobstructed start on this machine at present
		if err := first.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = first.cmd.Wait()
		started := time.Now()
		second := serve(t, url)
		if took := time.Since(started); took > 2*free+4*time.Second {
			t.Errorf("up after %v, without another before it after %v", took, free)
		}
		second.terminate()
	}
}

// postmaster is the process of the private PostgreSQL in a folder, 0 if there is none.
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
	// The orphan of a killed process is adopted at once, and stopped with the next process.
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
	// What another process does when it starts.
	w.exec("UPDATE campaigns SET epoch = epoch + 1")
	if r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id,
		"mobile": newNumber()}); r.status == 200 {
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
		if r.status != 503 || r.code() != "replaced" ||
			!regexp.MustCompile("another process.*start this one again").MatchString(string(r.body)) {
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
	const end = "SELECT pg_terminate_backend(backend, 10000) FROM presence"
	w.exec(end)
	eventually(t, "the place is taken anew", func() bool {
		var n int
		w.query("SELECT count(*) FROM presence p JOIN pg_stat_activity a ON a.pid = p.backend", &n)
		return n == 1
	})
	if status, why := w.readiness(); status != 200 || why != "" {
		t.Fatalf("/readyz: %d %s", status, why)
	}
	me := ownership.Presence{Life: "other", Name: "web-2", Host: "h", PID: 4711, Since: time.Now()}
	eventually(t, "another is faster", func() bool {
		w.exec(end)
		other, err := nodes.Attend(t.Context(), w.url, persistence.Config{}, me)
		if err != nil {
			return false
		}
		t.Cleanup(other.Close)
		return other.Record(t.Context()) == nil
	})
	eventually(t, "the first is not ready", func() bool {
		status, why := w.readiness()
		return status == 503 && strings.Contains(why, `in use by dialler "web-2" (host h, pid 4711, since `)
	})
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot,
		"to_number": newNumber()}); r.status != 503 || r.code() != "replaced" {
		t.Errorf("%s, want 503 replaced", r)
	}
}

// talking starts the program on the world's database, in place of the world's process, with one
// lasting conversation.
func (w *world) talking() (r *running) {
	w.t.Helper()
	w.tampered = true // there is nothing to audit here while another process runs
	w.p.Close()
	w.flags.SIP = "127.0.0.1:" + strconv.Itoa(ports.Of(w.t))
	r = w.another()
	w.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	var rep struct {
		CallID engine.CallID `json:"call_id"`
	}
	eventually(w.t, "a call is placed", func() bool {
		a := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
		if a.status == 201 {
			a.into(&rep)
		}
		return a.status == 201
	})
	w.session(rep.CallID, "talks", func(s bot.Session) bool { return s.FramesIn > 0 })
	return r
}

// stopped signals the program repeatedly until it ends.
func (r *running) stopped(first time.Time) (status int, after time.Duration) {
	r.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.read:
			after = time.Since(first)
			_ = r.cmd.Wait()
			return r.cmd.ProcessState.ExitCode(), after
		case <-tick.C:
			_ = r.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}

func TestTwoSignalsWithinASecondAreOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.silently(4 * time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	r := w.talking()
	for range 3 {
		if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	r.terminate() // in order
	for _, row := range model.Ledger().Calls() {
		if row.EndedAt.Sub(row.AnsweredAt) < 3*time.Second {
			t.Errorf("the conversation was cut off: %+v", row)
		}
	}
	if said := r.log(); strings.Contains(said, "ended at once") || strings.Contains(said, "drain timeout") {
		t.Error(said)
	}
}

func TestASignalASecondLaterEndsAtOnceSaysWhatIsLeftAndStopsThePrivateDatabase(t *testing.T) {
	t.Parallel()
	pg := privateDir(t)
	w := newPrivateWorld(t, pg, tuning{})
	w.silently(0) // until someone hangs up
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	r := w.talking()
	first := time.Now()
	status, after := r.stopped(first)
	if status != 130 || after < time.Second || after > 30*time.Second {
		t.Errorf("exit status %d after %v", status, after)
	}
	if said := r.log(); !regexp.MustCompile(`"calls":1,.*"message":"ended at once by a second signal`).MatchString(said) ||
		!strings.Contains(said, "draining:") {
		t.Errorf("the log does not say what is left:\n%s", said)
	}
	if pid := postmaster(t, pg); pid != 0 {
		t.Errorf("PostgreSQL still runs as %d", pid)
	}
}
