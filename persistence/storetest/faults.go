package storetest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
)

// Fault is what happens to a connection when its message comes.
type Fault int

// The faults.
const (
	// CutBefore loses the message that the fault waits for, and the connection.
	CutBefore Fault = iota + 1
	// CutAfter delivers the message and loses the connection before any answer comes back: the
	// outcome is unknown.
	CutAfter
	// Blackhole delivers nothing any more and reports no error: the peer has silently vanished.
	Blackhole
	// SwallowAnswer delivers the message, but no answer ever comes.
	SwallowAnswer
)

// silent says whether the client gets no error: it only continues once it stops waiting.
func (f Fault) silent() bool { return f == Blackhole || f == SwallowAnswer }

// Faults wraps every connection of a store. Arm it, and the next message with that name meets the
// fault; each arming works once.
type Faults struct {
	mu     sync.Mutex
	fault  Fault
	mark   []byte
	met    chan struct{}
	text   []byte // the old one
	hook   func()
	down   bool
	hang   bool
	hung   chan struct{} // closed when a message met a hanging database
	asked  bool          // hung is closed
	slow   func()        // runs before every message that names slowed
	slowed []byte
	conns  map[*faultyConn]struct{}
}

// errCut is what a cut connection answers.
var errCut = errors.New("storetest: connection cut")

// Arm prepares a fault for the next message that names the given prepared
// statement ("commit", "begin", "contacts", …); met is closed when it happens.
func (f *Faults) Arm(fault Fault, statement string) (met <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.mark, f.met = fault, []byte("\x00"+statement+"\x00"), make(chan struct{})
	return f.met
}

// ArmText is Arm for a message that contains the given text as a whole query.
func (f *Faults) ArmText(fault Fault, query string) (met <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.mark, f.met = fault, []byte(query+"\x00"), make(chan struct{})
	return f.met
}

// Before runs f before the next message that contains the text goes out.
func (f *Faults) Before(text string, run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.hook = []byte(text), run
}

// before runs the functions waiting for this message.
func (f *Faults) before(b []byte) {
	f.mu.Lock()
	run, wait := f.hook, f.slow
	if run == nil || !bytes.Contains(b, f.text) {
		run = func() {}
	} else {
		f.hook = nil
	}
	if wait == nil || !bytes.Contains(b, f.slowed) {
		wait = func() {}
	}
	f.mu.Unlock()
	run()
	wait()
}

// Down makes the database unreachable until Up: connections are lost and no new ones can be made.
func (f *Faults) Down() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for c := range f.conns {
		c.cut()
	}
}

// Hang makes the server accept everything and answer nothing, on existing and new connections,
// until Up. Whatever is sent to it is lost.
func (f *Faults) Hang() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hang, f.asked, f.hung = true, false, make(chan struct{})
}

// Hung waits for the first message that met Hang.
func (f *Faults) Hung() {
	f.mu.Lock()
	hung := f.hung
	f.mu.Unlock()
	<-hung
}

// hangs says whether the server is hanging, and records that a message met it.
func (f *Faults) hangs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hang && !f.asked {
		f.asked = true
		close(f.hung)
	}
	return f.hang
}

// Slow makes every message that names the prepared statement call wait first; a nil wait ends it.
func (f *Faults) Slow(statement string, wait func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow, f.slowed = wait, []byte("\x00"+statement+"\x00")
}

// Up ends Down and Hang; connections that hung are lost.
func (f *Faults) Up() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hang {
		for c := range f.conns {
			c.cut()
		}
	}
	f.down, f.hang = false, false
}

// Dial is used as persistence.Config's dial function.
func (f *Faults) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down {
		return nil, errCut
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	fc := &faultyConn{Conn: c, faults: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		f.conns = map[*faultyConn]struct{}{}
	}
	f.conns[fc] = struct{}{}
	return fc, nil
}

// take says whether this message meets the armed fault; the caller closes met when it has.
func (f *Faults) take(b []byte) (fault Fault, met chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == 0 || !bytes.Contains(b, f.mark) {
		return 0, nil
	}
	fault, f.fault = f.fault, 0
	return fault, f.met
}

type faultyConn struct {
	net.Conn
	faults *Faults

	mu     sync.Mutex
	lost   bool // every call fails
	silent bool // nothing goes out
	deaf   bool // nothing comes in
}

func (c *faultyConn) cut() {
	c.lose()
	_ = c.Conn.Close()
}

func (c *faultyConn) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

func (c *faultyConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	lost, silent := c.lost, c.silent
	c.mu.Unlock()
	switch {
	case lost:
		return 0, errCut
	case silent || c.faults.hangs():
		return len(b), nil
	}
	c.faults.before(b)
	fault, met := c.faults.take(b)
	if fault == 0 {
		return c.Conn.Write(b)
	}
	defer close(met)
	switch fault {
	case CutAfter:
		// The message is delivered; whoever waits for the answer gets none, however soon it comes.
		c.lose()
		n, err := c.Conn.Write(b)
		_ = c.Conn.Close()
		return n, err
	case Blackhole:
		c.mute(true)
		return len(b), nil
	case SwallowAnswer:
		c.mute(false)
		return c.Conn.Write(b)
	case CutBefore:
	}
	c.cut()
	return 0, errCut
}

func (c *faultyConn) mute(silent bool) {
	c.mu.Lock()
	c.silent, c.deaf = silent, true
	c.mu.Unlock()
}

func (c *faultyConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		c.mu.Lock()
		lost, deaf := c.lost, c.deaf
		c.mu.Unlock()
		switch {
		case lost:
			return 0, errCut
		case deaf && err == nil:
			continue // swallowed; only a deadline or a lost connection is noticed
		}
		return n, err
	}
}

func (c *faultyConn) Close() error {
	c.faults.mu.Lock()
	delete(c.faults.conns, c)
	c.faults.mu.Unlock()
	return c.Conn.Close()
}
