package leg

import (
	"net/netip"
	"sync/atomic"

	"dialler/engine"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/rs/zerolog"
)

// Config is what legs need to know and whom they tell.
type Config struct {
	Timers timing.Timers
	Log    zerolog.Logger
	// OnLegOver hears the final event of every leg of this life, whether it was
	// answered, and can ask for the messages of the leg, only while it runs. It
	// must not block nor call the table; nil is allowed.
	OnLegOver func(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage)
	// Media negotiates sessions that change after their first answer; nil
	// allows only offers that leave the media where it is.
	Media Negotiator
	// OneCall: no call is placed to a number while another one to it lives here.
	OneCall bool
	// Fence is the lease of this node; nil: it needs none.
	Fence engine.Fence
	// Transfers tells the owner of a leg of a REFER (engine.LegReferred) and
	// waits for its AnswerRefer; without it every REFER is declined.
	Transfers bool
}

// env is what all legs share.
type env struct {
	conf   Config
	clock  timing.Clock
	net    *transport.Sockets
	trunks *trunk.Set
	Count  Counters
	called called
	gone   func(engine.LegID, engine.AttemptID) // takes a leg that is over out of the table
}

// Counters are what legs did since the start.
type Counters struct {
	Invites, NotSent, Retransmissions, Acks, Cancels, Byes, RemoteByes atomic.Uint64
	Strays, Unmatched, Duplicates                                      atomic.Uint64
	Live                                                               atomic.Int64
	ByStatus                                                           [700]atomic.Uint64
	Pracks, Refreshes, Redirects                                       atomic.Uint64
}

// Negotiator knows the media of answered legs: sipstack moves SDP as bytes.
// Its methods are called with the leg locked: they must not block, nor call
// the table, nor take a lock that is held while the table is called.
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
