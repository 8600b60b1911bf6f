package carrier

import "time"

// resender repeats a message until it is answered: a final response until
// its ACK (RFC 3261 §17.2.1 Timer G and H, §13.3.1.4 for a 2xx), a reliable
// provisional until its PRACK (RFC 3262 §3), a request of ours until its
// response (Timer E and F).
type resender struct {
	timer *time.Timer
	epoch int
}

type resend struct {
	msg     []byte
	repeat  bool          // false: only watch the timeout
	cap     time.Duration // largest interval; 0: it doubles without bound
	timeout func()
}

// start sends msg now and repeats it at T1, 2*T1, …; after 64*T1 it calls
// timeout. The shard's lock is held here and in timeout.
func (r *resender) start(c *call, what resend) {
	r.stop()
	c.peer.send(what.msg)
	t1 := c.carrier.cfg.T1
	r.arm(c, what, t1, 64*t1)
}

func (r *resender) arm(c *call, what resend, interval, left time.Duration) {
	wait := left
	if what.repeat {
		wait = min(interval, left)
	}
	r.epoch++
	epoch := r.epoch
	r.timer = time.AfterFunc(wait, func() {
		c.shard.mu.Lock()
		defer c.shard.mu.Unlock()
		if c.shard.closed || r.epoch != epoch {
			return
		}
		if left -= wait; left <= 0 {
			r.timer = nil
			what.timeout()
			return
		}
		c.peer.send(what.msg)
		interval *= 2
		if what.cap > 0 {
			interval = min(interval, what.cap)
		}
		r.arm(c, what, interval, left)
	})
}

func (r *resender) stop() {
	r.epoch++
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

func (r *resender) running() bool { return r.timer != nil }
