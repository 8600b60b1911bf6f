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
	// Listen and ExternalHost are the short form for one listener of the name
	// "default" over UDP and TCP; they count only without Listeners.
	Listen, ExternalHost string
	// UserAgent is the User-Agent header; empty for "dialler".
	UserAgent string
	// WriteNumber writes a number as a trunk wants it (TrunkConfig.NumberFormat,
	// NumberCountry): what a country's own format is, is not known here. Without
	// it there are e164 and e164_no_plus only.
	WriteNumber func(n engine.PhoneNumber, f NumberFormat, country string) string
	Timers      Timers
	Log         zerolog.Logger
	// Resolver answers for DNS; nil is net.DefaultResolver.
	Resolver Resolver
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
	// OneCall: no call is placed to a number while another one to it lives here,
	// whatever whoever places it knows.
	OneCall bool
	// Fence is the lease of this node, at whose end what rings is cancelled; nil: it
	// needs none.
	Fence engine.Fence
	// Transfers tells the owner of a leg of a REFER (engine.LegReferred) and
	// waits for its AnswerRefer; without it every REFER is declined.
	Transfers bool
}

// The words of the configuration; each is explained in its own package.
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
