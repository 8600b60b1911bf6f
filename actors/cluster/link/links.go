package link

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// Clock has a node's two clocks.
type Clock interface {
	Now() time.Time
	Boot() engine.BootTime
}

// Transport brings a frame to the node with an incarnation, which gives it to its
// Links' Receive. It may get lost, be late, come twice, or overtake others. It must not
// wait for the other node, nor change the frame.
type Transport = func(to engine.Incarnation, frame []byte)

// Receiver takes what other nodes say under a name, of each in its order. It must not
// block, and read it before it returns.
type Receiver = func(*Said)

// Config is what Links work with.
type Config struct {
	Clock Clock
	Log   zerolog.Logger
	// QueueCap is how many bytes may wait for one other node, 8 MiB, beside what must be
	// told all the same.
	QueueCap int
}

// Stats are figures for /metrics.
type Stats struct {
	Repeats   atomic.Int64 // times that something was sent again
	Malformed atomic.Int64 // what could not be read
	Strays    atomic.Int64 // what was for nobody here
	Frames    atomic.Int64 // sent
}

// Links are a node's ways to the others. Its methods are safe for concurrent use and
// do not wait for other nodes.
type Links struct {
	cfg       Config
	stats     Stats
	own       atomic.Int32 // the present incarnation, also when its lease is over
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

// New makes the links of a node that is not in a cluster yet (Through, Join).
func New(cfg Config) *Links {
	if cfg.QueueCap == 0 {
		cfg.QueueCap = 8 << 20
	}
	return &Links{cfg: cfg, names: map[engine.Incarnation]struct{}{}, gone: map[engine.Incarnation]struct{}{},
		links: map[[2]engine.Incarnation]*Link{}, receivers: map[string]Receiver{}, stop: make(chan struct{})}
}

// Through says what brings frames to other nodes; before it they are lost.
func (ls *Links) Through(t Transport) { ls.transport.Store(&t) }

// Join says that this node is a member from now on, with that incarnation; what was
// said over the links of an earlier one goes on.
func (ls *Links) Join(id engine.Incarnation) {
	ls.mu.Lock()
	ls.names[id] = struct{}{}
	ls.mu.Unlock()
	ls.own.Store(int32(id))
}

// Self is the present incarnation of this process, 0: it has not joined yet.
func (ls *Links) Self() engine.Incarnation { return engine.Incarnation(ls.own.Load()) }

// Was says whether this process is or was an incarnation.
func (ls *Links) Was(id engine.Incarnation) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	_, ok := ls.names[id]
	return ok
}

// On says who takes what others say under a name.
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

// To gives the link to another node; nil: it is this process, or that has not joined.
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

// Broken says that a connection broke: those at the other end are asked whether they
// are there before they are told anything.
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

// of lists links; mu is held.
func (ls *Links) of(which func(*Link) bool) (all []*Link) {
	for _, l := range ls.links {
		if which(l) {
			all = append(all, l)
		}
	}
	return all
}

// between gives the link of two nodes, nil when we are not the one or are the other too.
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

// Receive takes a frame of another node. It may be called by several goroutines; what
// is in it is dealt with when it returns.
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
		if !f.over && !ls.Was(f.to) {
			over := frame{from: f.to, to: f.from, speaks: Version, since: Oldest, over: true}
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

// Stats gives the figures.
func (ls *Links) Stats() *Stats { return &ls.stats }

// Waiting is how many bytes wait for a node to take them.
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

// begin runs a goroutine that ends by Close.
func (ls *Links) begin(f func()) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !ls.closed {
		ls.tasks.Go(f)
	}
}

// Close ends the links; who waits for an answer is told.
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
