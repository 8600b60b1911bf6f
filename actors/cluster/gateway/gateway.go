package gateway

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/actors/host"
	"dialler/actors/ports"
	"dialler/engine"
	"dialler/engine/attempt"
)

// Name is the link name of messages between gateways.
const Name = "gateway"

// gather is how long a message waits to be sent together with others.
const gather = 10 * time.Millisecond

// Config configures a Gateway.
type Config struct {
	// Telephony and Media are this node's own; they need not know of other nodes.
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	Links     *link.Links
	Log       zerolog.Logger
	// LeaseEnd returns when this node's lease ends on its boot-time clock: no INVITE of another
	// node's call leaves after it. nil means the node has no lease.
	LeaseEnd func() engine.BootTime
	// Carrier chooses the node for a new call over a trunk; 0 means this one. Failed reports that
	// the chosen node could not place it. They must not block.
	Carrier func(trunk engine.TrunkID) engine.Incarnation
	Failed  func(node engine.Incarnation)
	// SentBy returns what another node wrote into the Via of its requests over a trunk, "" if
	// unknown; nil means always unknown. It may block.
	SentBy func(ctx context.Context, node engine.Incarnation, trunk engine.TrunkID) string
	// Taken reports each local call that another node has adopted from this one; it must not block.
	// It may be nil.
	Taken func(engine.AttemptID)
	// Carried lists the attempts with a live leg or an open media path here; Owned says whether an
	// attempt's actor is here. nil turns the search for ownerless calls off.
	Carried func() []engine.AttemptID
	Owned   func(engine.AttemptID) bool
	// OrphanAfter is how long a call's owner may be silent before the call is hung up, default 30
	// s.
	OrphanAfter time.Duration
	// Keep is how long the record of such a hung-up call is kept for an owner that returns late,
	// default 10 min.
	Keep time.Duration
	// Patience limits the wait for another node's answer, default 5 s.
	Patience time.Duration
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
	if c.LeaseEnd == nil {
		c.LeaseEnd = func() engine.BootTime { return 1<<63 - 1 }
	}
	if c.Taken == nil {
		c.Taken = func(engine.AttemptID) {}
	}
	if c.Failed == nil {
		c.Failed = func(engine.Incarnation) {}
	}
	return c
}

// Errors of a call to be carried by another node.
var (
	errUnreachable = engine.Unavailable("node_unreachable", "the node that carries the call does not answer; try again",
		time.Second)
	errGone     = engine.Unavailable("node_gone", "", time.Second)
	errNodeBusy = engine.Unavailable("node_busy", "", time.Second)
	errDraining = engine.Unavailable("node_draining",
		"the node chosen to carry the call is draining; try another one", time.Second)
	errNotTheirs = engine.Conflict("call_taken_over", "")
)

const shards = 64

// Gateway is a node's Telephony and Media in a cluster. Its methods are safe for
// concurrent use and do not wait for other nodes.
type Gateway struct {
	cfg      Config
	draining atomic.Bool
	fenced   atomic.Int64 // boot time at which this node last lost its lease

	// Figures for /metrics.
	Malformed atomic.Int64 // messages that could not be read
	Strays    atomic.Int64 // messages of nodes that do not own the call, or are gone
	Orphans   atomic.Int64 // calls hung up because they had no owner
	Stalls    atomic.Int64 // times that a call's events waited for room
	Unowned   atomic.Int64 // calls here that the inventory found no owner for

	routes    routes
	processes processes
	hosts     hosts
	sockets   socketRoutes
	looks     looks

	once  sync.Once
	tasks sync.WaitGroup
	stop  chan struct{}
}

var (
	_ ports.Telephony  = (*Gateway)(nil)
	_ ports.Media      = (*Gateway)(nil)
	_ ports.RemoteLegs = (*Gateway)(nil)
)

