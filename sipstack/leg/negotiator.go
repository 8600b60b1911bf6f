package leg

import (
	"net/netip"

	"dialler/engine"
)

// Negotiator knows the media of answered legs: sipstack moves SDP as bytes.
// Its methods are called with the leg locked: they must not block, nor call
// the Stack, nor take a lock that is held while the Stack is called.
type Negotiator interface {
	// AnsweredFrom says where the 2xx of a leg came from, before the leg's owner
	// hears of the answer.
	AnsweredFrom(a engine.AttemptID, leg engine.LegID, host netip.Addr)
	// Reoffer answers an offer of the far side (RFC 3264 §8) and changes the
	// media accordingly. An error refuses the offer with 488 and leaves
	// everything as it was.
	Reoffer(a engine.AttemptID, leg engine.LegID, offer []byte) (answer []byte, err error)
	// Offer is what we offer when the far side asks for an offer (re-INVITE
	// without SDP): the leg's first one with the version that it gets now;
	// Reanswer takes the answer to it.
	Offer(a engine.AttemptID, leg engine.LegID, first []byte) ([]byte, error)
	Reanswer(a engine.AttemptID, leg engine.LegID, answer []byte)
}
