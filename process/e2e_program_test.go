package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/persistence/storetest"
)

// AsProgram makes the test binary act as the program, so that its exit status, streams and signals
// are what a user sees.
const AsProgram = "TEST_AS_DIALLER"

// dataDirs are the data folders of programs, one per test, because a spool belongs to its test's
// database.
var dataDirs sync.Map

func dataDir(t *testing.T) string {
	t.Helper()
	if dir, ok := dataDirs.Load(t.Name()); ok {
		return dir.(string)
	}
	dir := t.TempDir()
	dataDirs.Store(t.Name(), dir)
	t.Cleanup(func() { dataDirs.Delete(t.Name()) })
	return dir
}

// program prepares a run of the program on a database, in its own folder.
func program(t *testing.T, database string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = t.TempDir()
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DIALLER") && !strings.HasPrefix(kv, "DATABASE_URL") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, AsProgram+"=1", "DIALLER_SIGNING_KEY="+sharedKey(t))
	if database != "" {
		cmd.Env = append(cmd.Env, "DATABASE_URL="+database, "DIALLER_DATA_DIR="+dataDir(t))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	return cmd
}

// shortPatience shortens the time-out of a tested program for slow readers of reports.
const shortPatience = "TEST_REPORT_PATIENCE"

func init() {
	production.reportPatience, _ = time.ParseDuration(os.Getenv(shortPatience)) // 0 without
}

// running is a server started as a program.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	api    string
	stdout bytes.Buffer
	mu     sync.Mutex
	stderr bytes.Buffer
	read   chan struct{}
	// recordings is the recordings folder of a cluster node.
	recordings string
}

// serve starts the program and waits until its API is up.
func serve(t *testing.T, database string, args ...string) *running {
	t.Helper()
	cmd := program(t, database, append([]string{"serve", "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0",
		"--log-format=json"}, args...)...)
	cmd.Env = append(cmd.Env, shortPatience+"=8s")
	return awaitUp(t, cmd)
}

// awaitUp starts a server and waits until its API is up.
func awaitUp(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{t: t, read: make(chan struct{}), cmd: cmd}
	r.cmd.Stdout = &r.stdout
	lines, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up := make(chan string, 1)
	go func() {
		defer close(r.read)
		for s := bufio.NewScanner(lines); s.Scan(); {
			r.mu.Lock()
			r.stderr.Write(append(s.Bytes(), '\n'))
			r.mu.Unlock()
			var line struct{ API, Message string }
			if json.Unmarshal(s.Bytes(), &line) == nil && line.Message == "dialler up" {
				up <- line.API
			}
		}
	}()
	select {
	case r.api = <-up:
	case <-r.read:
		t.Fatalf("the program ended: %s", r.log())
	case <-time.After(patience):
		_ = r.cmd.Process.Kill()
		t.Fatalf("the program does not come up: %s", r.log())
	}
	return r
}

func (r *running) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String()
}

// kill ends the program as kill -9 does.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	<-r.read
	_ = r.cmd.Wait() // it may have been waited for
}

// terminate sends SIGTERM and waits for an orderly end.
func (r *running) terminate() {
	r.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	<-r.read
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("after SIGTERM: %v\n%s", err, r.log())
	}
}

