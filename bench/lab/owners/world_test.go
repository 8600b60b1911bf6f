package owners

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/bench/ports"
	"dialler/bench/site"
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
	bound      = 10 * time.Second // within which every identity must have an acting owner
)

// terms are short to keep the test short; their proportions are those of the real ones.
var terms = ownership.Terms{TTL: 1500 * time.Millisecond, Margin: 300 * time.Millisecond, Every: 250 * time.Millisecond}

// lay opens a path that ends with the test.
func lay(t *testing.T, dial func() (net.Conn, error)) *site.Way {
	t.Helper()
	w, err := site.Lay(dial, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// throughWay returns the URL of a database through a path.
func throughWay(t *testing.T, url string) (string, *site.Way) {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	network, address := pgNetwork(c.Host, c.Port)
	w := lay(t, func() (net.Conn, error) { return net.DialTimeout(network, address, 5*time.Second) })
	host, port, _ := net.SplitHostPort(w.Address)
	kv := fmt.Sprintf("host=%s port=%s user=%s dbname=%s search_path=%s sslmode=disable", host, port, c.User, c.Database,
		c.RuntimeParams["search_path"])
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

// process is a process that the test started.
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

// node is a process that runs a node.
type node struct {
	*process
	cfg      Config
	database *site.Way
	messages *site.Way // the path by which the others reach it
}

// place is an installation: a database, nodes, membership.
type place struct {
	t          *testing.T
	dir        string
	url        string
	membership string
	notes      []string
	book       notebook
}

func (s *place) start(name string, cfg Config) *node {
	s.t.Helper()
	cfg.Name, cfg.Membership, cfg.Identities, cfg.Terms = name, s.membership, identities, terms
	cfg.Notes = filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, len(s.notes)))
	if err := os.WriteFile(cfg.Notes, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.notes = append(s.notes, cfg.Notes)
	n := &node{}
	if s.url != "" {
		cfg.Database, n.database = throughWay(s.t, s.url)
		cfg.Listen = free(s.t, 1)[0]
		n.messages = lay(s.t, func() (net.Conn, error) { return net.DialTimeout("tcp", cfg.Listen, 5*time.Second) })
		cfg.Advertise = n.messages.Address
	}
	j, err := json.Marshal(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	me, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(me)
	cmd.Env = append(os.Environ(), Env+"="+string(j))
	n.process, n.cfg = launch(s.t, cmd), cfg
	return n
}

func (s *place) acts() []Act {
	s.t.Helper()
	all, err := s.book.look(s.notes...)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// settled waits until every identity has been acted for, after now, by one of the named nodes. The
// time it took is taken from the acts, not from when they were read.
func (s *place) settled(what string, by ...string) {
	s.t.Helper()
	from := int64(Boot())
	var first map[string]int64
	await(s.t, 3*bound, what, func() bool {
		first = map[string]int64{}
		for _, a := range s.acts() {
			if at, ok := first[a.Identity]; a.At <= from || ok && at <= a.At {
				continue
			}
			if name, _, _ := strings.Cut(a.By, "."); slices.Contains(by, name) {
				first[a.Identity] = a.At
			}
		}
		return len(first) == identities
	})
	took := time.Duration(slices.Max(slices.Collect(maps.Values(first))) - from)
	s.t.Logf("%s: %v", what, took)
	if took > bound {
		s.t.Errorf("%s: it took %v until every identity had an owner that acts", what, took)
	}
	s.judge(what)
}

func (s *place) judge(what string) {
	s.t.Helper()
	for _, w := range Judge(s.acts()) {
		s.t.Errorf("%s: %s", what, w)
	}
}

// lives counts the incarnations of a node that have joined.
func (s *place) lives(name string) int {
	s.t.Helper()
	return s.count("SELECT count(*) FROM nodes WHERE name = $1", name)
}

// gone waits until the lease of a node that cannot renew it has ended, even if it owned nothing
// that another could take over, and returns the number of its incarnations.
func (s *place) gone(name string) int {
	s.t.Helper()
	await(s.t, time.Minute, "the lease of "+name+" is over", func() bool {
		return s.count("SELECT count(*) FROM nodes WHERE name = $1 AND left_at IS NULL AND expires_at > clock_timestamp()",
			name) == 0
	})
	return s.lives(name)
}

func (s *place) count(query, name string) (n int) {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if err := c.QueryRow(s.t.Context(), query, name).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// joins waits until a node has joined more than the given number of times. On a busy machine it may
// have lost its lease and joined again before.
func (s *place) joins(name string, before int) {
	s.t.Helper()
	await(s.t, time.Minute, name+" has joined", func() bool { return s.lives(name) > before })
}

func await(t *testing.T, within time.Duration, what string, f func() bool) {
	t.Helper()
	if !soon(within, f) {
		t.Fatalf("not within %v: %s", within, what)
	}
}

// soon says whether f becomes true in time.
func soon(within time.Duration, f func() bool) bool {
	deadline, tick := time.After(within), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// free returns addresses whose ports, and the next ones, are unused.
func free(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		all = append(all, ports.AddressOf(t))
	}
	return all
}

// etcd starts an etcd that ends with the test.
func etcd(t *testing.T, dir string) *site.Etcd {
	t.Helper()
	e, err := site.StartEtcd(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func newPlace(t *testing.T) *place {
	t.Helper()
	s := &place{t: t, dir: t.TempDir(), url: storetest.URL(t)}
	storetest.OpenAt(t, s.url, persistence.Config{Writers: 1, Readers: 1}).Close()
	return s
}
