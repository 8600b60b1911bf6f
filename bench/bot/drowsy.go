package bot

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// drowsyListener accepts connections that can be read in batches.
type drowsyListener struct{ net.Listener }

// Accept implements net.Listener.
func (l drowsyListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &drowsyConn{Conn: c, awake: make(chan struct{})}, nil
}

// drowsyConn can be told to read no more often than every so long. Fifty
// frames come per second and session; taking each as it comes costs a wake-up
// of the process and two system calls, a batch of ten costs as much as one.
type drowsyConn struct {
	net.Conn
	once  sync.Once
	awake chan struct{} // closed: no more naps

	// Touched by the reading goroutine only.
	every time.Duration
	more  bool // the last read was full: there may be more
	raw   syscall.RawConn
	timer *time.Timer
}

// asleep is how many bytes must wait before the kernel says that there are
// any: far more than come during a nap.
const asleep = 32 << 10

// doze begins the naps; called by the reading goroutine.
func (c *drowsyConn) doze(every time.Duration) {
	sock, ok := c.Conn.(syscall.Conn)
	if !ok || every <= 0 {
		return
	}
	raw, err := sock.SyscallConn()
	if err != nil || lowWater(raw, asleep) != nil {
		return // read as it comes then
	}
	c.raw, c.every, c.timer = raw, every, time.NewTimer(untilGrid(every))
}

// grid is what the ends of naps, and of mute sessions, fall on: many sessions
// are served by one wake-up of the process.
const grid = 20 * time.Millisecond

// untilGrid is at least d, rounded up to the grid of the wall clock.
func untilGrid(d time.Duration) time.Duration {
	now := time.Now()
	end := now.Add(d)
	if at := end.Truncate(grid); at.Before(end) {
		end = at.Add(grid)
	} else {
		end = at
	}
	return end.Sub(now)
}

// lowWater sets how many bytes make the socket readable.
func lowWater(raw syscall.RawConn, bytes int) error {
	var err error
	if e := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVLOWAT, bytes)
	}); e != nil {
		return e
	}
	return err
}

// wake ends the naps for good: an answer is waited for.
func (c *drowsyConn) wake() { c.once.Do(func() { close(c.awake) }) }

// Read implements net.Conn.
func (c *drowsyConn) Read(b []byte) (int, error) {
	for c.every > 0 {
		if !c.more {
			if err := c.nap(); err != nil {
				return 0, err
			}
		}
		n, err := c.take(b)
		c.more = n == len(b)
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
			continue
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		return max(0, n), err
	}
	return c.Conn.Read(b)
}

// nap waits a while; when it is woken, there is no further nap.
func (c *drowsyConn) nap() error {
	select {
	case <-c.timer.C:
		c.timer.Reset(untilGrid(c.every))
		return nil
	case <-c.awake:
		c.timer.Stop()
		c.every = 0
		return lowWater(c.raw, 1)
	}
}

// take reads what is there, without waiting.
func (c *drowsyConn) take(b []byte) (n int, err error) {
	e := c.raw.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b)
		return true
	})
	if e != nil {
		return 0, e
	}
	return n, err
}

// Close implements net.Conn; it ends a nap.
func (c *drowsyConn) Close() error {
	c.wake()
	return c.Conn.Close()
}
