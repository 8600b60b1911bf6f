package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/persistence/private"
)

// replica is one of two PostgreSQL servers.
type replica struct {
	t    *testing.T
	dir  string
	port int
	as   *syscall.Credential // nil: ourselves
	cmd  *exec.Cmd
}

func newReplica(t *testing.T, dir string, as *syscall.Credential) *replica {
	t.Helper()
	return &replica{t: t, dir: dir, as: as, port: ports.Of(t)}
}

func (n *replica) url() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", n.port)
}

// program prepares a PostgreSQL program.
func (n *replica) program(name string, args ...string) *exec.Cmd {
	n.t.Helper()
	path, err := private.Tool(context.Background(), name)
	if err != nil {
		n.t.Fatal(err)
	}
	c := exec.Command(path, args...)
	c.Dir, c.SysProcAttr = filepath.Dir(n.dir), &syscall.SysProcAttr{Credential: n.as}
	return c
}

func (n *replica) run(name string, args ...string) {
	n.t.Helper()
	if out, err := n.program(name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (n *replica) start() {
	n.t.Helper()
	n.cmd = n.program("postgres", "-D", n.dir, "-p", strconv.Itoa(n.port), "-c", "listen_addresses=127.0.0.1", "-c",
		"unix_socket_directories="+n.dir, "-c", "fsync=off")
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(n.kill)
	eventually(n.t, "the server is up", func() bool { return n.exec("SELECT 1") == nil })
}

// kill kills it; its child processes notice and end too.
func (n *replica) kill() {
	if n.cmd != nil {
		_ = n.cmd.Process.Kill()
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

func (n *replica) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, n.url())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, sql)
	return err
}

// newPair starts a primary whose commits wait for a standby.
func newPair(t *testing.T) (primary, standby *replica) {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-pair-") // the servers' user can reach it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var as *syscall.Credential
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			if u, err = user.Lookup("nobody"); err != nil {
				t.Fatal(err)
			}
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			t.Fatal(err)
		}
	}
	primary, standby = newReplica(t, filepath.Join(dir, "primary"), as), newReplica(t, filepath.Join(dir, "standby"), as)
	primary.run("initdb", "-D", primary.dir, "-U", "postgres", "-E", "UTF8", "--locale=C", "--auth=trust", "--no-sync")
	primary.start()
	primary.run("pg_basebackup", "-D", standby.dir, "-h", "127.0.0.1", "-p", strconv.Itoa(primary.port), "-U", "postgres",
		"-R", "-X", "stream", "-c", "fast", "--no-sync")
	standby.start()
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if err := primary.exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the standby is a synchronous one", func() bool {
		return primary.exec("DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync') THEN "+
			"RAISE 'not yet'; END IF; END $$") == nil
	})
	return primary, standby
}

// A primary is lost and a standby replaces it, under a dialler whose DATABASE_URL names both: it
// goes on without a restart, and everything that it acknowledged is there.
func TestAStandbyThatTakesOverIsGoneOnWithAndHasAllThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	primary, standby := newPair(t)
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres"+
		"?sslmode=disable&target_session_attrs=read-write", primary.port, standby.port)
	w := newWorldOn(t, url, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 2})
	parked := w.running(map[string]any{"window": closedWindow()}) // takes contacts but dials nobody
	live := w.talks(id)

	// Triggers come all the time; acknowledged ones are recorded.
	var mu sync.Mutex
	var acknowledged []string
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(acknowledged) }
	var enough atomic.Bool
	var senders sync.WaitGroup
	for range 3 {
		senders.Go(func() {
			client := &nethttp.Client{Timeout: patience}
			defer client.CloseIdleConnections()
			for !enough.Load() {
				to := newNumber()
				body, _ := json.Marshal(map[string]any{"campaign_id": parked, "mobile": to})
				req, err := nethttp.NewRequestWithContext(t.Context(), "POST", w.p.URL()+"/api/v1/campaigns/trigger",
					bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("X-API-Key", w.key)
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
				switch resp.StatusCode {
				case 200:
					mu.Lock()
					acknowledged = append(acknowledged, to)
					mu.Unlock()
				case 503:
				default:
					t.Errorf("answered %d", resp.StatusCode)
				}
			}
		})
	}
	defer func() { enough.Store(true); senders.Wait() }()
	eventually(t, "some are acknowledged", func() bool { return count() >= 50 })

	primary.kill()
	eventually(t, "it is not ready", func() bool { r := w.ready(); return r.status == 503 && !r.OK })
	w.flows(model, live.AttemptID.Call(), live.AttemptID.Leg(1))
	if err := standby.exec("SELECT pg_promote(false)"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is ready again", func() bool { return w.ready().status == 200 })
	before := count()
	eventually(t, "more are acknowledged", func() bool { return count() >= before+20 })
	enough.Store(true)
	senders.Wait()
	var there int
	w.query("SELECT count(*) FROM contacts WHERE number IN ('"+strings.Join(acknowledged, "', '")+"')", &there)
	if there != len(acknowledged) {
		t.Errorf("%d of %d acknowledged contacts are there", there, len(acknowledged))
	}
	// Calls go on and new ones are placed.
	w.flows(model, live.AttemptID.Call(), live.AttemptID.Leg(1))
	next := w.talks(id)
	for _, c := range []engine.AttemptID{live.AttemptID, next.AttemptID} {
		if !w.bot.HangUp(c.Call()) {
			t.Fatal("the session is gone")
		}
		w.ended(c.Call(), engine.OutcomeCompleted)
	}
	// It is not taken for a restored backup, neither now nor by the next start.
	eventually(t, "the takeover is noted", func() bool {
		return w.rows("settings WHERE name = 'database.identity' AND value->>'timeline' = '2'") == 1
	})
	if w.said("the database lost its latest writes") > 0 || w.metric("dialler_database_outages_total") != 1 {
		t.Errorf("%v outages", w.metric("dialler_database_outages_total"))
	}
	w.act(parked, "stop").expect(200)
	w.act(id, "stop").expect(200)
	w.quiet()
	w.restart()
	if n := w.rows("attempts"); n != 2 {
		t.Errorf("%d calls", n)
	}
}
