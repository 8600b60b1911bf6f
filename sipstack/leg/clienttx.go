package leg

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

const (
	// maxTxs bounds the requests of a leg that wait for responses, as far as a far side can cause
	// them at will.
	maxTxs = 64
	// maxWaiting bounds the queue of INFO and NOTIFY requests.
	maxWaiting = 64
	// maxDatagram is the longest request sent over UDP if the path MTU is unknown (RFC 3261
	// §18.1.1).
	maxDatagram = 1300
)

// clientTx is a client transaction other than that of the first INVITE: a
// CANCEL, or a request inside a dialog, driven by the leg's timer (RFC 3261
// §17.1.2; for a re-INVITE §17.1.1).
type clientTx struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     transport.Target
	data   []byte
	// plain is the request for UDP, if its length led to TCP.
	plain []byte
	// dlg is the request's dialog; stray if that is not the leg's own.
	dlg     *dialog
	stray   bool
	cause   engine.HangUpCause // of a BYE
	headers string             // whole lines
	body    []byte
	auth    *auth.Credentials // once challenged

	gap      time.Duration
	resendAt time.Duration // timer E; 0 over TCP
	endAt    time.Duration // timer F
}

// locker is the lock of a leg.
type locker interface {
	lock()
	unlock()
}

// clientTxs are the transactions that a leg waits for, and the INFO and NOTIFY that
// go out one at a time. The leg is locked in all methods.
type clientTxs struct {
	from    *endpoint
	leg     locker // for what a connection reports later
	running []*clientTx
	waiting []*clientTx
}

// send starts the transaction of a request inside its dialog, with the next CSeq (RFC 3261
// §12.2.1.1).
func (t *clientTxs) send(tx *clientTx) {
	d := tx.dlg
	d.seq++
	tx.cseq, tx.to, tx.plain = d.seq, d.hop, nil
	if d.back.Addr.IsValid() && d.back.Reliable() { // nothing is repeated, and this connection stands
		tx.to = d.back
	}
	tx.branch = d.branch(string(t.from.id), d.seq, string(tx.method))
	tx.data = t.encode(tx)
	t.preferStream(tx)
	t.begin(tx)
}

// encode writes a request for the way that it goes.
func (t *clientTxs) encode(tx *clientTx) []byte {
	b := make([]byte, 0, 640+len(tx.headers)+len(tx.body))
	b = t.from.appendInDialog(b, tx.to.Transport, tx.dlg, string(tx.method), tx.cseq, tx.branch)
	b = append(b, t.from.trunk.UserAgentLine...)
	if tx.auth != nil {
		b = tx.auth.AppendTo(b)
	}
	if tx.method == sip.BYE {
		b = message.AppendReason(b, tx.cause)
	}
	b = append(b, tx.headers...)
	return message.AppendContent(b, tx.body)
}

// sendWithCredentials answers the challenge of a request (RFC 3261 §22.2).
func (t *clientTxs) sendWithCredentials(tx *clientTx, r *sip.Response, by *auth.Credentials) bool {
	if !by.Known() {
		return false
	}
	if tx.auth == nil {
		again := by.Again()
		tx.auth = &again
	}
	if !tx.auth.Answer(r, string(tx.method), tx.dlg.requestURI) {
		return false
	}
	t.send(tx)
	return true
}

// turnBack sends what waits for a response from a way over which nothing can be sent on the other one.
func (t *clientTxs) turnBack(d *dialog) {
	for _, tx := range t.running {
		if tx.dlg == d && tx.to == d.hop {
			tx.to = d.back
			tx.data = t.encode(tx)
			_ = t.from.write(tx.to, tx.data)
		}
	}
}

// sendInTurn sends a request once the earlier ones are answered, so that the next one cannot
// overtake a lost one. It returns false when the queue is full.
func (t *clientTxs) sendInTurn(tx *clientTx) bool {
	switch {
	case len(t.waiting) >= maxWaiting:
		return false
	case t.runs(sip.INFO, sip.NOTIFY):
		t.waiting = append(t.waiting, tx)
	default:
		t.send(tx)
	}
	return true
}

// sendNext sends the next request that waits for its turn.
func (t *clientTxs) sendNext() {
	if len(t.waiting) > 0 {
		next := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.send(next)
	}
}

// begin sends a request and watches for its response.
func (t *clientTxs) begin(tx *clientTx) {
	if !tx.to.Addr.IsValid() {
		return
	}
	s := t.from.s
	now := s.clock.Now()
	if tx.plain != nil {
		t.writeStream(tx)
	} else {
		_ = t.from.write(tx.to, tx.data) // a failure is retried, then timer F ends it
	}
	if tx.stray && len(t.running) >= maxTxs {
		return // a far side that makes up forks is told once per fork
	}
	tx.endAt = now + s.conf.Timers.Transaction()
	if !tx.to.Reliable() {
		tx.gap = s.conf.Timers.T1
		tx.resendAt = now + tx.gap
	}
	t.running = append(t.running, tx)
}

