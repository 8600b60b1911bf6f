package link

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// Clock provides a node's two clocks.
type Clock interface {
	Now() time.Time
	Boot() engine.BootTime
}

// Transport sends a frame to the node with an incarnation, which passes it to its Links' Receive.
// Frames may get lost, be late, be duplicated, or overtake others. It must not wait for the other
// node, nor change the frame.
type Transport = func(to engine.Incarnation, frame []byte)

// Receiver receives the messages of other nodes under a name, those of each node in order. It must
// read a message before it returns, and must not block.
type Receiver = func(*Said)

// Config configures Links.
type Config struct {
	Clock Clock
	Log   zerolog.Logger
	// QueueCap is how many bytes may wait for one other node, default 8 MiB, not counting messages
	// that must be sent.
	QueueCap int
	// Speaks is the latest version that other nodes are told, default Version. Tests of an upgrade
	// stand for the release before with an earlier one.
	Speaks uint64
}

// Stats are figures for /metrics.
type Stats struct {
	Repeats   atomic.Int64 // retransmissions
	Malformed atomic.Int64 // unreadable frames or messages
	Strays    atomic.Int64 // frames or messages without a receiver here
	Frames    atomic.Int64 // sent
}

// Links are a node's links to the other nodes. Its methods are safe for concurrent use and do not
// wait for other nodes.
type Links struct {
	cfg       Config
	stats     Stats
	own       atomic.Int32 // the current incarnation, even if its lease is over
	transport atomic.Pointer[Transport]

	mu        sync.Mutex
	closed    bool
	names     map[engine.Incarnation]struct{} // of this process
	gone      map[engine.Incarnation]struct{}
	links     map[[2]engine.Incarnation]*Link
	receivers map[string]Receiver

	tasks sync.WaitGroup
	stop  chan struct{}
}

// New makes the links of a node that has not joined a cluster yet (Through, Join).
func New(cfg Config) *Links {
	if cfg.QueueCap == 0 {
		cfg.QueueCap = 8 << 20
	}
	if cfg.Speaks == 0 {
		cfg.Speaks = Version
	}
	return &Links{cfg: cfg, names: map[engine.Incarnation]struct{}{}, gone: map[engine.Incarnation]struct{}{},
		links: map[[2]engine.Incarnation]*Link{}, receivers: map[string]Receiver{}, stop: make(chan struct{})}
}

// Through sets the transport; before that, frames are lost.
func (ls *Links) Through(t Transport) { ls.transport.Store(&t) }

// Join says that this node is now a member, with that incarnation; the links of an earlier
// incarnation go on.
func (ls *Links) Join(id engine.Incarnation) {
	ls.mu.Lock()
	ls.names[id] = struct{}{}
	ls.mu.Unlock()
	ls.own.Store(int32(id))
}

// Self returns the current incarnation of this process; 0 before it has joined.
func (ls *Links) Self() engine.Incarnation { return engine.Incarnation(ls.own.Load()) }

// Was says whether this process is or was an incarnation.
func (ls *Links) Was(id engine.Incarnation) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	_, ok := ls.names[id]
	return ok
}

// On registers the receiver for a name.
func (ls *Links) On(name string, r Receiver) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.receivers[name] = r
}

func (ls *Links) receiver(name string) Receiver {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.receivers[name]
}

// To returns the link to another node; nil if peer is this process or this process has not joined.
func (ls *Links) To(peer engine.Incarnation) *Link { return ls.between(ls.Self(), peer) }

// Gone says that another node is dead or has left, and that its lease is over.
func (ls *Links) Gone(peer engine.Incarnation) {
	ls.mu.Lock()
	ls.gone[peer] = struct{}{}
	there := ls.of(func(l *Link) bool { return l.peer == peer })
	ls.mu.Unlock()
	for _, l := range there {
		l.leave()
	}
}

// Broken says that a connection broke: the nodes at the other end are asked whether they are there
// before they are sent anything.
func (ls *Links) Broken(at func(engine.Incarnation) bool) {
	ls.mu.Lock()
	there := ls.of(func(l *Link) bool { return at(l.peer) })
	ls.mu.Unlock()
	for _, l := range there {
		l.mu.Lock()
		l.doubt = true
		l.mu.Unlock()
		l.poke()
	}
}

// of lists the links that match; mu is held.
func (ls *Links) of(which func(*Link) bool) (all []*Link) {
	for _, l := range ls.links {
		if which(l) {
			all = append(all, l)
		}
	}
	return all
}

// between returns the link of two nodes; nil unless own is this node and peer is not.
func (ls *Links) between(own, peer engine.Incarnation) *Link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	_, ours := ls.names[own]
	_, self := ls.names[peer]
	if !ours || self || peer <= 0 || ls.closed {
		return nil
	}
	k := [2]engine.Incarnation{own, peer}
	l := ls.links[k]
	if l == nil {
		l = newLink(ls, own, peer)
		if _, gone := ls.gone[peer]; gone {
			l.gone.Store(int64(ls.cfg.Clock.Boot()))
		}
		ls.links[k] = l
	}
	return l
}

// Receive takes a frame of another node. It may be called concurrently; the frame has been
// processed when it returns.
func (ls *Links) Receive(b []byte) {
	f, err := decodeFrame(b)
	if err != nil {
		ls.stats.Malformed.Add(1)
		return
	}
	l := ls.between(f.to, f.from)
	switch {
	case l == nil:
		ls.stats.Strays.Add(1)
		// A later incarnation than its own may be this process's: others can know before it does.
		if !f.over && !ls.Was(f.to) && f.to < ls.Self() {
			over := frame{from: f.to, to: f.from, speaks: ls.cfg.Speaks, since: Oldest, over: true}
			ls.send(f.from, over.encode())
		}
	case f.over:
		l.lost()
	default:
		l.take(&f)
	}
}

func (ls *Links) send(to engine.Incarnation, b []byte) {
	if t := ls.transport.Load(); t != nil {
		ls.stats.Frames.Add(1)
		(*t)(to, b)
	}
}

// Stats returns the figures.
func (ls *Links) Stats() *Stats { return &ls.stats }

// Waiting returns how many bytes wait for a node.
func (ls *Links) Waiting(peer engine.Incarnation) (bytes int) {
	ls.mu.Lock()
	there := ls.of(func(l *Link) bool { return l.peer == peer })
	ls.mu.Unlock()
	for _, l := range there {
		l.mu.Lock()
		bytes += l.waiting
		l.mu.Unlock()
	}
	return bytes
}

// moment reads the clocks.
func (ls *Links) moment() Moment { return Moment{Now: ls.cfg.Clock.Now(), Boot: ls.cfg.Clock.Boot()} }

// begin runs a goroutine that ends with Close.
func (ls *Links) begin(f func()) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.closed {
		ls.tasks.Go(f)
	}
}

// Close ends the links; open questions get an error.
func (ls *Links) Close() {
	ls.mu.Lock()
	if ls.closed {
		ls.mu.Unlock()
		return
	}
	ls.closed = true
	close(ls.stop)
	all := ls.of(func(*Link) bool { return true })
	ls.mu.Unlock()
	for _, l := range all {
		l.close()
	}
	ls.tasks.Wait()
}
