package site

import (
	"bytes"
	"net"
	"sync"
)

// Direction is one direction of a path, or both.
type Direction uint8

// The directions, as seen by the side that connects.
const (
	Out Direction = 1 << iota
	In
	Both = Out | In
)

func (d Direction) String() string {
	return [...]string{"neither way", "one way, what it sends", "one way, what it is sent", "both ways"}[d&Both]
}

// callerLimit is how many bytes of a connection are searched for a caller's mark.
const callerLimit = 64 << 10

// Way is a path that can be cut: data sent on it then waits, as in a network that loses packets.
type Way struct {
	Address string // to connect to, host:port

	listener net.Listener
	dial     func() (net.Conn, error)
	callers  map[string]string // names of callers, by a mark in what they send first
	tasks    sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when cuts has changed
	cuts    []cut
	all     map[net.Conn]struct{}
	done    bool
}

// cut describes what does not pass.
type cut struct {
	of   Direction
	from string // the caller; "" means any
}

// Lay opens a path. callers, which may be nil, maps marks to names: a connection belongs to the
// caller whose mark is in what it sends first.
func Lay(dial func() (net.Conn, error), callers map[string]string) (*Way, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Way{Address: l.Addr().String(), listener: l, dial: dial, callers: callers, changed: make(chan struct{}),
		all: map[net.Conn]struct{}{}}
	w.tasks.Go(w.accept)
	return w, nil
}

// Cut blocks a direction for one caller or, with "", for all.
func (w *Way) Cut(d Direction, from string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts = append(w.cuts, cut{d, from})
	w.turn()
}

// Mend lets everything pass again.
func (w *Way) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts = nil
	w.turn()
}

// turn notifies those waiting for a change; the mutex is held.
func (w *Way) turn() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Close cuts every connection for good and waits until they are gone.
func (w *Way) Close() error {
	err := w.listener.Close()
	w.mu.Lock()
	w.done, w.cuts = true, nil
	for c := range w.all {
		_ = c.Close()
	}
	w.turn()
	w.mu.Unlock()
	w.tasks.Wait()
	return err
}

// keep registers a connection for Close; it returns false when it is too late.
func (w *Way) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		_ = c.Close()
		return false
	}
	w.all[c] = struct{}{}
	return true
}

func (w *Way) drop(c net.Conn) {
	_ = c.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c)
}

func (w *Way) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		if w.keep(near) {
			w.tasks.Go(func() { w.carry(near) })
		}
	}
}

// carried is one connection.
type carried struct {
	caller string // "" while unknown; guarded by the path's mutex
	looked []byte // searched for a mark so far
}

func (w *Way) carry(near net.Conn) {
	defer w.drop(near)
	c := new(carried)
	w.passes(c, Out)
	far, err := w.dial()
	if err != nil || !w.keep(far) {
		return
	}
	defer w.drop(far)
	var both sync.WaitGroup
	both.Go(func() { w.copy(c, Out, far, near) })
	both.Go(func() { w.copy(c, In, near, far) })
	both.Wait()
}

func (w *Way) copy(c *carried, d Direction, to, from net.Conn) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if d == Out {
			w.look(c, buf[:n])
		}
		w.passes(c, d)
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// look identifies the caller.
func (w *Way) look(c *carried, sent []byte) {
	if len(w.callers) == 0 || len(c.looked) > callerLimit {
		return
	}
	c.looked = append(c.looked, sent...)
	for mark, name := range w.callers {
		if bytes.Contains(c.looked, []byte(mark)) {
			w.mu.Lock()
			c.caller = name
			w.mu.Unlock()
			c.looked = make([]byte, callerLimit+1) // enough is known
			return
		}
	}
}

// passes waits while the path is cut for a connection. A connection whose caller is not known yet
// passes a cut for a particular caller.
func (w *Way) passes(c *carried, d Direction) {
	for {
		w.mu.Lock()
		held, changed := false, w.changed
		for _, x := range w.cuts {
			held = held || x.of&d != 0 && (x.from == "" || x.from == c.caller)
		}
		w.mu.Unlock()
		if !held {
			return
		}
		<-changed
	}
}
