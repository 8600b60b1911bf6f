package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

const (
	// maxMessage is the longest message that is accepted, in bytes; a UDP datagram cannot be longer
	// either.
	maxMessage = 65535
	// firstMessage is how long a far side that connects to us may take for its TLS handshake and
	// first message; a connection from an address of no trunk is closed after it in any case.
	firstMessage = 32 * time.Second
	// unused is the number of pings without a message in between after which we close our
	// connection to an address that no longer belongs to a trunk.
	unused = 10
)

// stream is one open TCP or TLS connection, ours or the far side's.
type stream struct {
	n       *Sockets
	key     Target
	conn    net.Conn
	inbound bool

	mu    sync.Mutex // of writes
	ping  *time.Timer
	pings atomic.Int32 // our pings without a pong
	quiet atomic.Int32 // pings since the last message
}

// open adds a connection to the table and starts to read it; it returns nil when the stack is
// closed.
func (n *Sockets) open(key Target, conn net.Conn, inbound bool) *stream {
	c := &stream{n: n, key: key, conn: conn, inbound: inbound}
	n.connsMu.Lock()
	if n.closed.Load() {
		n.connsMu.Unlock()
		_ = conn.Close()
		return nil
	}
	n.all[c] = struct{}{}
	n.conns[key] = c
	n.serving.Add(1)
	n.connsMu.Unlock()
	if !inbound {
		c.mu.Lock()
		c.ping = time.AfterFunc(n.flow, c.sendPing)
		c.mu.Unlock()
	}
	go c.serve()
	return c
}

// close removes the connection from the table, so that the next message to its far side opens
// another.
func (c *stream) close() {
	c.n.connsMu.Lock()
	if c.n.conns[c.key] == c {
		delete(c.n.conns, c.key)
	}
	_, open := c.n.all[c]
	delete(c.n.all, c)
	c.n.connsMu.Unlock()
	_ = c.conn.Close()
	if open && c.inbound {
		c.n.inbound.Add(-1)
	}
}

func (c *stream) serve() {
	defer c.n.serving.Done()
	defer c.close()
	if c.inbound {
		_ = c.conn.SetReadDeadline(time.Now().Add(firstMessage))
	}
	f := framer{}
	buf := make([]byte, 16<<10)
	for {
		n, err := c.conn.Read(buf)
		if n > 0 && !c.take(&f, buf[:n]) {
			return
		}
		if err != nil {
			break
		}
	}
	if c.ping != nil {
		c.ping.Stop()
	}
}

// take handles the bytes read; it returns false when the message boundary in the stream is lost.
func (c *stream) take(f *framer, b []byte) bool {
	f.write(b)
	for {
		data, pings, err := f.next()
		for range pings {
			if c.pings.Load() > 0 {
				c.pings.Add(-1) // the two CRLFs are pongs, or half of one
				continue
			}
			if _, err := c.write([]byte("\r\n")); err != nil { // RFC 5626 §3.5.1
				return false
			}
		}
		if err != nil {
			c.n.Counts.Malformed.Add(1)
			return false
		}
		if data == nil {
			return true
		}
		if c.inbound && c.n.isPeer(c.key.Addr.Addr()) {
			_ = c.conn.SetReadDeadline(time.Time{}) // any other connection ends soon
		}
		c.quiet.Store(0)
		m, err := c.n.parse(data)
		if err != nil {
			c.n.refuse(data, c.key)
			continue
		}
		c.n.onMessage(m, c.key)
	}
}

// sendPing keeps the flow open in NATs and firewalls on the path (RFC 5626 §3.5.1). A pong is not
// required: a far side that does not know pings ignores them (RFC 3261 §7.5); one that is gone
// resets the connection.
func (c *stream) sendPing() {
	if c.quiet.Add(1) > unused && !c.n.isPeer(c.key.Addr.Addr()) {
		c.close()
		return
	}
	c.pings.Store(1)
	if _, err := c.write([]byte("\r\n\r\n")); err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ping.Reset(c.n.flow)
}

// write writes whole messages. A failing connection is closed, since it may have transmitted half a
// message.
func (c *stream) write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	n, err := c.conn.Write(data)
	if err != nil {
		c.close()
	}
	return n, err
}

var errFlowGone = errors.New("the connection that the request came on is closed")

// connect returns the open connection to a target, or opens one.
func (n *Sockets) connect(to Target) (*stream, error) {
	n.connsMu.Lock()
	c := n.conns[to]
	n.connsMu.Unlock()
	if c != nil {
		return c, nil
	}
	if n.closed.Load() {
		return nil, net.ErrClosed
	}
	if to.Transport == message.TLS && to.TLS == nil {
		return nil, errFlowGone
	}
	ctx, cancel := context.WithTimeout(n.ctx, dialTimeout)
	defer cancel()
	conn, err := n.dial(ctx, to)
	if err != nil {
		return nil, err
	}
	if c = n.open(to, conn, false); c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// errHandshake begins the error of a connection whose far side was reached.
var errHandshake = errors.New("tls")

// dial opens a connection to a target.
func (n *Sockets) dial(ctx context.Context, to Target) (net.Conn, error) {
	from := n.From(to)
	d := net.Dialer{Control: from.control}
	if bind := from.bind; bind.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: bind.AsSlice()}
	}
	conn, err := d.DialContext(ctx, "tcp", to.Addr.String())
	if err != nil {
		return nil, err
	}
	if to.Transport != message.TLS {
		return conn, nil
	}
	secure := tls.Client(conn, to.TLS.conf)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", errHandshake, err)
	}
	return secure, nil
}