// New makes the gateway of a node that has not joined a cluster yet (Join).
func New(cfg Config) *Gateway {
	g := &Gateway{cfg: cfg.withDefaults(), stop: make(chan struct{})}
	g.fenced.Store(math.MinInt64)
	for i := range shards {
		g.routes.shards[i].m = map[engine.AttemptID]*route{}
		g.hosts.shards[i].m = map[engine.AttemptID]*hosted{}
	}
	cfg.Links.On(Name, g.receive)
	g.tasks.Go(g.tend)
	return g
}

// Join says that this node is now a member, with that incarnation. Calls given to it under an
// earlier one stay with it.
func (g *Gateway) Join(incarnation engine.Incarnation) { g.cfg.Links.Join(incarnation) }

// Gone says that a node's lease is over: it sends no more INVITEs, and others act for what it
// owned. It may be alive, cut off, or back under another incarnation. Calls that it carries for
// this node go on while it is heard, and calls carried here for it remain its own until another
// node adopts them. address is where it listens, "" if unknown: a later incarnation there may be the
// same process.
func (g *Gateway) Gone(incarnation engine.Incarnation, address string) {
	g.processes.gone(incarnation, address, g.cfg.Clock.Boot())
	g.sockets.gone(incarnation)
	g.cfg.Links.Gone(incarnation)
}

// Lost gives, each once, the calls of this node's runs that nobody has any more: their node has been
// without a lease for engine.LimboFor, under whichever incarnation, and not heard for so long that its
// process has ended them,
// also if it has joined again (hosted.lookAfter), its process is over, or it says that it has not
// got them. They have no route from then on.
func (g *Gateway) Lost() (lost []engine.AttemptID) {
	silent := g.cfg.OrphanAfter + keptFor
	for _, r := range g.routes.where(func(r *route) bool {
		l := r.link
		return r.missing.Load() ||
			l != nil && l.Gone() && (l.Over() || l.GoneFor() >= engine.LimboFor && l.SilentFor() >= silent &&
				g.processes.goneFor(l.Peer(), g.cfg.Clock.Boot()) >= engine.LimboFor)
	}) {
		g.routes.drop(r)
		lost = append(lost, r.id)
	}
	return lost
}

// Disown gives up all calls of this node's runs that other nodes carry, and returns them: they stay
// with those nodes for the next owner.
func (g *Gateway) Disown() (all []engine.AttemptID) {
	for _, r := range g.routes.where(func(r *route) bool { return r.link != nil }) {
		g.routes.drop(r)
		all = append(all, r.id)
	}
	return all
}

// Close ends the gateway. Calls here go on in the ports, without an owner.
func (g *Gateway) Close() {
	g.once.Do(func() { close(g.stop) })
	g.tasks.Wait()
}

// leads returns the link for starting calls on a node or adopting them from it.
func (g *Gateway) leads(node engine.Incarnation) *link.Link {
	l := g.cfg.Links.To(node)
	if l == nil || l.Gone() {
		return nil
	}
	return l
}

// Ready says whether calls can start on a node: it was heard within the last seconds and accepts
// messages. The first query opens the connection, which lasts a minute after the last one.
func (g *Gateway) Ready(node engine.Incarnation) bool {
	if g.mine(node) {
		return true
	}
	l := g.leads(node)
	if l == nil {
		return false
	}
	return l.Ready()
}

// mine says whether an incarnation is one of this process's.
func (g *Gateway) mine(node engine.Incarnation) bool { return node == 0 || g.cfg.Links.Was(node) }

// ask sends a request. then is called once, from any goroutine: with the answer; or with an error
// after patience (0 means wait until the node answers or its process is over); or, unless gone is
// nil, with gone once the node's lease is over.
func (g *Gateway) ask(l *link.Link, m *message, patience time.Duration, gone error,
	then func([]engine.LegID, error)) {
	answered := func(w *link.Wire, err error) {
		var legs []engine.LegID
		switch {
		case err == nil:
			wire{w}.legIDs(&legs)
		case errors.Is(err, link.ErrNotSent) || errors.Is(err, link.ErrSilent) || errors.Is(err, link.ErrOver):
			err = errUnreachable
		}
		then(legs, err)
	}
	l.Ask(link.Question{Name: Name, Within: patience, Gather: gather, Must: true, Gone: gone,
		Say: m.say, Then: answered})
}

