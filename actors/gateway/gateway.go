package gateway

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/actors/ports"
	"dialler/engine"
	"dialler/engine/attempt"
)

// Transport brings messages to other nodes.
type Transport interface {
	// Send hands a message to the node with the incarnation, which gives it to its
	// Gateway's Receive. It may get lost, be late, come twice, or overtake others.
	// Send must not wait for the other node, and must not change payload.
	Send(to engine.Incarnation, payload []byte)
}

// Config is what a Gateway works with.
type Config struct {
	// Telephony and Media are this node's own; they need not know of other nodes.
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	Transport Transport
	Log       zerolog.Logger
	// LeaseEnd is when this node's lease ends on its boot-time clock: no INVITE of
	// another node's call leaves after it. nil: it has none.
	LeaseEnd func() engine.BootTime
	// Carrier chooses the node for a new call over a trunk, 0: this one. Failed
	// hears that the chosen one could not place it. They must not block.
	Carrier func(trunk engine.TrunkID) engine.Incarnation
	Failed  func(node engine.Incarnation)
	// SentBy is what another node wrote into the Via of its requests over a trunk, ""
	// when it is not known; nil: it never is. It may block.
	SentBy func(ctx context.Context, node engine.Incarnation, trunk engine.TrunkID) string
	// OrphanAfter is how long a call's owner may not be heard before the call is
	// hung up, 30 s.
	OrphanAfter time.Duration
	// Keep is how long what became of a call that was hung up so is kept for an
	// owner that comes after all, 10 min.
	Keep time.Duration
	// Patience is how long an answer of another node may take, 5 s.
	Patience time.Duration
	// QueueCap is how many bytes may wait for one other node, 8 MiB. Beyond it no
	// call begins there; events of calls here wait in the ports that made them.
	QueueCap int
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.OrphanAfter, 30*time.Second)
	set(&c.Keep, 10*time.Minute)
	set(&c.Patience, 5*time.Second)
	if c.QueueCap == 0 {
		c.QueueCap = 8 << 20
	}
	if c.LeaseEnd == nil {
		c.LeaseEnd = func() engine.BootTime { return 1<<63 - 1 }
	}
	if c.Failed == nil {
		c.Failed = func(engine.Incarnation) {}
	}
	return c
}

// Errors of a call that is to be carried elsewhere.
var (
	errUnreachable = engine.Unavailable("node_unreachable", "the node that carries the call does not answer; try again", time.Second)
	errGone        = engine.Unavailable("node_gone", "the node that carried the call is gone; the call is being closed", time.Second)
	errNodeBusy    = engine.Unavailable("node_busy", "too much waits for the node that is to carry the call; try another one", time.Second)
	errDraining    = engine.Unavailable("node_draining", "the node that was to carry the call is being drained; try another one", time.Second)
	errNotTheirs   = engine.Conflict("call_taken_over", "another node has taken the call over")
)

const shards = 64

// Gateway is a node's Telephony and Media in a cluster. Its methods are safe for
// concurrent use and do not wait for other nodes.
type Gateway struct {
	cfg  Config
	own  atomic.Int32 // the present incarnation
	away atomic.Int64 // calls whose legs are on other nodes
	// hosted are the calls here that other nodes own, or nobody does.
	hosted   atomic.Int64
	draining atomic.Bool

	// Figures for /metrics.
	Repeats   atomic.Int64 // times that something was sent again
	Malformed atomic.Int64 // messages that could not be read
	Strays    atomic.Int64 // messages of nodes that do not own the call, or are gone
	Orphans   atomic.Int64 // calls that were hung up because nobody owned them
	Stalls    atomic.Int64 // times that a call's events had to wait for room

	mu      sync.Mutex
	closed  bool
	names   map[engine.Incarnation]struct{} // of this process
	gone    map[engine.Incarnation]struct{}
	links   map[[2]engine.Incarnation]*link
	serial  uint64
	pending map[uint64]*pendingAnswer

	routes [shards]routeShard
	hosts  [shards]hostShard

	tasks sync.WaitGroup
	stop  chan struct{}
}

var (
	_ ports.Telephony  = (*Gateway)(nil)
	_ ports.Media      = (*Gateway)(nil)
	_ ports.RemoteLegs = (*Gateway)(nil)
)

type pendingAnswer struct {
	link  *link
	then  func(legs []engine.LegID, err error)
	timer *time.Timer
}

