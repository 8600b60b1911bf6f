package cluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/actors/cluster/routing"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/ownership"
)

var _ routing.Nodes = (*Node)(nil)

func TestAnyNodeReachesTheOneOwnerOfAnIdentity(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	nodes := start(t, db, 3, nil)
	const identities = 9
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	by := map[string][]string{}
	var wg sync.WaitGroup
	for i := range identities {
		for _, n := range nodes {
			wg.Go(func() {
				a, err := n.Ask(ctx, campaign(i), "who", []byte("hello"))
				if err != nil {
					t.Error(err)
					return
				}
				owner, rest, _ := strings.Cut(string(a), " ")
				if rest != campaign(i).ID+" hello" {
					t.Errorf("answer %q", a)
				}
				mu.Lock()
				defer mu.Unlock()
				if !slices.Contains(by[campaign(i).ID], owner) {
					by[campaign(i).ID] = append(by[campaign(i).ID], owner)
				}
			})
		}
	}
	wg.Wait()
	for id, owners := range by {
		if len(owners) != 1 {
			t.Errorf("%s is answered for by %v", id, owners)
		}
	}
	for i := range identities {
		if w := db.owners[campaign(i)]; w.Epoch != 1 {
			t.Errorf("%s in epoch %d", campaign(i).ID, w.Epoch)
		}
	}
	// A node that leaves is replaced at once, without waiting for its lease.
	nodes[0].Leave(ctx)
	for i := range identities {
		for _, n := range nodes {
			a, err := n.Ask(ctx, campaign(i), "who", nil)
			if err != nil || strings.HasPrefix(string(a), "0 ") {
				t.Errorf("after 0 left: %q, %v", a, err)
			}
		}
	}
}

func TestTheLibraryFindsTheOwnerThroughOurLookup(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 2, nil)
	if _, err := nodes[1].Claim(t.Context(), campaign(1)); err != nil {
		t.Fatal(err)
	}
	id := cluster.NewClusterIdentity(campaign(1).ID, string(ownership.Campaign))
	for _, n := range nodes {
		if pid := (lookup{n}).Get(id); pid == nil || pid.Address != nodes[1].Address() || pid.Id != inbox {
			t.Errorf("found %v", pid)
		}
		lookup{n}.RemovePid(id, nil)
		if _, ok := n.recall(campaign(1)); ok {
			t.Error("it is not forgotten")
		}
	}
	// The cached owners of a departed member have been dropped.
	if _, err := nodes[0].Owner(t.Context(), campaign(1)); err != nil {
		t.Fatal(err)
	}
	nodes[0].memberLeft(nodes[1].Address())
	if _, ok := nodes[0].recall(campaign(1)); ok {
		t.Error("what is known of a member that is gone is not forgotten")
	}
	if pid := (lookup{nodes[0]}).Get(cluster.NewClusterIdentity("", "campaign")); pid != nil {
		t.Errorf("found %v for nothing", pid)
	}
}

