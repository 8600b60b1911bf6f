package trunk

import (
	"reflect"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
)

// CallerIDHeader is the header that carries the caller ID beside From (RFC 3325).
type CallerIDHeader string

const (
	CallerIDNone      CallerIDHeader = "none"                 // the default
	CallerIDAsserted  CallerIDHeader = "p_asserted_identity"  // within a trust domain
	CallerIDPreferred CallerIDHeader = "p_preferred_identity" // to a carrier that asserts itself
)

// NumberFormat says how a number is written into the user part of a URI.
type NumberFormat string

const (
	NumberE164       NumberFormat = "e164"         // with the plus; the default
	NumberE164NoPlus NumberFormat = "e164_no_plus" // digits only
	// These two need Config.WriteNumber.
	NumberInternational NumberFormat = "international" // 00 and the digits
	NumberNational      NumberFormat = "national"      // as within TrunkConfig.NumberCountry
)

// Config is one carrier connection as this package needs to know it.
type Config struct {
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

func (c *Config) equal(o *Config) bool { return reflect.DeepEqual(c, o) }

// Values of TrunkConfig.ReliableProvisionals.
const (
	reliableRequired = "required"
	reliableOff      = "off"
)
