package transport

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emiago/sipgo/sip"
	"github.com/rs/zerolog"
)

// Sockets is everything that we listen on and send from. Its methods are safe for concurrent use
// and do not wait for the network; only Names.Wait does.
type Sockets struct {
	log    zerolog.Logger
	flow   time.Duration // between pings on connections that we opened
	Counts Counts
	// isPeer says whether an address is a trunk's, mayAsk whether a request from it is answered that belongs to no call.
	// onMessage receives every message read, in wire order, from one goroutine per socket.
	isPeer, mayAsk func(netip.Addr) bool
	onMessage      func(m sip.Message, src Target)

	listening []*Endpoint // never empty
	parser    *sip.Parser
	Names     Names
	Marks     Marks
	// locals caches the source address of the route to each far side.
	locals sync.Map // netip.Addr → string

	linesMu sync.Mutex
	lines   map[Target]*line

	connsMu sync.Mutex
	conns   map[Target]*stream   // by target; the newest
	all     map[*stream]struct{} // open ones
	inbound atomic.Int64         // open connections that far sides opened

	tlsMu    sync.Mutex
	tlsPeers map[tlsKey]*TLSPeer

	Tap     func([]byte)    // replaces the sockets in tests
	closed  atomic.Bool     // nothing is sent any more
	ctx     context.Context //nolint:containedctx // of the goroutines that close ends
	stop    context.CancelFunc
	serving sync.WaitGroup
}

// Counts counts failures of messages and connections.
type Counts struct {
	Malformed    atomic.Uint64 // messages read that are not SIP
	Strangers    atomic.Uint64 // requests and connections from addresses of no trunk
	RefusedConns atomic.Uint64 // connections of far sides beyond the limit
	WriteErrors  atomic.Uint64 // failed writes of any message
}

// Open opens the listeners; Serve begins to read them. It fails when a listening address is
// malformed or in use.
func Open(listeners []Listener, ask Resolver, flow time.Duration, log zerolog.Logger) (*Sockets, error) {
	if err := checkListeners(listeners); err != nil {
		return nil, err
	}
	n := &Sockets{
		log: log, flow: flow, Names: Names{ask: ask},
		parser:   sip.NewParser(sip.WithHeadersParsers(Parsers())),
		lines:    map[Target]*line{},
		conns:    map[Target]*stream{},
		all:      map[*stream]struct{}{},
		tlsPeers: map[tlsKey]*TLSPeer{},
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	for _, l := range listeners {
		ln, err := openListener(l)
		if err != nil {
			for _, open := range n.listening {
				_ = open.close()
			}
			return nil, err
		}
		n.listening = append(n.listening, ln)
	}
	return n, nil
}

// Serve begins to read the listeners' sockets.
func (n *Sockets) Serve(isPeer, mayAsk func(netip.Addr) bool, onMessage func(sip.Message, Target)) {
	n.isPeer, n.mayAsk, n.onMessage = isPeer, mayAsk, onMessage
	for _, ln := range n.listening {
		n.listen(ln)
	}
}

// Shut stops sending: whatever is pushed or written from now on is refused.
func (n *Sockets) Shut() {
	n.linesMu.Lock()
	n.closed.Store(true)
	n.linesMu.Unlock()
	n.stop()
}

// IsClosed says whether sending has stopped.
func (n *Sockets) IsClosed() bool { return n.closed.Load() }

// Close closes all sockets after Shut, and waits until their readers have ended.
func (n *Sockets) Close() (err error) {
	for _, ln := range n.listening {
		if e := ln.close(); err == nil {
			err = e
		}
	}
	n.connsMu.Lock()
	open := slices.Collect(maps.Keys(n.all))
	n.connsMu.Unlock()
	for _, c := range open {
		c.close()
	}
	n.serving.Wait()
	return err
}
