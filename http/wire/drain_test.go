package wire

import (
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slept is a connection of a process that was suspended: the client's data has arrived meanwhile,
// and the deadline has passed.
type slept struct {
	net.Conn
	times, left int
}

func (c *slept) SetReadDeadline(time.Time) error { return nil }

func (c *slept) Read(b []byte) (int, error) {
	if c.times > 0 {
		c.times--
		time.Sleep(1400 * time.Millisecond) // virtual
		return 0, os.ErrDeadlineExceeded
	}
	if c.left == 0 {
		time.Sleep(time.Second) // virtual: the client pauses
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(b), c.left)
	c.left -= n
	return n, nil
}

func TestAClientThatSendsIsNotCutOffBecauseThisProcessPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &slept{times: 2, left: 1 << 20}
		Drain(c, 2<<20)
		if c.left > 0 {
			t.Errorf("%d bytes are left", c.left)
		}
		c, began := &slept{times: 100, left: 1}, time.Now()
		if Drain(c, 1<<20); time.Since(began) > 5*time.Second {
			t.Errorf("it took %s", time.Since(began))
		}
	})
}
