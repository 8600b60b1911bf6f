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

// drowsyConn can limit how often it is read. Fifty frames come per second and session; reading each
// one as it comes costs a wake-up of the process and two system calls, as much as a batch of ten.
type drowsyConn struct {
	net.Conn
	once  sync.Once
	awake chan struct{} // closed when naps must end

	// Used only by the reading goroutine.
	every time.Duration
	more  bool // the last read was full, so there may be more
	raw   syscall.RawConn
	timer *time.Timer
}

// asleep is how many bytes must wait before the kernel reports any: far more than arrive during a
// nap.
const asleep = 32 << 10

// doze begins the naps; the reading goroutine calls it.
func (c *drowsyConn) doze(every time.Duration) {
	sock, ok := c.Conn.(syscall.Conn)
	if !ok || every <= 0 {
		return
	}
	raw, err := sock.SyscallConn()
	if err != nil || lowWater(raw, asleep) != nil {
		return // then read normally
	}
	c.raw, c.every, c.timer = raw, every, time.NewTimer(untilGrid(every))
}

// grid aligns the ends of naps, and of mute sessions, so that one wake-up of the process serves
// many sessions.
const grid = 20 * time.Millisecond

// untilGrid returns at least d, rounded up to the grid of the wall clock.
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

// wake ends the naps for good, because an answer is expected.
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

// nap waits a while; once woken, it does not wait again.
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

// take reads the available data without waiting.
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
