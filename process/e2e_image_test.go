package process

import (
	"debug/elf"
	"encoding/json"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dialler/persistence/storetest"
	"dialler/process/keys"
)

// imageUser is the user ID in the image.
const imageUser = 65532

// buildOfTheImage matches the Containerfile's line that builds the program.
var buildOfTheImage = regexp.MustCompile(`(?m)^RUN CGO_ENABLED=0 go build (.*) -o \S+ \.$`)

// The program, built with the image's flags, must run with nothing else beside it.
func TestTheProgramOfTheImageRunsInAFolderWithNothingElseAsAnotherUser(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../deploy/container/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	line := buildOfTheImage.FindSubmatch(text)
	if line == nil {
		t.Fatal("the Containerfile has no line that builds the program")
	}
	// Not the test's folder, which other users cannot read.
	root, err := os.MkdirTemp("", "dialler-image-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	binary := filepath.Join(root, "usr/local/bin/dialler")
	command := slices.Concat(aside, []string{"go", "build"}, strings.Fields(string(line[1])), []string{"-o", binary, ".."})
	build := exec.CommandContext(t.Context(), command[0], command[1:]...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	git, bad := os.Stat("../.git")
	inCheckout := err == nil && bad == nil && git.IsDir() // the go command stamps nothing in a work tree of another
	if inCheckout {                                       // as in the image, whatever the settings here are
		build.Env = append(build.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=true")
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	static(t, binary)
	if inCheckout {
		var b Build
		out, err := exec.CommandContext(t.Context(), binary, "version", "--json").Output()
		if err != nil || json.Unmarshal(out, &b) != nil || b.Commit != strings.TrimSpace(string(commit)) ||
			b.Version == "(devel)" || !strings.HasPrefix(b.Version, "v") || b.Date == "" || b.Go == "" {
			t.Errorf("dialler version --json: %s, %v", out, err)
		}
	}

	data := filepath.Join(root, "var/lib/dialler")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0", "--log-format=json"}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	in := root
	if os.Geteuid() == 0 {
		// Nothing of this system is visible inside: no zones, no certificates, no /proc, no
		// temporary folder.
		for _, dir := range []string{"usr", "usr/local", "usr/local/bin", "var", "var/lib"} {
			if err := os.Chmod(filepath.Join(root, dir), 0o555); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(data, imageUser, imageUser); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(root, 0o555); err != nil {
			t.Fatal(err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
		cmd.Path, in = "/usr/local/bin/dialler", "/"
		cmd.Dir = "/"
	}
	database := storetest.EmptyURL(t)
	cmd.Env = []string{"DATABASE_URL=" + overTCP(t, database), "DIALLER_DATA_DIR=" + filepath.Join(in, "var/lib/dialler"),
		"TZ=Europe/Berlin"}
	r := awaitUp(t, cmd)
	client := &nethttp.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	if got := status(t, client, "GET", r.api+"/healthz"); got != 200 {
		t.Errorf("/healthz: %d", got)
	}
	out, err := program(t, database, "user", "add", "ada@example.org", "--role=admin",
		"--signing-key="+filepath.Join(data, keys.SigningFile)).Output()
	password := regexp.MustCompile(`password \(shown once\): (\S+)`).FindSubmatch(out)
	if err != nil || password == nil {
		t.Fatalf("user add printed %q: %v", out, err)
	}
	// Time zones are embedded in the program.
	resp, err := client.Post(r.api+"/api/v1/auth/token", "application/json",
		strings.NewReader(`{"email":"ada@example.org","password":"`+string(password[1])+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	var login struct{ Token string }
	err = json.NewDecoder(resp.Body).Decode(&login)
	_ = resp.Body.Close()
	if err != nil || login.Token == "" {
		t.Fatalf("log-in: %d, %v", resp.StatusCode, err)
	}
	ask := func(method, path, body string) int {
		req, err := nethttp.NewRequestWithContext(t.Context(), method, r.api+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+login.Token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode >= 400 {
			said, _ := io.ReadAll(resp.Body)
			t.Logf("%s %s: %s", method, path, said)
		}
		return resp.StatusCode
	}
	if got := ask("PUT", "/api/v1/bots/anna",
		`{"name":"Anna","seats":1,"endpoints":["ws://127.0.0.1:9/media"]}`); got != 201 {
		t.Errorf("a bot: %d", got)
	}
	if got := ask("PUT", "/api/v1/numbers/"+ourNumber, `{}`); got != 201 {
		t.Errorf("a number: %d", got)
	}
	if got := ask("POST", "/api/v1/campaigns", `{"name":"a","bot_id":"anna","concurrency":1,"number_pool":["`+ourNumber+
		`"],
		"window":{"zone":"Australia/Lord_Howe","start":"09:00","end":"17:00"}}`); got != 201 {
		t.Errorf("a campaign in a zone of its own: %d", got)
	}
	client.CloseIdleConnections()
	r.terminate()
	if left, _ := filepath.Glob(filepath.Join(data, "*")); len(left) == 0 {
		t.Error("nothing was written to its volume, neither spool nor key")
	}
}

// static fails if a program needs a loader or libraries.
func static(t *testing.T, binary string) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has a segment %s", p.Type)
		}
	}
}

// overTCP makes a database reachable by TCP until the test ends, because the private server only
// has a socket in the file system.
func overTCP(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	host, port := q.Get("host"), q.Get("port")
	if !strings.HasPrefix(host, "/") {
		return database
	}
	if port == "" {
		port = "5432"
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", filepath.Join(host, ".s.PGSQL."+port))
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = ln.Addr().String(), q.Encode()
	return u.String()
}
