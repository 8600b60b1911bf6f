package sipstack

import (
	"net/netip"
	"reflect"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

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
	WriteNumber func(n engine.PhoneNumber, f NumberFormat, country string) string
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

// NumberFormat says how a number is written into the user part of a URI.
type NumberFormat string

const (
	NumberE164       NumberFormat = "e164"         // with the plus; the default
	NumberE164NoPlus NumberFormat = "e164_no_plus" // digits only
	// These two need Config.WriteNumber.
	NumberInternational NumberFormat = "international" // 00 and the digits
	NumberNational      NumberFormat = "national"      // as within TrunkConfig.NumberCountry
)

// TrunkConfig is one carrier connection as this package needs to know it.
type TrunkConfig struct {
	ID        engine.TrunkID
	Host      string // IP address or domain name
	Port      int    // 0: 5060, or what the SRV records of Host say
	Transport message.Transport
	// Username and Password answer digest challenges; without a username a
	// challenge is a refusal.
	Username, Password string
	// FromDomain is the host part of From; empty for our own address, with a
	// registered trunk for Host. FromUser takes the place of the caller ID in
	// From; CallerIDHeader then is the one that carries it.
	FromDomain, FromUser string
	CallerIDHeader       CallerIDHeader
	// Privacy is the header of that name (RFC 3323), empty for none. With "id"
	// From is anonymous.
	Privacy       string
	NumberFormat  NumberFormat
	NumberCountry string // ISO 3166, for NumberNational
	UserAgent     string // empty for that of Config
	// Inbound is the status that refuses a call from the trunk's addresses: 480,
	// 486 or 603; 0 = 403.
	Inbound int
	// OptionsInterval between keepalives; 0 for 30 s, negative for none.
	OptionsInterval time.Duration
	ExtraHeaders    []Header // added to every INVITE

	// Kind: a registered trunk sends REGISTER and is up only while it is
	// registered; RegisterSec is the lifetime that it asks for, 0 = 600.
	Kind        engine.TrunkKind
	RegisterSec int
	// OutboundProxy is the host[:port] that requests are sent to in place of
	// Host, which stays in the Request-URI.
	OutboundProxy string
	// Listener is the name of the listener that the trunk uses; empty for the
	// first. ExternalHost takes the place of the listener's.
	Listener, ExternalHost string
	// TLSServerName is the name that the certificate must bear, empty for
	// Host; TLSRoots are the roots to trust as PEM, empty for the system's;
	// TLSInsecure checks neither.
	TLSServerName, TLSRoots string
	TLSInsecure             bool

	// ReliableProvisionals (RFC 3262): supported (also when empty), required, off.
	ReliableProvisionals string
	// SessionSec is the Session-Expires of RFC 4028 in seconds; 0 = 1800,
	// negative = no session timer, at least 90 otherwise.
	SessionSec int
	// Redirects is how many 3xx answers one leg follows; 0 = none.
	Redirects int
}

// Header is one extra header of an INVITE.
type Header struct{ Name, Value string }

func (c *TrunkConfig) equal(o *TrunkConfig) bool { return reflect.DeepEqual(c, o) }

// Transport is the transport of a trunk.
type Transport = message.Transport

// Listener is one address at which far sides reach us.
type Listener = transport.Listener

// Resolver is what is asked of DNS.
type Resolver = transport.Resolver

// Timers are the timer values of RFC 3261 §17.
type Timers = timing.Timers

const (
	UDP = message.UDP // the default
	TCP = message.TCP
	TLS = message.TLS // over TCP
)
