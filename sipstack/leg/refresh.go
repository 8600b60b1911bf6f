package leg

import (
	"bytes"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// start reads the session timer from a 2xx to the INVITE. Without Session-Expires there is none
// (§7.2); without a refresher parameter we refresh, so that one side does.
//
// The far side itself runs the timer when it refreshes or lists support for timers. Otherwise a
// proxy may have added Session-Expires (§8.2), and the far end never ends the session.
func (n *session) start(r *sip.Response) {
	l := n.leg
	sec, refresher := message.SessionExpires(r)
	if sec == 0 || l.trunk.SessionSec == 0 {
		return
	}
	n.watch = &sessionTimer{}
	n.watch.agreed(l.s.clock.Now(), sec, refresher != "uas")
	if refresher == "uas" || knowsTimers(r) {
		n.told = max(sec, message.MinSessionSec)
	}
}

func knowsTimers(m sip.Message) bool {
	return message.Lists(m, "supported", "timer") || message.Lists(m, "k", "timer")
}

// lasts reports that the far side's session may last longer than reported before; 0 means forever.
// The maximum is stored and determines how long a number is held.
func (n *session) lasts(sec uint32) {
	if n.told == 0 || sec != 0 && sec <= n.told {
		return
	}
	n.told = sec
	n.leg.emit(engine.LegEvent{Kind: engine.LegSession, Dialog: n.leg.dlg.state(n.leg.inv.to.Transport, n.leg.sentBy,
		sec)})
}

func (n *session) tick(now time.Duration) {
	l := n.leg
	t := n.watch
	switch {
	case t == nil || t.next() == 0:
	case l.phase != phaseAnswered && l.phase != phaseConfirmed:
		n.watch = nil
	case t.refreshAt != 0 && now >= t.refreshAt: // late or not
		t.refreshAt = 0
		n.refresh(now)
	case now >= t.endAt:
		n.watch = nil
		l.dialogLost("session timer expired")
	}
}

// refresh sends an UPDATE without SDP if the far side supports it, otherwise a re-INVITE with the
// current SDP (§7.4).
func (n *session) refresh(now time.Duration) {
	l := n.leg
	t := n.watch
	if l.txs.runs(sip.UPDATE, sip.INVITE) {
		return
	}
	if l.phase != phaseConfirmed || l.answers.unacked() != nil {
		t.refreshAt = now + l.s.conf.Timers.T1 // an INVITE is in progress (RFC 3261 §14.1)
		return
	}
	headers := string(l.appendContact(nil)) + message.AllowLine + l.trunk.SupportedInDialog() +
		"Session-Expires: " + strconv.Itoa(int(t.sec)) + ";refresher=uac\r\n"
	if l.inv.minSE > 0 {
		headers += "Min-SE: " + strconv.Itoa(int(l.inv.minSE)) + "\r\n"
	}
	l.s.Count.Refreshes.Add(1)
	if l.dlg.updates && !t.noUpdate {
		l.txs.send(&clientTx{method: sip.UPDATE, dlg: l.dlg, headers: headers})
		return
	}
	headers += "Content-Type: application/sdp\r\n"
	l.txs.send(&clientTx{method: sip.INVITE, dlg: l.dlg, headers: headers, body: n.localSDP})
}

// refreshEnded handles the final response to a refresh; nil means none came.
func (n *session) refreshEnded(tx *clientTx, r *sip.Response) {
	l := n.leg
	if l.phase != phaseConfirmed {
		return
	}
	if r == nil || r.StatusCode == 408 || r.StatusCode == 481 {
		l.dialogLost("the far side does not know the call") // RFC 3261 §12.2.1.2, RFC 5057
		return
	}
	if r.StatusCode < 300 {
		n.refreshed(r)
		return
	}
	t := n.watch
	if t == nil {
		return
	}
	now := l.s.clock.Now()
	after := message.ParseRetryAfter(message.HeaderValue(r, "retry-after"))
	switch least := message.MinSEOf(r); {
	case r.StatusCode == 422 && least > t.sec && t.tries < maxLengthened:
		t.tries++
		t.sec, l.inv.minSE = least, max(least, l.inv.minSE)
		t.refreshAt = now
	case r.StatusCode == 491:
		t.refreshAt = now + l.s.conf.Timers.Glare()
	case after > 0 && now+after < t.endAt:
		t.refreshAt = now + after
	case tx.method == sip.UPDATE: // a re-INVITE is understood by all (RFC 4028 §7.4)
		t.noUpdate = true
		t.refreshAt = now
	default:
		// The far side refuses, and so it is there: no reason to end a call that goes on (RFC 4028 §10
		// names 408, 481 and silence). If it watches the session, it ends it itself.
		n.lasts(0)
		t.agreed(now, t.sec, true)
	}
}

// refreshed handles the 2xx to our refresh, which is also a target refresh.
func (n *session) refreshed(r *sip.Response) {
	l := n.leg
	n.refreshTarget(r)
	if sdp := message.SDPOf(r); sdp != nil && string(r.CSeq().MethodName) == "INVITE" &&
		!bytes.Equal(sdp, n.remoteSDP) {
		n.remoteSDP = sdp
		if m := l.s.conf.Media; m != nil {
			m.Reanswer(l.attempt, l.id, sdp)
		}
	}
	sec, refresher := message.SessionExpires(r)
	n.lasts(sec)
	if sec == 0 || n.watch == nil {
		n.watch = nil // §7.2: no session timer any more
		return
	}
	n.watch.agreed(l.s.clock.Now(), sec, refresher != "uas")
}

var minSessionLine = "Min-SE: " + strconv.Itoa(message.MinSessionSec) + "\r\n"

// tooShort says that the session interval of a request is refused (RFC 4028 §9).
func tooShort(r *sip.Request) bool {
	sec, _ := message.SessionExpires(r)
	return sec > 0 && sec < message.MinSessionSec && knowsTimers(r)
}

// onRefresh reads the session interval of a re-INVITE or UPDATE (§9). ok is
// false when it is too small.
func (n *session) onRefresh(r *sip.Request) (a refreshAnswer, ok bool) {
	if n.leg.trunk.SessionSec == 0 {
		return a, true
	}
	sec, refresher := message.SessionExpires(r)
	supports := knowsTimers(r)
	switch {
	case sec == 0 && (n.watch == nil || (!n.watch.ours && !supports)):
		return a, true
	case sec == 0:
		sec = n.watch.sec
	case tooShort(r):
		return a, false
	}
	switch {
	case !supports:
		refresher = "uas"
	case refresher == "" && n.watch != nil && n.watch.ours:
		refresher = "uas"
	case refresher == "":
		refresher = "uac"
	}
	if n.told != 0 { // keeps what is stored true, if the far side allows it (§9)
		sec = min(sec, max(n.told, message.MinSEOf(r)))
	}
	a.sec, a.ours, a.theirs = max(sec, message.MinSessionSec), refresher == "uas", supports
	a.lines = "Session-Expires: " + strconv.Itoa(int(a.sec)) + ";refresher=" + refresher + "\r\n"
	if supports {
		a.lines = "Require: timer\r\n" + a.lines
	}
	return a, true
}

// apply restarts the session timer when the refresh was accepted.
func (n *session) apply(a refreshAnswer) {
	if a.theirs {
		n.lasts(a.sec)
	} else {
		n.lasts(0)
	}
	if a.sec == 0 {
		n.watch = nil
		return
	}
	if n.watch == nil {
		n.watch = &sessionTimer{}
	}
	n.watch.agreed(n.leg.s.clock.Now(), a.sec, a.ours)
}
