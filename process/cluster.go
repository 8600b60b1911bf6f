package process

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/cluster"
	"dialler/actors/routing"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/http"
	"dialler/persistence"
)

// several is this process as one node of a cluster: it acts for the campaigns
// that it owns, takes over those that nobody owns, and hands them on when it is
// drained.
type several struct {
	p      *Process
	owners *persistence.Owners
	node   *cluster.Node
	router *routing.Router
	lease  *lease
	log    zerolog.Logger

	// Of keep alone: the other nodes that were there, and since when one of them
	// has been without a lease.
	known map[engine.Incarnation]bool
	dead  map[engine.Incarnation]time.Time

	acts    atomic.Int64 // campaigns whose actors are up here
	looking sync.Mutex   // held while campaigns are adopted

	mu sync.Mutex
	as engine.Incarnation // 0: fenced
	// drained: campaigns are handed over, none is adopted any more.
	drained bool
	begun   chan struct{} // has an element when as has changed
}

// lease tells the tree how long the node may act; before the node is there it
// may not.
type lease struct{ node atomic.Pointer[cluster.Node] }

// Send implements gateway.Transport.
func (l *lease) Send(to engine.Incarnation, payload []byte) {
	if n := l.node.Load(); n != nil {
		_ = n.Tell(to, toldGateway, payload) // what does not arrive is sent again
	}
}

// LeaseEnds implements actors.Membership.
func (l *lease) LeaseEnds() engine.BootTime {
	if n := l.node.Load(); n != nil {
		return n.Until()
	}
	return 0
}

const (
	// lookEvery is how often campaigns without an owner are looked for: a node
	// that died is replaced within its lease, its margin and this.
	lookEvery = time.Second
	// stopFor bounds how long the actors of one campaign may take to stop.
	stopFor = 10 * time.Second

	// configuredEvery is how often what is configured is read anew, in case a node
	// was not told; tellFor bounds how long a change waits for the other nodes.
	configuredEvery = 10 * time.Second
	tellFor         = 2 * time.Second

	// What nodes tell each other.
	toldConfigured = "configured"
	toldSuppressed = "suppressed"
	toldGateway    = "gateway" // calls whose legs are on one node and whose campaign is on another
)

// nodeName is what people call this node.
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

// join makes the process a node. The tree is up and acts for nothing yet.
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
	s := &several{p: p, owners: owners, lease: p.lease, log: p.log,
		known: map[engine.Incarnation]bool{}, dead: map[engine.Incarnation]time.Time{}, begun: make(chan struct{}, 1)}
	s.node, err = cluster.Start(ctx, cluster.Config{
		Membership: p.flags.Cluster, Name: name, Listen: p.flags.ClusterListen, Advertise: p.flags.ClusterAdvertise, API: api,
		Secret: string(secret), Begin: s.begin, Fence: s.fence, Log: p.log,
	}, owners, p.clock)
	if err != nil {
		return fmt.Errorf("the node cannot join the cluster (see --cluster, --cluster-listen, --cluster-advertise): %w", err)
	}
	s.lease.node.Store(s.node)
	s.router = routing.New(p.tree, s.node, p.store, p.log)
	s.node.Receive(toldGateway, func(_ engine.Incarnation, body []byte) { p.gateway.Receive(body) })
	s.node.Handle(toldConfigured, func(context.Context, engine.Incarnation, ownership.Owner, []byte) ([]byte, error) {
		p.unsettled.Store(true)
		return nil, nil
	})
	s.node.Handle(toldSuppressed, func(_ context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
		var numbers []engine.PhoneNumber
		if err := json.Unmarshal(body, &numbers); err != nil {
			return nil, err
		}
		p.tree.Suppressed(numbers)
		return nil, nil
	})
	p.several = s
	c, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.keep(c)
	}()
	p.closing = append(p.closing, func() {
		cancel()
		<-done
		s.node.Close()
	})
	return nil
}

