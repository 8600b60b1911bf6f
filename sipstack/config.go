package sipstack

import (
	"dialler/engine"
	"dialler/sipstack/leg"
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
	Listeners []Listener
	// Listen and ExternalHost are the short form for one listener named "default" over UDP and TCP;
	// they are used only without Listeners.
	Listen, ExternalHost string
	// UserAgent is the User-Agent header; default "dialler".
	UserAgent string
	// WriteNumber writes a number in a trunk's format (TrunkConfig.NumberFormat, NumberCountry),
	// because national formats are not known here. Without it, only e164 and e164_no_plus are
	// available.
	WriteNumber func(n engine.PhoneNumber, f NumberFormat, country string) string
	Timers      Timers
	Log         zerolog.Logger
	// Resolver resolves DNS names; nil means net.DefaultResolver.
	Resolver Resolver
	// OnTrunkHealth gets a trunk's health when it is set, and every change of its Life after that. It
	// must not block; nil is allowed.
	OnTrunkHealth func(engine.TrunkHealth)
	// OnLegOver gets the final event of every leg of this process and whether it was answered; only
	// while it runs, it can ask for the leg's messages. It must not block nor call the Stack; nil
	// is allowed.
	OnLegOver func(final engine.LegEvent, answered bool, messages func() []engine.SIPMessage)
	// Media negotiates sessions that change after their first answer; nil
	// allows only offers that leave the media where it is.
	Media Negotiator
	// OneCall says that no call is placed to a number while another one to it is live here,
	// whatever the caller knows.
	OneCall bool
	// Fence is the lease of this node, at whose end ringing calls are cancelled; nil means no lease
	// is needed.
	Fence engine.Fence
	// NewCall names a call that a trunk brings and OnCall reports it: PlaceLeg answers it, RefuseLeg
	// refuses it. Both must not block. Without OnCall every call is refused (TrunkConfig.Inbound).
	NewCall func() engine.AttemptID
	OnCall  func(engine.IncomingCall)
	// Transfers reports a REFER to the owner of a leg (engine.LegReferred) and waits for its
	// AnswerRefer; without it every REFER is declined.
	Transfers bool
}

// The types of the configuration; each is explained in its own package.
type (
	Timers     = timing.Timers
	Transport  = message.Transport
	Listener   = transport.Listener
	Resolver   = transport.Resolver
	Negotiator = leg.Negotiator

	TrunkConfig    = trunk.Config
	CallerIDHeader = trunk.CallerIDHeader
	NumberFormat   = trunk.NumberFormat
	Header         = trunk.Header
	Registration   = trunk.Registration
	TrunkFinding   = trunk.Finding
	LegStatus      = leg.Status
)

// Their values.
const (
	UDP = message.UDP // the default
	TCP = message.TCP
	TLS = message.TLS // over TCP

	CallerIDNone        = trunk.CallerIDNone
	CallerIDAsserted    = trunk.CallerIDAsserted
	CallerIDPreferred   = trunk.CallerIDPreferred
	NumberE164          = trunk.NumberE164
	NumberE164NoPlus    = trunk.NumberE164NoPlus
	NumberInternational = trunk.NumberInternational
	NumberNational      = trunk.NumberNational
)
