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

// Sockets are all that we listen on and send from. Its methods are safe for
// concurrent use and do not wait for the network; only Names.Wait does.
type Sockets struct {
	log    zerolog.Logger
	flow   time.Duration // between pings on connections that we opened
	Counts Counts
	// isPeer says whether an address is a trunk's; onMessage takes every message
	// that is read, in wire order, by one goroutine per socket.
	isPeer    func(netip.Addr) bool
	onMessage func(m sip.Message, src Target)

	listening []*Endpoint // never empty
	parser    *sip.Parser
	Names     Names
	Marks     Marks
	// locals caches the address that the route to a far side leaves from.
	locals sync.Map // netip.Addr → string

	linesMu sync.Mutex
	lines   map[Target]*line

	connsMu sync.Mutex
	conns   map[Target]*stream   // by where they lead; the newest
	all     map[*stream]struct{} // open ones
	inbound atomic.Int64         // of all, those that far sides opened

	tlsMu    sync.Mutex
	tlsPeers map[tlsKey]*TLSPeer

	Tap     func([]byte)    // takes the place of the sockets in tests
	closed  atomic.Bool     // nothing is sent any more
	ctx     context.Context //nolint:containedctx // of the goroutines that close ends
	stop    context.CancelFunc
	serving sync.WaitGroup
}

// Counts are of messages that went wrong.
type Counts struct {
	Malformed    atomic.Uint64 // what is read and is not SIP
	Strangers    atomic.Uint64 // requests and connections from addresses of no trunk
	RefusedConns atomic.Uint64 // connections of far sides beyond the bound
	WriteErrors  atomic.Uint64 // failed writes of any message
}

// Open opens the listeners; serve begins to read them. Errors: a
// listening address is malformed or taken.
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
func (n *Sockets) Serve(isPeer func(netip.Addr) bool, onMessage func(sip.Message, Target)) {
	n.isPeer, n.onMessage = isPeer, onMessage
	for _, ln := range n.listening {
		n.listen(ln)
	}
}

// Shut ends sending: what is pushed or written from now on is refused.
func (n *Sockets) Shut() {
	n.linesMu.Lock()
	n.closed.Store(true)
	n.linesMu.Unlock()
	n.stop()
}

// IsClosed says whether nothing is sent any more.
func (n *Sockets) IsClosed() bool { return n.closed.Load() }

// Close closes all sockets after shut, and waits until nobody reads them.
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
