package sipstack

import (
	"net/netip"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
)

// RecoverLeg ends a leg of an earlier process life and reports only its
// LegClosed, with Seq 1.
//
// With a dialog it sends ACK (the 2xx may never have had one), then BYE.
// Without one it sends CANCEL for the INVITE, whose Via, tag and CSeq it knows
// from the id, and owns the Call-ID for GiveUp (64*T1 when that is zero): a
// late 18x gets another CANCEL, a late 2xx ACK and BYE, another final response
// its ACK, and each of the last two closes the leg. A far side that answers
// 481 to the CANCEL does not ring; the leg then closes a little over T2 later,
// unless a 2xx comes in between.
//
// SentBy is written into Via in place of this stack's own address when another one
// has placed the leg: the far side tells transactions apart by it (§17.2.3). The
// response to the INVITE then goes there, and the leg closes when the far side
// must have given up.
//
// Neither answer to a CANCEL proves that the call is over: a far side that has
// answered the INVITE says 200 or 481 too (§9.2). LegClosed has a Proof only after a
// final response to the INVITE, a 2xx or 481 to the BYE, or the far side's BYE.
//
// CSeq 0 means that it is not known whether the INVITE was challenged: CANCEL
// is sent for CSeq 1 and 2. So it is for CSeq 1 when the trunk has
// credentials. A leg that lives in this stack is given the new sink and ended.
func (s *Stack) RecoverLeg(r engine.RecoveredLeg, sink func(engine.LegEvent)) {
	t := s.trunks.ForLeg(r.Trunk, r.URI, "")
	if t.Conf.Host == "" {
		c := trunk.Config{ID: r.Trunk}
		if r.Dialog != nil {
			c.Transport = message.Transport(r.Dialog.Transport)
			if a, err := netip.ParseAddrPort(r.Dialog.RemoteAddr); err == nil {
				c.Host, c.Port = a.Addr().String(), int(a.Port())
			}
		}
		t = s.trunks.New(c)
	}
	l := s.newLeg(r.Leg, r.Attempt, t, sink)
	l.recovered = true
	l.setParties(r.From, r.To, r.URI)
	if known := s.add(l); known != nil {
		s.count.duplicates.Add(1)
		s.endKnown(known, sink)
		return
	}
	if r.Dialog != nil {
		l.mu.Lock()
		defer l.unlock()
		l.recoverDialog(r.Dialog)
		return
	}
	s.withTargets(t, func(to []transport.Target) {
		l.mu.Lock()
		defer l.unlock()
		l.recoverInvite(r, to)
	})
}

// leftOver takes charge of a call that an earlier life placed from this address
// and that nobody here knows: a response to its INVITE, whose branch is made of
// nothing but the call, comes here and nowhere else. What rings is cancelled, what
// is answered is acknowledged and ended. Whoever watches the leg, here later or on
// another node all along, has no part in it.
func (s *Stack) leftOver(r *sip.Response, id string, seq uint32, branch string, src netip.AddrPort) *leg {
	a, n, ok := strings.Cut(id, ".")
	if !ok || a == "" || n == "" || r.StatusCode == 100 || branch != message.DeriveBranch(id, seq, "INVITE") || !s.trunks.MayAsk(src.Addr()) {
		return nil
	}
	t := s.trunks.At(src)
	if t == nil {
		return nil
	}
	l := s.newLeg(engine.LegID(strings.Clone(id)), engine.AttemptID(strings.Clone(a)), t, nil)
	l.recovered = true // and its end is kept for who watches it later
	l.mu.Lock()
	defer l.unlock()
	l.setParties("", "", "")
	l.cseq, l.to = seq, t.To(src)
	l.address()
	if h := r.From(); h != nil {
		l.fromURI = strings.Clone(h.Address.String())
	}
	if h := r.To(); h != nil {
		l.toURI = strings.Clone(h.Address.String())
	}
	l.enter(phaseWatch)
	l.deadline = s.clock.Now() + s.conf.Timers.Transaction()
	if known := s.enlist(l); known != nil {
		l.enter(phaseGone)
		return known
	}
	return l
}

// endKnown ends a leg that is of this life after all.
func (s *Stack) endKnown(l *leg, sink func(engine.LegEvent)) {
	l.mu.Lock()
	defer l.unlock()
	l.sink, l.delivered = sink, 0
	switch l.phase {
	case phaseAnswered, phaseConfirmed:
		l.hangUp(engine.HangUpCause{Q850: 16})
	case phaseQueued, phaseCalling, phaseProceeding:
		l.cancel()
	case phaseClosing, phaseSilent, phaseWatch, phaseOver, phaseGone:
	}
}

// recoveredCSeq is how far beyond the INVITE's the CSeq of a recovered dialog's
// BYE is: what the earlier life sent in it (PRACK, refreshes, keys) was not
// written down, and a CSeq may skip but not go back (RFC 3261 §12.2.2).
const recoveredCSeq = 1 << 16

func (l *leg) recoverDialog(st *engine.DialogState) {
	if l.phase != phaseQueued {
		return
	}
	src, _ := netip.ParseAddrPort(st.RemoteAddr)
	l.to = l.trunk.To(src)
	if over, ok := message.TransportOf(st.Transport); ok {
		l.to = l.trunk.Over(src, over)
	}
	l.cseq = max(st.CSeq, 1)
	if src.IsValid() {
		l.address()
	}
	l.dlg = &dialog{
		toTag: message.Clean(st.ToTag), target: message.Clean(st.RemoteTarget), source: src,
		invite: l.cseq, seq: l.cseq + recoveredCSeq,
	}
	for _, r := range st.RouteSet {
		l.dlg.routeSet = append(l.dlg.routeSet, message.Clean(r))
	}
	l.route(l.dlg)
	l.enter(phaseAnswered)
	if !l.dlg.hop.Addr.IsValid() {
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "the stored dialog has no usable address"})
		return
	}
	l.sentBy = l.trunk.SentBy(l.dlg.hop)
	l.hangUp(engine.HangUpCause{Q850: 41, Text: "restarted"}) // 41: temporary failure
}

func (l *leg) recoverInvite(r engine.RecoveredLeg, to []transport.Target) {
	if l.phase != phaseQueued {
		return
	}
	l.enter(phaseWatch)
	giveUp := r.GiveUp
	if giveUp <= 0 {
		giveUp = l.s.conf.Timers.Transaction()
	}
	l.deadline = l.s.clock.Now() + giveUp
	if len(to) == 0 {
		return // nothing can be sent; a late response is still answered
	}
	l.cseq = max(r.CSeq, 1)
	// The INVITE went to one of the trunk's addresses: which, is not known.
	for i := min(len(to), maxCancelled) - 1; i >= 0; i-- {
		l.to = to[i]
		l.address()
		if r.SentBy != "" { // and the From of whoever placed it (§9.1)
			l.sentBy = message.Clean(r.SentBy)
			l.setFrom(message.HostOf(l.sentBy))
		}
		l.sendCancel(l.cseq)
		if r.CSeq == 0 || (r.CSeq == 1 && l.auth.Known()) {
			l.sendCancel(l.cseq + 1)
		}
	}
}

// maxCancelled bounds the addresses at which a leg of an earlier life is
// cancelled.
const maxCancelled = 3
