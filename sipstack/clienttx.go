package sipstack

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// maxTxs bounds the requests of a leg whose responses are awaited: as far as a
// far side can cause them at will.
const maxTxs = 64

// clientTx is a client transaction other than that of the first INVITE: a
// CANCEL, or a request inside a dialog, driven by the leg's timer (RFC 3261
// §17.1.2; for a re-INVITE §17.1.1).
type clientTx struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     transport.Target
	data   []byte
	// plain is the request for UDP, where its length led to TCP.
	plain []byte
	// dlg is the dialog of the request; stray when it is not the leg's own.
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

// beginTx sends a request and watches for its response.
func (l *leg) beginTx(tx *clientTx) {
	if !tx.to.Addr.IsValid() {
		return
	}
	now := l.s.clock.Now()
	if tx.plain != nil {
		l.writeStream(tx)
	} else {
		_ = l.write(tx.to, tx.data) // a failure is retried, then timer F ends it
	}
	if tx.stray && len(l.txs) >= maxTxs {
		return // a far side that makes up forks hears of each once
	}
	tx.endAt = now + l.s.conf.Timers.Transaction()
	if !tx.to.Reliable() {
		tx.gap = l.s.conf.Timers.T1
		tx.resendAt = now + tx.gap
	}
	l.txs = append(l.txs, tx)
}

// resendTxs is timers E and F of all transactions of the leg.
func (l *leg) resendTxs(now time.Duration) {
	for i := 0; i < len(l.txs); i++ {
		tx := l.txs[i]
		switch {
		case now >= tx.endAt:
			l.txs.remove(i)
			i--
			l.txEnded(tx, nil)
		case tx.resendAt != 0 && now >= tx.resendAt:
			if l.write(tx.to, tx.data) == nil {
				l.s.count.retransmissions.Add(1)
			}
			tx.gap *= 2
			if tx.method != sip.INVITE { // timer A knows no bound
				tx.gap = min(tx.gap, l.s.conf.Timers.T2)
			}
			tx.resendAt = now + tx.gap
		}
	}
}

// clientTxs are the transactions that a leg waits for.
type clientTxs []*clientTx

func (t *clientTxs) remove(i int) {
	*t = slices.Delete(*t, i, i+1)
	if len(*t) == 0 {
		*t = nil
	}
}

// dropCancels stops CANCEL transactions, whose outcome is known by other means.
func (t *clientTxs) dropCancels() {
	t.drop(func(tx *clientTx) bool { return tx.method == sip.CANCEL })
}

// drop stops the transactions that f names.
func (t *clientTxs) drop(f func(*clientTx) bool) {
	for i := len(*t) - 1; i >= 0; i-- {
		if f((*t)[i]) {
			t.remove(i)
		}
	}
}

// onTxResponse takes a response to one of our requests; false when none waits
// for it.
func (l *leg) onTxResponse(r *sip.Response, method sip.RequestMethod, branch string) bool {
	for i, tx := range l.txs {
		if tx.method != method || tx.branch != branch {
			continue
		}
		if r.StatusCode < 200 {
			if tx.method == sip.INVITE { // Proceeding: no timer A; timer B begins again
				tx.resendAt, tx.endAt = 0, l.s.clock.Now()+l.s.conf.Timers.Transaction()
			} else if tx.resendAt != 0 { // Proceeding: timer E at T2
				tx.gap = l.s.conf.Timers.T2
				tx.resendAt = l.s.clock.Now() + tx.gap
			}
			return true
		}
		l.txs.remove(i)
		l.txEnded(tx, r)
		return true
	}
	return false
}

// txEnded acts on the final response to a request; nil is timer F.
func (l *leg) txEnded(tx *clientTx, r *sip.Response) {
	if tx.method == sip.INVITE && r != nil {
		l.session.ackReinvite(tx, r)
	}
	if r != nil && (r.StatusCode == 401 || r.StatusCode == 407) && tx.method != sip.CANCEL && l.sendWithCredentials(tx, r) {
		return
	}
	switch tx.method {
	case sip.CANCEL:
		l.cancelEnded(r)
	case sip.BYE:
		l.byeEnded(tx, r)
	case sip.UPDATE, sip.INVITE:
		l.session.refreshEnded(tx, r)
	case sip.INFO, sip.NOTIFY:
		l.waitingEnded(tx, r)
	default: // PRACK: whatever becomes of it, the final response to the INVITE decides
	}
}

// cancelEnded: 200 says that the final response to the INVITE follows; of a
// recovered leg it may go to whoever placed it. If that is a 2xx, to which nobody
// sends an ACK, the far side ends the call 64*T1 after it (§13.3.1.4). 481
// says that the far side has no such INVITE to answer: nothing rings, but it
// may have been answered an instant ago. A UAS repeats a 2xx at most T2 apart
// (§13.3.1.4), so a recovered leg watches that long before it closes.
func (l *leg) cancelEnded(r *sip.Response) {
	t := l.s.conf.Timers
	if r != nil && r.StatusCode == 200 && l.phase == phaseWatch {
		l.deadline = min(l.deadline, l.s.clock.Now()+t.Transaction()+t.T2)
	}
	if r == nil || r.StatusCode != 481 {
		return
	}
	l.cancelsUnknown++
	if l.phase == phaseWatch && l.cancelsUnknown == l.cancels {
		l.deadline = min(l.deadline, l.s.clock.Now()+t.T2+2*t.T1)
	}
}
