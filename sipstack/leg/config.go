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

// Config is what legs need to know and whom they notify.
type Config struct {
	Timers timing.Timers
	Log    zerolog.Logger
	// OnLegOver gets the final event of every leg of this process and whether it was answered; only
	// while it runs, it can ask for the leg's messages. It must not block nor call the table; nil
	// is allowed.
	OnLegOver func(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage)
	// Media negotiates sessions that change after their first answer; nil
	// allows only offers that leave the media where it is.
	Media Negotiator
	// OneCall says that no call is placed to a number while another one to it is live here.
	OneCall bool
	// Fence is the lease of this node; nil means no lease is needed.
	Fence engine.Fence
	// NewCall names a call that a trunk brings, OnCall reports it; both must not block. Without OnCall
	// every call is refused (trunk.Config.Inbound).
	NewCall func() engine.AttemptID
	OnCall  func(engine.IncomingCall)
	// Transfers reports a REFER to the owner of a leg (engine.LegReferred) and waits for its
	// AnswerRefer; without it every REFER is declined.
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
	gone   func(engine.LegID, engine.AttemptID) // removes a finished leg from the table
}

// Counters count what legs did since the start.
type Counters struct {
	Invites, NotSent, Retransmissions, Acks, Cancels, Byes, RemoteByes atomic.Uint64
	Strays, Unmatched, Duplicates                                      atomic.Uint64
	Live, Recovered                                                    atomic.Int64
	ByStatus                                                           [700]atomic.Uint64
	Pracks, Refreshes, Redirects                                       atomic.Uint64
	Offered                                                            atomic.Uint64 // calls that trunks brought
}

// Negotiator handles the media of answered legs: sipstack passes SDP as bytes. Its methods are
// called with the leg locked: they must not block, nor call the table, nor take a lock that is held
// while the table is called.
type Negotiator interface {
	// AnsweredFrom reports where the 2xx of a leg came from, before the leg's owner learns of the
	// answer.
	AnsweredFrom(a engine.AttemptID, leg engine.LegID, host netip.Addr)
	// HungUp reports that BYE is about to leave, whatever its answer: from then on the leg sends no
	// audio (RFC 3261 §15.1.1).
	HungUp(a engine.AttemptID, leg engine.LegID)
	// Reoffer answers an offer of the far side (RFC 3264 §8) and changes the media accordingly. An
	// error refuses the offer with 488 and leaves everything unchanged.
	Reoffer(a engine.AttemptID, leg engine.LegID, offer []byte) (answer []byte, err error)
	// Offer returns our offer if the far side asks for one (re-INVITE without SDP): the leg's first
	// one with its new version; Reanswer takes the answer to it.
	Offer(a engine.AttemptID, leg engine.LegID, first []byte) ([]byte, error)
	Reanswer(a engine.AttemptID, leg engine.LegID, answer []byte)
}
