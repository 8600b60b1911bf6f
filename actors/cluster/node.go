package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// Node is this process as a member of its cluster.
type Node struct {
	cfg     Config
	store   Owners
	clock   Clock
	log     zerolog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	wire    transport
	links   *link.Links
	slots   chan struct{} // of running requests
	running sync.WaitGroup
	stats   Stats

	// away is since when etcd does not answer; nil while it does, or is not used.
	away   atomic.Pointer[time.Time]
	lease  atomic.Pointer[nodeLease]
	acting atomic.Int32 // incarnation reported by Begin; 0 if fenced

	events chan ownership.Event
	state  atomic.Value  // ownership.State
	left   chan struct{} // closed once the lease loop has ended

	mu       sync.Mutex
	owned    map[ownership.Identity]ownership.Owner
	cache    map[ownership.Identity]cached
	released map[ownership.Identity]engine.BootTime // when this node gave each up
	addrs    map[engine.Incarnation]string
	finding  map[engine.Incarnation]bool // nodes whose address is being looked up
	handlers map[string]Handler
	once     sync.Once
}

// MembershipAway returns since when etcd does not answer, nil while it does and where it is not used. Nodes
// that start are not found then; leases, which are in the database, continue.
func (n *Node) MembershipAway() *time.Time { return n.away.Load() }

// Stats are a node's figures for /metrics.
type Stats struct {
	Joins        atomic.Int64 // incarnations this process has had
	Fences       atomic.Int64 // leases that ended before the node left
	RenewalsLost atomic.Int64
	RenewalNanos atomic.Int64 // how long the last renewal took
	Claims       atomic.Int64 // identities claimed
	Asked        atomic.Int64 // requests to other nodes
	Answered     atomic.Int64 // requests of other nodes carried out
	Refused      atomic.Int64 // requests of other nodes refused: late, too many, not the owner
	Unanswered   atomic.Int64 // requests to other nodes without an answer in time
	MembersLeft  atomic.Int64 // members reported gone by membership
}

// Start makes the process a member. It returns once messages can come in; the node has joined once
// Begin was called. Close ends it.
func Start(ctx context.Context, cfg Config, store Owners, clock Clock) (*Node, error) {
	cfg = cfg.withDefaults()
	m, err := parseMembership(cfg.Membership)
	if err != nil {
		return nil, err
	}
	if cfg.Secret != "" && len(cfg.Secret) < 16 {
		return nil, engine.Invalid("cluster_secret_short", "the cluster secret must have at least 16 bytes")
	}
	if cfg.Secret != "" { // it is sent in plain text
		cfg.Secret = hex.EncodeToString([]byte(cfg.Secret))
	}
	n := &Node{cfg: cfg, store: store, clock: clock, log: cfg.Log,
		events: make(chan ownership.Event, 16), left: make(chan struct{}),
		owned: map[ownership.Identity]ownership.Owner{}, cache: map[ownership.Identity]cached{},
		released: map[ownership.Identity]engine.BootTime{},
		addrs:    map[engine.Incarnation]string{}, finding: map[engine.Incarnation]bool{}, handlers: map[string]Handler{}}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	n.state.Store(ownership.Absent)
	n.lease.Store(&nodeLease{})
	n.handlers[methodClaim] = n.claimFor
	n.slots = make(chan struct{}, cfg.Requests)
	if n.links = cfg.Links; n.links == nil {
		n.links = link.New(link.Config{Clock: clocks{clock}, Log: cfg.Log})
	}
	n.links.On(requests, n.asked)
	if cfg.carry == nil {
		cfg.carry = func(n *Node, m membership) (transport, error) { return newWire(n, m) }
	}
	if n.wire, err = cfg.carry(n, m); err != nil {
		n.cancel()
		return nil, err
	}
	n.links.Through(n.carry)
	n.wg.Go(n.keep)
	return n, nil
}

// Address is where other nodes reach this one.
func (n *Node) Address() string { return n.wire.address() }

// Stats gives the node's figures.
func (n *Node) Stats() *Stats { return &n.stats }

