package cluster

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/ownership"
)

// The automanaged provider notices its shutdown only at the end of its round, after a second or
// two.
func TestMain(m *testing.M) {
	const provider = "github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged.(*AutoManagedProvider)."
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(provider+"monitorStatuses"),
		goleak.IgnoreAnyFunction(provider+"checkNodes.func1"), goleak.IgnoreAnyFunction(provider+
			"monitorMemberStatusChanges.func1"))
}

// database keeps leases and owners in memory, by the rules of package persistence.
type database struct {
	mu     sync.Mutex
	nodes  map[engine.Incarnation]*ownership.Node
	owners map[ownership.Identity]ownership.Owner
	away   map[string]bool // names of nodes that cannot reach it
	last   engine.Incarnation
	late   func() // delays the answer of OwnersOf

	ahead  atomic.Int64 // how far its clock, and thus the nodes', was set forward
	stands atomic.Int64 // unless 0, the fixed reading of the nodes' clock
}

func newDatabase() *database {
	return &database{nodes: map[engine.Incarnation]*ownership.Node{}, owners: map[ownership.Identity]ownership.Owner{},
		away: map[string]bool{}}
}

// port is one node's connection to the database.
type port struct {
	*database
	name string
}

var errAway = engine.Unavailable("database_unavailable", "it is away", time.Second)

func (p port) reach() (unlock func(), err error) {
	p.mu.Lock()
	if p.away[p.name] {
		p.mu.Unlock()
		return func() {}, errAway
	}
	return p.mu.Unlock, nil
}

func (d *database) cut(name string, away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away[name] = away
}

func (d *database) live(id engine.Incarnation) bool {
	n := d.nodes[id]
	return n != nil && n.LeftAt == nil && d.now().Before(n.ExpiresAt)
}

func (d *database) now() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) }

var began = time.Now()

// Boot is the nodes' clock.
func (d *database) Boot() engine.BootTime {
	if at := d.stands.Load(); at != 0 {
		return engine.BootTime(at)
	}
	return engine.BootTime(d.now().Sub(began))
}

func (p port) Join(_ context.Context, n ownership.Node, ttl time.Duration) (ownership.Node, error) {
	unlock, err := p.reach()
	defer unlock()
	if err != nil {
		return n, err
	}
	p.last++
	n.Incarnation, n.ExpiresAt = p.last, p.now().Add(ttl)
	p.nodes[n.Incarnation] = &n
	return n, nil
}

func (p port) Renew(_ context.Context, id engine.Incarnation, ttl time.Duration) error {
	unlock, err := p.reach()
	defer unlock()
	switch {
	case err != nil:
		return err
	case !p.live(id):
		return ownership.ErrFenced
	}
	p.nodes[id].ExpiresAt = p.now().Add(ttl)
	return nil
}

func (p port) Drain(_ context.Context, id engine.Incarnation) error {
	unlock, err := p.reach()
	defer unlock()
	if err == nil {
		p.nodes[id].Draining = true
	}
	return err
}

func (p port) Leave(_ context.Context, id engine.Incarnation) error {
	unlock, err := p.reach()
	defer unlock()
	if err == nil && p.nodes[id].LeftAt == nil {
		now := p.now()
		p.nodes[id].LeftAt = &now
	}
	return err
}

func (p port) Node(_ context.Context, id engine.Incarnation) (ownership.Node, bool, error) {
	unlock, err := p.reach()
	defer unlock()
	n := p.nodes[id]
	if err != nil || n == nil {
		return ownership.Node{}, false, err
	}
	return *n, true, nil
}

func (p port) Loads(_ context.Context, kind ownership.Kind) (all []ownership.Load, err error) {
	unlock, err := p.reach()
	defer unlock()
	for id := engine.Incarnation(1); err == nil && id <= p.last; id++ {
		if !p.live(id) || p.nodes[id].Draining {
			continue
		}
		l := ownership.Load{Node: *p.nodes[id]}
		for i, w := range p.owners {
			if i.Kind == kind && w.Incarnation == id {
				l.Owned++
			}
		}
		at := 0
		for at < len(all) && all[at].Owned <= l.Owned {
			at++
		}
		all = append(all[:at], append([]ownership.Load{l}, all[at:]...)...)
	}
	return all, err
}

