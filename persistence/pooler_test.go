package persistence_test

import (
	"fmt"
	"net"
	"net/url"
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

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// pooled is the address of a database behind a PgBouncer.
func pooled(t *testing.T, database, mode, ignores string) string {
	t.Helper()
	cc, err := pgx.ParseConfig(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	// It does not run as root.
	dir, err := os.MkdirTemp("", "dialler-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conf := filepath.Join(dir, "pgbouncer.ini")
	server := fmt.Sprintf("host=%s port=%d user=%s", cc.Host, cc.Port, cc.User)
	if cc.Password != "" {
		server += fmt.Sprintf(" password='%s'", cc.Password)
	}
	text := fmt.Sprintf("[databases]\n%s = %s\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"+
		"listen_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\nignore_startup_parameters = %s\n",
		cc.Database, server, port, mode, ignores)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/sbin/pgbouncer", conf) //nolint:gosec // our own configuration
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		for _, path := range []string{dir, conf} {
			if err := os.Chown(path, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, //nolint:gosec // identifiers
		}
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	u := url.URL{Scheme: "postgres", User: url.User(cc.User), Host: fmt.Sprint("127.0.0.1:", port), Path: cc.Database,
		RawQuery: "sslmode=disable"}
	for began := time.Now(); ; {
		c, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = c.Close()
			return u.String()
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%v: %s", err, said.String())
		}
	}
}

// Behind a pooler that gives a session away after each transaction everybody would have the lock that says who
// serves the database.
func TestAPoolerThatKeepsNoSessionsIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	const ignores = "search_path" // the tests'
	direct := storetest.URL(t)
	for mode, code := range map[string]string{"transaction": "database_pooled", "session": ""} {
		for _, round := range []string{"0", "1\nserver_round_robin = 1"} {
			through := pooled(t, direct, mode, ignores+"\nmax_client_conn = 10"+round)
			for range 4 { // the pooler has idle sessions then
				p, err := attend(t, through, "x", false)
				switch {
				case err == nil && code == "":
					p.Close()
				case err == nil || engine.ErrorCode(err) != code:
					t.Fatalf("%s: %v", mode, err)
				}
			}
		}
	}
	// The dialler works behind one that does keep them.
	storetest.OpenAt(t, pooled(t, storetest.URL(t), "session", ignores), persistence.Config{})
}