// State returns the state of the node's lease.
func (n *Node) State() ownership.State { return n.state.Load().(ownership.State) }

// Incarnation returns the node's incarnation, 0 while it has no lease.
func (n *Node) Incarnation() engine.Incarnation {
	if !n.May() {
		return 0
	}
	return engine.Incarnation(n.acting.Load())
}

// Until returns when the node stops acting unless its lease is renewed: the latest send-by time of
// an INVITE. It is in the past if the node has no lease.
func (n *Node) Until() engine.BootTime { return n.lease.Load().Until() }

// Lease returns the current lease, or the last one; an ended lease stays ended.
func (n *Node) Lease() engine.NodeLease { return n.lease.Load() }

// nodeLease is one lease.
type nodeLease struct {
	of      engine.Incarnation
	since   engine.BootTime
	without time.Duration // how long there was none before
	until   atomic.Int64  // engine.BootTime
}

// Gap implements engine.NodeLease.
func (t *nodeLease) Gap() (since engine.BootTime, without time.Duration) { return t.since, t.without }

// Until implements engine.NodeLease.
func (t *nodeLease) Until() engine.BootTime { return engine.BootTime(t.until.Load()) }

// keepUntil moves the end of an incarnation's lease; a lease that was taken away or given up ends
// now.
func (n *Node) keepUntil(of engine.Incarnation, at engine.BootTime) {
	t := n.lease.Load()
	if t.of != of {
		now, last := n.clock.Boot(), t
		if t = (&nodeLease{of: of, since: now}); last.of != 0 {
			t.without = max(0, time.Duration(now-last.Until()))
		}
	}
	if at == 0 {
		at = min(t.Until(), n.clock.Boot())
	}
	t.until.Store(int64(at))
	n.lease.Store(t)
}

// May says whether the node may act now.
func (n *Node) May() bool { return n.clock.Boot() < n.Until() }

// Drain makes the node claim nothing more. It goes on with what it owns until that is released.
func (n *Node) Drain() { n.post(ownership.Event{Kind: ownership.Drain}) }

// Leave ends the node's lease: what it owns may be claimed at once, so it must have stopped acting
// for all of it. Leave returns when the database has recorded it, or when ctx ends; in that case
// others wait until the lease runs out.
func (n *Node) Leave(ctx context.Context) {
	n.post(ownership.Event{Kind: ownership.Leave})
	select {
	case <-n.left:
	case <-ctx.Done():
	}
}

// Close leaves the cluster unless that was done, for at most two seconds, and stops receiving
// messages.
func (n *Node) Close() {
	n.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		n.Leave(ctx)
		n.mu.Lock()
		n.cancel() // nothing new begins
		n.mu.Unlock()
		n.running.Wait() // their contexts have ended
		n.links.Close()
		n.wire.close()
		n.wg.Wait()
	})
}

func (n *Node) post(ev ownership.Event) {
	select {
	case n.events <- ev:
	case <-n.ctx.Done():
	case <-n.left:
	}
}

// keep runs the lease: only keep applies events to it.
func (n *Node) keep() {
	lease := ownership.Lease{Terms: n.cfg.Terms}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var effects []ownership.Effect
	told := false
	for {
		ev := ownership.Event{Kind: ownership.Tick}
		select {
		case <-n.ctx.Done():
			n.keepUntil(n.lease.Load().of, 0)
			if !told {
				close(n.left)
			}
			return
		case ev = <-n.events:
		case <-timer.C:
		}
		now := n.clock.Boot()
		var err error
		if effects, err = lease.Apply(now, ev, effects[:0]); err != nil {
			n.log.Error().Err(err).Msg("a lease event was refused")
			continue
		}
		n.state.Store(lease.State)
		for i := range effects {
			n.execute(effects[i], timer, lease.State)
		}
		if lease.State == ownership.Left && !told {
			told = true
			close(n.left)
		}
	}
}

