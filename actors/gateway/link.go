package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
)

// Times of a link.
const (
	// gather is how long a message waits for others to go with: a frame costs ten
	// times what a message in it does.
	gather = 10 * time.Millisecond
	// ackDelay is how long an acknowledgement waits for something to go with.
	ackDelay = 40 * time.Millisecond
	// resendFirst is how long the first acknowledgement may take, resendMost the
	// longest of the intervals that double from there.
	resendFirst = 250 * time.Millisecond
	resendMost  = 2 * time.Second
	// backGap is the least time between two repeats that the other side asks for.
	backGap = 20 * time.Millisecond
	// heartbeat is sent while calls are carried for each other.
	heartbeat = time.Second
	// acquainted is how long a node that carries nothing is asked for signs of life
	// after the last question whether it is ready.
	acquainted = time.Minute
)

// Bounds of what is under way and not acknowledged.
const (
	windowItems = 1024
	windowBytes = 512 << 10
	ackItems    = 256
	// gatherMost is how many messages do not wait for more.
	gatherMost = 128
)

// parcel is an encoded message, or one that is encoded when it is sent.
type parcel struct {
	b    []byte
	late func() []byte
}

// link is the way to one other node. It is made when either side first needs it
// and ends with one of the two incarnations, which are never used again.
type link struct {
	g         *Gateway
	own, peer engine.Incarnation
	// gone: the other's lease is over. What it has begun goes on; it begins nothing.
	gone atomic.Bool

	// dealing is held while what came is dealt with, in order.
	dealing sync.Mutex

	mu       sync.Mutex
	closed   bool
	queue    []parcel // not acknowledged, oldest first
	base     uint64   // number of the first of them
	sent     int      // how many of them are under way
	flying   int      // their bytes
	waiting  int      // bytes of the queue
	got      uint64   // number of the last item that was dealt with
	told     uint64   // the last of them that was acknowledged
	stamp    engine.BootTime
	stampAt  engine.BootTime
	offset   offset
	heard    engine.BootTime // when something came, or the link began
	wrote    engine.BootTime
	resendIn time.Duration
	// Times at which something is due, 0 = nothing is.
	ackAt, resendAt engine.BootTime
	gatherAt        engine.BootTime // when what was queued is sent
	backAt          engine.BootTime // when the last repeat began
	answerHello     bool
	missing         bool
	asked           engine.BootTime // when Ready was, 0: never
	calls           int             // that are carried over it, either way

	wake chan struct{}
	stop chan struct{}
}

func newLink(g *Gateway, own, peer engine.Incarnation) *link {
	return &link{g: g, own: own, peer: peer, base: 1, resendIn: resendFirst, heard: g.cfg.Clock.Boot(),
		wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

func (l *link) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// send queues a message. full says that there was no room; with must it is
// queued all the same.
func (l *link) send(m *message, must bool) (full bool) {
	return l.put(parcel{b: m.encode(l.g.moment())}, must)
}

func (l *link) put(p parcel, must bool) (full bool) {
	l.mu.Lock()
	full = l.closed || l.waiting > l.g.cfg.QueueCap
	wake := false
	if !l.closed && (must || !full) {
		l.queue = append(l.queue, p)
		l.waiting += len(p.b)
		wake = l.gatherAt == 0 || len(l.queue)-l.sent == gatherMost
		if l.gatherAt == 0 {
			l.gatherAt = l.g.cfg.Clock.Boot().Add(gather)
		}
	}
	l.mu.Unlock()
	if wake {
		l.poke()
	}
	return full
}

// room says whether more than what has to be may be sent.
func (l *link) room() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.waiting <= l.g.cfg.QueueCap/2
}

// silentFor is how long nothing has come.
func (l *link) silentFor(now engine.BootTime) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(now - l.heard)
}

// ready says that the other side was heard within three heartbeats and answers.
func (l *link) ready(now engine.BootTime) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && l.offset.known && time.Duration(now-l.heard) <= 3*heartbeat && l.waiting <= l.g.cfg.QueueCap
}

