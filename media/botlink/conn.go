package botlink

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var errSlow = errors.New("the bot does not read its socket")

const (
	// sendBuffer bounds what the kernel queues for a bot (SO_SNDBUF, doubled by Linux): by default
	// it would buffer minutes of audio for a bot that reads nothing.
	sendBuffer = 32 << 10
	// unackedTimeout breaks a connection whose peer has vanished (TCP_USER_TIMEOUT).
	unackedTimeout = 10 * time.Second
)

// conn is a TCP connection whose Write, once detached, never blocks: data that the kernel does not
// take waits in pending and goes out with a later write. It sits below TLS, so that wss:// bots are
// served the same way.
type conn struct {
	*net.TCPConn

	mu       sync.Mutex
	raw      syscall.RawConn
	detached bool
	limit    int
	pending  []byte

	// try is one non-blocking write of out; it is created once, because a closure per write would
	// allocate.
	try func(fd uintptr) bool
	out []byte
	n   int
	err error
}

func newConn(tcp *net.TCPConn, limit int) (*conn, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &conn{TCPConn: tcp, raw: raw, limit: limit}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
		_ = setUserTimeout(int(fd), unackedTimeout)
	})
	c.try = func(fd uintptr) bool {
		for {
			c.n, c.err = unix.Write(int(fd), c.out)
			if !errors.Is(c.err, unix.EINTR) {
				return true
			}
		}
	}
	return c, nil
}

// detach makes all later writes non-blocking.
func (c *conn) detach() {
	c.mu.Lock()
	c.detached = true
	c.mu.Unlock()
}

// Write takes all of b or breaks the connection.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.detached {
		return c.TCPConn.Write(b)
	}
	if len(c.pending) > 0 {
		n, err := c.attempt(c.pending)
		if err != nil {
			return 0, err
		}
		c.pending = append(c.pending[:0], c.pending[n:]...)
	}
	rest := b
	if len(c.pending) == 0 {
		c.pending = nil
		n, err := c.attempt(b)
		if err != nil {
			return 0, err
		}
		if rest = b[n:]; len(rest) == 0 {
			return len(b), nil
		}
	}
	if len(c.pending)+len(rest) > c.limit {
		return 0, errSlow
	}
	c.pending = append(c.pending, rest...)
	return len(b), nil
}

func (c *conn) attempt(b []byte) (int, error) {
	c.out = b
	err := c.raw.Write(c.try)
	c.out = nil
	switch {
	case err != nil:
		return 0, err
	case c.err == nil:
		return c.n, nil
	case errors.Is(c.err, unix.EAGAIN):
		return 0, nil
	}
	return 0, c.err
}

// flush writes the pending data and may block until deadline.
func (c *conn) flush(deadline time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return
	}
	_ = c.SetWriteDeadline(deadline)
	_, _ = c.TCPConn.Write(c.pending)
	c.pending = nil
}

func (c *conn) behind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}
