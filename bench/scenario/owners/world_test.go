package owners

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine/ownership"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(Env) == "" {
		os.Exit(m.Run())
	}
	if err := Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	identities = 8
	bound      = 10 * time.Second // within which every identity has an owner that acts
)

// terms are short, so that a test is; the distances between them are those of
// the real ones.
var terms = ownership.Terms{TTL: 1500 * time.Millisecond, Margin: 300 * time.Millisecond, Every: 250 * time.Millisecond}

// wire is a way to somewhere that can be cut: what is sent then waits, as in a
// network that loses packets.
type wire struct {
	address string
	mu      sync.Mutex
	open    chan struct{} // closed while it is
	all     map[net.Conn]struct{}
	done    bool
}

func lay(t *testing.T, dial func() (net.Conn, error)) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: l.Addr().String(), open: make(chan struct{}), all: map[net.Conn]struct{}{}}
	close(w.open)
	var wg sync.WaitGroup
	keep := func(c net.Conn) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.done {
			_ = c.Close()
			return false
		}
		w.all[c] = struct{}{}
		return true
	}
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			if !keep(near) {
				return
			}
			wg.Go(func() {
				defer func() { _ = near.Close() }()
				w.passes()
				far, err := dial()
				if err != nil || !keep(far) {
					return
				}
				var both sync.WaitGroup
				both.Go(func() { w.copy(far, near) })
				both.Go(func() { w.copy(near, far) })
				both.Wait()
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.all, near)
				delete(w.all, far)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		w.mend()
		w.mu.Lock()
		w.done = true
		for c := range w.all {
			_ = c.Close()
		}
		w.mu.Unlock()
		wg.Wait()
	})
	return w
}

func (w *wire) copy(to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.passes()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) passes() {
	w.mu.Lock()
	open := w.open
	w.mu.Unlock()
	<-open
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = make(chan struct{})
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.open:
	default:
		close(w.open)
	}
}

// throughWire is the URL of a database by way of a wire.
func throughWire(t *testing.T, url string) (string, *wire) {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgNetwork(c.Host, c.Port)
	w := lay(t, func() (net.Conn, error) { return net.DialTimeout(network, address, 5*time.Second) })
	host, port, _ := net.SplitHostPort(w.address)
	kv := fmt.Sprintf("host=%s port=%s user=%s dbname=%s search_path=%s sslmode=disable", host, port, c.User, c.Database, c.RuntimeParams["search_path"])
	if c.Password != "" {
		kv += " password=" + c.Password
	}
	return kv, w
}

func pgNetwork(host string, port uint16) (network, address string) {
	if strings.HasPrefix(host, "/") {
		return "unix", filepath.Join(host, ".s.PGSQL."+strconv.Itoa(int(port)))
	}
	return "tcp", net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// process is one that the test started.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	ended  chan struct{}
}

func launch(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &p.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		_ = p.stdin.Close()
		<-p.ended
		if t.Failed() && p.stderr.Len() > 0 {
			out := p.stderr.Bytes()
			t.Logf("%v:\n%s", cmd.Args[0], out[max(0, len(out)-6000):])
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Signal(s)
	}
}

// node is a process that is one.
type node struct {
	*process
	cfg      Config
	database *wire
	messages *wire // by which the others reach it
}

// site is an installation: a database, nodes, membership.
type site struct {
	t          *testing.T
	dir        string
	url        string
	membership string
	notes      []string
}

func (s *site) start(name string, cfg Config) *node {
	s.t.Helper()
	cfg.Name, cfg.Membership, cfg.Identities, cfg.Terms = name, s.membership, identities, terms
	cfg.Notes = filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, len(s.notes)))
	if err := os.WriteFile(cfg.Notes, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.notes = append(s.notes, cfg.Notes)
	n := &node{}
	if s.url != "" {
		cfg.Database, n.database = throughWire(s.t, s.url)
		cfg.Listen = free(s.t, 1)[0]
		n.messages = lay(s.t, func() (net.Conn, error) { return net.DialTimeout("tcp", cfg.Listen, 5*time.Second) })
		cfg.Advertise = n.messages.address
	}
	j, err := json.Marshal(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	me, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(me) //nolint:gosec // this test
	cmd.Env = append(os.Environ(), Env+"="+string(j))
	n.process, n.cfg = launch(s.t, cmd), cfg
	return n
}

func (s *site) acts() []Act {
	s.t.Helper()
	all, err := Read(s.notes...)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// settled waits until every identity has been acted for, after now, by one of
// the nodes named.
func (s *site) settled(what string, by ...string) {
	s.t.Helper()
	from := Boot()
	missing := func() (m []string) {
		seen := map[string]bool{}
		for _, a := range s.acts() {
			name, _, _ := strings.Cut(a.By, ".")
			if a.At > int64(from) && slices.Contains(by, name) {
				seen[a.Identity] = true
			}
		}
		for i := range identities {
			if !seen[Identity(i).ID] {
				m = append(m, Identity(i).ID)
			}
		}
		return m
	}
	await(s.t, 3*bound, what, func() bool { return len(missing()) == 0 })
	if took := time.Duration(Boot() - from); took > bound {
		s.t.Errorf("%s: it took %v until every identity had an owner that acts", what, took)
	}
	s.judge(what)
}

func (s *site) judge(what string) {
	s.t.Helper()
	for _, w := range Judge(s.acts()) {
		s.t.Errorf("%s: %s", what, w)
	}
}

// lives counts the incarnations of a node that have joined.
func (s *site) lives(name string) (n int) {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if err := c.QueryRow(s.t.Context(), "SELECT count(*) FROM nodes WHERE name = $1", name).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func await(t *testing.T, within time.Duration, what string, f func() bool) {
	t.Helper()
	deadline, tick := time.After(within), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// free gives addresses whose ports, and the ones above, nobody has.
func free(t *testing.T, n int) (all []string) {
	t.Helper()
	for range 1000 {
		if len(all) == n {
			return all
		}
		a, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p := a.Addr().(*net.TCPAddr).Port
		if b, err := net.Listen("tcp", ":"+strconv.Itoa(p+1)); err == nil {
			all = append(all, a.Addr().String())
			_ = b.Close()
		}
		_ = a.Close()
	}
	t.Fatal("no free ports")
	return nil
}

// etcd starts one, and gives the address of its clients.
func etcd(t *testing.T, dir string) (*process, string) {
	t.Helper()
	at := free(t, 2)
	p := launch(t, exec.Command("etcd", "--name", "e", "--data-dir", filepath.Join(dir, "etcd"), //nolint:gosec // a tool of the test
		"--listen-client-urls", "http://"+at[0], "--advertise-client-urls", "http://"+at[0],
		"--listen-peer-urls", "http://"+at[1], "--initial-advertise-peer-urls", "http://"+at[1],
		"--initial-cluster", "e=http://"+at[1], "--log-level", "error"))
	await(t, time.Minute, "etcd listens", func() bool {
		c, err := net.DialTimeout("tcp", at[0], time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return p, at[0]
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), url: storetest.URL(t)}
	storetest.OpenAt(t, s.url, persistence.Config{Writers: 1, Readers: 1}).Close()
	return s
}
