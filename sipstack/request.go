package sipstack

import (
	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// maxWaiting bounds the INFO and NOTIFY requests that wait for their turn.
const maxWaiting = 64

// send begins the transaction of a request inside its dialog, with the next
// CSeq (RFC 3261 §12.2.1.1).
func (l *leg) send(tx *clientTx) {
	d := tx.dlg
	d.seq++
	tx.cseq, tx.to, tx.plain = d.seq, d.hop, nil
	tx.branch = d.branch(string(l.id), d.seq, string(tx.method))
	tx.data = l.inDialog(tx, tx.to.Transport)
	l.preferStreamOf(tx)
	l.beginTx(tx)
}

// inDialog writes a request for the way that it goes.
func (l *leg) inDialog(tx *clientTx, over message.Transport) []byte {
	b := make([]byte, 0, 640+len(tx.headers)+len(tx.body))
	b = l.appendInDialogOver(b, over, tx.dlg, string(tx.method), tx.cseq, tx.branch)
	b = append(b, l.trunk.UserAgentLine...)
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
func (l *leg) sendWithCredentials(tx *clientTx, r *sip.Response) bool {
	if !l.inv.auth.Known() {
		return false
	}
	if tx.auth == nil {
		again := l.inv.auth.Again()
		tx.auth = &again
	}
	if !tx.auth.Answer(r, string(tx.method), tx.dlg.requestURI) {
		return false
	}
	l.send(tx)
	return true
}

// sendInTurn sends a request when those before it are answered, so that a
// lost one is not overtaken by the next. False: too many wait.
func (l *leg) sendInTurn(tx *clientTx) bool {
	if len(l.waiting) >= maxWaiting {
		return false
	}
	for _, running := range l.txs {
		if running.method == sip.INFO || running.method == sip.NOTIFY {
			l.waiting = append(l.waiting, tx)
			return true
		}
	}
	l.send(tx)
	return true
}

// waitingEnded sends the next request that waits. 481 means that the far side
// knows the dialog no more.
func (l *leg) waitingEnded(tx *clientTx, r *sip.Response) {
	if len(l.waiting) > 0 {
		next := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.send(next)
	}
	if r != nil && r.StatusCode == 481 && tx.method == sip.INFO {
		l.dialogLost("the far side does not know the call")
	}
}
