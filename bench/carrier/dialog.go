package carrier

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/draw"
)

// reinvite is an INVITE transaction from the caller inside the dialog.
type reinvite struct {
	branch string
	cseq   uint32
	last   []byte
	final  resender
}

// newRequest writes our request inside the dialog (RFC 3261 §12.2.1.1) and returns its destination:
// the topmost route, otherwise the caller's Contact.
func (c *call) newRequest(method, extra string, body []byte, now time.Time) (msg []byte, to peer) {
	if method != "ACK" {
		c.localCSeq++
		c.reqMethod = method
	}
	branch := strconv.FormatUint(draw.Hash(uint64(now.UnixNano()), c.row.CallID+method, int(c.localCSeq)), 36)
	if method != "ACK" {
		c.reqBranch = "z9hG4bK" + branch
	}
	transport := "UDP"
	if c.peer.conn != nil {
		transport = "TCP"
	}
	next := c.target
	b := make([]byte, 0, 768)
	b = append(b, method+" "+c.target+" SIP/2.0\r\nVia: SIP/2.0/"+transport+" "+c.carrier.Addr()+";branch=z9hG4bK"+branch+
		";rport\r\n"...)
	for i, r := range c.routes {
		b = append(b, "Route: "+r+"\r\n"...)
		if i == 0 {
			next = string(addrURI([]byte(r)))
		}
	}
	b = append(b, "Max-Forwards: 70\r\nFrom: "+c.calleeTo+"\r\nTo: "+c.callerFrom+"\r\nCall-ID: "+c.row.CallID+
		"\r\nCSeq: "...)
	b = strconv.AppendUint(b, uint64(c.localCSeq), 10)
	b = append(b, " "+method+"\r\n"...)
	b = append(b, c.contact()+extra...)
	return finish(b, body), c.route(next)
}

// route resolves a URI. Names are not looked up: the source of the INVITE is used unless it is a
// literal address.
func (c *call) route(uri string) peer {
	p := c.peer
	if p.conn != nil {
		return p // the caller's own connection (RFC 5923)
	}
	host, port, err := net.SplitHostPort(uriHostPort([]byte(uri)))
	if err != nil {
		return p
	}
	ip, err := netip.ParseAddr(host)
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil || (!ip.IsLoopback() && !c.carrier.cfg.AllowRemote) {
		return p
	}
	p.addr = netip.AddrPortFrom(ip, uint16(n))
	return p
}

// sendRequest repeats our request until its final response.
func (c *call) sendRequest(method, extra string, body []byte, now time.Time, timeout func()) {
	msg, to := c.newRequest(method, extra, body, now)
	c.peer.addr = to.addr
	limit := c.carrier.cfg.T2
	if method == "INVITE" {
		limit = 0 // Timer A doubles without bound
	}
	c.request.start(c, resend{msg: msg, repeat: !c.peer.reliable(), cap: limit, timeout: timeout})
}

// hangUp makes the callee hang up.
func (c *call) hangUp() {
	now := time.Now()
	if c.row.State != StateAnswered {
		return
	}
	if c.row.AckAt.IsZero() && !c.row.AckMissing {
		c.hangUpDue = true // §15: no BYE of the callee before the ACK
		return
	}
	c.final.stop()
	c.re.final.stop()
	c.row.ByeAt, c.row.ByeBy = now, Callee
	c.sendRequest("BYE", reasonHeader(16), nil, now, func() { c.violation("bye_unanswered") })
	c.end(now)
}

// reinvite puts the call on hold from the callee's side.
func (c *call) reinvite(direction string) {
	now := time.Now()
	c.held = true
	if c.row.AckAt.IsZero() {
		c.holdDue = true // after the ACK
		c.conversation(now)
		return
	}
	c.sendRequest("INVITE", "", c.describe(direction), now, func() {
		c.violation("reinvite_unanswered")
		c.touched()
	})
	c.conversation(now)
}

func (c *call) touched() { c.carrier.touched(c.row) }

// onResponse handles the response to our request.
func (c *call) onResponse(m *message, now time.Time) bool {
	if string(topBranch(m)) != c.reqBranch || m.cseqMethod != c.reqMethod || m.cseq != c.localCSeq {
		return false
	}
	if m.code < 200 {
		return true
	}
	first := c.request.running()
	c.request.stop()
	switch c.reqMethod {
	case "BYE":
		c.row.ByeCode = m.code
	case "INVITE":
		if m.code < 300 {
			if s, ok := media.Parse(m.body); ok && c.stream != nil {
				c.remote = s
				c.stream.Retarget(s)
			}
		} else {
			c.violation("reinvite_refused_" + strconv.Itoa(m.code))
		}
		ack, to := c.newRequest("ACK", "", nil, now)
		to.send(ack)
	case "UPDATE":
		if m.code >= 300 {
			c.violation("update_refused_" + strconv.Itoa(m.code))
		} else if s, ok := media.Parse(m.body); ok && c.stream != nil {
			c.remote = s
			c.stream.Retarget(s)
		}
	}
	if first {
		c.touched()
	}
	return true
}

// onReinvite serves an INVITE inside the dialog: hold, codec change, session
// refresh, or an offerless one.
func (c *call) onReinvite(m *message, p peer) {
	branch := string(topBranch(m))
	if branch == c.re.branch {
		c.row.Retransmits++
		if c.re.last != nil {
			c.peer.send(c.re.last)
		}
		return
	}
	if m.cseq <= c.remoteCSeq {
		c.violation("cseq_order") // §12.2.2
		c.carrier.reply(m, p, 500, "", "")
		return
	}
	if c.request.running() && c.reqMethod == "INVITE" {
		c.carrier.reply(m, p, 491, "", "") // glare, §14.2
		return
	}
	if cred := c.carrier.rules.Load().credentials; cred != nil && cred.ByeToo && c.check(cred, m) != authGranted {
		c.remoteCSeq = m.cseq
		c.carrier.reply(m, p, cred.code(), "", c.challengeHeaders(cred, len(m.auth) > 0))
		return
	}
	c.remoteCSeq = m.cseq
	c.row.Reinvites++
	if len(m.contact) > 0 {
		c.target = string(addrURI(m.contact)) // target refresh, §12.2.2
	}
	direction := c.renegotiate(m)
	head := responseHead(m, p.addr, c.tag)
	c.peer = p
	c.peer.addr = replyTo(m, p.addr)
	c.re.branch, c.re.cseq = branch, m.cseq
	c.re.last = response(200, "", head, c.contact(), c.describe(direction))
	c.re.final.start(c, resend{msg: c.re.last, repeat: true, cap: c.carrier.cfg.T2, timeout: func() {
		c.violation("reinvite_without_ack")
		c.hangUp()
	}})
	c.carrier.touched(c.row)
}

// renegotiate applies an offer and returns the direction of the answer.
func (c *call) renegotiate(m *message) string {
	if len(m.body) == 0 {
		return "sendrecv"
	}
	s, ok := media.Parse(m.body)
	if !ok {
		c.violation("sdp_without_audio")
		return "sendrecv"
	}
	c.remote = s
	if c.stream != nil {
		c.stream.Retarget(s)
	}
	switch {
	case s.Sends && s.Listens:
		return "sendrecv"
	case s.Sends:
		return "recvonly"
	case s.Listens:
		return "sendonly"
	}
	return "inactive"
}
