package process

import (
	"net/netip"

	"dialler/engine"
)

// sessions brings offers and answers of answered legs to their media, which is
// opened after the telephony adapter and before any leg.
type sessions struct{ p *Process }

func (s sessions) AnsweredFrom(a engine.AttemptID, leg engine.LegID, host netip.Addr) {
	s.p.media.AnsweredFrom(a, leg, host)
}

func (s sessions) Reoffer(a engine.AttemptID, leg engine.LegID, offer []byte) ([]byte, error) {
	return s.p.media.Reoffer(a, leg, offer)
}

func (s sessions) Offer(a engine.AttemptID, leg engine.LegID, first []byte) ([]byte, error) {
	return s.p.media.Offer(a, leg, first)
}

func (s sessions) Reanswer(a engine.AttemptID, leg engine.LegID, answer []byte) {
	s.p.media.Reanswer(a, leg, answer)
}
