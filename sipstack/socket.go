package sipstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"
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
	transport Transport
}

// reliable says that the transport retransmits by itself: no timers A, E and
// G (RFC 3261 §17).
func (t target) reliable() bool { return t.transport.reliable() }

// udpSocket lends our UDP socket to sipgo's transport layer. It differs from
// the plain socket in two ways. A read error other than "closed" does not end
// the layer's read loop. And it keeps the source of the datagram that is being
// handled in src instead of giving it to the layer, whose pool would otherwise
// hold one entry per remote address for ever and allocate for each datagram:
// the layer parses and handles a datagram before it reads the next, so src is
// valid in the handler, which runs on the reading goroutine.
type udpSocket struct {
	*net.UDPConn
	src netip.AddrPort
}

// everybody is the one remote address that the transport layer sees.
type everybody struct{}

func (everybody) Network() string { return "udp" }
func (everybody) String() string  { return "udp" }

// ReadFrom implements net.PacketConn.
func (u *udpSocket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, src, err := u.ReadFromUDPAddrPort(b)
		if err == nil {
			u.src = netip.AddrPortFrom(src.Addr().Unmap(), src.Port())
			return tolerate(b, n), everybody{}, nil
		}
		if errors.Is(err, net.ErrClosed) {
			return 0, nil, err
		}
	}
}

// tolerate mends a status line that ends behind the code: RFC 3261 §7.2 wants a
// space there even when the phrase is empty, and the parser insists on it, but
// some far sides leave it out. b holds n bytes; the new number is given.
func tolerate(b []byte, n int) int {
	const upToCode = len("SIP/2.0 404")
	if n <= upToCode || n >= len(b) || b[upToCode] != '\r' || string(b[:8]) != "SIP/2.0 " {
		return n
	}
	copy(b[upToCode+1:], b[upToCode:n])
	b[upToCode] = ' '
	return n + 1
}

// sockets opens UDP and TCP on the same port; port 0 takes a port that is free
// for both.
func sockets(listen string) (*net.UDPConn, *net.TCPListener, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, nil, fmt.Errorf("sipstack: listening address %q is not host:port: %w", listen, err)
	}
	var last error
	for range 20 {
		tcp, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return nil, nil, fmt.Errorf("sipstack: cannot listen on tcp %s, is another process using the port? %w", listen, err)
		}
		bound := tcp.Addr().(*net.TCPAddr).Port
		udp, err := net.ListenPacket("udp", net.JoinHostPort(host, strconv.Itoa(bound)))
		if err == nil {
			conn := udp.(*net.UDPConn)
			// The kernel may grant less (net.core.rmem_max); that is not an error.
			_ = conn.SetReadBuffer(socketBuffer)
			_ = conn.SetWriteBuffer(socketBuffer)
			return conn, tcp.(*net.TCPListener), nil
		}
		_ = tcp.Close()
		if last = err; port != "0" {
			break
		}
	}
	return nil, nil, fmt.Errorf("sipstack: cannot listen on udp %s, is another process using the port? %w", listen, last)
}

// write sends a message: at once over UDP, by the connection's queue over TCP.
// b is not kept. An error means that nothing left.
func (s *Stack) write(to target, b []byte) error {
	if to.reliable() {
		return s.line(to.addr).push(queued{data: append([]byte(nil), b...)})
	}
	_, err := s.udp.WriteToUDPAddrPort(b, to.addr)
	if err != nil {
		s.count.writeErrors.Add(1)
	}
	return err
}

// line is the queue of messages to one TCP address. Its goroutine exists only
// while there is something to write, so that no command waits for a connection.
type line struct {
	s    *Stack
	addr string

	mu      sync.Mutex
	queue   []queued
	running bool
}

// queued is a message that waits for its connection.
type queued struct {
	data []byte
	// before is asked immediately before the write: false drops the message.
	before func() bool
	// after hears how it went; left is false when certainly nothing did.
	after func(left bool, err error)
}

func (s *Stack) line(addr netip.AddrPort) *line {
	s.linesMu.Lock()
	defer s.linesMu.Unlock()
	l := s.lines[addr]
	if l == nil {
		l = &line{s: s, addr: addr.String()}
		s.lines[addr] = l
	}
	return l
}

var errQueueFull = errors.New("too many messages wait for the TCP connection")

func (l *line) push(q queued) error {
	if l.s.closed.Load() {
		return net.ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= maxQueued {
		l.s.count.writeErrors.Add(1)
		return errQueueFull
	}
	l.queue = append(l.queue, q)
	if !l.running {
		l.running = true
		go l.run()
	}
	return nil
}

func (l *line) run() {
	for {
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		if len(batch) == 0 {
			l.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
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
		conn, err := l.connect()
		if err != nil {
			unreachable = err
			l.s.count.writeErrors.Add(1)
			q.done(false, err)
			continue
		}
		if q.before != nil && !q.before() {
			_, _ = conn.TryClose()
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
func (l *line) writeOne(conn sip.Connection, q queued) (left bool, err error) {
	n, err := write(conn, q.data)
	if err == nil || n > 0 {
		return true, err
	}
	conn, again := l.connect()
	if again != nil || (q.before != nil && !q.before()) {
		return false, err
	}
	n, err = write(conn, q.data)
	return err == nil || n > 0, err
}

// write gives raw bytes to a connection and gives the connection back. One
// that fails is closed: half a message may be in it.
func write(conn sip.Connection, data []byte) (int, error) {
	defer func() { _, _ = conn.TryClose() }()
	w, ok := conn.(io.Writer)
	if !ok {
		return 0, fmt.Errorf("connection %T takes no raw bytes", conn)
	}
	n, err := w.Write(data)
	if err != nil {
		_ = conn.Close()
	}
	return n, err
}

// connect takes the open connection to the line's address, or dials one. The
// caller must TryClose it.
func (l *line) connect() (sip.Connection, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	host, port, err := sip.ParseAddr(l.addr)
	if err != nil {
		return nil, err
	}
	// The layer finds connections by a request's destination; the request
	// itself is not written.
	req := sip.NewRequest(sip.OPTIONS, sip.Uri{Scheme: "sip", Host: host, Port: port})
	req.AppendHeader(&sip.ViaHeader{ProtocolName: "SIP", ProtocolVersion: "2.0", Transport: "TCP", Host: host, Port: port})
	req.SetTransport("TCP")
	req.SetDestination(l.addr)
	conn, err := l.s.layer.ClientRequestConnection(ctx, req)
	if err == nil && l.s.closed.Load() {
		// Close has emptied the pool, or is about to: nobody would close it.
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	return conn, err
}