// New makes the gateway of a node that is not in a cluster yet (Join).
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg.withDefaults(), names: map[engine.Incarnation]struct{}{}, gone: map[engine.Incarnation]struct{}{},
		links: map[[2]engine.Incarnation]*link{}, pending: map[uint64]*pendingAnswer{}, stop: make(chan struct{})}
	for i := range shards {
		g.routes[i].m = map[engine.AttemptID]*route{}
		g.hosts[i].m = map[engine.AttemptID]*hosted{}
	}
	g.tasks.Go(g.tend)
	return g
}

// Join says that this node is a member from now on, with that incarnation. Calls
// that were given to it under an earlier one stay with it.
func (g *Gateway) Join(incarnation engine.Incarnation) {
	g.mu.Lock()
	g.names[incarnation] = struct{}{}
	g.mu.Unlock()
	g.own.Store(int32(incarnation))
}

func (g *Gateway) self() engine.Incarnation { return engine.Incarnation(g.own.Load()) }

// Gone says that a node is dead or has left, and that its lease is over: it sends
// no INVITE any more. lost are the calls of this node's runs that it carried,
// which have no route from now on; what waits for its answers gets an error. The
// calls that are carried here for it stay its own until another node adopts them:
// it may be alive, without a lease, or back under another incarnation.
func (g *Gateway) Gone(incarnation engine.Incarnation) (lost []engine.AttemptID) {
	g.mu.Lock()
	g.gone[incarnation] = struct{}{}
	for _, l := range g.links {
		if l.peer == incarnation {
			l.gone.Store(true)
		}
	}
	g.mu.Unlock()
	for i := range g.routes {
		s := &g.routes[i]
		s.mu.Lock()
		var there []*route
		for id, r := range s.m {
			if r.link.peer == incarnation {
				there, lost = append(there, r), append(lost, id)
			}
		}
		s.mu.Unlock()
		for _, r := range there {
			g.dropRoute(r)
		}
	}
	g.failAnswers(func(p *pendingAnswer) bool { return p.link.peer == incarnation }, errGone)
	g.dropLinks()
	return lost
}

// dropLinks ends the links to nodes that are gone, as far as they carry nothing.
func (g *Gateway) dropLinks() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, l := range g.links {
		if l.gone.Load() && l.unused() {
			l.close()
			delete(g.links, k)
		}
	}
}

// Close ends the links. Calls here go on in the ports, without an owner.
func (g *Gateway) Close() {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.closed = true
	close(g.stop)
	for _, l := range g.links {
		l.close()
	}
	g.mu.Unlock()
	g.failAnswers(func(*pendingAnswer) bool { return true }, errUnreachable)
	g.tasks.Wait()
}

// Receive takes a message of another node. It may be called by several
// goroutines; it carries commands out before it returns.
func (g *Gateway) Receive(payload []byte) {
	f, err := decodeFrame(payload)
	if err != nil {
		g.Malformed.Add(1)
		return
	}
	if l := g.linkOf(f.to, f.from); l != nil {
		l.take(&f)
		return
	}
	g.Strays.Add(1)
}

// linkOf gives the link of two nodes, nil when we are not the one, or the other
// is gone and nothing was left to do with it.
func (g *Gateway) linkOf(own, peer engine.Incarnation) *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ours := g.names[own]
	_, self := g.names[peer]
	if !ours || self || g.closed {
		return nil
	}
	k := [2]engine.Incarnation{own, peer}
	l := g.links[k]
	if l == nil {
		if _, gone := g.gone[peer]; gone {
			return nil
		}
		l = newLink(g, own, peer)
		g.links[k] = l
		g.tasks.Go(l.run)
	}
	return l
}

// leads gives the link over which calls can begin on a node or be adopted from it.
func (g *Gateway) leads(node engine.Incarnation) *link {
	l := g.linkOf(g.self(), node)
	if l == nil || l.gone.Load() {
		return nil
	}
	return l
}

// Ready says whether calls can begin on a node: it has been heard within the
// last seconds, and takes what it is sent. The first question makes the
// acquaintance, which lasts for a minute after the last one.
func (g *Gateway) Ready(node engine.Incarnation) bool {
	if g.mine(node) {
		return true
	}
	l := g.leads(node)
	if l == nil {
		return false
	}
	now := g.cfg.Clock.Boot()
	l.greet(now)
	return l.ready(now)
}

// mine says whether an incarnation is one of this process.
func (g *Gateway) mine(node engine.Incarnation) bool {
	if node == 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.names[node]
	return ok
}

// moment reads the clocks.
func (g *Gateway) moment() reading {
	return reading{now: g.cfg.Clock.Now(), boot: g.cfg.Clock.Boot()}
}