// receive handles one message of another node; the link preserves their order.
func (g *Gateway) receive(said *link.Said) {
	m := &message{}
	wire{said.Wire}.message(m)
	if !said.Whole() {
		return // the link reports it
	}
	switch m.kind {
	case kLegEvent, kMediaEvent:
		g.happened(said.Link, m)
	case kOpenSocket:
		g.openSocket(said.Link, m.socket)
	case kCloseSocket:
		g.cfg.Media.CloseSocket(engine.SocketID(m.text), 0)
	case kSocketEvent:
		g.sockets.happened(said.Link, m.onSocket)
	default:
		g.carryOut(said.Link, m, said)
	}
}

// tend handles calls without an owner, and calls whose events wait for room.
func (g *Gateway) tend() {
	every := min(g.cfg.OrphanAfter/10, time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-tick.C:
			now := g.cfg.Clock.Boot()
			if end := g.cfg.LeaseEnd(); now >= end {
				g.fenced.Store(int64(end))
			}
			for _, h := range g.hosts.all() {
				h.lookAfter(g, now)
			}
			g.looks.count(g, now)
		}
	}
}

// AdoptLegs makes this node the owner of an attempt that is open in the database and whose legs are
// on at.Node. at.Epoch is the campaign's current one: of two nodes that want the legs, the one with
// the later epoch gets them. The process is asked, whether it has its lease or not. then gets the
// legs known there (never local ones), or why they are not known; it is called once, from any
// goroutine. Afterwards AttachLeg knows the legs and, with AttachMedia, replays what has happened,
// as after a restart of the attempt's actor. If no legs are known, the attempt is lost and its legs
// must be recovered.
//
// If there is no answer within Patience, the legs are presumed to be there: the call is in limbo
// and its commands wait, until either the node is heard again or Lost returns the call.
func (g *Gateway) AdoptLegs(at *attempt.Attempt, then func(known []engine.LegID, err error)) {
	if g.mine(at.Node) {
		if h := g.hosts.of(at.ID); h != nil {
			g.dropHost(h)
		}
		then(nil, nil)
		return
	}
	l := g.cfg.Links.To(at.Node) // to the process, with or without its lease
	if l == nil {
		then(nil, errGone)
		return
	}
	presumed, peers := []engine.LegID{at.ID.Leg(1)}, make([]engine.LegID, 0, len(at.Peers))
	for i := range at.Legs {
		if id := at.Legs[i].ID; id != presumed[0] {
			presumed = append(presumed, id)
		}
	}
	for i := range at.Peers {
		peers = append(peers, at.Peers[i].ID)
	}
	r := g.routes.add(at.ID, l, append(presumed, peers...))
	var once sync.Once
	late := time.AfterFunc(g.cfg.Patience, func() {
		once.Do(func() { then(r.known(), nil) })
	})
	m := &message{kind: kAdopt, attempt: at.ID, epoch: at.Epoch, legs: peers}
	g.ask(l, m, 0, nil, func(known []engine.LegID, err error) {
		late.Stop()
		if err == nil && len(known) > 0 {
			r.knows(known)
			once.Do(func() { then(known, nil) })
			return
		}
		waited := true
		once.Do(func() {
			waited = false
			g.routes.drop(r)
			then(nil, err)
		})
		r.missing.Store(waited)
	})
}

// Carrier returns the node for a new call over a trunk: the one that Config.Carrier chooses if
// calls can start there, else this one.
func (g *Gateway) Carrier(trunk engine.TrunkID) engine.Incarnation {
	if g.cfg.Carrier != nil {
		if n := g.cfg.Carrier(trunk); n != 0 && g.Ready(n) {
			return n
		}
	}
	return g.Here()
}

// Drain makes this node refuse new calls of other nodes: they are not sent.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Here returns this node's incarnation.
func (g *Gateway) Here() engine.Incarnation { return g.cfg.Links.Self() }

// Carried counts the calls of this node's runs that other nodes carry.
func (g *Gateway) Carried() int64 { return g.routes.away.Load() }
