package link

import (
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
)

// Timing of a link.
const (
	// ackDelay is how long an acknowledgement waits to be sent with something else.
	ackDelay = 40 * time.Millisecond
	// resendFirst is how long the first acknowledgement may take; the interval then doubles up to
	// resendMost.
	resendFirst = 250 * time.Millisecond
	resendMost  = 2 * time.Second
	// backGap is the minimum time between two repeats that the other side requests.
	backGap = 20 * time.Millisecond
	// Heartbeat is the interval of heartbeats while either node carries calls for the other.
	Heartbeat = time.Second
	// doubtAfter is how long the other side may be silent before it is first asked whether it is
	// there, and only then sent anything.
	doubtAfter = Heartbeat + Heartbeat/2
	// strangeFor is how long a node that was never heard may be silent before that is logged.
	strangeFor = 5 * time.Second
	// goneFor is how long a node whose lease is over may be silent before the messages waiting for
	// it are dropped.
	goneFor = 30 * time.Second
	// idleFor is how long nothing may be due before a link's goroutine ends, until it is needed
	// again.
	idleFor = time.Minute
	// acquainted is how long heartbeats are requested of a node without calls, after the last call
	// of Ready.
	acquainted = time.Minute
)

// Bounds of what is in flight and not acknowledged.
const (
	windowItems = 1024
	windowBytes = 512 << 10
	ackItems    = 256
	// queueItems is how many messages may wait, including withdrawn ones.
	queueItems = 1 << 16
	// gatherMost is the number of messages that are sent without waiting for more.
	gatherMost = 128
)

// parcel is an encoded message, or one that is encoded only when it is sent.
type parcel struct {
	b    []byte
	late func() []byte
}

// empty says that it was withdrawn, and only its number is left.
func (p *parcel) empty() bool { return p.b == nil && p.late == nil }

// Link connects one incarnation of this node to one of another; incarnations are never reused. It
// numbers its messages, keeps them until the other side has processed them, resends what got lost,
// and drops duplicates.
type Link struct {
	of        *Links
	own, peer engine.Incarnation
	gone      atomic.Int64  // engine.BootTime since when the other's lease is over; 0 if it is not
	over      atomic.Bool   // another process has its address now
	version   atomic.Uint64 // the common version; 0 means unknown yet

	// dealing is held while incoming items are processed, in order.
	dealing sync.Mutex

	mu       sync.Mutex
	closed   bool
	running  bool
	queue    []parcel // unacknowledged items, oldest first
	base     uint64   // number of the first of them
	live     int      // how many of them were not withdrawn
	sent     int      // how many of them are in flight
	reached  uint64   // number of the last item ever sent
	flying   int      // their bytes
	waiting  int      // bytes in the queue
	got      uint64   // number of the last item processed
	told     uint64   // number of the last item acknowledged
	stamp    engine.BootTime
	stampAt  engine.BootTime
	offset   offset
	heard    engine.BootTime // when the last frame came, or the link began
	echoed   engine.BootTime // when the last frame was sent that the other has got, 0: that is not known
	doubt    bool            // the connection has broken since
	foreign  bool            // no version in common
	warned   bool            // the other node's silence has been logged
	wrote    engine.BootTime
	resendIn time.Duration
	// When something is due; 0 means nothing is.
	ackAt, resendAt engine.BootTime
	gatherAt        engine.BootTime // when queued items are sent
	backAt          engine.BootTime // when the last repeat began
	answerHello     bool
	helloAt         engine.BootTime // when the last hello was sent
	missing         bool
	asked           engine.BootTime // the last call of Ready; 0 means never
	calls           int             // carried over it, in either direction
	serial          atomic.Uint64   // of the last question
	pending         map[uint64]*pending

	wake chan struct{}
}

func newLink(of *Links, own, peer engine.Incarnation) *Link {
	return &Link{of: of, own: own, peer: peer, base: 1, resendIn: resendFirst, heard: of.cfg.Clock.Boot(),
		pending: map[uint64]*pending{}, wake: make(chan struct{}, 1)}
}

// Peer returns the node at the other end.
func (l *Link) Peer() engine.Incarnation { return l.peer }

// Speaks says that the other node is known to speak a version, and so may be sent what is new in it.
func (l *Link) Speaks(version uint64) bool { return l.version.Load() >= version }