func status(t *testing.T, client *nethttp.Client, method, url string, headers ...string) int {
	t.Helper()
	req, err := nethttp.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestServeComesUpTakesKeysOfTheCommandLineAndEndsOnSIGTERM(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyURL(t)
	client := &nethttp.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	r := serve(t, url)
	if got := status(t, client, "GET", r.api+"/healthz"); got != 200 {
		t.Errorf("/healthz: %d", got)
	}
	out, err := program(t, url, "key", "create", "crm").Output()
	key := strings.TrimSpace(string(out))
	if err != nil || !regexp.MustCompile(`^vx_[A-Za-z0-9]{32}$`).MatchString(key) {
		t.Fatalf("key create printed %q: %v", out, err)
	}
	for given, want := range map[string]int{key: 404, "vx_" + strings.Repeat("a", 32): 401} {
		if got := status(t, client, "GET", r.api+"/api/v1/calls/CA"+strings.Repeat("0", 32), "X-API-Key",
			given); got != want {
			t.Errorf("a call with a key of the command line, or another: %d, want %d", got, want)
		}
	}
	out, err = program(t, url, "user", "add", "Ada@Example.org", "--role", "viewer").Output()
	if err != nil || !strings.Contains(string(out), "ada@example.org added as viewer") {
		t.Errorf("user add printed %q: %v", out, err)
	}
	client.CloseIdleConnections()
	r.terminate()
	first := r.stdout.String()
	password := regexp.MustCompile(`(?m)^First administrator: \S+, password \(shown once\): (\S{20,})$`).
		FindStringSubmatch(first)
	if password == nil || strings.Contains(r.log(), password[1]) || strings.Contains(r.log(), key) {
		t.Errorf("the first start prints the administrator's password, and logs it not: %q", first)
	}
	again := serve(t, url)
	again.terminate()
	if again.stdout.Len() > 0 {
		t.Errorf("the second start printed %q", again.stdout.String())
	}
}

func TestAStartThatCannotSucceedSaysWhyInOneLine(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	takenUDP, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = takenUDP.Close() }()
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	free := []string{"--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0"}
	f := func(database, want string, args ...string) {
		t.Helper()
		cmd := program(t, database, args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%v: exit status %d (%v), want 1", args, cmd.ProcessState.ExitCode(), err)
		}
		lines := strings.Split(strings.TrimRight(stderr.String(), "\n"), "\n")
		last, said := lines[len(lines)-1], 0
		for _, l := range lines {
			if strings.HasPrefix(l, "dialler: ") {
				said++
			}
		}
		if !strings.HasPrefix(last, "dialler: ") || said != 1 || !strings.Contains(last, want) || len(last) > 400 ||
			stdout.Len() > 0 {
			t.Errorf("%v said:\n%s%s\nwant one line with %q", args, &stdout, &stderr, want)
		}
		for _, never := range []string{"panic", "goroutine", "hunter2"} {
			if strings.Contains(stderr.String(), never) {
				t.Errorf("%v said %q:\n%s", args, never, &stderr)
			}
		}
	}
	f(url, "--colour", "serve", "--colour=red")
	f(url, "fly", "fly")
	f(url, "log-level", "serve", "--log-level=loud")
	f(url, "config", "serve", "--config="+filepath.Join(folder, "none.yaml"))
	f(url, `unknown setting "listen-htttp"`, "serve", "--config="+file("a.yaml", "listen-htttp: 127.0.0.1:0\n"))
	f(url, "not valid YAML", "serve", "--config="+file("b.yaml", "a: [\n"))
	f(url, "--listen-http", append([]string{"serve"}, "--listen-http="+taken.Addr().String(), "--sip=127.0.0.1:0")...)
	f(url, "--sip", append([]string{"serve"}, "--listen-http=127.0.0.1:0", "--sip="+takenUDP.LocalAddr().String())...)
	f(url, "--sip", append([]string{"serve"}, "--listen-http=127.0.0.1:0", "--sip=nowhere")...)
	f(url, "--rtp-ports", append([]string{"serve", "--rtp-ports=9-8"}, free...)...)
	f(url, "--message", append([]string{"serve", "--message=" + file("c.wav", "no WAV")}, free...)...)
	f(url, "--pprof", append([]string{"serve", "--pprof=" + taken.Addr().String()}, free...)...)
	f("postgres://user:hunter2@127.0.0.1:1/none", "database", append([]string{"serve"}, free...)...)
	f("postgres://user:hunter2@%zz/", "DATABASE_URL", append([]string{"serve"}, free...)...)
	f("postgres://user:hunter2@127.0.0.1:1/none", "database", "key", "create", "crm")
	f("postgres://user:hunter2@127.0.0.1:1/none", "database", "db", "migrate")
}

func TestSettingsComeFromFlagsThenTheEnvironmentThenTheFile(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "dialler.yaml")
	if err := os.WriteFile(config, []byte("key-rate: 0.001\nlog-level: error\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url := storetest.URL(t)
	client := &nethttp.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	r := serve(t, url, "--config="+config, "--log-level=info") // the flag wins, else "dialler up" is not logged
	out, err := program(t, url, "key", "create", "crm").Output()
	if err != nil {
		t.Fatal(err)
	}
	call := func() int {
		return status(t, client, "GET", r.api+"/api/v1/calls/CA"+strings.Repeat("0", 32), "X-API-Key",
			strings.TrimSpace(string(out)))
	}
	if first, second := call(), call(); first != 404 || second != 429 {
		t.Errorf("the file's key rate: %d, then %d; want 404, then 429", first, second)
	}
	hangUp := func(file, said string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := r.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "SIGHUP reads the trunks of the file", func() bool { return strings.Contains(r.log(), said) })
	}
	hangUp("trunks:\n  - {id: a, host: 192.0.2.1, cps_cap: 0}\n", "trunks[0] (a): cps_cap: ")
	hangUp("trunks:\n  - {id: a, host: 192.0.2.1, active: false}\n", `"changed":1`)
	// Settings that may change do; those that cannot are named; an invalid file changes nothing.
	hangUp("key-rate: 0.001\nallowed-countries: [AT]\nkeep-ladders: 7\nsip: 127.0.0.1:1\n",
		`"settings":["allowed-countries","keep-ladders"]`)
	eventually(t, "what needs a restart is named",
		func() bool { return strings.Contains(r.log(), `"settings":["key-rate"]`) }) // the file before had none
	hangUp("allowed-countries: [XX]\nkeep-ladders: 8\n", "--allowed-countries")
	hangUp("no-such-setting: 1\n", "no-such-setting")
	client.CloseIdleConnections()
	r.terminate()
}

