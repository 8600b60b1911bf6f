package actors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// tokenHash is how a result token is stored: hex SHA-256.
func tokenHash(token string) string {
	h := sha256.Sum256([]byte(token))
	return hex.EncodeToString(h[:])
}

// fetchAttempt reads the attempt that a result is about and gives the message
// back with it.
func (d *deps) fetchAttempt(id engine.AttemptID, to *actor.PID, msg *storeResult) {
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		at, ok, err := d.store.Attempt(ctx, id)
		m := *msg
		m.fetched, m.Attempt = true, nil
		switch {
		case err != nil:
			m.err = journal.Unavailable(err)
		case !ok:
			m.err = errCallNotFound
		default:
			m.Attempt = &at
		}
		d.root.Send(to, &m)
	}()
}

// show answers how the attempt stands. Its end is not told before it is
// durable, in the database or in the spool.
func (c *call) show(m *liveAttempt, pending []pendingWrite) {
	at := c.snapshot()
	if at.State != attempt.Ended || len(pending) == 0 || pending[len(pending)-1].spooled {
		reply(c.d, m.ReplyTo, at, nil)
		return
	}
	last := &pending[len(pending)-1]
	then := last.then
	last.then = func(err error) {
		if then != nil {
			then(err)
		}
		reply(c.d, m.ReplyTo, at, nil)
	}
}

// snapshot copies the attempt for a write: the machine goes on while the
// writer reads.
func (c *call) snapshot() attempt.Attempt {
	a := c.m.A
	a.Legs = append([]attempt.Leg(nil), a.Legs...)
	a.Peers = append([]attempt.Peer(nil), a.Peers...)
	return a
}

// endedData is the fact of the attempt's end.
func endedData(a *attempt.Attempt) journal.Data {
	d := journal.Data{
		Outcome: a.Outcome, Cause: a.Cause, Consumed: a.Consumed, Pass: a.Pass, Number: a.Number, Trunk: a.Trunk,
		Answered: a.AnsweredAt != nil, Connected: a.WasConnected(), SIPCode: a.SIPCode, Verdict: a.Verdict,
	}
	if a.WasConnected() {
		d.TalkMS = a.TalkMS()
	}
	d.ReservedAt = a.ReservedAt
	if ms, ok := a.CallbackDelayMS(); ok {
		d.CallbackDelayMS = &ms
	}
	if a.RingingAt != nil || a.AnsweredAt != nil {
		d.RingMS = a.Ring().Milliseconds()
	}
	return d
}
