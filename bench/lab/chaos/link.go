package chaos

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one connection of the dialler's, with its own to the server.
type link struct {
	w              *wire
	client, server net.Conn
	once           sync.Once

	// Of the forward direction.
	flight []byte // what waits for the end of a round trip
	cutAt  int    // where in it COMMIT begins; -1 without
	marked *trap  // whose mark was in this transaction
	over   bool   // the flight ends the transaction
	held   *trap  // takes the flight before the transaction

	mu     sync.Mutex
	expect *trap // what becomes of the answer to the COMMIT under way
}

// messageCap bounds one message of either side, flightCap what waits for the
// rest of its round trip, in bytes.
const (
	messageCap = 256 << 20
	flightCap  = 4 << 20
)

var errWire = errors.New("chaos: not the protocol of PostgreSQL")

// cut ends both connections.
func (l *link) cut() {
	l.once.Do(func() {
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// message reads one message, with its head, into buf.
func message(r *bufio.Reader, buf []byte) ([]byte, error) {
	head, err := r.Peek(5)
	if err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head[1:])) + 1
	if size < 5 || size > messageCap {
		return nil, errWire
	}
	return whole(r, buf, size)
}

// startup reads the first message of a client, which has no type.
func startup(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(head))
	if size < 8 || size > 1<<16 {
		return nil, errWire
	}
	return whole(r, nil, size)
}

func whole(r *bufio.Reader, buf []byte, size int) ([]byte, error) {
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	_, err := io.ReadFull(r, buf[:size])
	return buf[:size], err
}

// forward carries what the dialler sends.
func (l *link) forward() {
	defer l.w.forget(l)
	defer l.cut()
	r := bufio.NewReaderSize(l.client, 64<<10)
	first, err := startup(r)
	if err != nil {
		return
	}
	if _, err := l.server.Write(first); err != nil {
		return
	}
	l.cutAt = -1
	var buf []byte
	for {
		if buf, err = message(r, buf); err != nil {
			return
		}
		l.look(buf)
		l.flight = append(l.flight, buf...)
		switch buf[0] {
		case 'S', 'Q', 'H', 'c', 'f', 'p', 'X': // the client waits for an answer now, or for none
			if !l.send() {
				return
			}
		default:
			if len(l.flight) > flightCap && l.cutAt < 0 {
				if _, err := l.server.Write(l.flight); err != nil {
					return
				}
				l.flight = l.flight[:0]
			}
		}
	}
}

// look notes what a message means for the transaction.
func (l *link) look(msg []byte) {
	t := l.w.armed()
	statement := ""
	switch body := msg[5:]; msg[0] {
	case 'B': // portal, statement, parameters
		if _, rest, ok := bytes.Cut(body, []byte{0}); ok {
			name, _, _ := bytes.Cut(rest, []byte{0})
			statement = string(name)
		}
	case 'Q':
		text, _, _ := bytes.Cut(body[:min(len(body), 64)], []byte{0})
		statement = string(text)
	}
	if end, commit := ends(statement); end {
		l.over = true
		if commit {
			l.cutAt = len(l.flight)
		}
	}
	switch {
	case t == nil:
	case t.moment == beforeChecks:
		if statement == t.mark && l.w.disarm(t) {
			l.held = t
		}
	case msg[0] == 'B' || msg[0] == 'd' || msg[0] == 'Q':
		if l.marked != t && bytes.Contains(msg, []byte(t.mark)) {
			l.marked = t
		}
	}
}

// send lets a flight go; false when the connection is over.
func (l *link) send() bool {
	slow := l.w.pass()
	if l.held != nil {
		l.wait(l.held)
		return false
	}
	rest := l.flight
	if l.cutAt >= 0 {
		var caught *trap
		if t := l.marked; t != nil && l.w.disarm(t) {
			caught = t
		}
		if slow > 0 || caught != nil && caught.moment == beforeCommit {
			if _, err := l.server.Write(rest[:l.cutAt]); err != nil {
				return false
			}
			rest = rest[l.cutAt:]
		}
		if slow > 0 && !l.pause(slow) {
			return false
		}
		if caught != nil && caught.moment == beforeCommit {
			l.wait(caught)
			return false
		}
		l.mu.Lock()
		l.expect = caught
		l.mu.Unlock()
	}
	if l.over {
		l.marked, l.over = nil, false
	}
	_, err := l.server.Write(rest)
	l.flight, l.cutAt = l.flight[:0], -1
	return err == nil
}

// wait holds the connection at a trap's moment.
func (l *link) wait(t *trap) {
	close(t.met)
	select {
	case <-t.free:
	case <-l.w.closed:
	}
}

func (l *link) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.w.closed:
		return false
	}
}

// backward carries what the server answers.
func (l *link) backward() {
	defer l.cut()
	r := bufio.NewReaderSize(l.server, 64<<10)
	var buf, kept []byte
	var committed bool
	for {
		var err error
		if buf, err = message(r, buf); err != nil {
			return
		}
		l.mu.Lock()
		t := l.expect
		l.mu.Unlock()
		if t == nil {
			if kept = append(kept, buf...); r.Buffered() < 5 || len(kept) > 64<<10 {
				if _, err := l.client.Write(kept); err != nil {
					return
				}
				kept = kept[:0]
			}
			continue
		}
		kept = append(kept, buf...)
		if buf[0] == 'C' && bytes.Equal(buf[5:], []byte("COMMIT\x00")) {
			committed = true
		}
		if buf[0] != 'Z' {
			continue
		}
		if committed && t.moment == unheard {
			l.wait(t)
			return
		}
		_, err = l.client.Write(kept)
		kept = kept[:0]
		l.mu.Lock()
		l.expect = nil
		l.mu.Unlock()
		if committed {
			close(t.met)
		} else { // the transaction failed: the next one it is
			l.w.rearm(t)
		}
		committed = false
		if err != nil {
			return
		}
	}
}
