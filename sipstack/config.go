package sipstack

import (
	"net/netip"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/rs/zerolog"
)

// Config is what a Stack needs to start.
type Config struct {
	// Listeners are the addresses at which we are reached; the first serves
	// trunks that choose none.
	Listeners []transport.Listener
	// Listen and ExternalHost are the short form for one listener of the name
	// "default" over UDP and TCP; they count only without Listeners.
	Listen, ExternalHost string
	// UserAgent is the User-Agent header; empty for "dialler".
	UserAgent string
	// WriteNumber writes a number as a trunk wants it (TrunkConfig.NumberFormat,
	// NumberCountry): what a country's own format is, is not known here. Without
	// it there are e164 and e164_no_plus only.
	WriteNumber func(n engine.PhoneNumber, f trunk.NumberFormat, country string) string
	Timers      timing.Timers
	Log         zerolog.Logger
	// Resolver answers for DNS; nil is net.DefaultResolver.
	Resolver transport.Resolver
	// OnTrunkHealth hears the first result of a trunk's OPTIONS keepalive and
	// every change after it; a registered trunk is up only while it is
	// registered too. It must not block; nil is allowed.
	OnTrunkHealth func(engine.TrunkHealth)
	// OnLegOver hears the final event of every leg of this life, whether it was
	// answered, and can ask for the messages of the leg, only while it runs. It
	// must not block nor call the Stack; nil is allowed.
	OnLegOver func(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage)
	// Media negotiates sessions that change after their first answer; nil
	// allows only offers that leave the media where it is.
	Media Negotiator
	// Transfers tells the owner of a leg of a REFER (engine.LegReferred) and
	// waits for its AnswerRefer; without it every REFER is declined.
	Transfers bool
}

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

// Transport is the transport of a trunk.
type Transport = message.Transport

// Listener is one address at which far sides reach us.
type Listener = transport.Listener

// Resolver is what is asked of DNS.
type Resolver = transport.Resolver

// The configuration of trunks.
type (
	TrunkConfig    = trunk.Config
	CallerIDHeader = trunk.CallerIDHeader
	NumberFormat   = trunk.NumberFormat
	Header         = trunk.Header
	Registration   = trunk.Registration
)

// Values of TrunkConfig.CallerIDHeader and TrunkConfig.NumberFormat.
const (
	CallerIDNone        = trunk.CallerIDNone
	CallerIDAsserted    = trunk.CallerIDAsserted
	CallerIDPreferred   = trunk.CallerIDPreferred
	NumberE164          = trunk.NumberE164
	NumberE164NoPlus    = trunk.NumberE164NoPlus
	NumberInternational = trunk.NumberInternational
	NumberNational      = trunk.NumberNational
)

// Timers are the timer values of RFC 3261 §17.
type Timers = timing.Timers

const (
	UDP = message.UDP // the default
	TCP = message.TCP
	TLS = message.TLS // over TCP
)
