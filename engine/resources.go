package engine

import "time"

// Bot is a configured voice bot: workers that speak Twilio Media Streams, or
// that are called by SIP.
type Bot struct {
	ID        BotID    `json:"id"`
	Name      string   `json:"name"`
	Active    bool     `json:"active"`
	Seats     int      `json:"seats"`     // conversations that its workers can hold concurrently
	Endpoints []string `json:"endpoints"` // ws:// or wss:// URLs, or sip: URIs; tried in this order
	// AuthToken signs the upgrade request (X-Twilio-Signature). Secret.
	AuthToken string `json:"-"`
	// Headers are sent with the request that opens a socket, and to HealthURL. Secret.
	Headers []HTTPHeader `json:"-"`
	// HealthURL is what probes GET, any 2xx meaning that the bot takes calls: an http or https URL
	// that answers for all endpoints, or a path, which each endpoint answers for itself. Empty means
	// that Probe says what a probe is.
	HealthURL string `json:"health_url"`
	// Probe is how a socket is probed without a HealthURL: ProbeConnection (also when empty) or
	// ProbeSession.
	Probe string `json:"probe"`
	// Account is the "AC" identifier that the bot sees.
	Account string `json:"account"`
	// Variables are the variables that a dialout must provide.
	Variables []string  `json:"required_variables,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Values of Bot.Probe.
const (
	ProbeConnection = "connection" // TCP, and TLS of wss://: no request is made
	ProbeSession    = "session"    // the upgrade, closed again before any frame
)

// HTTPHeader is a header to be written into a request.
type HTTPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TrunkKind says how a carrier authenticates our calls.
type TrunkKind string

const (
	TrunkByIP       TrunkKind = "ip"          // by our address; a challenge is a refusal
	TrunkByPassword TrunkKind = "credentials" // by digest (RFC 3261 §22)
	TrunkRegistered TrunkKind = "registered"  // by digest, and REGISTER keeps our address with the carrier (RFC 3261 §10)
)

// Values of TrunkSettings.Origin.
const (
	TrunkOfAPI  = "api"
	TrunkOfFile = "file"
)

// TrunkSettings are one carrier connection: its address and its limits.
type TrunkSettings struct {
	ID        TrunkID `json:"id"`
	Host      string  `json:"host"`
	Port      int     `json:"port"`
	Transport string  `json:"transport"` // udp, tcp, tls
	// Kind, when empty, is credentials with a username, otherwise ip.
	Kind       TrunkKind `json:"kind,omitempty"`
	Username   string    `json:"username,omitempty"`
	Password   string    `json:"-"` // secret
	FromDomain string    `json:"from_domain,omitempty"`
	// FromUser takes the place of the caller ID in From, for a carrier that
	// wants the account there; CallerIDHeader then carries the number.
	FromUser string `json:"from_user,omitempty"`
	// CallerIDHeader is none, p_asserted_identity or p_preferred_identity (RFC 3325).
	CallerIDHeader string `json:"caller_id_header,omitempty"`
	// Privacy is the Privacy header (RFC 3323): empty or none, id, header, user, critical, or
	// several with ";".
	Privacy string `json:"privacy,omitempty"`
	// NumberFormat is e164 (with plus), e164_no_plus, national or international (with 00). National
	// needs NumberCountry.
	NumberFormat  string `json:"number_format,omitempty"`
	NumberCountry string `json:"number_country,omitempty"` // ISO 3166
	// OutboundProxy is the host[:port] that requests are sent to instead of Host, which stays in
	// the Request-URI.
	OutboundProxy string `json:"outbound_proxy,omitempty"`
	// Listener is the name of the SIP listener that the trunk uses; empty is
	// the first one. ExternalHost overrides the listener's address behind NAT.
	Listener     string `json:"listener,omitempty"`
	ExternalHost string `json:"external_host,omitempty"`
	// TLSServerName is the name that the certificate must have (empty means Host), TLSRoots are
	// root certificates as PEM (empty means the system's), and TLSInsecure skips all checks.
	TLSServerName string `json:"tls_server_name,omitempty"`
	TLSRoots      string `json:"tls_roots,omitempty"`
	TLSInsecure   bool   `json:"tls_insecure,omitempty"`
	// TLSCertificate is shown to a far side that asks for one, and TLSKey is its private key, both
	// as PEM; empty means the listener's.
	TLSCertificate string      `json:"tls_certificate,omitempty"`
	TLSKey         string      `json:"-"`                       // secret
	RegisterSec    int         `json:"register_s,omitempty"`    // requested lifetime of a registration, 0 = 600
	UserAgent      string      `json:"user_agent,omitempty"`    // empty: the dialler's
	ExtraHeaders   []SIPHeader `json:"extra_headers,omitempty"` // of every INVITE
	// Redirects is how many 3xx answers one leg follows; 0 none, at most 5.
	Redirects int `json:"redirects,omitempty"`
	// ReliableProvisionals (RFC 3262) is supported (also when empty), required or off.
	ReliableProvisionals string `json:"reliable_provisionals,omitempty"`
	// SessionSec is the Session-Expires of RFC 4028; 0 = 1800, -1 = no timer.
	SessionSec int `json:"session_s,omitempty"`
	// Inbound is the status with which calls that come in over this trunk are refused: forbidden
	// (403, also when empty), unavailable (480), busy (486), decline (603).
	Inbound    string       `json:"inbound,omitempty"`
	Media      MediaProfile `json:"media,omitzero"`
	CPSCap     int          `json:"cps_cap"`     // new calls a second, 0 = 10
	ChannelCap int          `json:"channel_cap"` // simultaneous legs, 0 = 100
	Priority   int          `json:"priority"`    // lower is tried first
	Weight     int          `json:"weight"`      // share among equal priority, 0 = 1
	OptionsSec int          `json:"options_s"`   // OPTIONS interval, 0 = none are sent
	Active     bool         `json:"active"`
	// Origin is api (also when empty), or file for a trunk that the configuration file defines anew
	// at every start.
	Origin string `json:"origin,omitempty"`
}

// SIPHeader is a header to be written into a request.
type SIPHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Values of MediaProfile.SRTP; empty is off.
const (
	SRTPOff      = "off"
	SRTPOptional = "optional"
	SRTPRequired = "required"
)

// Values of MediaProfile.DTMF; empty is DTMFByRTP.
const (
	DTMFByRTP  = "rfc4733"
	DTMFByINFO = "info"
)

// Values of MediaProfile.Symmetric; empty is auto.
const (
	SymmetricOff  = "off"
	SymmetricAuto = "auto"
	SymmetricOn   = "on"
)

// Values of MediaProfile.Family; empty is the family of the trunk's address.
const (
	IPv4 = "ipv4"
	IPv6 = "ipv6"
)

// MediaProfile is what a trunk requires of the media path.
type MediaProfile struct {
	// Codecs in order of preference: PCMU, PCMA, G722; empty is PCMU, PCMA.
	Codecs []string `json:"codecs,omitempty"`
	// SRTP is off (also when empty), required (RTP/SAVP with SDES, RFC 4568), or optional: RTP/AVP
	// with keys, for a far side that may answer with or without its own (RFC 8643).
	SRTP string `json:"srtp,omitempty"`
	// DTMF is how we send digits: rfc4733 (also when empty, with INFO where the far side did not
	// offer it), or info.
	DTMF string `json:"dtmf,omitempty"`
	// DTX says that the far side sends neither RTP nor RTCP during silence; its calls are not ended
	// as media_error for that.
	DTX bool `json:"dtx,omitempty"`
	// Symmetric says whether RTP is accepted from an address other than the one in the SDP: off,
	// on, or auto (also when empty), which accepts it where the SDP's address cannot be reached
	// from here.
	Symmetric string `json:"symmetric,omitempty"`
	// Networks are the networks (CIDR) from which such RTP may come, besides the host of the SDP
	// and the one that sent the 200.
	Networks []string `json:"networks,omitempty"`
	// Family is ipv4 or ipv6; empty means that of Reached, where there is an address of it.
	Family string `json:"family,omitempty"`
	// Reached is the address that the trunk's SIP goes to, empty for a trunk that is named; it is
	// not a setting (see engine/trunk.Profile).
	Reached string `json:"-"`
}

// NumberSettings describe one outbound number and its caps.
type NumberSettings struct {
	Number        PhoneNumber `json:"number"`
	ConcurrentCap int         `json:"concurrent_cap"` // calls at the same time from this number, 0 = no cap
	HourCap       int         `json:"hour_cap"`       // dials an hour, 0 = no cap
	DayCap        int         `json:"day_cap"`        // dials a day, 0 = no cap
	RestSec       int         `json:"rest_s"`         // rest after use
	// AnswerFloor is the answer rate, in per cent, below which the number raises an alarm; 0
	// compares the number only with its own past.
	AnswerFloor int `json:"answer_floor_pct"`
	// CallbackPolicy is what becomes of calls to the number (engine/inbound): reject, also when empty,
	// message, or bot; CallbackBot is the bot, CallbackMessage the message (a VoicemailID), "" for the
	// information message.
	CallbackPolicy  string      `json:"callback_policy,omitempty"`
	CallbackBot     BotID       `json:"callback_bot_id,omitempty"`
	CallbackMessage VoicemailID `json:"callback_message_id,omitempty"`
	State           string      `json:"state"` // active, resting, quarantined, retired
}

// NumberDials counts dials from an outbound number at about one time.
type NumberDials struct {
	Number PhoneNumber
	At     time.Time
	Count  int
}

// NumberEnd is how a call from an outbound number ended.
type NumberEnd struct {
	Number   PhoneNumber
	At       time.Time
	Answered bool
	Struck   bool // the caller ID was refused
}

// APIKey is a stored key: only its hash, and what is shown of it.
type APIKey struct {
	ID   KeyID    `json:"id"`
	Name string   `json:"name"`
	Hash [32]byte `json:"-"` // SHA-256 of the key
	// OldHash is that of the secret before a rotation, which is valid until OldUntil; nil if there is none.
	OldHash   *[32]byte    `json:"-"`
	OldUntil  *time.Time   `json:"old_secret_until,omitempty"`
	Masked    string       `json:"masked"` // "vx_AbCd…"
	Active    bool         `json:"is_active"`
	ExpiresAt *time.Time   `json:"expires_at"`
	Scopes    []string     `json:"scopes,omitempty"`    // empty = dialout, trigger, exclude, results, read
	Campaigns []CampaignID `json:"campaigns,omitempty"` // empty = all
	// DialoutsPerDay limits the calls that the key places outside campaigns within any 24 hours; 0
	// means no limit but capacity.
	DialoutsPerDay int        `json:"dialouts_per_day"`
	CreatedAt      time.Time  `json:"created_at"`
	CreatedBy      string     `json:"created_by"`
	LastUsedAt     *time.Time `json:"last_used_at"`
}

// User is a person who may log in.
type User struct {
	ID           UserID     `json:"id"`
	Email        string     `json:"email"`
	Role         string     `json:"role"` // admin, operator, viewer
	PasswordHash string     `json:"-"`    // argon2id, PHC string format
	Active       bool       `json:"active"`
	CreatedAt    time.Time  `json:"created_at"`
	LastLoginAt  *time.Time `json:"last_login_at,omitempty"`
	// TokenGeneration is the generation of valid log-in tokens: a new password or a deactivation
	// invalidates the earlier ones.
	TokenGeneration int `json:"-"`
	// LockedUntil is when the guard on log-ins ends: until then, log-ins from a place where the
	// user has not logged in before are processed one at a time. Nil or a past time means no guard.
	LockedUntil *time.Time `json:"locked_until,omitempty"`
	// Subject is whom an identity provider says that the user is, its issuer before it; "" if the user logs in with a
	// password alone.
	Subject string `json:"-"`
}

const (
	// LogInFailures is how many failed log-ins in a row, from any addresses, put an account under
	// guard; LogInLock is for how long.
	LogInFailures = 20
	LogInLock     = 15 * time.Minute
)

// Locked says whether log-ins of the user are guarded now.
func (u *User) Locked(now time.Time) bool { return u.LockedUntil != nil && now.Before(*u.LockedUntil) }

// UserSession is a stored log-in session; of its token only the hash is stored. It ends at
// ExpiresAt, which use extends.
type UserSession struct {
	Hash      [32]byte // SHA-256 of the token
	User      UserID
	CreatedAt time.Time
	SeenAt    time.Time // last use, as far as recorded
	ExpiresAt time.Time
}