// greet asks the other side for signs of life for a while.
func (l *link) greet(now engine.BootTime) {
	l.mu.Lock()
	first := l.asked == 0 || time.Duration(now-l.asked) >= acquainted
	l.asked = now
	l.mu.Unlock()
	if first {
		l.poke()
	}
}

// use counts the calls that the link carries: while there are some, it beats.
func (l *link) use(n int) {
	l.mu.Lock()
	l.calls += n
	l.mu.Unlock()
	l.poke()
}

// run sends until the link is closed. It is the only one that does.
func (l *link) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		b, wait := l.next()
		if b != nil {
			l.g.cfg.Transport.Send(l.peer, b)
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.stop:
			return
		}
	}
}

// next gives the frame that is due, or how long nothing is.
func (l *link) next() (b []byte, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, time.Hour
	}
	now := l.g.cfg.Clock.Boot()
	if l.resendAt != 0 && now >= l.resendAt {
		l.back(now)
		l.resendIn = min(2*l.resendIn, resendMost)
	}
	f := frame{from: l.own, to: l.peer}
	asked := l.asked != 0 && time.Duration(now-l.asked) < acquainted
	idle := len(l.queue) == 0 && l.calls == 0 && !asked
	strange := !idle && (l.stamp == 0 || asked && l.calls == 0)
	beat := heartbeat
	if strange && time.Duration(now-l.heard) > heartbeat {
		beat = resendFirst
	}
	due := l.answerHello || l.missing || (l.ackAt != 0 && now >= l.ackAt) || l.got-l.told >= ackItems ||
		(!idle && (l.wrote == 0 || time.Duration(now-l.wrote) >= beat))
	if due || l.gatherAt != 0 && now >= l.gatherAt || len(l.queue)-l.sent >= gatherMost {
		l.fill(&f)
	}
	if due || len(f.items) > 0 {
		now = l.g.cfg.Clock.Boot() // what was encoded just now may have taken its time
		f.stamp, f.echo, f.ack, f.hello, f.missing = now, l.stamp, l.got, strange, l.missing
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
	if now < l.gatherAt { // later it is the other side that is waited for
		until(l.gatherAt)
	}
	if !idle {
		until(l.wrote.Add(beat))
	}
	return nil, wait
}

// fill takes what is to be sent into the frame, if the other side is known to be
// there; mu is held, and let go for what is encoded late.
func (l *link) fill(f *frame) {
	if l.stamp == 0 {
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
				// Somebody asked for a repeat meanwhile: begin again.
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
	}
	if l.sent == len(l.queue) {
		l.gatherAt = 0
	}
}

// back lets what is not acknowledged be sent again; mu is held.
func (l *link) back(now engine.BootTime) {
	l.sent, l.flying, l.resendAt, l.backAt, l.gatherAt = 0, 0, 0, now, now
	l.g.Repeats.Add(1)
}

// take deals with a frame of the other side.
func (l *link) take(f *frame) {
	l.dealing.Lock()
	defer l.dealing.Unlock()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	now := l.g.cfg.Clock.Boot()
	if f.echo > now { // of no stamp that we sent
		f.echo = 0
	}
	l.heard = now
	if l.stamp == 0 || f.stamp > l.stamp {
		l.stamp, l.stampAt = f.stamp, now
	}
	l.offset.observe(now, f.stamp, f.echo, f.held)
	l.acknowledged(f, now)
	if f.hello {
		l.answerHello = true
	}
	known := l.offset.known
	at := l.offset.read(l.g.cfg.Clock.Now(), now)
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
		l.g.dispatch(l, b, at)
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

// acknowledged drops what the other side has dealt with; mu is held.
func (l *link) acknowledged(f *frame, now engine.BootTime) {
	if f.ack >= l.base && f.ack-l.base < uint64(len(l.queue)) {
		n := int(f.ack - l.base + 1) //nolint:gosec // no longer than the queue
		for i := range n {
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

// unused says that the link carries no call.
func (l *link) unused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls == 0
}

// close ends the link; what waits is dropped.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed, l.queue, l.waiting = true, nil, 0
		close(l.stop)
	}
}