// Reach opens a connection to a target as for a message, and closes it. It returns the certificate that the
// far side showed, nil without TLS. reached says that an error is one of TLS.
func (n *Sockets) Reach(ctx context.Context, to Target) (shown *x509.Certificate, reached bool, err error) {
	conn, err := n.dial(ctx, to)
	if err != nil {
		return nil, errors.Is(err, errHandshake), err
	}
	defer func() { _ = conn.Close() }()
	if secure, ok := conn.(*tls.Conn); ok {
		if chain := secure.ConnectionState().PeerCertificates; len(chain) > 0 {
			shown = chain[0]
		}
	}
	return shown, true, nil
}

// framer splits a byte stream into messages by Content-Length (RFC 3261 §18.3) and counts the pings
// between them.
type framer struct {
	buf   []byte
	crlfs int // seen since the last message
}

func (f *framer) write(b []byte) { f.buf = append(f.buf, b...) }

var (
	errNoLength = errors.New("a message over a stream needs one Content-Length")
	errTooLong  = errors.New("message too long")
	headerEnd   = []byte("\r\n\r\n")
)

// next returns the next whole message, nil while there is none, and the pings before it. The
// message is valid until the next write.
func (f *framer) next() (data []byte, pings int, err error) {
	for len(f.buf) > 0 && (f.buf[0] == '\r' || f.buf[0] == '\n') {
		if f.buf[0] == '\n' {
			if f.crlfs++; f.crlfs == 2 {
				f.crlfs = 0
				pings++
			}
		}
		f.buf = f.buf[1:]
	}
	if len(f.buf) == 0 {
		f.buf = nil
		return nil, pings, nil
	}
	head := bytes.Index(f.buf, headerEnd)
	if head < 0 {
		if len(f.buf) > maxMessage {
			return nil, pings, errTooLong
		}
		return nil, pings, nil
	}
	head += len(headerEnd)
	body, ok := contentLength(f.buf[:head])
	if !ok {
		return nil, pings, errNoLength
	}
	if head+body > maxMessage {
		return nil, pings, errTooLong
	}
	if len(f.buf) < head+body {
		return nil, pings, nil
	}
	data, f.buf, f.crlfs = f.buf[:head+body:head+body], f.buf[head+body:], 0
	return data, pings, nil
}

// contentLength reads the Content-Length header, long or compact; ok is false when there is none,
// several that differ, or an invalid one.
func contentLength(head []byte) (n int, ok bool) {
	for line := range bytes.SplitSeq(head, []byte("\r\n")) {
		name, value, found := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		if !found || !(bytes.EqualFold(name, []byte("content-length")) || bytes.EqualFold(name, []byte("l"))) {
			continue
		}
		v, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 16)
		if err != nil || (ok && int(v) != n) {
			return 0, false
		}
		n, ok = int(v), true
	}
	return n, ok
}

// readUDP reads datagrams. A read error other than "closed" concerns a single datagram, or an ICMP
// message received.
func (n *Sockets) readUDP(ln *Endpoint) error {
	buf := make([]byte, maxMessage+1)
	for {
		size, src, err := ln.udp.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		data := bytes.Trim(buf[:size], "\x00\r\n ")
		if err != nil || len(data) == 0 {
			continue // a NAT keepalive
		}
		from := Target{Addr: unmapped(src), Transport: message.UDP, From: ln}
		m, err := n.parse(buf[:size])
		if err != nil {
			n.refuse(buf[:size], from)
			continue
		}
		n.onMessage(m, from)
	}
}

// parse reads one message.
func (n *Sockets) parse(b []byte) (sip.Message, error) { return n.parser.ParseSIP(tolerate(b)) }

// tolerate repairs a status line that ends after the code: RFC 3261 §7.2 requires a space there
// even when the phrase is empty, and the parser insists on it, but some far sides omit it.
func tolerate(b []byte) []byte {
	const upToCode = len("SIP/2.0 404")
	if len(b) <= upToCode || b[upToCode] != '\r' || string(b[:8]) != "SIP/2.0 " {
		return b
	}
	return append(append(append(make([]byte, 0, len(b)+1), b[:upToCode]...), ' '), b[upToCode:]...)
}

// OpenConnections counts the open TCP and TLS connections, ours and those of far sides.
func (n *Sockets) OpenConnections() int {
	n.connsMu.Lock()
	defer n.connsMu.Unlock()
	return len(n.all)
}

// Parsers returns sipgo's parsers for the headers by which every message is matched; the others
// stay text until they are needed.
func Parsers() sip.HeadersParser {
	all := sip.DefaultHeadersParser()
	some := sip.HeadersParser{}
	for _, name := range [...]string{"call-id", "i", "cseq", "content-length", "l"} {
		some[name] = all[name]
	}
	for _, name := range [...]string{"via", "v", "to", "t"} {
		some[name] = tidy(all[name])
	}
	return some
}

// tidy reads the names of parameters in lower case, and names and values without the white space that may stand
// around them (RFC 3261 §7.3.1, §25.1); the library leaves both.
func tidy(parse sip.HeaderParser) sip.HeaderParser {
	return func(name []byte, text string) (sip.Header, error) {
		h, err := parse(name, text)
		var params sip.HeaderParams
		switch h := h.(type) {
		case *sip.ViaHeader:
			params = h.Params
		case *sip.ToHeader:
			params = h.Params
		}
		for i, p := range params {
			params[i] = sip.HeaderKV{K: strings.ToLower(strings.TrimSpace(p.K)), V: strings.TrimSpace(p.V)}
		}
		return h, err
	}
}
