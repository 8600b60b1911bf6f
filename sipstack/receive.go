package sipstack

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// onMessage is called by the transport layer for every message, by one
// goroutine per socket, in wire order: nothing between here and the event of
// the leg may start a goroutine.
func (s *Stack) onMessage(m sip.Message) {
	if s.closed.Load() {
		return
	}
	src := target{transport: UDP}
	if m.Transport() != "UDP" {
		src.transport = TCP
		a, err := netip.ParseAddrPort(m.Source())
		if err != nil {
			return
		}
		src.addr = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	} else {
		src.addr = s.udp.src
	}
	switch m := m.(type) {
	case *sip.Response:
		s.onResponse(m, src.addr)
	case *sip.Request:
		s.onRequest(m, src)
	}
}

// onResponse matches a response to a transaction of ours by Call-ID, CSeq and
// the branch of the top Via (RFC 3261 §17.1.3).
func (s *Stack) onResponse(r *sip.Response, src netip.AddrPort) {
	callID, cseq, via := r.CallID(), r.CSeq(), r.Via()
	if callID == nil || cseq == nil || via == nil || r.StatusCode < 100 || r.StatusCode > 699 {
		s.count.malformed.Add(1)
		return
	}
	branch, _ := via.Params.Get("branch")
	if cseq.MethodName == sip.OPTIONS {
		if k, ok := s.probes.Load(callID.Value()); ok {
			k.(*keepalive).onResponse(r, cseq.SeqNo)
			return
		}
		s.count.unmatched.Add(1) // the late reply to an OPTIONS that was given up
		return
	}
	l := s.leg(engine.LegID(callID.Value()))
	if l == nil {
		s.count.unmatched.Add(1)
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if cseq.MethodName == sip.INVITE {
		if l.phase == phaseQueued || l.phase == phaseGone || branch != l.inviteBranch(cseq.SeqNo) {
			s.count.unmatched.Add(1)
			return
		}
		l.received(r, src)
		l.onInviteResponse(r, cseq.SeqNo, src)
		return
	}
	l.received(r, src)
	if !l.onTxResponse(r, cseq.MethodName, branch) && l.phase < phaseOver && cseq.MethodName != sip.CANCEL {
		s.count.unmatched.Add(1)
	}
}

// malformedCounter is where sipgo's transport layer logs to: a message that
// cannot be parsed is counted; its text, which may hold numbers, is dropped.
type malformedCounter struct{ c *counters }

func (malformedCounter) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

func (m malformedCounter) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "failed to parse") {
		m.c.malformed.Add(1)
	}
	return nil
}
func (m malformedCounter) WithAttrs([]slog.Attr) slog.Handler { return m }
func (m malformedCounter) WithGroup(string) slog.Handler      { return m }
