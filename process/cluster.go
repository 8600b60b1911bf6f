package process

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/cluster"
	"dialler/actors/cluster/gateway"
	"dialler/actors/cluster/link"
	campaignowner "dialler/actors/cluster/ownership"
	"dialler/actors/cluster/routing"
	"dialler/actors/cluster/sharedcaps"
	"dialler/actors/host"
	actorlease "dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/http"
	"dialler/persistence/nodes"
	"dialler/process/metrics"
)

// several is this process as one node of a cluster: keeper runs the campaigns that it owns.
type several struct {
	owners *nodes.Owners
	node   *cluster.Node
	router *routing.Router
	keeper *campaignowner.Keeper
	lately lately[[]ownership.Node]
	log    zerolog.Logger
}

// lease tells the tree how long the node may act; until the node has joined, it may not.
type lease struct {
	node    atomic.Pointer[cluster.Node]
	owners  atomic.Pointer[nodes.Owners] // likewise
	several atomic.Pointer[several]      // likewise
	gateway atomic.Pointer[gateway.Gateway]
	clock   host.Clock
}

// Boot implements engine.Fence.
func (l *lease) Boot() engine.BootTime { return l.clock.Boot() }

// Lease implements engine.Fence.
func (l *lease) Lease() engine.NodeLease {
	if n := l.node.Load(); n != nil {
		return n.Lease()
	}
	return nil
}

// Kept implements engine.Fence.
func (l *lease) Kept(a engine.AttemptID) bool {
	g := l.gateway.Load()
	return g != nil && g.Kept(a)
}

// LeaseEnds implements actors.Membership.
func (l *lease) LeaseEnds() engine.BootTime {
	if n := l.node.Load(); n != nil {
		return n.Until()
	}
	return 0
}

// Suppressed implements actors.Membership.
func (l *lease) Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error {
	s := l.several.Load()
	if s == nil {
		return nil // it has called nobody yet
	}
	const part = 10_000
	for len(numbers) > 0 {
		n := min(part, len(numbers))
		part := numbers[:n]
		if err := s.suppressed(ctx, link.Encode(&part)); err != nil {
			return err
		}
		numbers = numbers[n:]
	}
	return nil
}

const (
	// configuredEvery is how often the configuration is reread, in case a node missed a message;
	// tellFor bounds how long a change waits for the other nodes.
	configuredEvery = 10 * time.Second
	tellFor         = 2 * time.Second

	// The messages between nodes.
	toldConfigured = "configured"
	toldSuppressed = "suppressed"
)

// nodeName is the name of this node for people.
func (f *Flags) nodeName() (string, error) {
	if f.Node != "" {
		return f.Node, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the machine has no name; give --node: %w", err)
	}
	return name, nil
}

