package leg

import (
	"strconv"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// referral is the far side's wish to have the call transferred, and the
// implicit subscription to how that goes (RFC 3515).
type referral struct {
	leg       *leg
	request   *sip.Request // until it is answered
	src       transport.Target
	declineAt time.Duration // nobody has answered it by then: 603; 0 once answered
	id        string        // event parameter of the second REFER and later ones
	open      bool          // NOTIFYs are owed
	refers    int
}

// onRefer takes a REFER inside the dialog.
func (l *leg) onRefer(r *sip.Request, src transport.Target) {
	if l.phase != phaseConfirmed || !l.s.conf.Transfers {
		l.reply(r, src, 603, declined, l.trunk.UserAgentLine, nil)
		return
	}
	targets := append(r.GetHeaders("refer-to"), r.GetHeaders("r")...)
	if len(targets) != 1 { // §2.4.2
		l.reply(r, src, 400, "Exactly One Refer-To Wanted", l.trunk.UserAgentLine, nil)
		return
	}
	to, replaces, ok := message.ReferTo(targets[0].Value())
	if !ok {
		l.reply(r, src, 603, declined, l.trunk.UserAgentLine, nil)
		return
	}
	n := 1
	if l.refer != nil {
		if l.refer.request != nil {
			l.reply(r, src, 491, "Request Pending", l.trunk.UserAgentLine, nil)
			return
		}
		n = l.refer.refers + 1
	}
	l.refer = &referral{leg: l, request: r, src: src, refers: n, declineAt: l.s.clock.Now() + 16*l.s.conf.Timers.T1}
	if n > 1 {
		l.refer.id = ";id=" + strconv.FormatUint(uint64(r.CSeq().SeqNo), 10)
	}
	l.answers.remember(r)
	l.emit(engine.LegEvent{Kind: engine.LegReferred, ReferTo: to, Replaces: replaces,
		ReferredBy: message.Truncate(message.AddrSpec(message.HeaderValue(r, "referred-by", "b")), message.MaxURI)})
}

// answer answers the REFER; false when none waits for an answer.
func (f *referral) answer(accept bool) bool {
	if f == nil || f.request == nil {
		return false
	}
	l := f.leg
	r := f.request
	f.request, f.declineAt = nil, 0
	if !accept {
		l.reply(r, f.src, 603, declined, l.trunk.UserAgentLine, nil)
		return true
	}
	l.reply(r, f.src, 202, "Accepted", string(l.inv.appendContact(nil))+l.trunk.UserAgentLine, nil)
	f.open = true
	f.notify(100, "Trying")
	return true
}

// tick declines a REFER that nobody has answered in time.
func (f *referral) tick(now time.Duration) {
	if f != nil && f.declineAt != 0 && now >= f.declineAt {
		f.answer(false)
	}
}

// notify tells the far side how the transfer goes.
func (f *referral) notify(code int, reason string) {
	if f == nil || !f.open || f.leg.dlg == nil || f.leg.phase == phaseGone {
		return
	}
	l := f.leg
	state := "active;expires=180"
	if code >= 200 {
		state = "terminated;reason=noresource"
		f.open = false
	}
	body := "SIP/2.0 " + strconv.Itoa(code) + " " + message.Clean(reason) + "\r\n"
	l.sendInTurn(&clientTx{method: sip.NOTIFY, dlg: l.dlg, body: []byte(body),
		headers: string(l.inv.appendContact(nil)) + "Event: refer" + f.id + "\r\nSubscription-State: " + state +
			"\r\nContent-Type: message/sipfrag;version=2.0\r\n"})
}
