package leg

import (
	"slices"
	"strings"
	"sync"

	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// onRequest handles a request of the far side. Outside of dialogs, responses are built from the
// request alone (RFC 3261 §8.2.7), so that a retransmission gets the same answer without a server
// transaction. Max-Forwards concerns proxies only: an endpoint accepts a request with 0 (§16.3, RFC
// 4475 §3.3.11).
func (k *Table) onRequest(r *sip.Request, src transport.Target) {
	if r.Via() == nil || r.To() == nil || r.From() == nil || r.CSeq() == nil || r.CallID() == nil {
		if r.Method != sip.ACK {
			k.net.Counts.Malformed.Add(1)
		}
		return // it cannot be answered
	}
	if message.ToTag(r) != "" {
		k.onInDialog(r, src)
		return
	}
	if r.Method == sip.ACK || !k.trunks.MayAsk(src.Addr.Addr()) {
		return // an ACK is never answered (§17)
	}
	if code, phrase := flawed(r); code != 0 {
		k.net.Respond(r, src, code, phrase, k.trunks.UserAgentLine, nil)
		return
	}
	if tags := unsupported(r, true); tags != "" {
		k.net.Respond(r, src, 420, "Bad Extension", "Unsupported: "+tags+"\r\n"+k.trunks.UserAgentLine, nil) // §8.2.2.3
		return
	}
	switch r.Method {
	case sip.OPTIONS:
		k.net.Respond(r, src, 200, "OK", k.trunks.AgentLines+capabilities, nil)
	case sip.INVITE:
		if k.offer(r, src) {
			return
		}
		k.refused.add(r)
		code, phrase := k.trunks.InboundAnswer(src.Addr.Addr())
		k.net.Respond(r, src, code, phrase, k.trunks.UserAgentLine, nil)
	case sip.CANCEL:
		if k.withdrawn(r, src) {
			return
		}
		if k.refused.has(r) { // answered already: the CANCEL changes nothing (§9.2)
			k.net.Respond(r, src, 200, "OK", k.trunks.UserAgentLine, nil)
			return
		}
		fallthrough
	case sip.BYE, sip.INFO, sip.UPDATE, sip.PRACK:
		k.Count.Unmatched.Add(1)
		k.net.Respond(r, src, 481, "Call/Transaction Does Not Exist", k.trunks.UserAgentLine, nil)
	case sip.REFER:
		k.net.Respond(r, src, 603, declined, k.trunks.UserAgentLine, nil)
	case sip.SUBSCRIBE: // in a dialog it might mean a transfer; not here
		k.net.Respond(r, src, 405, "Method Not Allowed", k.trunks.AgentLines, nil)
	default:
		code, phrase, headers := notSupported(r.Method)
		k.net.Respond(r, src, code, phrase, headers+k.trunks.AgentLines, nil)
	}
}

// flawed says how a request is refused that can be read but not obeyed: it is of another version or kind of address,
// or contradicts itself (RFC 3261 §8.1.1.5, §8.2.2.1, §20;
// RFC 4475 §3.1.2.16 to §3.1.2.18, §3.3.2, §3.3.8, §3.3.9).
// It is asked outside of dialogs only: in one, a refusal may end the call.
func flawed(r *sip.Request) (code int, phrase string) {
	switch {
	case !strings.EqualFold(r.SipVersion, "SIP/2.0"):
		return 505, "Version Not Supported"
	case !strings.EqualFold(string(r.CSeq().MethodName), string(r.Method)):
		return 400, "CSeq Of Another Method"
	case !slices.Contains([]string{"", "sip", "sips", "tel"}, strings.ToLower(r.Recipient.Scheme)):
		return 416, "Unsupported URI Scheme"
	}
	first := map[string]string{}
	for _, h := range r.Headers() {
		name := strings.ToLower(h.Name())
		switch name {
		case "f":
			name = "from"
		case "from", "to", "call-id", "cseq", "content-length":
		default:
			continue
		}
		if v, twice := first[name]; twice && v != h.Value() {
			return 400, "Two Values Where One May Be"
		}
		first[name] = h.Value()
	}
	return 0, ""
}

// refusedCalls remembers the last inbound INVITEs, for their CANCELs.
type refusedCalls struct {
	mu   sync.Mutex
	last [256]string
	at   int
}

func transactionOf(r *sip.Request) string {
	return r.CallID().Value() + "\x00" + message.BranchOf(r)
}

func (c *refusedCalls) add(r *sip.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[c.at] = transactionOf(r)
	c.at = (c.at + 1) % len(c.last)
}

func (c *refusedCalls) has(r *sip.Request) bool {
	key := transactionOf(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.last {
		if have == key {
			return true
		}
	}
	return false
}