// begin: the node may act, as another incarnation than before.
func (s *several) begin(id engine.Incarnation) {
	s.p.gateway.Join(id)
	s.become(id)
}

// fence: others may act for what this node owned. Live calls go on; nothing is
// begun, by the lease that the tree looks at.
func (s *several) fence(engine.Incarnation, string) { s.become(0) }

func (s *several) become(id engine.Incarnation) {
	s.p.store.ActAs(id)
	s.mu.Lock()
	s.as = id
	s.mu.Unlock()
	select {
	case s.begun <- struct{}{}:
	default:
	}
}

// keep takes over what nobody acts for, and lets go of what this node acted for
// as another incarnation.
func (s *several) keep(ctx context.Context) {
	tick, configured := time.NewTicker(lookEvery), time.NewTicker(configuredEvery)
	defer tick.Stop()
	defer configured.Stop()
	was := engine.Incarnation(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.begun:
		case <-tick.C:
		case <-configured.C:
			s.p.unsettled.Store(true)
		}
		was = s.round(ctx, was)
	}
}

// round looks once; was and the result are whom the node acted as.
func (s *several) round(ctx context.Context, was engine.Incarnation) engine.Incarnation {
	s.looking.Lock()
	defer s.looking.Unlock()
	s.mu.Lock()
	as, drained := s.as, s.drained
	s.mu.Unlock()
	if as == 0 {
		return was
	}
	gone, ok := s.bury(ctx)
	if !ok {
		return was // the database is away
	}
	if gone || as != was {
		s.closeDialouts(ctx)
	}
	if drained {
		return as
	}
	if as != was {
		s.letGo(ctx, func(engine.CampaignID) bool { return true })
	}
	s.look(ctx)
	return as
}

// bury notes which nodes are gone: the legs that they had are lost. ok is false
// when it could not be asked which nodes there are.
func (s *several) bury(ctx context.Context) (gone, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	all, err := s.owners.Nodes(ctx)
	if err != nil {
		return false, false
	}
	now, there := time.Now(), map[engine.Incarnation]bool{}
	for i := range all {
		id := all[i].Incarnation
		since, waits := s.dead[id]
		switch {
		case all[i].Live:
			there[id] = true
		case !waits:
			s.dead[id], there[id] = now, true
		case now.Sub(since) < ownership.Terms{}.WithDefaults().Margin:
			there[id] = true
		}
		if there[id] {
			s.known[id] = true
		}
	}
	maps.DeleteFunc(s.dead, func(id engine.Incarnation, _ time.Time) bool {
		return !slices.ContainsFunc(all, func(n ownership.Node) bool { return n.Incarnation == id })
	})
	for id := range s.known {
		if there[id] {
			continue
		}
		delete(s.known, id)
		gone = true
		if lost := s.p.gateway.Gone(id); len(lost) > 0 {
			s.log.Warn().Int32("incarnation", int32(id)).Int("calls", len(lost)).Msg("the node that carried calls is gone")
			s.p.tree.LegsGone(lost)
		}
	}
	return gone, true
}

// closeDialouts closes the calls outside campaigns of nodes that are gone. One
// node does it for each of them.
func (s *several) closeDialouts(ctx context.Context) {
	open, err := s.p.tree.OpenDialouts(ctx)
	if err != nil {
		return // they are asked for again when a node is gone, or this one joins
	}
	mine := map[engine.Incarnation]bool{}
	for i := range open {
		id := open[i].Node
		take, asked := mine[id]
		if !asked && !s.known[id] {
			of := ownership.Identity{Kind: ownership.Dialouts, ID: strconv.Itoa(int(id))}
			if _, err := s.node.Claim(ctx, of); err == nil {
				_, take = s.node.Owned(of)
			}
			mine[id] = take
		}
		if take && !s.p.tree.Has(open[i].ID) { // this process may have been that node
			s.p.tree.CloseDialout(open[i])
		}
	}
}

