package private

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"dialler/engine"
)

// folder is a place for a server that every user can enter.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-private-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir, Name: "one", Log: zerolog.Nop()})
	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func query(t *testing.T, url, sql string) (out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if err := c.QueryRow(ctx, sql).Scan(&out); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// keep commits something.
func keep(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, "CREATE TABLE kept AS SELECT 'yes' AS v"); err != nil {
		t.Fatal(err)
	}
}

func TestPrivateServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, dir)

	t.Run("it keeps what it is told is durable", func(t *testing.T) {
		for name, want := range map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
			"listen_addresses": "", "server_encoding": "UTF8", "lc_collate": "C", "data_checksums": "on"} {
			if got := query(t, s.URL(), "SELECT current_setting('"+name+"')"); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
	t.Run("it opens no TCP port", func(t *testing.T) {
		if got := query(t, s.URL(), "SELECT coalesce(inet_server_addr()::text, 'socket')"); got != "socket" {
			t.Errorf("reached through %s", got)
		}
	})
	t.Run("nobody else may enter its folders", func(t *testing.T) {
		for _, d := range []string{s.base, s.data, s.sockets} {
			st, err := os.Stat(d)
			if err != nil || st.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v %v", d, st.Mode(), err)
			}
		}
	})
	t.Run("it does not run as root and is in a session of its own", func(t *testing.T) {
		if !procfs() {
			t.Skip("no /proc here")
		}
		var sys syscall.Stat_t
		if err := syscall.Stat("/proc/"+strconv.Itoa(s.Pid()), &sys); err != nil || sys.Uid == 0 {
			t.Errorf("runs as %d (%v)", sys.Uid, err)
		}
		if sid, err := unix.Getsid(s.Pid()); err != nil || sid != s.Pid() {
			t.Errorf("session %d of process %d (%v)", sid, s.Pid(), err)
		}
	})
	t.Run("a second start adopts it", func(t *testing.T) {
		again, err := Start(t.Context(), Config{Dir: dir, Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		if !again.Adopted() || again.Pid() != s.Pid() || again.URL() != s.URL() {
			t.Errorf("adopted %v, pid %d of %d", again.Adopted(), again.Pid(), s.Pid())
		}
	})
	t.Run("the one who adopted it can stop it, and what was written is there at the next start", func(t *testing.T) {
		keep(t, s.URL())
		adopted, err := Start(t.Context(), Config{Dir: dir, Name: "one"})
		if err != nil {
			t.Fatal(err)
		}
		if err := adopted.Stop(); err != nil {
			t.Fatal(err)
		}
		if alive(s.Pid()) {
			t.Error("still alive")
		}
		if err := s.Stop(); err != nil {
			t.Errorf("stopping what is stopped: %v", err)
		}
		next := start(t, dir)
		if next.Adopted() {
			t.Error("adopted a server that was stopped")
		}
		if got := query(t, next.URL(), "SELECT v FROM kept"); got != "yes" {
			t.Errorf("kept %q", got)
		}
	})
}

// After a kill −9 of ours the server keeps running: the next process adopts it. A kill −9 of the
// server leaves a stale postmaster.pid: the next start recovers.
func TestServerAfterKill(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, dir)
	keep(t, s.URL())
	if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	next := start(t, dir)
	if next.Adopted() || next.Pid() == s.Pid() {
		t.Error("adopted a dead server")
	}
	if got := query(t, next.URL(), "SELECT v FROM kept"); got != "yes" {
		t.Errorf("kept %q", got)
	}
}

// Its processes outlive a killed postmaster: one in the middle of a statement does not notice, and
// keeps the shared memory.
func TestAServerIsStartedAgainThoughAStatementOfTheKilledOneRunsOn(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, dir)
	keep(t, s.URL())
	adopted := start(t, dir)
	adopted.Keep()
	c, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.WithoutCancel(t.Context()), "SELECT count(*) FROM generate_series(1, 1000000000000)")
		over <- err
	}()
	other, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	for running := 0; running == 0; {
		if err := other.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query "+
			"LIKE '%generate_series%' AND pid <> pg_backend_pid()").Scan(&running); err != nil {
			t.Fatal(err)
		}
	}
	was := s.Pid()
	if err := syscall.Kill(was, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for adopted.Pid() == was || adopted.answers(ctx) != nil {
		if err := pause(ctx); err != nil {
			t.Fatal("it is not back")
		}
	}
	if err := <-over; err == nil {
		t.Error("the statement was answered")
	}
	if got := query(t, adopted.URL(), "SELECT v FROM kept"); got != "yes" {
		t.Errorf("kept %q", got)
	}
}

// A process that has reused the process id is neither signalled nor adopted.
func TestForeignProcessIsNotAdopted(t *testing.T) {
	t.Parallel()
	if isPostmaster(os.Getpid(), "/somewhere/data15") {
		t.Error("this test is taken for a server")
	}
	if isPostmaster(1<<22+1, "/somewhere/data15") {
		t.Error("a process that is not there is taken for a server")
	}
}