// preferStream sends a request over TCP when it is too long for UDP, as
// invitation.preferStream does.
func (t *clientTxs) preferStream(tx *clientTx) {
	stream := t.from.trunk.Over(tx.to.Addr, message.TCP)
	if tx.to.Transport != message.UDP || len(tx.data) <= maxDatagram || t.from.s.net.Marks.Marked(stream) {
		return
	}
	tx.plain, tx.to = tx.data, stream
	tx.data = t.encode(tx)
}

// writeStream writes a request that is too long for UDP to a connection; UDP is
// next when there is none.
func (t *clientTxs) writeStream(tx *clientTx) {
	s := t.from.s
	err := s.net.Push(tx.to, transport.Queued{Data: tx.data, After: func(left bool, _ error) {
		if left {
			return
		}
		t.leg.lock()
		defer t.leg.unlock()
		if slices.Contains(t.running, tx) { // neither answered nor given up
			t.writeDatagram(tx)
			tx.gap = s.conf.Timers.T1
			tx.resendAt = s.clock.Now() + tx.gap
		}
	}})
	if err != nil {
		t.writeDatagram(tx)
		return
	}
	t.from.ladder.Sent(s.clock.Now(), tx.data, tx.to.Addr)
}

// writeDatagram writes the request over UDP: over TCP nothing has left.
func (t *clientTxs) writeDatagram(tx *clientTx) {
	t.from.s.net.Marks.Fail(tx.to, transport.MaxMarked)
	tx.to.Transport = message.UDP
	tx.data, tx.plain = tx.plain, nil
	_ = t.from.write(tx.to, tx.data)
}

// tick is timers E and F: it repeats what is due and gives, one at a time, the
// transactions that got no response.
func (t *clientTxs) tick(now time.Duration) (ended *clientTx) {
	s := t.from.s
	for i, tx := range t.running {
		switch {
		case now >= tx.endAt:
			t.remove(i)
			return tx
		case tx.resendAt != 0 && now >= tx.resendAt:
			if tx.dlg != nil && tx.dlg.back.Addr.IsValid() && tx.plain == nil {
				tx.to = tx.dlg.otherWay(tx.to)
				tx.data = t.encode(tx)
			}
			if t.from.write(tx.to, tx.data) == nil {
				s.Count.Retransmissions.Add(1)
			}
			tx.gap *= 2
			if tx.method != sip.INVITE { // timer A is unbounded
				tx.gap = min(tx.gap, s.conf.Timers.T2)
			}
			tx.resendAt = now + tx.gap
		}
	}
	return nil
}

// next is when tick has something to do; 0: never.
func (t *clientTxs) next() (at time.Duration) {
	for _, tx := range t.running {
		at = timing.Earliest(at, timing.Earliest(tx.endAt, tx.resendAt))
	}
	return at
}

// onResponse finds the transaction of a response, nil: there is none. A final response
// ends it.
func (t *clientTxs) onResponse(r *sip.Response, method sip.RequestMethod, branch string) *clientTx {
	i := slices.IndexFunc(t.running, func(tx *clientTx) bool { return tx.method == method && tx.branch == branch })
	if i < 0 {
		return nil
	}
	s, tx := t.from.s, t.running[i]
	switch {
	case r.StatusCode >= 200:
		t.remove(i)
	case tx.method == sip.INVITE: // Proceeding: timer A stops; timer B restarts
		tx.resendAt, tx.endAt = 0, s.clock.Now()+s.conf.Timers.Transaction()
	case tx.resendAt != 0: // Proceeding: timer E at T2
		tx.gap = s.conf.Timers.T2
		tx.resendAt = s.clock.Now() + tx.gap
	}
	return tx
}

// runs says whether a request of one of the methods is not answered.
func (t *clientTxs) runs(methods ...sip.RequestMethod) bool {
	return slices.ContainsFunc(t.running, func(tx *clientTx) bool { return slices.Contains(methods, tx.method) })
}

func (t *clientTxs) remove(i int) {
	t.running = slices.Delete(t.running, i, i+1)
	if len(t.running) == 0 {
		t.running = nil
	}
}

// dropCancels stops CANCEL transactions, whose outcome is known by other means.
func (t *clientTxs) dropCancels() {
	t.drop(func(tx *clientTx) bool { return tx.method == sip.CANCEL })
}

// dropForEnd stops what has no meaning once the call ends. A transfer may still be reported on, and a
// re-INVITE gets a final response, which wants its ACK (RFC 3261 §17.1.1.3); it is not repeated any more.
func (t *clientTxs) dropForEnd() {
	t.drop(func(tx *clientTx) bool {
		return tx.method != sip.BYE && tx.method != sip.NOTIFY && tx.method != sip.INVITE
	})
	for _, tx := range t.running {
		if tx.method == sip.INVITE {
			tx.resendAt = 0
		}
	}
}

// drop stops the transactions that f matches.
func (t *clientTxs) drop(f func(*clientTx) bool) {
	for i := len(t.running) - 1; i >= 0; i-- {
		if f(t.running[i]) {
			t.remove(i)
		}
	}
}
