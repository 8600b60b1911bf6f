package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// The console in a real browser: the scripts of http/console/e2e drive the system's Chromium
// against the whole process. browser.mjs checks accessibility, page errors and requests to other
// hosts for every page that a script visits.

// consoleDir is where the console and its scripts are.
const consoleDir = "../http/console"

// found returns the first of the programs that is installed; an environment variable may name
// another.
func found(t *testing.T, variable string, names ...string) string {
	t.Helper()
	if given := os.Getenv(variable); given != "" {
		return given
	}
	for _, name := range names {
		if at, err := exec.LookPath(name); err == nil {
			return at
		}
	}
	t.Fatalf("none of %s is on the PATH: run make deps, or name one with %s=/path", strings.Join(names, ", "), variable)
	return ""
}

// node is a Node.js as installed by make deps: the system's, or the one in bin/node when that is
// too old.
func node(t *testing.T) string {
	t.Helper()
	if beside, _ := filepath.Glob("../bin/node/node_modules/node-linux-*/bin/node"); len(beside) > 0 {
		return beside[0]
	}
	return found(t, "NODE", "node", "nodejs")
}

// consoleIsBuilt fails when the console in this binary was not built from the current sources.
func consoleIsBuilt(t *testing.T) {
	t.Helper()
	const remedy = "run make console, then the tests again"
	index, err := os.Stat(consoleDir + "/dist/site/index.html")
	if err != nil {
		t.Fatalf("the console is not built: %s", remedy)
	}
	if _, err := os.Stat(consoleDir + "/node_modules/playwright-core/package.json"); err != nil {
		t.Fatalf("the console's libraries are not installed: %s", remedy)
	}
	err = filepath.WalkDir(consoleDir+"/src", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".test.ts") {
			return err
		}
		if info, err := d.Info(); err != nil {
			return err
		} else if info.ModTime().After(index.ModTime()) {
			return fmt.Errorf("%s is newer than the built console: %s", name, remedy)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// browse runs a script in a browser against the world's process and returns its output. Settings
// are pairs of a name and a value; the last one of a name counts.
func (w *world) browse(script string, settings ...string) []byte {
	w.t.Helper()
	return browseAt(w.t, w.p.URL(), script, settings...)
}

// oneBrowser is held by the test whose browser is open: one takes most of two processors.
var oneBrowser sync.Mutex

// browseAt is browse for the dialler at an address.
func browseAt(t *testing.T, address, script string, settings ...string) []byte {
	t.Helper()
	if !strings.Contains(t.Name(), "Console") {
		t.Fatal("a test that opens a browser has Console in its name: make test runs these one after the other")
	}
	consoleIsBuilt(t)
	oneBrowser.Lock()
	defer oneBrowser.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, node(t), filepath.Join(consoleDir, "e2e", script))
	c.Env = append(os.Environ(), "DIALLER_URL="+address, "CHROMIUM="+found(t, "CHROMIUM",
		"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))
	for i := 0; i+1 < len(settings); i += 2 {
		c.Env = append(c.Env, settings[i]+"="+settings[i+1])
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // it closes its browser
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, errs.String())
	}
	return out.Bytes()
}

// consoleUser adds a user who can log in with browserPassword.
func (w *world) consoleUser(email, role string) {
	w.t.Helper()
	if err := AddUser(context.Background(), w.p.store, email, role, browserPassword, engine.System); err != nil {
		w.t.Fatal(err)
	}
}

func TestAnOperatorRunsACampaignInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 2*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	const email, name = "olga@example.org", "Autumn renewals"
	w.consoleUser(email, "operator")
	id := w.campaign(map[string]any{"name": name, "concurrency": 2, "max_attempts": 2}) // it continues while it is watched

	const added, invalid, duplicate = 40, 1, 2
	var file strings.Builder
	file.WriteString("phone_number,first_name,account\r\n")
	numbers := make([]string, added)
	for i := range numbers {
		numbers[i] = newNumber()
		fmt.Fprintf(&file, "%s,Ada,\"A-%05d\"\r\n", numbers[i], i+1)
	}
	fmt.Fprintf(&file, "%s,Ada,again\r\n%s,Ada,again\r\n12,Ada,short\r\n", numbers[0], numbers[1])
	csv := filepath.Join(t.TempDir(), "contacts.csv")
	if err := os.WriteFile(csv, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	out := w.browse("operator.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN_NAME", name, "CSV", csv, "FROM",
		ourNumber, "ROWS", strconv.Itoa(added+invalid+duplicate), "ADDED", strconv.Itoa(added), "INVALID",
		strconv.Itoa(invalid), "DUPLICATE", strconv.Itoa(duplicate))
	var saw struct {
		Rows   int
		Header string
	}
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	// One row per dial, checked against the carrier's count.
	if dials := len(model.Ledger().Calls()); saw.Rows != dials || dials != added {
		t.Errorf("the report has %d rows, the carrier %d calls, the file %d contacts", saw.Rows, dials, added)
	}
	if !strings.HasPrefix(saw.Header, "run,pass,") {
		t.Errorf("the report begins with %q", saw.Header)
	}
	if d := w.detail(id); d.Status != "completed" || d.Counters.Completed != added {
		t.Errorf("%+v", d)
	}
}

func TestTheConsoleKeepsUpWhateverTheLineDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	const operator, viewer = "otto@example.org", "vera@example.org"
	w.consoleUser(operator, "operator")
	w.consoleUser(viewer, "viewer")
	id := w.campaign(map[string]any{"always_on": true, "concurrency": 2})
	rows := make([]any, 1000) // more than are dialled while the script runs
	for i := range rows {
		rows[i] = map[string]any{"mobile": newNumber()}
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	w.browse("line.mjs", "EMAIL", operator, "VIEWER", viewer, "PASSWORD", browserPassword, "CAMPAIGN", string(id))
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestTheConsoleSaysThatTheDatabaseIsAwayAndGoesOn(t *testing.T) {
	t.Parallel()
	faults := &storetest.Faults{}
	w := newWorld(t, tuning{toDatabase: faults.Dial}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	const email, name = "aida@example.org", "Autumn renewals"
	w.consoleUser(email, "operator")
	id := w.running(map[string]any{"name": name})
	control := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/down":
			faults.Down()
		case "/up":
			faults.Up()
		}
	}))
	defer control.Close()
	w.browse("away.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "CAMPAIGN_NAME", name,
		"CONTROL", control.URL)
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestTheDotsOfWhatIsAliveInTheConsoleLeaveTheBrowserAlone(t *testing.T) {
	w := newWorld(t, tuning{}, 0) // conversations last until the callees hang up, which they do not
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	const email, live, others = "olga@example.org", 9, 19
	w.consoleUser(email, "operator")
	id := w.campaign(map[string]any{"concurrency": live + 1})
	rows := make([]any, live)
	for i := range rows {
		rows[i] = map[string]any{"mobile": newNumber()}
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	all := []engine.CampaignID{id}
	for i := range others {
		all = append(all, w.campaign(map[string]any{"name": fmt.Sprint("Waiting ", i+1), "always_on": true}))
	}
	for _, c := range all {
		w.act(c, "start").expect(200)
	}
	t.Logf("%s", w.browse("breathing.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id),
		"CAMPAIGNS", strconv.Itoa(len(all)), "LAST", newNumber()))
	for _, c := range all {
		w.act(c, "stop").expect(200)
	}
}