// Gone says that the other node's lease is over. Calls in progress go on; nothing new begins.
func (l *Link) Gone() bool { return l.gone.Load() != 0 }

// GoneFor returns how long that has been known; 0 means the lease is not over.
func (l *Link) GoneFor() time.Duration {
	at := l.gone.Load()
	if at == 0 {
		return 0
	}
	return time.Duration(l.of.cfg.Clock.Boot() - engine.BootTime(at))
}

// Over says that the process of the other node's incarnation has ended.
func (l *Link) Over() bool { return l.over.Load() }

// poke makes the link check what is due.
func (l *Link) poke() {
	l.mu.Lock()
	idle := !l.running && !l.closed
	l.running = l.running || idle
	select { // before rest may check
	case l.wake <- struct{}{}:
	default:
	}
	l.mu.Unlock()
	if idle {
		l.of.begin(l.run)
	}
}

// Tell sends a message to the receiver of that name, in the order of the calls and once. It waits
// for at most gather to be sent with others: under load a frame costs ten times what a message in
// it does. full says that there was no room; with must the message is sent anyway.
func (l *Link) Tell(name string, gather time.Duration, must bool, say func(*Wire)) (full bool) {
	return l.put(parcel{b: l.tell(name, say)}, gather, must)
}

// TellLate is Tell for a message that is encoded only when it is sent.
func (l *Link) TellLate(name string, gather time.Duration, must bool, say func(*Wire)) (full bool) {
	return l.put(parcel{late: func() []byte { return l.tell(name, say) }}, gather, must)
}

func (l *Link) put(p parcel, gather time.Duration, must bool) (full bool) {
	if len(p.b) > itemCap { // the other side would reject it, and everything after it
		l.of.stats.Malformed.Add(1)
		l.of.cfg.Log.Error().
			Int32("node", int32(l.peer)).
			Int("bytes", len(p.b)).
			Msg("a message is too large to send")
		return true
	}
	l.mu.Lock()
	full = l.full()
	wake := (must || !full) && l.queued(p, gather)
	l.mu.Unlock()
	if wake {
		l.poke()
	}
	return full
}

// full says that only messages that must be sent are accepted; mu is held. A withdrawn item has no
// bytes but still takes a place in the queue.
func (l *Link) full() bool {
	return l.closed || l.foreign || l.waiting > l.of.cfg.QueueCap || len(l.queue) > queueItems
}

// queued adds a parcel and says whether the goroutine must be woken; mu is held.
func (l *Link) queued(p parcel, gather time.Duration) (wake bool) {
	if l.closed || l.foreign {
		return false
	}
	l.queue = append(l.queue, p)
	l.live++
	l.waiting += len(p.b)
	at := l.of.cfg.Clock.Boot().Add(gather)
	// The goroutine may be at rest although something is due, if all of that was withdrawn.
	wake = l.live == 1 || l.gatherAt == 0 || at < l.gatherAt || len(l.queue)-l.sent == gatherMost
	if l.gatherAt == 0 || at < l.gatherAt {
		l.gatherAt = at
	}
	return wake
}

// Room says whether there is room for messages that are not a must.
func (l *Link) Room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.waiting <= l.of.cfg.QueueCap/2
}

// SilentFor returns how long the other side has been silent.
func (l *Link) SilentFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.of.cfg.Clock.Boot() - l.heard)
}

// ApartFor is how long nothing has come, or nothing that was sent has got there: the way may be cut in one direction.
func (l *Link) ApartFor() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.heard
	if l.echoed != 0 {
		at = min(at, l.echoed)
	}
	return time.Duration(l.of.cfg.Clock.Boot() - at)
}

// Ready says whether the other side was heard within three heartbeats and accepts messages. The
// call itself requests heartbeats, until a minute after the last one.
func (l *Link) Ready() bool {
	l.mu.Lock()
	now := l.of.cfg.Clock.Boot()
	first := l.asked == 0 || time.Duration(now-l.asked) >= acquainted
	l.asked = now
	ready := !l.full() && l.offset.known && time.Duration(now-l.heard) <= 3*Heartbeat
	l.mu.Unlock()
	if first {
		l.poke()
	}
	return ready
}

// Use counts the calls that the link carries: while there are any, it sends heartbeats.
func (l *Link) Use(n int) {
	l.mu.Lock()
	l.calls += n
	l.mu.Unlock()
	l.poke()
}

