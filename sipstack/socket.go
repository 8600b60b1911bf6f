package sipstack

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"time"

	"dialler/sipstack/message"
)

const (
	socketBuffer = 4 << 20 // bytes asked of the kernel in each direction
	dialTimeout  = 5 * time.Second
	writeTimeout = 5 * time.Second
	// maxQueued bounds the messages that wait for one TCP connection.
	maxQueued = 10_000
)

// target is where a message goes.
type target struct {
	addr      netip.AddrPort
	transport message.Transport
	from      *listener // whose socket or address it leaves from; nil for the first
	tls       *tlsPeer  // nil over UDP, TCP and connections that the far side opened
}

// at is the same way to another address.
func (t target) at(addr netip.AddrPort) target {
	t.addr = addr
	return t
}

// reliable says that the transport retransmits by itself: no timers A, E and
// G (RFC 3261 §17).
func (t target) reliable() bool { return t.transport.Reliable() }

var errNoUDP = errors.New("the listener has no UDP")

// unmapped is an address as we compare it: IPv4 as such.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// write sends a message: at once over UDP, by the connection's queue over TCP.
// b is not kept. An error means that nothing left.
func (s *Stack) write(to target, b []byte) error {
	if s.tap != nil {
		s.tap(b)
		return nil
	}
	if to.reliable() {
		return s.push(to, queued{data: bytes.Clone(b)})
	}
	udp := s.from(to).udp
	if udp == nil {
		return errNoUDP
	}
	_, err := udp.WriteToUDPAddrPort(b, to.addr)
	if err != nil {
		s.count.writeErrors.Add(1)
	}
	return err
}

// line is the queue of messages to one target over TCP or TLS. It exists, and
// its goroutine runs, only while there is something to write, so that no
// command waits for a connection.
type line struct {
	s     *Stack
	to    target
	queue []queued // guarded by Stack.linesMu
}

// queued is a message that waits for its connection.
type queued struct {
	data []byte
	// before is asked immediately before the write: false drops the message.
	before func() bool
	// after hears how it went; left is false when certainly nothing did.
	after func(left bool, err error)
}

var errQueueFull = errors.New("too many messages wait for the connection")

// push queues a message. An error means that it will not be written; after is
// not called then.
func (s *Stack) push(to target, q queued) error {
	s.linesMu.Lock()
	defer s.linesMu.Unlock()
	if s.closed.Load() {
		return net.ErrClosed
	}
	l := s.lines[to]
	if l == nil {
		l = &line{s: s, to: to}
		s.lines[to] = l
		s.serving.Add(1)
		go l.run()
	}
	if len(l.queue) >= maxQueued {
		s.count.writeErrors.Add(1)
		return errQueueFull
	}
	l.queue = append(l.queue, q)
	return nil
}

func (l *line) run() {
	defer l.s.serving.Done()
	for {
		l.s.linesMu.Lock()
		batch := l.queue
		l.queue = nil
		if len(batch) == 0 {
			delete(l.s.lines, l.to)
			l.s.linesMu.Unlock()
			return
		}
		l.s.linesMu.Unlock()
		l.writeAll(batch)
	}
}

// writeAll writes a batch. When the peer cannot be reached, the whole batch
// fails, so that a dead peer costs one dial time-out and not one per message.
func (l *line) writeAll(batch []queued) {
	var unreachable error
	for _, q := range batch {
		if unreachable != nil {
			q.done(false, unreachable)
			continue
		}
		conn, err := l.s.connect(l.to)
		if err != nil {
			unreachable = err
			l.s.count.writeErrors.Add(1)
			q.done(false, err)
			continue
		}
		if q.before != nil && !q.before() {
			continue
		}
		left, err := l.writeOne(conn, q)
		if err != nil {
			l.s.count.writeErrors.Add(1)
		}
		q.done(left, err)
	}
}

func (q *queued) done(left bool, err error) {
	if q.after != nil {
		q.after(left, err)
	}
}

// writeOne writes a message; left is true when at least a part of it did. A
// connection that broke before the first byte is replaced once.
func (l *line) writeOne(conn *stream, q queued) (left bool, err error) {
	conn.quiet.Store(0)
	n, err := conn.write(q.data)
	if err == nil || n > 0 {
		return true, err
	}
	conn, again := l.s.connect(l.to)
	if again != nil || (q.before != nil && !q.before()) {
		return false, err
	}
	n, err = conn.write(q.data)
	return err == nil || n > 0, err
}
