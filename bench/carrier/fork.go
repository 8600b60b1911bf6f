package carrier

import (
	"bytes"
	"strconv"
	"time"
)

// fork is another phone that picked up the same INVITE: a dialog with its
// own To tag, which the caller must confirm and then end.
type fork struct {
	tag   string
	final resender
	acked bool
	ended bool
}

// fork sends the 200 of the n-th further phone.
func (c *call) fork(n int, extra string, body []byte) {
	f := &fork{tag: c.tag + "f" + strconv.Itoa(n+1)}
	c.forks = append(c.forks, f)
	c.row.Forks++
	c.row.ForksLive++
	head := bytes.Replace(c.head, []byte(";tag="+c.tag+"\r\n"), []byte(";tag="+f.tag+"\r\n"), 1)
	f.final.start(c, resend{
		msg: response(200, "", head, extra, body), repeat: true, cap: c.carrier.cfg.T2,
		timeout: func() {
			c.violation("fork_without_ack")
			c.endFork(f)
		},
	})
}

// forkOf gives the fork that a request inside a dialog belongs to.
func (c *call) forkOf(m *message) *fork {
	tag, _ := param(m.to, "tag")
	for _, f := range c.forks {
		if f.tag == string(tag) {
			return f
		}
	}
	return nil
}

// endFork hangs up a further phone.
func (c *call) endFork(f *fork) {
	if f.ended {
		return
	}
	f.ended = true
	f.final.stop()
	c.row.ForksLive--
	c.touched()
}

// onForkBye ends a fork; copies of the BYE get the same answer.
func (c *call) onForkBye(f *fork, m *message, p peer) {
	if !f.acked {
		c.violation("bye_before_ack")
	}
	c.carrier.reply(m, p, 200, "", "")
	c.endFork(f)
}

// onForkAck stops the repetition of a fork's 200.
func (c *call) onForkAck(f *fork) {
	f.acked = true
	f.final.stop()
}

// Answer makes the callee of a ringing call pick up now, whatever its behaviour; it returns false
// if the call is not ringing.
func (c *Carrier) Answer(callID string) bool {
	sh := c.shard(callID)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	cl := sh.calls[callID]
	if cl == nil || (cl.row.State != StateRinging && cl.row.State != StateTrying) {
		return false
	}
	cl.answer(time.Now())
	return true
}