// join makes the process a node. The tree is running but owns nothing yet.
func (p *Process) join(ctx context.Context, api string, secret []byte) error {
	name, err := p.flags.nodeName()
	if err != nil {
		return err
	}
	owners, err := p.store.Owners(ctx)
	if err != nil {
		return err
	}
	p.closing = append(p.closing, owners.Close)
	p.lease.owners.Store(owners)
	s := &several{owners: owners, log: p.log, keeper: campaignowner.New(campaignowner.Config{
		Tree: p.tree.Ownership(), Calls: p.gateway, Store: p.store, Nodes: owners, Clock: p.clock, Seen: p.capacity.seen,
		Log: p.log, Gone: p.sharedCaps.Gone,
	})}
	s.node, err = cluster.Start(ctx, cluster.Config{
		Membership: p.flags.Cluster, Name: name, Listen: p.flags.ClusterListen, Advertise: p.flags.ClusterAdvertise, API: api,
		Secret: string(secret), Links: p.links, Begin: s.keeper.Begin, Fence: s.keeper.Fence, Log: p.log,
	}, joiner{owners, owners.PutSentBy, p.sip.SentBy}, p.clock)
	if err != nil {
		return fmt.Errorf(
			"the node cannot join the cluster (see --cluster, --cluster-listen, --cluster-advertise): %w",
			err,
		)
	}
	p.lease.node.Store(s.node)
	p.lease.several.Store(s)
	s.keeper.Attach(s.node)
	s.router = routing.New(p.tree, s.node, p.store, p.gateway, p.log)
	// A change is only confirmed once every node applies it.
	s.node.Handle(
		toldConfigured,
		func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, put []byte) ([]byte, error) {
			p.unsettled.Store(true)
			p.settle(ctx)
			if len(put) == 0 {
				return nil, nil
			}
			return nil, p.tree.TrunksChanged(ctx, engine.TrunkID(put))
		},
	)
	s.node.Handle(
		toldSuppressed,
		func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
			var numbers []engine.PhoneNumber
			if err := link.Decode(body, &numbers); err != nil {
				return nil, err
			}
			return nil, p.tree.SuppressedHere(ctx, numbers)
		},
	)
	p.serveErasure(s)
	p.serveRecordings(s)
	p.capacity.begin(s)
	p.sharedCaps.Start(s.node, p.links, owners, p.tree.SharedCounts())
	p.several = s
	p.unsettled.Store(true) // changes made since it was read, before other nodes could report them
	c, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.keeper.Keep(c) })
	running.Go(func() { p.readAnew(c) })
	running.Go(func() { s.tellSentBy(c, p.sip.SentBy) })
	p.closing = append(p.closing, func() {
		cancel()
		running.Wait()
		p.sharedCaps.Close()
		s.node.Close()
	})
	return nil
}

// readAnew rereads the configuration every configuredEvery.
func (p *Process) readAnew(ctx context.Context) {
	tick := time.NewTicker(configuredEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.unsettled.Store(true)
		}
	}
}

// everybody sends a message to the other nodes, and waits for a moment until they have received it.
// A node that misses it finds the change in the database: it rereads the configuration every
// configuredEvery.
func (s *several) everybody(ctx context.Context, name string, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	all, err := s.owners.Nodes(ctx)
	if err != nil {
		s.log.Warn().Str("code", engine.ErrorCode(err)).Str("what", name).Msg("could not tell the other nodes")
		return
	}
	var wg sync.WaitGroup
	for i := range all {
		if !all[i].Live || s.node.Was(all[i].Incarnation) {
			continue
		}
		wg.Go(func() {
			if _, err := s.node.AskNode(ctx, all[i].Incarnation, name, body); err != nil {
				s.log.Warn().
					Str("node", all[i].Name).
					Str("code", engine.ErrorCode(err)).
					Str("what", name).
					Msg("could not tell another node")
			}
		})
	}
	wg.Wait()
}

// suppressed makes every other node confirm that it no longer dials the numbers. A node without a
// lease sends no INVITE, and has ended the calls that were ringing.
func (s *several) suppressed(ctx context.Context, numbers []byte) error {
	return s.others(ctx, 0, func(ctx context.Context, n *ownership.Node) error {
		if !n.Live {
			return nil
		}
		_, err := s.node.AskNode(ctx, n.Incarnation, toldSuppressed, numbers)
		if err != nil {
			s.log.Warn().
				Str("node", n.Name).
				Str("code", engine.ErrorCode(err)).
				Str("what", toldSuppressed).
				Msg("another node did not confirm")
			return fmt.Errorf("node %s", n.Name)
		}
		return nil
	})
}