// look adopts what this node owns and claims what nobody does.
func (s *several) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopFor)
	defer cancel()
	ids, err := s.p.tree.ActiveCampaigns(ctx)
	if err != nil {
		return // the database is away; others say so
	}
	for _, id := range ids {
		of := ownership.Identity{Kind: ownership.Campaign, ID: string(id)}
		if _, err := s.node.Owner(ctx, of); err != nil {
			continue // it is tried again
		}
		if _, mine := s.node.Owned(of); mine {
			s.p.tree.Adopt(id)
		}
	}
	// What somebody else acts for now stops here.
	s.letGo(ctx, func(id engine.CampaignID) bool {
		_, mine := s.node.Owned(ownership.Identity{Kind: ownership.Campaign, ID: string(id)})
		return !mine && s.node.May() // a fenced node's calls go on until somebody takes them
	})
}

// letGo stops the actors of campaigns.
func (s *several) letGo(ctx context.Context, which func(engine.CampaignID) bool) {
	ids, err := s.p.tree.Up(ctx)
	if err != nil {
		s.log.Warn().Str("code", engine.ErrorCode(err)).Msg("which campaigns are up is not known; it is asked again")
		return
	}
	s.acts.Store(int64(len(ids)))
	for _, id := range ids {
		if !which(id) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, stopFor)
		err := s.p.tree.Release(ctx, id)
		if err == nil {
			err = s.leaveCalls(ctx, id)
		}
		cancel()
		if err != nil {
			s.log.Warn().Err(err).Str("campaign_id", string(id)).Msg("the actors of a campaign that is another node's did not stop; it is tried again")
		}
	}
}

// leaveCalls has the live calls of a campaign that is let go of wait for its next
// owner.
func (s *several) leaveCalls(ctx context.Context, id engine.CampaignID) error {
	row, err := s.p.store.Campaign(ctx, id)
	if err != nil {
		return err
	}
	open, err := s.p.store.OpenAttempts(ctx)
	if err != nil {
		return err
	}
	for i := range open {
		a := &open[i]
		if a.Campaign != id {
			continue
		}
		peers := make([]engine.LegID, len(a.Peers))
		for j := range a.Peers {
			peers[j] = a.Peers[j].ID
		}
		s.p.gateway.Leave(a.ID, row.Epoch, peers)
	}
	return nil
}

// handOver gives every campaign up for others to take at once; their live calls
// go on here.
func (s *several) handOver(ctx context.Context) {
	s.node.Drain()
	s.mu.Lock()
	s.drained = true
	s.mu.Unlock()
	s.looking.Lock() // what is being adopted is up
	defer s.looking.Unlock()
	ids, err := s.p.tree.Up(ctx)
	if err != nil {
		s.log.Warn().Str("code", engine.ErrorCode(err)).Msg("the campaigns are not handed over; others take them when this node has left")
		return
	}
	s.letGo(ctx, func(engine.CampaignID) bool { return true })
	for _, id := range ids {
		if err := s.node.Release(ctx, ownership.Identity{Kind: ownership.Campaign, ID: string(id)}); err != nil {
			s.log.Warn().Err(err).Str("campaign_id", string(id)).Msg("a campaign was not given up; it is taken over when this node has left")
		}
	}
}

// leave ends the node's lease: no call is live any more, or none is waited for.
func (s *several) leave(ctx context.Context) { s.node.Leave(ctx) }

// everybody tells the other nodes something, and waits for a moment until they
// have heard it. Who does not hear of it finds it in the database: what is
// configured every configuredEvery, a suppressed number when it is dialled.
func (s *several) everybody(ctx context.Context, name string, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	all, err := s.owners.Nodes(ctx)
	if err != nil {
		s.log.Warn().Str("code", engine.ErrorCode(err)).Str("what", name).Msg("the other nodes were not told")
		return
	}
	me := s.node.Incarnation()
	for i := range all {
		if !all[i].Live || all[i].Incarnation == me {
			continue
		}
		if _, err := s.node.AskNode(ctx, all[i].Incarnation, name, body); err != nil {
			s.log.Warn().Str("node", all[i].Name).Str("code", engine.ErrorCode(err)).Str("what", name).Msg("another node was not told")
		}
	}
}

