package http

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// readers read so many bytes a second, for so long or until they are cut off.
func readsFor(t *testing.T, rate int, long time.Duration) (lasted time.Duration, err error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, rate)
		for {
			if _, err := io.ReadFull(far, b); err != nil {
				return
			}
			time.Sleep(time.Second) // virtual
		}
	}()
	p, began, part := &patient{conn: near, patience: reportPatience}, time.Now(), make([]byte, 64<<10)
	for err == nil && time.Since(began) < long {
		_, err = p.Write(part)
	}
	lasted = time.Since(began)
	_ = near.Close()
	_ = far.Close()
	<-done
	return lasted, err
}

// slept is a connection of a process that did not run for a while: what the client
// sent meanwhile is there, and so is the deadline.
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
		drain(c, 2<<20)
		if c.left > 0 {
			t.Errorf("%d bytes are left", c.left)
		}
		c, began := &slept{times: 100, left: 1}, time.Now()
		if drain(c, 1<<20); time.Since(began) > 5*time.Second {
			t.Errorf("it took %s", time.Since(began))
		}
	})
}

func TestAReaderOfAReportMayBeSlowButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if lasted, err := readsFor(t, 20<<10, 20*time.Minute); err != nil {
			t.Errorf("20 KiB a second: %v after %s", err, lasted)
		}
		lasted, err := readsFor(t, 2<<10, 20*time.Minute)
		if !errors.Is(err, os.ErrDeadlineExceeded) || lasted < reportPatience/2 || lasted > 2*reportPatience {
			t.Errorf("2 KiB a second: %v after %s", err, lasted)
		}
		if lasted, err := readsFor(t, 10<<10, 20*time.Minute); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("10 KiB a second: %v after %s", err, lasted)
		}
	})
}