// others asks every other node at once and returns the first error; lapsed is how long after its
// lease ran out a node that was declared dead is still asked.
func (s *several) others(ctx context.Context, lapsed time.Duration,
	asks func(context.Context, *ownership.Node) error) error {
	nodes, err := s.owners.PerhapsAlive(ctx, lapsed)
	if err != nil {
		return err
	}
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i := range nodes {
		if !s.node.Was(nodes[i].Incarnation) {
			wg.Go(func() { errs[i] = asks(ctx, &nodes[i]) })
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check says whether the node has its lease.
func (s *several) check() http.Check {
	c := http.Check{Name: "cluster", OK: s.node.Incarnation() != 0}
	if !c.OK {
		c.Detail = "the node has no lease and places no call; it joins the cluster again by itself"
	} else if since := s.node.MembershipAway(); since != nil {
		c.Warning, c.Since = http.MembershipAway, since
		c.Detail = "etcd does not answer: nodes that start are not found until it does; calls and leases go on"
	}
	return c
}

// metrics are the node's metrics.
func (s *several) metrics(counts *sharedcaps.Stats) []prometheus.Collector {
	st := s.node.Stats()
	return []prometheus.Collector{
		metrics.Gauge(
			"dialler_cluster_joined",
			"1 while the node has its lease, 0 while it is fenced or was never let in.",
			func() float64 {
				if s.node.Incarnation() == 0 {
					return 0
				}
				return 1
			},
		),
		metrics.Gauge("dialler_cluster_campaigns", "Campaigns whose actors this node runs.", func() float64 {
			return float64(s.keeper.Campaigns())
		}),
		metrics.Gauge(
			"dialler_cluster_lease_renewal_seconds",
			"How long the last renewal of the node's lease took.",
			func() float64 { return float64(st.RenewalNanos.Load()) / 1e9 },
		),
		metrics.Counter(
			"dialler_cluster_joins_total",
			"How often the node joined: once, and after every lease that it lost.",
			func() float64 { return float64(st.Joins.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_fences_total",
			"Leases that ended before the node left.",
			func() float64 { return float64(st.Fences.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_renewals_lost_total",
			"Renewals of the lease that the database did not answer in time.",
			func() float64 { return float64(st.RenewalsLost.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_claims_total",
			"Identities that the node became the owner of.",
			func() float64 { return float64(st.Claims.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_campaigns_given_total",
			"Campaigns handed from here to a node that owned fewer.",
			func() float64 { return float64(s.keeper.Given()) },
		),
		metrics.Gauge(
			"dialler_cluster_counts_kept",
			"Trunks, bots and shards of numbers whose count this node keeps for all nodes.",
			func() float64 { return float64(counts.Kept.Load()) },
		),
		metrics.Gauge(
			"dialler_cluster_counts_owed",
			"Releases of channels and numbers that the node which keeps their count has not confirmed yet.",
			func() float64 { return float64(counts.Owed.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_count_questions_total",
			"Requests for channels, seats and numbers to nodes that keep their count.",
			func() float64 { return float64(counts.Asked.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_count_questions_unanswered_total",
			"Requests for channels, seats and numbers without an answer in time, or without a node to ask.",
			func() float64 { return float64(counts.Unanswered.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_count_questions_served_total",
			"Requests from other nodes for channels, seats and numbers that this node decided.",
			func() float64 { return float64(counts.Served.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_requests_total",
			"Requests to other nodes.",
			func() float64 { return float64(st.Asked.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_requests_unanswered_total",
			"Requests to other nodes without an answer in time.",
			func() float64 { return float64(st.Unanswered.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_requests_served_total",
			"Requests from other nodes that were carried out.",
			func() float64 { return float64(st.Answered.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_requests_refused_total",
			"Requests from other nodes that were refused: late, too many, or not this node's.",
			func() float64 { return float64(st.Refused.Load()) },
		),
	}
}

// configured tells the other nodes that bots, trunks or numbers have changed. put is a trunk that
// was put, perhaps unchanged: that ends its waits wherever it is counted or called.
func (f *Front) configured(ctx context.Context, put engine.TrunkID) {
	if f.p.several != nil {
		f.p.several.everybody(ctx, toldConfigured, []byte(put))
	}
}

var (
	_ commands              = (*actors.Tree)(nil)
	_ commands              = (*routing.Router)(nil)
	_ actors.Membership     = (*lease)(nil)
	_ engine.Fence          = (*lease)(nil)
	_ cluster.Owners        = (*nodes.Owners)(nil)
	_ sharedcaps.Node       = (*cluster.Node)(nil)
	_ sharedcaps.Tree       = actors.SharedCounts{}
	_ actorlease.SharedCaps = (*sharedcaps.Caps)(nil)
)