// check says whether the node has its lease.
func (s *several) check() http.Check {
	c := http.Check{Name: "cluster", OK: s.node.Incarnation() != 0}
	if !c.OK {
		c.Detail = "the node has no lease and places no call; it joins the cluster again by itself"
	}
	return c
}

// metrics are the node's figures.
func (s *several) metrics() []prometheus.Collector {
	st := s.node.Stats()
	return []prometheus.Collector{
		gauge("dialler_cluster_joined", "1 while the node has its lease, 0 while it is fenced or was never let in.", func() float64 {
			if s.node.Incarnation() == 0 {
				return 0
			}
			return 1
		}),
		gauge("dialler_cluster_campaigns", "Campaigns whose actors this node runs.", func() float64 {
			return float64(s.acts.Load())
		}),
		gauge("dialler_cluster_lease_renewal_seconds", "How long the last renewal of the node's lease took.", func() float64 { return float64(st.RenewalNanos.Load()) / 1e9 }),
		counter("dialler_cluster_joins_total", "How often the node joined: once, and after every lease that it lost.", func() float64 { return float64(st.Joins.Load()) }),
		counter("dialler_cluster_fences_total", "Leases that ended before the node left.", func() float64 { return float64(st.Fences.Load()) }),
		counter("dialler_cluster_renewals_lost_total", "Renewals of the lease that the database did not answer in time.", func() float64 { return float64(st.RenewalsLost.Load()) }),
		counter("dialler_cluster_claims_total", "Identities that the node became the owner of.", func() float64 { return float64(st.Claims.Load()) }),
		counter("dialler_cluster_requests_total", "Requests to other nodes.", func() float64 { return float64(st.Asked.Load()) }),
		counter("dialler_cluster_requests_unanswered_total", "Requests to other nodes without an answer in time.", func() float64 { return float64(st.Unanswered.Load()) }),
		counter("dialler_cluster_requests_served_total", "Requests of other nodes that were carried out.", func() float64 { return float64(st.Answered.Load()) }),
		counter("dialler_cluster_requests_refused_total", "Requests of other nodes that were refused: late, too many, or not this node's.", func() float64 { return float64(st.Refused.Load()) }),
	}
}

// configured tells the other nodes that bots, trunks or numbers have changed.
func (f *Front) configured(ctx context.Context) {
	if f.p.several != nil {
		f.p.several.everybody(ctx, toldConfigured, nil)
	}
}

// suppressed tells all nodes of numbers that must not be called any more.
func (f *Front) suppressed(ctx context.Context, numbers []engine.PhoneNumber) {
	f.tree.Suppressed(numbers)
	if f.p.several == nil {
		return
	}
	const part = 10_000
	for len(numbers) > 0 {
		n := min(part, len(numbers))
		if b, err := json.Marshal(plain(numbers[:n])); err == nil {
			f.p.several.everybody(ctx, toldSuppressed, b)
		}
		numbers = numbers[n:]
	}
}

// plain are numbers as they are, for other nodes: a PhoneNumber's own text may
// be masked.
func plain(numbers []engine.PhoneNumber) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = string(n)
	}
	return out
}

// commands are what the owner of a campaign carries out: this node's tree, or
// in a cluster any node's.
type commands = routing.Tree

var (
	_ commands          = (*actors.Tree)(nil)
	_ commands          = (*routing.Router)(nil)
	_ actors.Membership = (*lease)(nil)
	_ cluster.Owners    = (*persistence.Owners)(nil)
)

// owner carries out what is asked of campaigns and calls.
func (f *Front) owner() commands {
	if f.p.several != nil {
		return f.p.several.router
	}
	return f.tree
}