// run sends what is due, until nothing has been due for a while. Only run sends.
func (l *Link) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		b, wait := l.next()
		if b != nil {
			l.of.send(l.peer, b)
			continue
		}
		timer.Reset(min(wait, idleFor))
		select {
		case <-l.wake:
		case <-timer.C:
			if wait >= idleFor && l.rest() {
				return
			}
		case <-l.of.stop:
			return
		}
	}
}

// rest ends the goroutine unless something has become due meanwhile.
func (l *Link) rest() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = len(l.wake) > 0 || l.live > 0
	return !l.running
}

// next returns the frame that is due, or how long nothing will be.
func (l *Link) next() (b []byte, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, time.Hour
	}
	now := l.of.cfg.Clock.Boot()
	if l.resendAt != 0 && now >= l.resendAt {
		l.back(now)
		l.resendIn = min(2*l.resendIn, resendMost)
	}
	f := frame{from: l.own, to: l.peer, speaks: l.of.cfg.Speaks, since: Oldest}
	asked := l.asked != 0 && time.Duration(now-l.asked) < acquainted
	if l.Gone() && l.calls == 0 && time.Duration(now-l.heard) > goneFor {
		l.withdrawAll()
	}
	idle := l.live == 0 && l.calls == 0 && !asked
	if !idle && !l.warned && l.stamp == 0 && time.Duration(now-l.heard) > strangeFor {
		l.warned = true
		l.of.cfg.Log.Warn().Int32("node", int32(l.peer)).
			Msg("another node is not heard: it is cut off, or runs an incompatible release (docs/upgrade.md)")
	}
	strange := !idle && (l.strange(now) || asked && l.calls == 0)
	beat := Heartbeat
	if strange && (l.doubt || time.Duration(now-l.heard) > Heartbeat) {
		beat = resendFirst
	}
	due := l.answerHello || l.missing || (l.ackAt != 0 && now >= l.ackAt) || l.got-l.told >= ackItems ||
		(!idle && (l.wrote == 0 || time.Duration(now-l.wrote) >= beat))
	if due || l.gatherAt != 0 && now >= l.gatherAt || len(l.queue)-l.sent >= gatherMost {
		l.fill(&f)
	}
	if due || len(f.items) > 0 {
		now = l.of.cfg.Clock.Boot() // late encoding may have taken time
		f.stamp, f.echo, f.ack, f.missing = now, l.stamp, l.got, l.missing
		if f.hello = strange && (l.helloAt == 0 || time.Duration(now-l.helloAt) >= beat); f.hello {
			l.helloAt = now // two nodes greeting each other would never stop
		}
		if l.stamp != 0 {
			f.held = time.Duration(now - l.stampAt)
		}
		l.ackAt, l.answerHello, l.missing, l.told, l.wrote = 0, false, false, l.got, now
		if len(f.items) > 0 && l.resendAt == 0 {
			l.resendAt = now.Add(l.resendIn)
		}
		return f.encode(), 0
	}
	wait = time.Hour
	until := func(t engine.BootTime) {
		if t != 0 {
			wait = min(wait, max(time.Duration(t-now), time.Millisecond))
		}
	}
	until(l.ackAt)
	until(l.resendAt)
	if now < l.gatherAt { // later, the link waits for the other side
		until(l.gatherAt)
	}
	if !idle {
		until(l.wrote.Add(beat))
	}
	return nil, wait
}

// strange says that it is unknown whether the other side is there; mu is held.
func (l *Link) strange(now engine.BootTime) bool {
	return l.stamp == 0 || l.doubt || l.foreign || time.Duration(now-l.heard) > doubtAfter
}

