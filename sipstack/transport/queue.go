package transport

import (
	"bytes"
	"errors"
	"net"
	"time"
)

const (
	socketBuffer = 4 << 20 // bytes requested from the kernel in each direction
	dialTimeout  = 5 * time.Second
	writeTimeout = 5 * time.Second
	// maxQueued bounds the messages queued for one TCP connection.
	maxQueued = 10_000
)

var errNoUDP = errors.New("the listener has no UDP")

// Write sends a message: immediately over UDP, through the connection's queue over TCP. b is not
// retained. An error means that nothing was sent.
func (n *Sockets) Write(to Target, b []byte) error { return n.WriteOr(to, b, nil) }

// WriteOr is Write; unsent, if not nil, is called later where the connection could not be made.
func (n *Sockets) WriteOr(to Target, b []byte, unsent func()) error {
	if n.Tap != nil {
		n.Tap(b)
		return nil
	}
	if to.Reliable() {
		q := Queued{Data: bytes.Clone(b)}
		if unsent != nil {
			q.After = func(left bool, _ error) {
				if !left {
					unsent()
				}
			}
		}
		return n.Push(to, q)
	}
	udp := n.From(to).udp
	if udp == nil {
		return errNoUDP
	}
	_, err := udp.WriteToUDPAddrPort(b, to.Addr)
	if err != nil {
		n.Counts.WriteErrors.Add(1)
	}
	return err
}

// line is the queue of messages to one target over TCP or TLS. It exists, with its goroutine, only
// while there is something to write; it keeps commands from waiting for a connection.
type line struct {
	n     *Sockets
	to    Target
	queue []Queued // guarded by sockets.linesMu
}

// Queued is a message queued for its connection.
type Queued struct {
	Data []byte
	// Before is called immediately before the write: false drops the message.
	Before func() bool
	// After reports the result; left is false only when certainly nothing was sent.
	After func(left bool, err error)
}

var errQueueFull = errors.New("too many messages wait for the connection")

// Push queues a message. An error means that it will not be written; After is not called then.
func (n *Sockets) Push(to Target, q Queued) error {
	n.linesMu.Lock()
	defer n.linesMu.Unlock()
	if n.closed.Load() {
		return net.ErrClosed
	}
	l := n.lines[to]
	if l == nil {
		l = &line{n: n, to: to}
		n.lines[to] = l
		n.serving.Add(1)
		go l.run()
	}
	if len(l.queue) >= maxQueued {
		n.Counts.WriteErrors.Add(1)
		return errQueueFull
	}
	l.queue = append(l.queue, q)
	return nil
}

func (l *line) run() {
	defer l.n.serving.Done()
	for {
		l.n.linesMu.Lock()
		batch := l.queue
		l.queue = nil
		if len(batch) == 0 {
			delete(l.n.lines, l.to)
			l.n.linesMu.Unlock()
			return
		}
		l.n.linesMu.Unlock()
		l.writeAll(batch)
	}
}

// writeAll writes a batch. When the peer cannot be reached, the whole batch fails, so that a dead
// peer costs one dial timeout rather than one per message.
func (l *line) writeAll(batch []Queued) {
	var unreachable error
	for _, q := range batch {
		if unreachable != nil {
			q.done(false, unreachable)
			continue
		}
		conn, err := l.n.connect(l.to)
		if err != nil {
			unreachable = err
			l.n.Counts.WriteErrors.Add(1)
			q.done(false, err)
			continue
		}
		if q.Before != nil && !q.Before() {
			continue
		}
		left, err := l.writeOne(conn, q)
		if err != nil {
			l.n.Counts.WriteErrors.Add(1)
		}
		q.done(left, err)
	}
}

func (q *Queued) done(left bool, err error) {
	if q.After != nil {
		q.After(left, err)
	}
}

// writeOne writes a message; left is true when at least part of it was sent. A connection that
// broke before the first byte is replaced once.
func (l *line) writeOne(conn *stream, q Queued) (left bool, err error) {
	conn.quiet.Store(0)
	n, err := conn.write(q.Data)
	if err == nil || n > 0 {
		return true, err
	}
	conn, again := l.n.connect(l.to)
	if again != nil || (q.Before != nil && !q.Before()) {
		return false, err
	}
	n, err = conn.write(q.Data)
	return err == nil || n > 0, err
}
