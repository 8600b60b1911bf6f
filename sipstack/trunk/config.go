package trunk

import (
	"reflect"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"
)

// CallerIDHeader is the header that carries the caller ID besides From (RFC 3325).
type CallerIDHeader string

const (
	CallerIDNone      CallerIDHeader = "none"                 // the default
	CallerIDAsserted  CallerIDHeader = "p_asserted_identity"  // within a trust domain
	CallerIDPreferred CallerIDHeader = "p_preferred_identity" // to a carrier that asserts the identity itself
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

// Config is the part of a carrier connection's configuration that this package needs.
type Config struct {
	ID        engine.TrunkID
	Host      string // IP address or domain name
	Port      int    // 0: 5060, or according to Host's SRV records
	Transport message.Transport
	// Username and Password answer digest challenges; without a username a challenge counts as a
	// refusal.
	Username, Password string
	// FromDomain is the host part of From; if empty, it is our own address, or for a registered
	// trunk Host. FromUser replaces the caller ID in From; CallerIDHeader then carries it.
	FromDomain, FromUser string
	CallerIDHeader       CallerIDHeader
	// Privacy is the header of that name (RFC 3323), empty for none. With "id"
	// From is anonymous.
	Privacy       string
	NumberFormat  NumberFormat
	NumberCountry string // ISO 3166, for NumberNational
	UserAgent     string // empty means Config's
	// Inbound is the status with which calls from the trunk's addresses are refused: 480, 486 or
	// 603; 0 means 403.
	Inbound int
	// OptionsInterval is the time between keepalives; 0 means 30 s, negative means none.
	OptionsInterval time.Duration
	ExtraHeaders    []Header // added to every INVITE
	// DTX says that the far side may send no audio while nobody speaks.
	DTX bool

	// Kind says whether the trunk registers: a registered trunk sends REGISTER and is up only while
	// it is registered. RegisterSec is the lifetime that it asks for; 0 means 600.
	Kind        engine.TrunkKind
	RegisterSec int
	// OutboundProxy is the host[:port] that requests are sent to instead of Host, which stays in
	// the Request-URI.
	OutboundProxy string
	// Listener is the name of the listener that the trunk uses; empty means the first. ExternalHost
	// overrides the listener's.
	Listener, ExternalHost string
	// TLSServerName is the name required in the certificate, Host if empty; TLSRoots are the
	// trusted roots as PEM, the system's if empty; TLSInsecure checks neither.
	TLSServerName, TLSRoots string
	TLSInsecure             bool
	// TLSCertificate and TLSKey, as PEM, are shown to a far side that asks for a certificate; empty
	// means the listener's.
	TLSCertificate, TLSKey string

	// ReliableProvisionals (RFC 3262) is supported (also when empty), required, or off.
	ReliableProvisionals string
	// SessionSec is the Session-Expires of RFC 4028 in seconds, at least 90; 0 means 1800, negative
	// means no session timer.
	SessionSec int
	// Redirects is how many 3xx responses one leg follows; 0 means none.
	Redirects int
}

// Header is one extra header of an INVITE.
type Header struct{ Name, Value string }

// trust is what connections over TLS check and show.
func (c *Config) trust() transport.TLSTrust {
	return transport.TLSTrust{Roots: c.TLSRoots, Insecure: c.TLSInsecure, Certificate: c.TLSCertificate, Key: c.TLSKey}
}

func (c *Config) equal(o *Config) bool { return reflect.DeepEqual(c, o) }

// Values of TrunkConfig.ReliableProvisionals.
const (
	reliableRequired = "required"
	reliableOff      = "off"
)
