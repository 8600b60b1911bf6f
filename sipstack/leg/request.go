package leg

import (
	"time"

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
				l.s.Count.Retransmissions.Add(1)
			}
			tx.gap *= 2
			if tx.method != sip.INVITE { // timer A knows no bound
				tx.gap = min(tx.gap, l.s.conf.Timers.T2)
			}
			tx.resendAt = now + tx.gap
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
	if r != nil && (r.StatusCode == 401 || r.StatusCode == 407) && tx.method != sip.CANCEL &&
		l.sendWithCredentials(tx, r) {
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

// appendInDialog writes the headers of a request inside a dialog (RFC 3261
// §12.2.1.1) up to and without Content-Length.
func (l *leg) appendInDialog(b []byte, d *dialog, method string, cseq uint32, branch string) []byte {
	return l.appendInDialogOver(b, d.hop.Transport, d, method, cseq, branch)
}

// appendInDialogOver is appendInDialog for another transport than the next
// hop's own.
func (l *leg) appendInDialogOver(
	b []byte, over message.Transport, d *dialog, method string, cseq uint32, branch string,
) []byte {
	b = message.AppendStart(b, method, d.requestURI, over, l.inv.sentBy, branch)
	for _, r := range d.routes {
		b = append(b, "Route: "...)
		b = append(b, r...)
		b = append(b, "\r\n"...)
	}
	return l.parties.appendTo(b, string(l.id), d.toTag, cseq, method)
}
