package sipstack

import (
	"time"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// clientTx is a non-INVITE client transaction (RFC 3261 §17.1.2): a CANCEL or
// a BYE of a leg, driven by the leg's timer.
type clientTx struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     target
	data   []byte
	// dlg is the dialog that a BYE ends; stray when it is not the leg's own.
	dlg   *dialog
	stray bool
	cause engine.HangUpCause

	gap      time.Duration
	resendAt time.Duration // timer E; 0 over TCP
	endAt    time.Duration // timer F
}

// beginTx sends a request and watches for its response.
func (l *leg) beginTx(tx *clientTx) {
	if !tx.to.addr.IsValid() {
		return
	}
	now := l.s.now()
	_ = l.write(tx.to, tx.data) // a failure is retried, then timer F ends it
	tx.endAt = now + l.s.conf.Timers.transaction()
	if !tx.to.reliable() {
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
			l.removeTx(i)
			i--
			l.txEnded(tx, nil)
		case tx.resendAt != 0 && now >= tx.resendAt:
			if l.write(tx.to, tx.data) == nil {
				l.s.count.retransmissions.Add(1)
			}
			tx.gap = min(2*tx.gap, l.s.conf.Timers.T2)
			tx.resendAt = now + tx.gap
		}
	}
}

func (l *leg) removeTx(i int) {
	l.txs = append(l.txs[:i], l.txs[i+1:]...)
	if len(l.txs) == 0 {
		l.txs = nil
	}
}

// dropCancels stops CANCEL transactions, whose outcome is known by other means.
func (l *leg) dropCancels() {
	for i := len(l.txs) - 1; i >= 0; i-- {
		if l.txs[i].method == sip.CANCEL {
			l.removeTx(i)
		}
	}
}

// onTxResponse takes a response to a CANCEL or BYE; false when none waits for
// it.
func (l *leg) onTxResponse(r *sip.Response, method sip.RequestMethod, branch string) bool {
	for i, tx := range l.txs {
		if tx.method != method || tx.branch != branch {
			continue
		}
		if r.StatusCode < 200 {
			if tx.resendAt != 0 { // Proceeding: timer E at T2
				tx.gap = l.s.conf.Timers.T2
				tx.resendAt = l.s.now() + tx.gap
			}
			return true
		}
		l.removeTx(i)
		l.txEnded(tx, r)
		return true
	}
	return false
}

// txEnded acts on the final response to a request; nil is timer F.
func (l *leg) txEnded(tx *clientTx, r *sip.Response) {
	if tx.method == sip.CANCEL {
		l.cancelEnded(r)
		return
	}
	l.byeEnded(tx, r)
}

// cancelEnded: 200 says that the final response to the INVITE follows. 481
// says that the far side has no such INVITE to answer: nothing rings, but it
// may have been answered an instant ago. A UAS repeats a 2xx at most T2 apart
// (§13.3.1.4), so a recovered leg watches that long before it closes.
func (l *leg) cancelEnded(r *sip.Response) {
	if r == nil || r.StatusCode != 481 {
		return
	}
	l.cancelsUnknown++
	if l.phase == phaseWatch && l.cancelsUnknown == l.cancels {
		t := l.s.conf.Timers
		l.deadline = min(l.deadline, l.s.now()+t.T2+2*t.T1)
	}
}