func (n *Node) execute(e ownership.Effect, timer *time.Timer, in ownership.State) {
	switch e.Kind {
	case ownership.WakeAt:
		timer.Reset(max(time.Duration(e.At-n.clock.Boot()), 0))
	case ownership.KeepUntil:
		n.keepUntil(e.Incarnation, e.At)
	case ownership.AskToJoin:
		n.wg.Go(n.join)
	case ownership.AskToRenew:
		n.wg.Go(func() { n.renew(e.Incarnation) })
	case ownership.Begin:
		n.stats.Joins.Add(1)
		n.mu.Lock()
		clear(n.owned)
		clear(n.cache)
		n.mu.Unlock()
		n.links.Join(e.Incarnation)
		n.acting.Store(int32(e.Incarnation))
		n.log.Info().Int32("incarnation", int32(e.Incarnation)).Str("name", n.cfg.Name).Str("address",
			n.Address()).Msg("the node has joined the cluster")
		n.cfg.Begin(e.Incarnation)
	case ownership.Fence:
		n.stats.Fences.Add(1)
		n.acting.Store(0)
		n.mu.Lock()
		clear(n.owned)
		n.mu.Unlock()
		n.log.Warn().Int32("incarnation", int32(e.Incarnation)).Str("reason",
			e.Why).Msg("the node has lost its lease: it places no calls until it has joined again; live calls go on")
		n.cfg.Fence(e.Incarnation, e.Why)
	case ownership.TellDrain:
		n.wg.Go(func() {
			n.tellStore("drain", func(ctx context.Context) error {
				err := n.store.Drain(ctx, e.Incarnation)
				if n.ctx.Err() != nil {
					return nil // closed meanwhile: that the node has left says more
				}
				return err
			})
		})
	case ownership.TellLeave:
		id := e.Incarnation
		n.acting.CompareAndSwap(int32(id), 0)
		leave := func() { n.tellStore("leave", func(ctx context.Context) error { return n.store.Leave(ctx, id) }) }
		if in != ownership.Left {
			n.wg.Go(leave)
			return
		}
		leave() // the caller waits until others may claim
	}
}

// patience is how long one request of the lease may take, so that three fit before it ends.
func (n *Node) patience() time.Duration { return (n.cfg.Terms.TTL - n.cfg.Terms.Margin) / 3 }

func (n *Node) join() {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	asked := n.clock.Boot()
	me, err := n.store.Join(ctx, ownership.Node{Name: n.cfg.Name, Address: n.Address(), API: n.cfg.API}, n.cfg.Terms.TTL)
	if err != nil {
		n.log.Warn().Str("code", engine.ErrorCode(err)).Msg("the node could not join the cluster; it is tried again")
		n.post(ownership.Event{Kind: ownership.JoinLost})
		return
	}
	n.post(ownership.Event{Kind: ownership.Joined, Incarnation: me.Incarnation, Asked: asked})
}

func (n *Node) renew(id engine.Incarnation) {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	asked := n.clock.Boot()
	err := n.store.Renew(ctx, id, n.cfg.Terms.TTL)
	switch {
	case err == nil:
		n.stats.RenewalNanos.Store(int64(n.clock.Boot() - asked))
		n.post(ownership.Event{Kind: ownership.Renewed, Incarnation: id, Asked: asked})
	case errors.Is(err, ownership.ErrFenced):
		n.post(ownership.Event{Kind: ownership.Refused, Incarnation: id})
	default:
		n.stats.RenewalsLost.Add(1)
		n.log.Warn().Str("code", engine.ErrorCode(err)).Msg("the node's lease was not renewed; it is tried again")
		n.post(ownership.Event{Kind: ownership.RenewalLost, Incarnation: id})
	}
}

// tellStore tells the database something that it would otherwise find out later.
func (n *Node) tellStore(what string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	if err := f(ctx); err != nil {
		n.log.Warn().Str("what", what).Str("code",
			engine.ErrorCode(err)).Msg("could not tell the database; the lease will expire by itself")
	}
}

// clocks adds the wall clock.
type clocks struct{ Clock }

// Now reads it.
func (clocks) Now() time.Time { return time.Now() }