func TestTwoStartsAtOnceGiveOneServer(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	type result struct {
		s   *Server
		err error
	}
	results := make(chan result, 2)
	for range 2 {
		go func() {
			s, err := Start(t.Context(), Config{Dir: dir, Name: "one"})
			results <- result{s, err}
		}()
	}
	a, b := <-results, <-results
	if a.err != nil || b.err != nil {
		t.Fatal(a.err, b.err)
	}
	if a.s.Pid() != b.s.Pid() || a.s.Adopted() == b.s.Adopted() {
		t.Errorf("processes %d and %d", a.s.Pid(), b.s.Pid())
	}
	if err := a.s.Stop(); err != nil {
		t.Error(err)
	}
	if err := b.s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestLongSocketPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), strings.Repeat("long-name/", 11))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	if strings.HasPrefix(s.sockets, dir) {
		t.Errorf("socket in %s", s.sockets)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.sockets) })
	if got := query(t, s.URL(), "SELECT 'here'"); got != "here" {
		t.Error(got)
	}
	again, err := Start(t.Context(), Config{Dir: dir, Name: "one"})
	if err != nil || !again.Adopted() {
		t.Errorf("not adopted: %v", err)
	}
}

func TestSocketFolder(t *testing.T) {
	f := func(base, want string) {
		t.Helper()
		if got := socketFolder(base, "/run"); !strings.HasPrefix(got, want) ||
			len(filepath.Join(got, socketName)) > socketLength {
			t.Errorf("socketFolder(%q) = %q", base, got)
		}
	}
	f("/var/lib/dialler/main", "/var/lib/dialler/main/run")
	f("/"+strings.Repeat("x", 100), "/run/dialler-")
	f("/"+strings.Repeat("x", 200), "/run/dialler-")
	if socketFolder("/"+strings.Repeat("x", 100), "/run") == socketFolder("/"+strings.Repeat("x", 101), "/run") {
		t.Error("two servers share a socket")
	}
}

func TestMissingBinaries(t *testing.T) {
	_, err := find(t.Context(), t.TempDir(), []string{filepath.Join(t.TempDir(), "*", "bin")}, 0)
	var e *engine.Error
	if !errors.As(err, &e) || !errors.Is(err, ErrMissing) || !strings.Contains(e.Detail, "postgresql") {
		t.Errorf("error %v", err)
	}
	if _, err := find(t.Context(), "", places, 9); !errors.Is(err, ErrMissing) ||
		!strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("data of a version that is not installed: %v", err)
	}
}

// The newest version is chosen, whatever the order of the folders.
func TestNewestBinaries(t *testing.T) {
	root := t.TempDir()
	for _, v := range []string{"9.6", "15.3", "16.1", "13.2"} {
		dir := filepath.Join(root, v, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, n := range []string{"postgres", "initdb"} {
			script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + v + "'\n"
			if err := os.WriteFile(filepath.Join(dir, n), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := func(major, want int) {
		t.Helper()
		b, err := find(t.Context(), "", []string{filepath.Join(root, "*", "bin")}, major)
		if err != nil && want > 0 || b.major != want {
			t.Errorf("for data of version %d: %d, %v", major, b.major, err)
		}
	}
	f(0, 16)
	f(13, 13)
	f(15, 15)
	f(14, 0)
}

func TestHomeThatTheServerCannotEnter(t *testing.T) {
	o, err := chooseOwner()
	if err != nil {
		t.Fatal(err)
	}
	if !o.changes {
		t.Skip("only root gives the server to another user")
	}
	home := t.TempDir() // below a folder that cannot be entered
	closed := filepath.Join(home, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if o.reachable(filepath.Join(closed, "data", "one")) {
		t.Error("a closed home is taken for reachable")
	}
	if a, b := moved(closed), moved(filepath.Join(home, "other", "closed")); a == b ||
		!strings.HasPrefix(a, rootBase+"/closed-") {
		t.Errorf("two installations are moved to %s and %s", a, b)
	}
	if !o.reachable("/var/lib/dialler/one") {
		t.Error("/var/lib is not reachable")
	}
}

func TestForeignFolderIsRefused(t *testing.T) {
	o := owner{uid: 4242}
	if err := o.folder(t.TempDir()); engine.ErrorCode(err) != "database_folder_foreign" {
		t.Errorf("a folder of somebody else: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.folder(file); engine.ErrorCode(err) != "database_folder_foreign" {
		t.Errorf("no folder: %v", err)
	}
	for _, name := range []string{"..", "a/b", "/etc"} {
		if _, err := o.place(t.TempDir(), name); engine.ErrorCode(err) != "database_name_invalid" {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := start(t, dir)
	// A server that listens elsewhere than its file says does not count.
	unlock, err := lock(t.Context(), filepath.Join(s.base, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, Config{Dir: dir, Name: "one"}); engine.ErrorCode(err) != "database_start_locked" {
		t.Errorf("start while another start holds the lock: %v", err)
	}
}