func TestWhoIsLessLoadedClaims(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	nodes := start(t, db, 3, nil)
	for i := range 30 {
		if _, err := nodes[0].Ask(t.Context(), campaign(i), "who", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		owned := 0
		for _, w := range db.owners {
			if w.Incarnation == n.Incarnation() {
				owned++
			}
		}
		if owned != 10 {
			t.Errorf("%s owns %d of 30", n.cfg.Name, owned)
		}
	}
}

func TestANodeThatCannotRenewItsLeaseIsFencedAndJoinsAgainAsAnother(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	var mu sync.Mutex
	var log []string
	nodes := start(t, db, 1, func(_ int, c *Config) {
		c.Begin = func(engine.Incarnation) { mu.Lock(); log = append(log, "begin"); mu.Unlock() }
		c.Fence = func(_ engine.Incarnation, why string) { mu.Lock(); log = append(log, "fence "+why); mu.Unlock() }
	})
	n := nodes[0]
	first := n.Incarnation()
	if _, err := n.Ask(t.Context(), campaign(1), "who", nil); err != nil {
		t.Fatal(err)
	}
	db.cut("0", true)
	await(t, "a renewal has failed", func() bool { return n.stats.RenewalsLost.Load() > 0 })
	db.ahead.Add(int64(terms.TTL - terms.Margin))
	await(t, "fenced", func() bool { return n.State() == ownership.Fenced })
	if _, ok := n.Owned(campaign(1)); ok || n.May() || n.Incarnation() != 0 {
		t.Error("it acts")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := n.Ask(ctx, campaign(1), "who", nil); engine.ErrorCode(err) != "database_unavailable" {
		t.Errorf("asked while it is fenced: %v", err)
	}
	db.cut("0", false)
	await(t, "joined again", func() bool { return n.Incarnation() != 0 })
	if n.Incarnation() == first || !n.Was(first) {
		t.Errorf("it was %d and is %d", first, n.Incarnation())
	}
	// Its identities are free once the others' margin has passed, for it as for them.
	if a, err := n.Ask(t.Context(), campaign(1), "who", nil); err != nil || string(a) != "0 cmp_1 " {
		t.Errorf("%q, %v", a, err)
	}
	if w := db.owners[campaign(1)]; w.Epoch != 2 {
		t.Errorf("epoch %d", w.Epoch)
	}
	told := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(log) }
	await(t, "all is told", func() bool { return len(told()) >= 3 })
	if log := told(); !slices.Equal(log, []string{"begin", "fence expired", "begin"}) {
		t.Errorf("told %v", log)
	}
	if _, err := n.AskNode(t.Context(), first, "who", nil); err != nil {
		t.Errorf("asked as who it was: %v", err)
	}
}

func TestANodeThatDrainsClaimsNothingAndKeepsWhatItOwns(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	nodes := start(t, db, 2, nil)
	for i := range 4 {
		if _, err := nodes[0].Claim(t.Context(), campaign(i)); err != nil {
			t.Fatal(err)
		}
	}
	nodes[0].Drain()
	await(t, "draining", func() bool {
		db.mu.Lock()
		defer db.mu.Unlock()
		return db.nodes[nodes[0].Incarnation()].Draining
	})
	for i := range 8 {
		want := "1 "
		if i < 4 {
			want = "0 "
		}
		for _, n := range nodes {
			if a, err := n.Ask(t.Context(), campaign(i), "who", nil); err != nil || !strings.HasPrefix(string(a), want) {
				t.Errorf("%s: %q, %v", campaign(i).ID, a, err)
			}
		}
	}
	// Handing over: released here, claimed there.
	if err := nodes[0].Release(t.Context(), campaign(0)); err != nil {
		t.Fatal(err)
	}
	if a, err := nodes[0].Ask(t.Context(), campaign(0), "who", nil); err != nil || !strings.HasPrefix(string(a), "1 ") {
		t.Errorf("%q, %v", a, err)
	}
}

func TestWhatIsToldArrivesInOrder(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 2, nil)
	const count = 2000
	var mu sync.Mutex
	var got []int
	var from engine.Incarnation
	nodes[1].links.On("n", func(s *link.Said) {
		mu.Lock()
		defer mu.Unlock()
		var n int
		link.Number(s.Wire, &n)
		from, got = s.Link.Peer(), append(got, n)
	})
	var want []int
	for i := range count { // its address must be looked up
		nodes[0].links.To(nodes[1].Incarnation()).
			Tell("n", time.Millisecond, true, func(w *link.Wire) { link.Number(w, &i) })
		want = append(want, i)
	}
	await(t, "all arrived", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= len(want) })
	if !slices.Equal(got, want) || from != nodes[0].Incarnation() {
		t.Errorf("out of order, or from %d", from)
	}
}

