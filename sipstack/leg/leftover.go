package leg

import (
	"net/netip"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// RecoverLeg ends a leg of an earlier process and reports only its LegClosed, with Seq 1.
//
// With a dialog it sends ACK (the 2xx may never have had one), then BYE. Without one it sends
// CANCEL for the INVITE, whose Via, tag and CSeq follow from the ID, and owns the Call-ID for
// GiveUp (64*T1 if that is zero): a late 18x gets another CANCEL, a late 2xx ACK and BYE, another
// final response its ACK, and each of the last two closes the leg. A far side that answers 481 to
// the CANCEL is not ringing; the leg then closes a little over T2 later, unless a 2xx comes in
// between.
//
// SentBy is written into Via instead of this stack's own address if another stack placed the leg,
// because the far side matches transactions by it (§17.2.3). The response to the INVITE then goes
// there, and the leg closes when the far side must have given up.
//
// Neither answer to a CANCEL proves that the call is over: a far side that has answered the INVITE
// also says 200 or 481 (§9.2). LegClosed has a Proof only after a final response to the INVITE, a
// 2xx or 481 to the BYE, or the far side's BYE.
//
// CSeq 0 means that it is unknown whether the INVITE was challenged: CANCEL is sent for CSeq 1 and
// 2. The same applies to CSeq 1 if the trunk has credentials. A leg that is live in this stack is
// given the new sink and ended.
func (k *Table) RecoverLeg(r engine.RecoveredLeg, sink func(engine.LegEvent)) {
	was, dialog := incomingOf(r.Dialog)
	r.Dialog = dialog
	t := k.trunks.ForLeg(r.Trunk, r.URI, "")
	if t.Conf.Host == "" {
		c := trunk.Config{ID: r.Trunk}
		if r.Dialog != nil {
			c.Transport = message.Transport(r.Dialog.Transport)
			if a, err := netip.ParseAddrPort(r.Dialog.RemoteAddr); err == nil {
				c.Host, c.Port = a.Addr().String(), int(a.Port())
			}
		}
		t = k.trunks.New(c)
	}
	l := k.newLeg(r.Leg, r.Attempt, t, sink)
	l.recovered = true
	l.parties.set(l.trunk, l.s.net.First().External(), r.From, r.To, r.URI)
	if was != nil {
		l.recoverIncoming(was)
	}
	if known := k.add(l); known != nil {
		k.Count.Duplicates.Add(1)
		k.endKnown(known, sink)
		return
	}
	if r.Dialog != nil {
		l.mu.Lock()
		defer l.unlock()
		l.recoverDialog(r.Dialog)
		return
	}
	k.withTargets(t, func(to []transport.Target) {
		l.mu.Lock()
		defer l.unlock()
		l.recoverInvite(r, to)
	})
}

// leftOver takes charge of an unknown call that an earlier process placed from this address: a
// response to its INVITE, whose branch depends on nothing but the call, comes here and nowhere
// else. A ringing call is cancelled, an answered one is acknowledged and ended. Any other watcher
// of the leg, here later or on another node all along, is not involved.
func (k *Table) leftOver(r *sip.Response, id string, seq uint32, branch string, src netip.AddrPort) *leg {
	a, n, ok := strings.Cut(id, ".")
	if !ok || a == "" || n == "" || r.StatusCode == 100 || branch != message.DeriveBranch(id, seq, "INVITE") ||
		!k.trunks.MayAsk(src.Addr()) {
		return nil
	}
	t := k.trunks.At(src)
	if t == nil {
		return nil
	}
	l := k.newLeg(engine.LegID(strings.Clone(id)), engine.AttemptID(strings.Clone(a)), t, nil)
	l.recovered = true // its end is kept for a later watcher
	l.mu.Lock()
	defer l.unlock()
	l.parties.set(l.trunk, l.s.net.First().External(), "", "", "")
	l.inv.cseq, l.inv.to = seq, t.To(src)
	l.inv.address()
	if h := r.From(); h != nil {
		l.parties.fromURI = strings.Clone(h.Address.String())
	}
	if h := r.To(); h != nil {
		l.parties.toURI = strings.Clone(h.Address.String())
	}
	l.enter(phaseWatch)
	l.deadline = k.clock.Now() + k.conf.Timers.Transaction()
	if known := k.enlist(l); known != nil {
		l.enter(phaseGone)
		return known
	}
	return l
}

// endKnown ends a leg that belongs to this process after all.
func (k *Table) endKnown(l *leg, sink func(engine.LegEvent)) {
	l.mu.Lock()
	defer l.unlock()
	l.sink, l.delivered = sink, 0
	switch l.phase {
	case phaseAnswered, phaseConfirmed:
		l.hangUp(engine.HangUpCause{Q850: 16})
	case phaseQueued, phaseCalling, phaseProceeding, phaseOffered:
		l.cancel()
	case phaseClosing, phaseSilent, phaseWatch, phaseOver, phaseGone:
	}
}
