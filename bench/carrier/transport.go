package carrier

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dialler/bench/draw"
)

const (
	socketBuffer    = 4 << 20
	tcpWriteTimeout = time.Second // a caller that stops reading loses its connection
	maxMessage      = 64 << 10
)

// peer is the source of a message and the destination of its responses.
type peer struct {
	c    *Carrier
	addr netip.AddrPort
	conn *tcpConn  // nil for UDP
	left time.Time // when the message was sent to us; zero if unknown
}

func (p peer) transport() string {
	if p.conn != nil {
		return "tcp"
	}
	return "udp"
}

func (p peer) reliable() bool { return p.conn != nil }

// send writes one message. Errors are only counted: to SIP a message that could not be sent is a
// lost one.
func (p peer) send(b []byte) {
	if p.c.vanishes(p.conn == nil) {
		return
	}
	var err error
	if p.conn != nil {
		err = p.conn.write(b)
	} else {
		_, err = p.c.udp.WriteToUDPAddrPort(b, p.addr)
	}
	if err != nil {
		p.c.stray.count("send_error")
	}
}

// vanishes says whether the next message gets lost.
func (c *Carrier) vanishes(datagram bool) bool {
	r := c.rules.Load()
	if r.dead {
		return true
	}
	if r.loss == 0 || !datagram {
		return false
	}
	n := int(c.datagrams.Add(1))
	if draw.Rand(r.seed, "loss", n).Float64() >= r.loss {
		return false
	}
	c.stray.count("lost")
	return true
}

// listen binds UDP and TCP to one port.
func (c *Carrier) listen(listen string) error {
	want, err := netip.ParseAddrPort(listen)
	if err != nil {
		return err
	}
	for range 20 {
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(want))
		if err != nil {
			return fmt.Errorf("carrier: %w", err)
		}
		at := netip.AddrPortFrom(want.Addr(), uint16(udp.LocalAddr().(*net.UDPAddr).Port)) //nolint:gosec // a port
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			_ = udp.Close()
			if want.Port() == 0 {
				continue // free for UDP only; try another
			}
			return fmt.Errorf("carrier: %w", err)
		}
		wantStamps(udp)
		_ = udp.SetReadBuffer(socketBuffer) // the system's limit may be lower; best effort
		_ = udp.SetWriteBuffer(socketBuffer)
		c.udp, c.tcp, c.addr = udp, tcp, at
		return nil
	}
	return errors.New("carrier: found no port free for both UDP and TCP")
}

func (c *Carrier) readUDP() {
	defer c.tasks.Done()
	buf, oob := make([]byte, maxMessage), make([]byte, stampRoom)
	var m message
	for {
		n, beside, _, from, err := c.udp.ReadMsgUDPAddrPort(buf, oob)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // an ICMP error of an earlier datagram
		}
		data := buf[:n]
		if len(bytes.TrimLeft(data, "\r\n\x00 ")) == 0 {
			continue // keep-alive, RFC 5626 §3.5.1
		}
		if err := m.parse(data); err != nil {
			c.stray.count("not_sip")
			continue
		}
		c.handle(&m, peer{c: c, addr: netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), left: stampOf(oob[:beside])})
	}
}

func (c *Carrier) acceptTCP() {
	defer c.tasks.Done()
	for {
		conn, err := c.tcp.AcceptTCP()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		t := &tcpConn{conn: conn}
		c.connsMu.Lock()
		if c.conns == nil {
			c.connsMu.Unlock()
			_ = conn.Close()
			return
		}
		c.conns[t] = struct{}{}
		c.tasks.Add(1)
		c.connsMu.Unlock()
		go c.readTCP(t)
	}
}

type tcpConn struct {
	conn *net.TCPConn
	mu   sync.Mutex
	gone atomic.Bool
}

func (t *tcpConn) write(b []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.conn.SetWriteDeadline(time.Now().Add(tcpWriteTimeout))
	_, err := t.conn.Write(b)
	if err != nil {
		_ = t.conn.Close()
	}
	return err
}

// readTCP splits the stream into messages by Content-Length (RFC 3261 §18.3).
func (c *Carrier) readTCP(t *tcpConn) {
	defer c.tasks.Done()
	defer func() {
		t.gone.Store(true)
		_ = t.conn.Close()
		c.connsMu.Lock()
		delete(c.conns, t)
		c.connsMu.Unlock()
	}()
	from := t.conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	p := peer{c: c, conn: t, addr: netip.AddrPortFrom(from.Addr().Unmap(), from.Port())}
	buf, used := make([]byte, maxMessage), 0
	var m message
	for {
		n, err := t.conn.Read(buf[used:])
		used += n
		data := buf[:used]
		for {
			// RFC 5626 §3.5.1: a double CRLF asks for a single one.
			if bytes.HasPrefix(data, []byte("\r\n\r\n")) {
				_ = t.write([]byte("\r\n"))
				data = data[4:]
				continue
			}
			size := messageSize(data)
			if size < 0 {
				c.stray.count("not_sip")
				return
			}
			if size == 0 || size > len(data) {
				break
			}
			if err := m.parse(data[:size]); err != nil {
				c.stray.count("not_sip")
				return
			}
			c.handle(&m, p)
			data = data[size:]
		}
		used = copy(buf, data)
		if err != nil || used == len(buf) {
			return
		}
	}
}

// messageSize is the length of the first message in a stream: 0 while its head is incomplete, -1
// when it has no usable Content-Length.
func messageSize(data []byte) int {
	end := bytes.Index(data, []byte("\r\n\r\n"))
	if end < 0 {
		return 0
	}
	for line := range bytes.SplitSeq(data[:end], []byte("\r\n")) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		name = bytes.TrimSpace(name)
		if !bytes.EqualFold(name, []byte("Content-Length")) && !bytes.EqualFold(name, []byte("l")) {
			continue
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 {
			return -1
		}
		return end + 4 + n
	}
	return -1
}