// fill puts what is to be sent into the frame, if the other side is known to be there; mu is held,
// but released during late encoding.
func (l *Link) fill(f *frame) {
	if l.strange(l.of.cfg.Clock.Boot()) {
		return
	}
	size := 0
	f.first = l.base + uint64(l.sent) //nolint:gosec // not negative
	for l.sent < len(l.queue) && l.sent < windowItems && l.flying < windowBytes && size < frameFill {
		i := l.sent
		if late := l.queue[i].late; late != nil {
			at := l.base + uint64(i) //nolint:gosec // not negative
			l.mu.Unlock()
			b := late()
			l.mu.Lock()
			if l.closed || l.base+uint64(l.sent) != at || l.sent >= len(l.queue) { //nolint:gosec // not negative
				// A repeat was requested meanwhile: start again.
				f.items, size = nil, 0
				f.first = l.base + uint64(l.sent) //nolint:gosec // not negative
				continue
			}
			i = l.sent
			l.queue[i] = parcel{b: b}
			l.waiting += len(b)
		}
		b := l.queue[i].b
		f.items = append(f.items, b)
		size += len(b)
		l.flying += len(b)
		l.sent++
		l.reached = max(l.reached, l.base+uint64(i)) //nolint:gosec // not negative
	}
	if l.sent == len(l.queue) {
		l.gatherAt = 0
	}
}

// back makes unacknowledged items be sent again; mu is held.
func (l *Link) back(now engine.BootTime) {
	l.sent, l.flying, l.resendAt, l.backAt, l.gatherAt = 0, 0, 0, now, now
	l.of.stats.Repeats.Add(1)
}

// take processes a frame of the other side.
func (l *Link) take(f *frame) {
	l.dealing.Lock()
	defer l.dealing.Unlock()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.over.Store(false) // it still sends
	now := l.of.cfg.Clock.Boot()
	if f.echo > now { // of no stamp that we sent
		f.echo = 0
	}
	l.heard, l.echoed, l.doubt = now, max(l.echoed, f.echo), false
	if f.common() == 0 {
		l.foreign = true
		due := time.Duration(now-l.wrote) >= Heartbeat // the other side needs a sign of life too
		l.answerHello = l.answerHello || due
		failed := l.takeAll()
		l.withdrawAll()
		l.mu.Unlock()
		failed.fail(ErrVersion)
		l.poke()
		return
	}
	l.version.Store(f.common())
	if l.stamp == 0 || f.stamp > l.stamp {
		l.stamp, l.stampAt = f.stamp, now
	}
	l.offset.observe(now, f.stamp, f.echo, f.held)
	l.acknowledged(f, now)
	if f.hello {
		l.answerHello = true
	}
	known := l.offset.known
	at := l.offset.read(l.of.cfg.Clock.Now(), now)
	next := l.got + 1
	l.mu.Unlock()

	repeat := false
	for i, b := range f.items {
		n := f.first + uint64(i)
		if n < next {
			repeat = true
			continue
		}
		if n > next || !known {
			l.mu.Lock()
			l.missing = true
			l.mu.Unlock()
			break
		}
		l.deal(b, at)
		l.mu.Lock()
		l.got = n
		if l.ackAt == 0 {
			l.ackAt = now.Add(ackDelay)
		}
		l.mu.Unlock()
		next++
	}
	if repeat { // our acknowledgement got lost
		l.mu.Lock()
		l.ackAt = now
		l.mu.Unlock()
	}
	l.poke()
}

// acknowledged drops items that the other side has processed; mu is held.
func (l *Link) acknowledged(f *frame, now engine.BootTime) {
	if f.ack >= l.base && f.ack-l.base < uint64(len(l.queue)) {
		n := int(f.ack - l.base + 1) //nolint:gosec // no longer than the queue
		for i := range n {
			if !l.queue[i].empty() {
				l.live--
			}
			size := len(l.queue[i].b)
			l.waiting -= size
			if i < l.sent {
				l.flying -= size
			}
			l.queue[i] = parcel{}
		}
		l.queue = l.queue[n:]
		if len(l.queue) == 0 {
			l.queue = nil
		}
		l.base += uint64(n) //nolint:gosec // positive
		l.sent = max(l.sent-n, 0)
		l.resendIn, l.resendAt = resendFirst, 0
		if l.sent > 0 {
			l.resendAt = now.Add(l.resendIn)
		}
	}
	if f.missing && f.ack+1 == l.base && l.sent > 0 && time.Duration(now-l.backAt) >= backGap {
		l.back(now)
	}
}

// Unused says that the link carries no call.
func (l *Link) Unused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls == 0
}

// close ends the link; waiting items are dropped, and open questions get an error.
func (l *Link) close() {
	l.mu.Lock()
	l.closed, l.queue, l.waiting, l.live, l.sent, l.flying = true, nil, 0, 0, 0, 0
	failed := l.takeAll()
	l.mu.Unlock()
	failed.fail(ErrNotSent)
}
