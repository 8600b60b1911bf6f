package leg

import (
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

// refusedCalls remembers the last inbound INVITEs, for their CANCELs.
type refusedCalls struct {
	mu   sync.Mutex
	last [256]string
	at   int
}

func transactionOf(r *sip.Request) string {
	branch, _ := r.Via().Params.Get("branch")
	return r.CallID().Value() + "\x00" + branch
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