func (p port) Owner(_ context.Context, id ownership.Identity) (ownership.Owner, error) {
	unlock, err := p.reach()
	defer unlock()
	return p.owner(id), err
}

func (p port) OwnersOf(_ context.Context, kind ownership.Kind, ids []string) (all []ownership.Owner, err error) {
	if p.late != nil {
		defer p.late() // after the lock is released
	}
	unlock, err := p.reach()
	defer unlock()
	for _, id := range ids {
		all = append(all, p.owner(ownership.Identity{Kind: kind, ID: id}))
	}
	return all, err
}

func (d *database) owner(id ownership.Identity) ownership.Owner {
	w := d.owners[id]
	w.Identity, w.Live = id, d.live(w.Incarnation)
	if n := d.nodes[w.Incarnation]; n != nil {
		w.Address = n.Address
	}
	return w
}

func (p port) Claim(_ context.Context, id ownership.Identity, by engine.Incarnation,
	margin time.Duration) (ownership.Owner, error) {
	unlock, err := p.reach()
	defer unlock()
	if err != nil {
		return ownership.Owner{}, err
	}
	if !p.live(by) {
		return p.owner(id), ownership.ErrFenced
	}
	was := p.nodes[p.owners[id].Incarnation]
	if was != nil && was.LeftAt == nil && p.now().After(was.ExpiresAt.Add(margin)) {
		now := p.now()
		was.LeftAt = &now
	}
	if was == nil || was.LeftAt != nil {
		p.owners[id] = ownership.Owner{Incarnation: by, Epoch: p.owners[id].Epoch + 1}
	}
	return p.owner(id), nil
}

func (p port) Release(_ context.Context, id ownership.Identity, by engine.Incarnation) error {
	unlock, err := p.reach()
	defer unlock()
	if w := p.owners[id]; err == nil && w.Incarnation == by {
		w.Incarnation = 0
		p.owners[id] = w
	}
	return err
}

// terms are those of tests: a lease ends when the clock is set forward, however long the test
// itself is paused.
var terms = ownership.Terms{TTL: time.Hour, Margin: 300 * time.Millisecond, Every: 200 * time.Millisecond}

// listens returns message addresses whose next ports up are free as well.
func listens(t testing.TB, n int) []string {
	t.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = ports.AddressOf(t)
	}
	return all
}

// start starts nodes whose names are their indexes, "0" first.
func start(t testing.TB, db *database, count int, change func(i int, c *Config)) []*Node {
	t.Helper()
	at := listens(t, count)
	nodes := make([]*Node, count)
	var wg sync.WaitGroup
	for i := range nodes {
		cfg := Config{Membership: "automanaged://" + strings.Join(at, ","), Name: strconv.Itoa(i), Listen: at[i],
			Terms: terms, Log: zerolog.Nop()}
		if raceDetector {
			cfg.carry = inMemory // starting a second remote in a process is a race in the library
		}
		if change != nil {
			change(i, &cfg)
		}
		wg.Go(func() {
			n, err := Start(t.Context(), cfg, port{db, cfg.Name}, db)
			if err != nil {
				t.Error(err)
				return
			}
			nodes[i] = n
			n.Handle("who", func(_ context.Context, _ engine.Incarnation, w ownership.Owner, body []byte) ([]byte, error) {
				return []byte(cfg.Name + " " + w.ID + " " + string(body)), nil
			})
		})
	}
	wg.Wait()
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, n := range nodes {
			if n != nil {
				wg.Go(n.Close)
			}
		}
		wg.Wait()
	})
	if t.Failed() {
		t.FailNow()
	}
	for _, n := range nodes {
		await(t, "a node has joined", func() bool { return n.Incarnation() != 0 })
	}
	return nodes
}

// await waits for a condition, for at most a minute.
func await(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not so within a minute: %s", what)
		}
	}
}

func campaign(i int) ownership.Identity {
	return ownership.Identity{Kind: ownership.Campaign, ID: "cmp_" + strconv.Itoa(i)}
}