// ask sends a request; then is called once, from any goroutine: with the answer,
// or an error after Patience (never, when that is 0: the node answers or is
// gone).
func (g *Gateway) ask(l *link, m *message, patience time.Duration, then func([]engine.LegID, error)) {
	p := &pendingAnswer{link: l, then: then}
	g.mu.Lock()
	if g.closed || l.gone.Load() {
		g.mu.Unlock()
		then(nil, errGone)
		return
	}
	g.serial++
	n := g.serial
	g.pending[n] = p
	if patience > 0 {
		p.timer = time.AfterFunc(patience, func() { g.answered(n, nil, errUnreachable) })
	}
	g.mu.Unlock()
	m.serial = n
	l.send(m, true)
}

// answered ends a request.
func (g *Gateway) answered(n uint64, legs []engine.LegID, err error) {
	g.mu.Lock()
	p := g.pending[n]
	delete(g.pending, n)
	g.mu.Unlock()
	if p == nil {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.then(legs, err)
}

func (g *Gateway) failAnswers(which func(*pendingAnswer) bool, err error) {
	g.mu.Lock()
	var due []uint64
	for n, p := range g.pending {
		if which(p) {
			due = append(due, n)
		}
	}
	g.mu.Unlock()
	slices.Sort(due)
	for _, n := range due {
		g.answered(n, nil, err)
	}
}

// dispatch deals with one message of another node; the link's order is kept.
func (g *Gateway) dispatch(l *link, b []byte, at reading) {
	m, err := decodeMessage(b, at)
	if err != nil {
		g.Malformed.Add(1)
		g.cfg.Log.Error().Err(err).Int32("node", int32(l.peer)).Msg("a message of another node is dropped")
		return
	}
	switch m.kind {
	case kResult:
		var err error
		if m.err != nil {
			err = m.err
		}
		g.answered(m.serial, m.legs, err)
	case kLegEvent, kMediaEvent:
		g.happened(l, m)
	default:
		g.carryOut(l, m)
	}
}

// tend looks after calls without an owner, and after those whose events wait.
func (g *Gateway) tend() {
	every := min(g.cfg.OrphanAfter/10, time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
			g.lookAfter(g.cfg.Clock.Boot())
			g.dropLinks()
		}
	}
}

// AdoptLegs makes this node the owner of an attempt that is open in the database
// and whose legs are on at.Node, with at.Epoch, the campaign's now: of two nodes
// that want them the one with the later has them. then gets the legs that are
// known there, none of those that are here, or why it is not known; it is called
// once, from any goroutine. After it AttachLeg knows the legs, and with AttachMedia
// replays what has happened, as after a restart of the attempt's actor. An attempt
// of which it knows none is lost, and its legs are to be recovered.
func (g *Gateway) AdoptLegs(at *attempt.Attempt, then func(known []engine.LegID, err error)) {
	if g.mine(at.Node) {
		g.takeBack(at.ID)
		then(nil, nil)
		return
	}
	l := g.leads(at.Node)
	if l == nil {
		then(nil, errGone)
		return
	}
	peers := make([]engine.LegID, 0, len(at.Peers))
	for i := range at.Peers {
		peers = append(peers, at.Peers[i].ID)
	}
	g.ask(l, &message{kind: kAdopt, attempt: at.ID, epoch: at.Epoch, legs: peers}, g.cfg.Patience, func(known []engine.LegID, err error) {
		if err == nil && len(known) > 0 {
			g.addRoute(at.ID, l, known)
		}
		then(known, err)
	})
}

// Carrier is the node for a new call over a trunk: the one that Config.Carrier
// chooses, if calls can begin there, else this one.
func (g *Gateway) Carrier(trunk engine.TrunkID) engine.Incarnation {
	if g.cfg.Carrier != nil {
		if n := g.cfg.Carrier(trunk); n != 0 && g.Ready(n) {
			return n
		}
	}
	return g.self()
}

// Drain has this node carry no new call of another one: such a call is not sent.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Here is this node.
func (g *Gateway) Here() engine.Incarnation { return g.self() }

// Carried counts the calls of this node's runs that other nodes carry.
func (g *Gateway) Carried() int64 { return g.away.Load() }

// Waiting is how many bytes wait for a node to take them.
func (g *Gateway) Waiting(node engine.Incarnation) (bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, l := range g.links {
		if k[1] == node {
			l.mu.Lock()
			bytes += l.waiting
			l.mu.Unlock()
		}
	}
	return bytes
}