func TestTheSandboxPrintsOneJSONDocumentAndItsLedgersAgree(t *testing.T) {
	t.Parallel()
	// With the private database, as a user runs it; the server's own user must be able to enter its
	// folder.
	folder, err := os.MkdirTemp("", "dialler-sandbox-") //nolint:usetesting // that of the test is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "", "sandbox", "--exit", "--json", "--contacts=20", "--seats=8", "--listen-http=127.0.0.1:0",
		"--data-dir="+folder)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var sum struct {
		State            campaign.State    `json:"state"`
		Counters         campaign.Counters `json:"counters"`
		LegsInDatabase   int               `json:"legs_in_database"`
		CallIDsAtCarrier int               `json:"call_ids_at_carrier"`
		LegsInMetrics    int               `json:"legs_in_metrics"`
		LeasesHeld       int               `json:"leases_held"`
		Overlaps         int               `json:"overlapping_calls"`
		Duplicates       int               `json:"duplicate_invites"`
		Violations       int               `json:"bot_protocol_violations"`
		Failures         []string          `json:"failures"`
	}
	d := json.NewDecoder(&stdout)
	if err := d.Decode(&sum); err != nil {
		t.Fatalf("standard output is not the summary: %v", err)
	}
	if rest, _ := io.ReadAll(io.MultiReader(d.Buffered(), &stdout)); len(bytes.TrimSpace(rest)) > 0 {
		t.Errorf("after the document came %q", rest)
	}
	if len(sum.Failures) > 0 || sum.State != "completed" || sum.Counters.Total != 20 || sum.CallIDsAtCarrier < 20 ||
		sum.LegsInDatabase != sum.CallIDsAtCarrier || sum.LegsInMetrics != sum.CallIDsAtCarrier ||
		sum.LeasesHeld+sum.Overlaps+sum.Duplicates+sum.Violations > 0 {
		t.Errorf("%+v", sum)
	}
	if m := regexp.MustCompile(`\+49151[0-9]{4,}`).FindString(stderr.String()); m != "" {
		t.Error("a number is in what was logged")
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*", "data*", "postmaster.pid")); len(left) > 0 {
		t.Errorf("the private database still runs: %v", left)
	}
}

func TestASecondSignalEndsADrainAtOnce(t *testing.T) {
	t.Parallel()
	cmd := program(t, storetest.URL(t), "sandbox", "--contacts=40", "--seats=6", "--listen-http=127.0.0.1:0", "--no-open")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Of several conversations of 3 to 9 s each, one lasts until the second signal.
	api, talking := regexp.MustCompile(`API (http://\S+),`), regexp.MustCompile(`talking [3-9]`)
	url := ""
	for lines := bufio.NewScanner(out); lines.Scan() && !talking.MatchString(lines.Text()); {
		if m := api.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		t.Fatalf("it ended: %v\n%s", cmd.Wait(), stderr.String())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	client := &nethttp.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	eventually(t, "it drains", func() bool { return status(t, client, "GET", url+"/readyz") == 503 })
	if got := status(t, client, "GET", url+"/healthz"); got != 200 {
		t.Errorf("/healthz while it drains: %d", got)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}()
	eventually(t, "a signal a second after the first ends it", func() bool {
		select {
		case <-ended:
			return true
		default:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return false
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit status %d, want 130", code)
	}
}

// docs/adr/0012: the setting is added once, and the operator's choice stays.
func TestAServerStartsAnewWithTheSettingOfItsMonitorThread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the setting is for Linux")
	}
	const setting = "schedtrace=2147483647"
	for given, want := range map[string]string{"gctrace=0": "gctrace=0," + setting, "schedtrace=0": "schedtrace=0"} {
		t.Setenv("GODEBUG", given)
		r := serve(t, storetest.URL(t))
		env, err := os.ReadFile("/proc/" + strconv.Itoa(r.cmd.Process.Pid) + "/environ")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, kv := range strings.Split(string(env), "\x00") {
			if v, ok := strings.CutPrefix(kv, "GODEBUG="); ok {
				got = append(got, v)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("GODEBUG %q became %q, want %q", given, got, want)
		}
		r.terminate()
	}
}

func TestALogInAPipeHasNoColourAndNamesAVariableThatIsNoSetting(t *testing.T) {
	t.Parallel()
	cmd := program(t, "", "config", "check")
	cmd.Env = append(cmd.Env, "DIALLER_NO_SUCH=hunter2")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stdout.String() != "the settings are right\n" {
		t.Errorf("%v: %s", err, &stdout)
	}
	said := stderr.String()
	if !strings.Contains(said, "variable=DIALLER_NO_SUCH") || strings.Count(said, "\n") != 1 ||
		strings.Contains(said, "hunter2") || strings.Contains(said, "\x1b") {
		t.Errorf("it says %q", said)
	}
}