func TestErrorsOfTheOwnerReachWhoAsks(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 2, func(_ int, c *Config) { c.Requests = 1 })
	id := campaign(1)
	if _, err := nodes[0].Claim(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	says := &engine.Error{Kind: engine.KindConflict, Code: "version_conflict", Detail: "no", RetryAfter: time.Second,
		Fields: []engine.FieldError{{Field: "f", Code: "c", Message: "m"}}}
	block, started := make(chan struct{}), make(chan struct{})
	nodes[0].Handle("refuse", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		return nil, says
	})
	nodes[0].Handle("nothing", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		return nil, nil
	})
	nodes[0].Handle("fail", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		return nil, errors.New("secret")
	})
	nodes[0].Handle("panic", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		panic("x")
	})
	nodes[0].Handle("large", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		return make([]byte, MaxBody+1), nil
	})
	nodes[0].Handle("block", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		close(started)
		<-block
		return nil, nil
	})
	f := func(method string, body []byte, want string) {
		t.Helper()
		_, err := nodes[1].Ask(t.Context(), id, method, body)
		if (err != nil || want != "") && engine.ErrorCode(err) != want || err != nil &&
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", method, err, want)
		}
	}
	_, err := nodes[1].Ask(t.Context(), id, "refuse", nil)
	var e *engine.Error
	if !errors.As(err, &e) || e.Kind != says.Kind || e.Detail != says.Detail || e.RetryAfter != says.RetryAfter ||
		!slices.Equal(e.Fields, says.Fields) {
		t.Errorf("%+v", err)
	}
	f("fail", nil, "internal")
	f("panic", nil, "internal")
	f("large", nil, "request_too_large")
	f("who", make([]byte, MaxBody+1), "request_too_large")
	f("nothing", make([]byte, MaxBody), "")
	f("sing", nil, "method_unknown")
	// A request to an owner whose address another node now has is for its successor.
	if _, err := nodes[1].carryOut(t.Context(), 1, id, "sing", nil); !errors.Is(err, ownership.ErrNotOwner) {
		t.Errorf("a request for another owner: %v", err)
	}
	if _, err := nodes[1].carryOut(t.Context(), 1, ownership.Identity{}, "sing", nil); !errors.As(err, &e) ||
		e.Kind != engine.KindUnavailable {
		t.Errorf("a request that is not known: %v, which is not the client's fault", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := nodes[1].Ask(t.Context(), id, "block", nil)
		done <- err
	}()
	<-started
	f("who", nil, "node_overloaded")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := nodes[1].Ask(ctx, id, "who", nil); err == nil {
		t.Error("asked with a context that had ended")
	}
	close(block)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Every frame is duplicated.
func TestARequestThatComesTwiceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 2, nil)
	nodes[1].links.Through(func(to engine.Incarnation, frame []byte) {
		nodes[1].carry(to, frame)
		nodes[1].carry(to, frame)
	})
	id, n := campaign(1), nodes[0]
	if _, err := n.Claim(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	n.Handle("count", func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		return []byte{byte(calls.Add(1))}, nil
	})
	for i := range byte(20) {
		if a, err := nodes[1].Ask(t.Context(), id, "count", nil); err != nil || !bytes.Equal(a, []byte{i + 1}) {
			t.Fatalf("answer %v, %v to request %d", a, err, i+1)
		}
	}
	if calls.Load() != 20 {
		t.Errorf("20 requests were carried out %d times", calls.Load())
	}
}

func TestARequestOfALifeThatIsOverIsSaidToBe(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	db.last++
	before := db.last
	nodes := start(t, db, 2, nil)
	db.mu.Lock()
	db.nodes[before] = &ownership.Node{Incarnation: before, Address: nodes[1].Address()}
	db.mu.Unlock()
	if _, err := nodes[0].AskNode(t.Context(), before, "who", nil); engine.ErrorCode(err) != "node_not_found" {
		t.Errorf("asked who it was: %v", err)
	}
}

func TestWhoDoesNotKnowTheSecretIsNotHeard(t *testing.T) {
	t.Parallel()
	nodes := start(t, newDatabase(), 3, func(i int, c *Config) {
		c.Secret = "a secret of the cluster"
		if i == 2 {
			c.Secret = "another secret, as long"
		}
	})
	if _, err := nodes[0].Claim(t.Context(), campaign(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := nodes[1].Ask(t.Context(), campaign(1), "who", nil); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if a, err := nodes[2].Ask(ctx, campaign(1), "who", nil); err == nil {
		t.Errorf("answered %q", a)
	}
}

func TestNodesTalkOverIPv6(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skipf("this machine has no IPv6: %v", err)
	} else {
		_ = l.Close()
	}
	here := func(s string) string { return strings.ReplaceAll(s, "127.0.0.1", "[::1]") }
	nodes := start(t, newDatabase(), 2, func(_ int, c *Config) {
		c.Membership, c.Listen = here(c.Membership), here(c.Listen)
	})
	for _, n := range nodes {
		await(t, "a node is asked", func() bool {
			a, err := n.Ask(t.Context(), campaign(1), "who", nil)
			return err == nil && strings.HasSuffix(string(a), " cmp_1 ")
		})
	}
	for i, n := range nodes {
		if _, err := n.AskNode(t.Context(), nodes[1-i].Incarnation(), "who", nil); err != nil {
			t.Error(err)
		}
	}
}

// slowToDrain is a database that has not recorded a drain before the node is closed.
type slowToDrain struct{ port }

func (slowToDrain) Drain(ctx context.Context, _ engine.Incarnation) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestANodeThatDrainsAndClosesAtOnceWarnsOfNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase()
	at := ports.AddressOf(t)
	var log bytes.Buffer
	n, err := Start(t.Context(), Config{Membership: "automanaged://" + at, Name: "0", Listen: at, Terms: terms,
		Log: zerolog.New(zerolog.SyncWriter(&log)), carry: inMemory}, slowToDrain{port{db, "0"}}, db)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "it has joined", func() bool { return n.Incarnation() != 0 })
	n.Drain()
	n.Close()
	if strings.Contains(log.String(), "could not tell the database") {
		t.Errorf("%s", &log)
	}
}
