package process

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/storetest"
)

// Database faults under a complete dialler with its own private server, on a volume that can be
// filled: what callers, the API and monitoring see of each, and that nothing is half-done
// afterwards.

// volume makes a small file system for the test. It is mounted in a namespace that a process beside
// us holds, so that nothing is left of it, however we end.
func volume(t *testing.T, mib int) (dir string) {
	t.Helper()
	point, err := os.MkdirTemp("", "dialler-volume-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(point) })
	if err := os.Chmod(point, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := []string{"-Ur", "-m", "sh", "-c",
		`mount -t tmpfs -o size="$2"m,mode=0755 tmpfs "$1" && echo ready && exec cat`, "sh", point, strconv.Itoa(mib)}
	if os.Geteuid() == 0 {
		// The server runs as another user, who must have access to the process that holds the
		// namespace.
		u, err := user.Lookup("postgres")
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				t.Fatal(err)
			}
		}
		mount = []string{"-m", "sh", "-c", `mount -t tmpfs -o size="$2"m,mode=0755,uid="$3" tmpfs "$1" && ` +
			`echo ready && exec setpriv --reuid="$3" --regid="$4" --clear-groups cat`,
			"sh", point, strconv.Itoa(mib), u.Uid, u.Gid}
	}
	c := exec.Command("unshare", mount...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("a volume of the test's own needs unshare (util-linux): %v", err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	ready := make([]byte, 6)
	if _, err := out.Read(ready); err != nil {
		t.Fatalf("no volume of the test's own could be mounted; it needs root or unprivileged namespaces: %v %s", err,
			errs.String())
	}
	return fmt.Sprintf("/proc/%d/root%s", c.Process.Pid, point)
}

// fill uses up the free space of a volume; the returned function releases it.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	f, err := os.CreateTemp(dir, "ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var st unix.Statfs_t
	for {
		if err := unix.Statfs(dir, &st); err != nil {
			t.Fatal(err)
		}
		if st.Bavail == 0 {
			return func() { _ = os.Remove(f.Name()) }
		}
		at, _ := f.Seek(0, 2)
		if err := unix.Fallocate(int(f.Fd()), 0, at, int64(st.Bavail)*st.Bsize); err != nil && err != unix.ENOSPC {
			t.Fatal(err)
		}
	}
}

// serverProcesses returns the processes that work in the private server's data.
func (w *world) serverProcesses() (pids []int) {
	w.t.Helper()
	found, _ := filepath.Glob(filepath.Join(w.p.pg.Dir(), "data*"))
	if len(found) != 1 {
		w.t.Fatalf("the data is in %v", found)
	}
	data, err := os.Stat(found[0])
	if err != nil {
		w.t.Fatal(err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if at, err := os.Stat(link); err == nil && os.SameFile(at, data) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func (w *world) kill(pids ...int) {
	w.t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			w.t.Fatal(err)
		}
	}
}

// keptDown prevents the private server from being started until the returned function is called.
func (w *world) keptDown() (release func()) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.p.pg.Dir(), "lock"), os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		w.t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

// tell runs statements on a separate connection, one by one.
func (w *world) tell(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, w.url)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	for _, s := range statements {
		if _, err := c.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// readiness is what /readyz reports on the database.
type readiness struct {
	status int
	OK     bool
	Detail string
	Since  *time.Time
}

func (w *world) ready() (r readiness) {
	w.t.Helper()
	a := w.send("GET", "/readyz", nil)
	var v struct {
		Checks []struct {
			Name string
			readiness
		}
	}
	a.into(&v)
	for _, c := range v.Checks {
		if c.Name == "database" {
			r = c.readiness
		}
	}
	r.status = a.status
	return r
}

// databaseWrite is a request that must be stored.
type databaseWrite struct {
	name string
	send func() answer
}

// writes returns all kinds of requests that change something, different ones for each n.
func (w *world) writes(id engine.CampaignID, live engine.CallID, token, csv, to string, n int) []databaseWrite {
	of := func(path string) string { return "/api/v1/campaigns/" + string(id) + path }
	operator := func(method, path string, body any) func() answer {
		return func() answer { return w.operator(method, path, body) }
	}
	crm := func(path string, body any) func() answer {
		key := fmt.Sprintf("%s-%d", path, n)
		return func() answer { return w.crm("POST", path, body, "Idempotency-Key", key) }
	}
	return []databaseWrite{
		{"trigger", crm("/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to})},
		{"exclude", crm("/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": newNumber(),
			"reason": "asked"})},
		{"dialout", crm("/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})},
		{"result", func() answer { return w.result(live, token, map[string]any{"disposition": "interested"}) }},
		{"pause", operator("POST", of("/pause"), nil)},
		{"stop", operator("POST", of("/stop"), nil)},
		{"edit", operator("PATCH", of(""), map[string]any{"name": "Summer", "version": 1})},
		{"clone", operator("POST", of("/clone"), map[string]any{})},
		{"contacts", operator("POST", of("/contacts"),
			map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}})},
		{"import", func() answer { return w.upload(id, csv) }},
		{"campaign", operator("POST", "/api/v1/campaigns", settings(nil))},
		{"key", operator("POST", "/api/v1/api-keys", map[string]any{"name": "another"})},
		{"suppression", operator("POST", "/api/v1/suppressions", map[string]any{"numbers": []string{newNumber()},
			"reason": "asked"})},
		{"bot", operator("PUT", "/api/v1/bots/other", map[string]any{"name": "Other", "seats": 1,
			"endpoints": []string{w.bot.URL()}})},
		{"number", operator("PUT", "/api/v1/numbers/+493023125099", map[string]any{})},
		{"log-in", operator("POST", "/api/v1/auth/token", map[string]any{"email": FirstAdminEmail, "password": "wrong"})},
	}
}

// databaseFault is one fault from beginning to end.
type databaseFault struct {
	name  string
	says  string // part of what /readyz says
	reads bool   // queries still work
	begin func() (end func())
}

func TestFaultsOfTheDatabaseStopNewCallsAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := volume(t, 256)
	faults := &storetest.Faults{}
	w := newPrivateWorld(t, dir, tuning{toDatabase: faults.Dial})
	w.silently(0) // until someone hangs up
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 2})
	csv, _ := contactFile(3)
	parked := w.running(map[string]any{"window": closedWindow()}) // takes contacts but dials nobody

	begun := func(s bot.Session) bool { return s.FramesIn > 0 && s.Parameters != nil }
	stays := w.trigger(id, newNumber(), nil).AttemptID
	goes := w.trigger(id, newNumber(), nil).AttemptID
	token := w.session(stays.Call(), "begun", begun).Parameters["result_token"]

	kill := func(which func() []int) func() func() {
		return func() func() {
			release := w.keptDown()
			w.kill(which()...)
			return release
		}
	}
	for n, f := range []databaseFault{
		{"the postmaster is killed", "cannot be reached", false, kill(func() []int { return []int{w.p.pg.Pid()} })},
		{"the server is killed", "cannot be reached", false, kill(w.serverProcesses)},
		{"the server says nothing", "does not answer in time", false, func() func() { faults.Hang(); return faults.Up }},
		{"the server is read-only", "takes no writes", true, func() func() {
			if err := w.tell("ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := w.tell("ALTER SYSTEM RESET default_transaction_read_only", "SELECT pg_reload_conf()"); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"the volume of the data is full", "is full", true, func() func() {
			free := fill(t, dir)
			// Large rows use up the free space inside the files.
			eventually(t, "the volume is full for the database too", func() bool {
				return w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": parked, "mobile": newNumber(),
					"metadata": noise()}).status == 503
			})
			return free
		}},
		{"the volume of the log is full", "", false, func() func() {
			free := fill(t, dir)
			for w.tell("SELECT pg_switch_wal()", "CREATE TABLE IF NOT EXISTS big AS SELECT 1",
				"DROP TABLE big") == nil { // until there is no room for another file
				continue
			}
			return free
		}},
	} {
		t.Logf("%s, at %s", f.name, time.Now().Format("15:04:05.0"))
		w.session(goes.Call(), "begun", begun)
		waits := newNumber()
		if r := w.trigger(id, waits, nil); r.Status != "queued" {
			t.Fatalf("%s: a contact that has to wait: %+v", f.name, r)
		}
		w.operator("GET", "/api/v1/campaigns", nil).expect(200)
		eventually(t, "both calls are stored as they are",
			func() bool { return w.rows("attempts WHERE state = 'connected'") == 2 })
		triggered := newNumber()
		writes := w.writes(id, stays.Call(), token, csv, triggered, n)
		quiet, said := loud(w.log), w.said(wentAway)

		end := f.begin()
		placed := len(model.Ledger().Calls())
		var ready readiness
		eventually(t, f.name+": it is not ready", func() bool { ready = w.ready(); return ready.status == 503 && !ready.OK })
		if !strings.Contains(ready.Detail, f.says) || ready.Since == nil || ready.Since.After(time.Now()) {
			t.Errorf("%s: /readyz says %+v, want %q", f.name, ready, f.says)
		}
		w.send("GET", "/healthz", nil).expect(200)
		if up := w.metric("dialler_database_up"); up != 0 {
			t.Errorf("%s: dialler_database_up %v", f.name, up)
		}
		// The console's banner shows this text.
		if h := w.operator("GET", "/api/v1/health", nil).expect(200); !strings.Contains(string(h.body), f.says) ||
			!strings.Contains(string(h.body), `"database"`) {
			t.Errorf("%s: the console is told %s", f.name, h)
		}
		// A call can still end, and audio still flows.
		if !w.bot.HangUp(goes.Call()) {
			t.Fatalf("%s: the session is gone", f.name)
		}
		eventually(t, f.name+": the callee of the other call hears its end", func() bool {
			row, _ := model.Ledger().Call(string(goes.Leg(1)))
			return row.State == carrier.StateEnded && row.ByeBy == carrier.Caller
		})
		// What the actors know is still shown.
		eventually(t, f.name+": the campaign says why it does not dial", func() bool {
			d := w.detail(id)
			return d.Live != nil && d.Live.Constraint == engine.ConstraintDatabase && d.Live.InProgress == 1
		})
		if c := w.call(stays.Call()); c.State != "connected" {
			t.Errorf("%s: the live call is shown as %+v", f.name, c)
		}
		w.operator("GET", "/api/v1/campaigns", nil).expect(200)
		if r := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts", nil); f.reads && r.status != 200 || !f.reads &&
			!away(r) {
			t.Errorf("%s: a query: %s", f.name, r)
		}
		// Nothing is stored, and the client is told so at once.
		for _, x := range writes {
			if x.name == "log-in" && f.reads {
				continue // a wrong password stays a wrong password
			}
			r := x.send()
			if x.name == "result" { // a bot posts once
				if r.status != 202 {
					t.Errorf("%s: a result: %s", f.name, r)
				}
				continue
			}
			if !away(r) {
				// A full volume may still have space for a row.
				if f.says != "is full" || r.status >= 300 || !direct[x.name] {
					t.Errorf("%s: %s: %s", f.name, x.name, r)
				}
			}
		}
		w.flows(model, stays.Call(), stays.Leg(1))
		if now := len(model.Ledger().Calls()); now != placed {
			t.Errorf("%s: %d calls were placed", f.name, now-placed)
		}

		end()
		eventually(t, f.name+": it is ready again", func() bool { return w.ready().status == 200 })
		if up := w.metric("dialler_database_up"); up != 1 {
			t.Errorf("%s is over: dialler_database_up %v", f.name, up)
		}
		w.ended(goes.Call(), engine.OutcomeConnectedNoResult)
		eventually(t, f.name+": who waited is dialled", func() bool {
			rows := model.Ledger().To(engine.PhoneNumber(waits))
			if len(rows) == 1 {
				goes, _, _ = engine.LegID(rows[0].CallID).Attempt()
			}
			return len(rows) == 1
		})
		// Refused requests that are repeated are carried out, once.
		for _, x := range writes[:2] {
			x.send().expect(200)
			x.send().expect(200)
		}
		// Once each, or twice if a server without space comes up for a moment.
		if away, back := w.said(wentAway)-said, w.said(cameBack)-said; away < 1 || away > 2 || back != away {
			t.Errorf("%s: the log says %d times that it is away and %d times that it is back", f.name, away, back)
		}
		if lines := loud(w.log) - quiet; lines > 10 {
			t.Errorf("%s: %d warnings and errors in the log", f.name, lines)
		}
		if x := w.exclude(id, triggered); x.Matched != 1 { // it no longer waits for a line
			t.Errorf("%s: a trigger that was repeated: %+v", f.name, x)
		}
	}

	t.Logf("connections are cut, at %s", time.Now().Format("15:04:05.0"))
	// Through the writer: clients do not notice.
	said, failed := w.said(wentAway), w.metric("dialler_commit_failures_total")
	for n, cut := range []storetest.Fault{storetest.CutBefore, storetest.CutAfter} {
		to := newNumber()
		met := faults.Arm(cut, "commit")
		var rep campaign.TriggerReply
		w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to}, "Idempotency-Key",
			fmt.Sprint("cut-", n)).expect(200).into(&rep)
		<-met
		r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to}, "Idempotency-Key",
			fmt.Sprint("cut-", n)).expect(200)
		if r.header.Get("Idempotent-Replayed") != "true" || w.rows("contacts WHERE number = '"+to+"'") != 1 {
			t.Errorf("cut %d: %s, %d contacts", cut, r, w.rows("contacts WHERE number = '"+to+"'"))
		}
		w.exclude(id, to)
	}
	if n := w.metric("dialler_commit_failures_total") - failed; n < 2 {
		t.Errorf("%v commits failed, two were cut", n)
	}
	// A list of contacts: sent again, added once, and counted once.
	total := w.detail(id).Counters.Total
	met := faults.ArmText(storetest.CutAfter, "commit")
	listed := newNumber()
	var added struct{ Added, Total int }
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": listed}}}).expect(200).into(&added)
	<-met
	if added.Added != 1 || added.Total != total+1 || w.detail(id).Counters.Total != total+1 {
		t.Errorf("a list whose commit was not answered: %+v, %d before", added, total)
	}
	w.exclude(id, listed)
	if n := w.said(wentAway) - said; n != 0 {
		t.Errorf("a lost connection is taken for a database that is away: %d times", n)
	}
	// Configuration: it was stored, but the answer was lost. The tree finds out.
	for try := 1; ; try++ {
		met = faults.ArmText(storetest.CutAfter, "commit")
		r := w.operator("PUT", "/api/v1/numbers/+493023125098", map[string]any{})
		<-met
		if away(r) {
			break
		}
		if try == 5 { // sometimes another COMMIT comes first
			t.Fatalf("a number whose commit was not answered: %s", r)
		}
	}
	w.operator("PUT", "/api/v1/numbers/+493023125098", map[string]any{}).expect(200)
	eventually(t, "what is configured is read anew", func() bool { return !w.p.unsettled.Load() })

	t.Logf("commits are slow, at %s", time.Now().Format("15:04:05.0"))
	outages, commits, took := w.metric("dialler_database_outages_total"), w.metric(
		"dialler_commit_seconds_count"), w.metric("dialler_commit_seconds_sum")
	faults.Slow("commit", func() { time.Sleep(200 * time.Millisecond) })
	slow := w.running(map[string]any{"concurrency": 6})
	var calls []engine.AttemptID
	for range 6 {
		rep := w.trigger(slow, newNumber(), nil)
		if rep.Status != "dialled" {
			t.Errorf("a trigger while commits are slow: %+v", rep)
		}
		calls = append(calls, rep.AttemptID)
	}
	for _, a := range calls {
		w.session(a.Call(), "begun", begun)
	}
	if d := w.detail(slow); d.Counters.Abandoned != 0 {
		t.Errorf("%d abandoned", d.Counters.Abandoned)
	}
	w.flows(model, stays.Call(), stays.Leg(1))
	commits, took = w.metric("dialler_commit_seconds_count")-commits, w.metric("dialler_commit_seconds_sum")-took
	if commits < 6 || took < 0.2*(commits-2) { // one or two may have been in progress before
		t.Errorf("%v commits of 200 ms each took %v s", commits, took)
	}
	if r := w.ready(); r.status != 200 || w.metric("dialler_database_outages_total") != outages {
		t.Errorf("slow is taken for away: %+v", r)
	}
	faults.Slow("commit", nil)

	for _, a := range append(calls, stays, goes) {
		if !w.bot.HangUp(a.Call()) {
			t.Errorf("the session of %s is gone", a)
		}
		want := engine.OutcomeConnectedNoResult
		if a == stays {
			want = engine.OutcomeCompleted // by the kept result
		}
		w.ended(a.Call(), want)
	}
	if dup, lap := model.Ledger().DuplicateInvites(), model.Ledger().Overlaps(); len(dup)+len(lap) > 0 {
		t.Errorf("duplicates %v, overlaps %v", dup, lap)
	}
	w.act(id, "stop").expect(200)
	w.act(slow, "stop").expect(200)
	w.quiet()
}

// away says whether a response says that the database is down.
func away(r answer) bool {
	return r.status == nethttp.StatusServiceUnavailable && r.code() == "database_unavailable" &&
		r.header.Get("Retry-After") != ""
}

// direct are requests that do not go through a writer: a row may still find space.
var direct = map[string]bool{"campaign": true, "key": true, "suppression": true, "bot": true, "number": true,
	"log-in": true, "clone": true}

// noise returns incompressible variables.
func noise() map[string]any {
	m := map[string]any{}
	for i := range 60 {
		var b [110]byte
		_, _ = rand.Read(b[:]) // never fails
		m[fmt.Sprint("k", i)] = hex.EncodeToString(b[:])
	}
	return m
}

// The log messages of an outage.
const (
	wentAway = "the database is unavailable"
	cameBack = "the database is back"
)

func (w *world) said(what string) int { return strings.Count(w.log.String(), what) }

// loud counts the warnings and errors in a log.
func loud(l *logbook) (n int) {
	for line := range strings.Lines(l.String()) {
		var v struct{ Level string }
		if json.Unmarshal([]byte(line), &v) == nil && (v.Level == "warn" || v.Level == "error") {
			n++
		}
	}
	return n
}
