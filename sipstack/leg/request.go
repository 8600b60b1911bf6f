package leg

import "github.com/emiago/sipgo/sip"

// onTxResponse handles a response to one of our requests; it returns false when none is waiting for
// it.
func (l *leg) onTxResponse(r *sip.Response, method sip.RequestMethod, branch string) bool {
	tx := l.txs.onResponse(r, method, branch)
	if tx != nil && r.StatusCode >= 200 {
		l.txEnded(tx, r)
	}
	return tx != nil
}

// txEnded handles the final response to a request; nil means timer F fired.
func (l *leg) txEnded(tx *clientTx, r *sip.Response) {
	if tx.method == sip.INVITE && r != nil {
		l.session.ackReinvite(tx, r)
	}
	if r != nil && (r.StatusCode == 401 || r.StatusCode == 407) && tx.method != sip.CANCEL &&
		l.txs.sendWithCredentials(tx, r, &l.inv.auth) {
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
		l.txs.sendNext()
		if r != nil && r.StatusCode == 481 && tx.method == sip.INFO {
			l.dialogLost("the far side does not know the call")
		}
	default: // PRACK: whatever its result, the final response to the INVITE decides
	}
}

// cancelEnded handles the final response to a CANCEL. 200 says that the final response to the
// INVITE follows; for a recovered leg it may go to the node that placed it. If that response is a
// 2xx and nobody sends an ACK, the far side ends the call 64*T1 later (§13.3.1.4). 481 says that
// the far side has no such INVITE to answer: nothing rings, but the call may have been answered an
// instant ago. A UAS repeats a 2xx at most T2 apart (§13.3.1.4), so a recovered leg watches for
// that long before it closes.
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
