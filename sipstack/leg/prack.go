package leg

import (
	"net/netip"
	"strconv"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// acknowledgeProvisional sends the PRACK of a reliable provisional response in the early
// dialog that it belongs to. False: the response is a repeated one or comes
// before its turn, and is not to be looked at (RFC 3262 §4): a lost PRACK is
// repeated by its own transaction.
func (l *leg) acknowledgeProvisional(r *sip.Response, seq uint32, src netip.AddrPort) bool {
	rseq := message.RSeqOf(r)
	if rseq == 0 || !l.trunk.Reliable || message.ToTag(r) == "" {
		return true
	}
	d := l.early.find(message.ToTag(r))
	if d != nil && d.rseq != 0 && rseq != d.rseq+1 {
		return false
	}
	if d == nil && len(l.early) >= maxEarly || len(l.txs.running) >= maxTxs {
		return false
	}
	known := d != nil
	d = l.newDialog(r, seq, src)
	if !known {
		l.early = append(l.early, d)
	}
	d.rseq = rseq
	d.updates = d.updates || message.Lists(r, "allow", "UPDATE")
	if sdp := message.SDPOf(r); sdp != nil && d.remoteSDP == nil {
		d.remoteSDP = sdp
	}
	l.s.Count.Pracks.Add(1)
	l.txs.send(&clientTx{method: sip.PRACK, dlg: d,
		headers: "RAck: " + strconv.FormatUint(uint64(rseq), 10) + " " + strconv.FormatUint(uint64(seq), 10) +
			" INVITE\r\n"})
	return true
}
