package leg

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// session is what the two sides of an answered leg have agreed on, and handles changes to it:
// offers of the far side, and refreshes by either.
type session struct {
	leg *leg
	// localSDP and remoteSDP are the last session descriptions in force.
	localSDP, remoteSDP []byte
	reinvite            *clientTx     // our last re-INVITE, to recognise repeated responses
	watch               *sessionTimer // nil: none agreed
	// told is DialogState.SessionSec as last reported.
	told uint32
	// held is an UPDATE with an offer that came before our ACK of the 2xx. It may be answered
	// (RFC 3311 §5.2), once the media has the answer that the 2xx held.
	held *heldOffer
}

type heldOffer struct {
	request *sip.Request
	src     transport.Target
}

// goOn answers the UPDATE that was held until the ACK.
func (n *session) goOn() {
	if h := n.held; h != nil {
		n.held = nil
		n.onOffer(h.request, h.src, n.leg.dlg)
	}
}

// onOffer handles a re-INVITE or an UPDATE (RFC 3261 §14.2, RFC 3311 §5.2).
func (n *session) onOffer(r *sip.Request, src transport.Target, d *dialog) {
	l := n.leg
	invite := r.Method == sip.INVITE
	offer := message.SDPOf(r)
	if len(r.Body()) > 0 && offer == nil {
		l.answers.reply(r, src, 415, "Unsupported Media Type", "Accept: application/sdp\r\n"+l.trunk.UserAgentLine, nil)
		return
	}
	if l.phase == phaseAnswered && d == l.dlg && !invite && offer != nil && n.held == nil {
		l.answers.remember(r)
		n.held = &heldOffer{request: r, src: src}
		return
	}
	if code, phrase := n.pending(invite, offer != nil, d); code != 0 {
		headers := l.trunk.UserAgentLine
		if code == 500 {
			headers += "Retry-After: " + strconv.Itoa(rand.IntN(11)) + "\r\n" //nolint:gosec // not secret
		}
		l.answers.reply(r, src, code, phrase, headers, nil)
		return
	}
	refresh, ok := n.onRefresh(r)
	if !ok {
		l.answers.reply(r, src, 422, "Session Interval Too Small", minSessionLine+l.trunk.UserAgentLine, nil)
		return
	}
	body, ok := n.negotiate(invite, offer)
	if !ok {
		l.answers.reply(r, src, 488, "Not Acceptable Here", l.trunk.UserAgentLine, nil)
		return
	}
	// An old-style hold does not say where the media will resume.
	moved := offer != nil && message.ParseMedia(offer).Connection != message.HeldConnection
	if moved {
		d.remoteSDP = offer
	}
	if d == l.dlg {
		if moved {
			n.remoteSDP = offer
		}
		n.apply(refresh)
	} else {
		refresh.lines = ""
	}
	if len(body) > 0 {
		n.localSDP = body
	}
	if uris := message.ContactURIs(r); len(uris) > 0 {
		d.target = strings.Clone(uris[0]) // target refresh (§12.2.2)
		d.route(l.trunk, l.parties.toURI, l.inv.to)
	}
	headers := string(l.appendContact(nil)) + l.trunk.AgentLines + l.trunk.SupportedInDialog() +
		refresh.lines
	l.answers.reply(r, src, 200, "OK", headers, body).offered = invite && offer == nil
}

// pending returns the response to an offer that comes at a bad moment, or 0 when there is no
// conflict.
func (n *session) pending(invite, offer bool, d *dialog) (code int, phrase string) {
	l := n.leg
	const glare = "Request Pending"
	if d != l.dlg { // before the 2xx
		if invite || (offer && d.remoteSDP == nil) {
			return 491, glare // our INVITE, or its offer, is unanswered
		}
		return 0, ""
	}
	if l.phase == phaseAnswered && invite {
		return 491, glare // our INVITE has no ACK yet
	}
	if l.phase == phaseAnswered && offer {
		return 500, "Server Internal Error" // RFC 3311 §5.2: another UPDATE is not answered yet
	}
	if (invite || offer) && l.txs.runs(sip.INVITE) {
		return 491, glare
	}
	if a := l.answers.unacked(); a != nil && (invite || offer) {
		if a.offered {
			return 491, glare // our offer is not answered
		}
		if invite {
			return 500, "Server Internal Error" // §14.2: one at a time
		}
	}
	return 0, ""
}

// negotiate returns the SDP of a 2xx: the answer to an offer, or our own offer when an INVITE has
// none.
func (n *session) negotiate(invite bool, offer []byte) (body []byte, ok bool) {
	l := n.leg
	m := l.s.conf.Media
	var err error
	switch {
	case offer == nil && !invite:
		return nil, true
	case m == nil && offer == nil:
		return l.inv.offer, len(l.inv.offer) > 0
	case m == nil:
		return message.AnswerInDirection(n.localSDP, offer), message.KeepsSession(n.remoteSDP, offer)
	case offer == nil:
		body, err = m.Offer(l.attempt, l.id, l.inv.offer)
	default:
		body, err = m.Reoffer(l.attempt, l.id, offer)
	}
	return body, err == nil && len(body) > 0
}

// refreshTarget applies the Contact of a 2xx to our re-INVITE or UPDATE (§12.2.1.2).
func (n *session) refreshTarget(r *sip.Response) {
	l := n.leg
	if uris := message.ContactURIs(r); len(uris) > 0 && l.dlg != nil {
		l.dlg.target = strings.Clone(uris[0])
		l.dlg.route(l.trunk, l.parties.toURI, l.inv.to)
	}
}

// onReinviteResponse handles a response to our re-INVITE, including a repeated one whose ACK was
// lost.
func (n *session) onReinviteResponse(r *sip.Response, branch string) bool {
	if n.leg.onTxResponse(r, sip.INVITE, branch) {
		return true
	}
	if tx := n.reinvite; tx != nil && tx.branch == branch {
		if r.StatusCode >= 200 {
			n.ackReinvite(tx, r)
		}
		return true
	}
	return false
}

// ackReinvite acknowledges a final response to a re-INVITE: a 2xx with a request of its own, any
// other within the INVITE's transaction (§17.1.1.3).
func (n *session) ackReinvite(tx *clientTx, r *sip.Response) {
	l := n.leg
	if n.reinvite != tx {
		n.reinvite = &clientTx{method: sip.INVITE, branch: tx.branch, cseq: tx.cseq, dlg: tx.dlg, auth: tx.auth}
	}
	if r.StatusCode < 300 {
		l.ack(tx.dlg, tx.cseq, tx.dlg.branch(string(l.id), tx.cseq, "ACK"), tx.auth, nil)
		return
	}
	l.ack(tx.dlg, tx.cseq, tx.branch, nil, nil)
}
