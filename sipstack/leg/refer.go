package leg

import (
	"strconv"
	"time"

	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// referral is the far side's request to transfer the call, and the implicit subscription to its
// progress (RFC 3515).
type referral struct {
	answers   *answers
	txs       *clientTxs
	dlg       *dialog
	request   *sip.Request // until it is answered
	src       transport.Target
	declineAt time.Duration // deadline for an answer, then 603; 0 once answered
	id        string        // event parameter of the second REFER and later ones
	open      bool          // NOTIFYs are owed
	refers    int
}

// answer answers the REFER; it returns false when none is unanswered.
func (f *referral) answer(accept bool) bool {
	if f == nil || f.request == nil {
		return false
	}
	r, from := f.request, f.answers.from
	f.request, f.declineAt = nil, 0
	if !accept {
		f.answers.reply(r, f.src, 603, declined, from.trunk.UserAgentLine, nil)
		return true
	}
	f.answers.reply(r, f.src, 202, "Accepted", string(from.appendContact(nil))+from.trunk.UserAgentLine, nil)
	f.open = true
	f.notify(100, "Trying")
	return true
}

// tick declines a REFER that was not answered in time.
func (f *referral) tick(now time.Duration) {
	if f != nil && f.declineAt != 0 && now >= f.declineAt {
		f.answer(false)
	}
}

// notify reports the progress of the transfer to the far side.
func (f *referral) notify(code int, reason string) {
	if f == nil || !f.open {
		return
	}
	state := "active;expires=180"
	if code >= 200 {
		state = "terminated;reason=noresource"
		f.open = false
	}
	body := "SIP/2.0 " + strconv.Itoa(code) + " " + message.Clean(reason) + "\r\n"
	f.txs.sendInTurn(&clientTx{method: sip.NOTIFY, dlg: f.dlg, body: []byte(body),
		headers: string(f.txs.from.appendContact(nil)) + "Event: refer" + f.id + "\r\nSubscription-State: " + state +
			"\r\nContent-Type: message/sipfrag;version=2.0\r\n"})
}
