package engine

import "time"

// Bot is a configured voice bot: workers that speak Twilio Media Streams.
type Bot struct {
	ID        BotID    `json:"id"`
	Name      string   `json:"name"`
	Active    bool     `json:"active"`
	Seats     int      `json:"seats"`     // conversations that its workers can hold at the same time
	Endpoints []string `json:"endpoints"` // ws:// or wss:// URLs, tried in this order
	// AuthToken signs the upgrade request (X-Twilio-Signature). Secret.
	AuthToken string `json:"-"`
	// Account is the "AC" identifier that the bot sees.
	Account string `json:"account"`
	// Variables that a dialout must bring.
	Variables []string  `json:"required_variables,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// TrunkSettings are one carrier connection: where it is and what it may carry.
type TrunkSettings struct {
	ID         TrunkID `json:"id"`
	Host       string  `json:"host"`
	Port       int     `json:"port"`
	Transport  string  `json:"transport"` // udp, tcp
	Username   string  `json:"username,omitempty"`
	Password   string  `json:"-"` // secret
	FromDomain string  `json:"from_domain,omitempty"`
	// NumberFormat: e164 (with plus), e164_no_plus.
	NumberFormat string `json:"number_format,omitempty"`
	CPSCap       int    `json:"cps_cap"`     // new calls a second, 0 = 10
	ChannelCap   int    `json:"channel_cap"` // simultaneous legs, 0 = 100
	Priority     int    `json:"priority"`    // lower is tried first
	Weight       int    `json:"weight"`      // share among equal priority, 0 = 1
	OptionsSec   int    `json:"options_s"`   // OPTIONS interval, 0 = 30
	Active       bool   `json:"active"`
}

// NumberSettings are one outbound number and its caps.
type NumberSettings struct {
	Number        PhoneNumber `json:"number"`
	ConcurrentCap int         `json:"concurrent_cap"` // calls at the same time from this number, 0 = no cap
	HourCap       int         `json:"hour_cap"`       // dials an hour, 0 = no cap
	DayCap        int         `json:"day_cap"`        // dials a day, 0 = no cap
	RestSec       int         `json:"rest_s"`         // rest after use
	State         string      `json:"state"`          // active, resting, quarantined, retired
}

// NumberDials are dials from an outbound number at about one time.
type NumberDials struct {
	Number PhoneNumber
	At     time.Time
	Count  int
}

// APIKey is a stored key: only the hash and what is shown of it.
type APIKey struct {
	ID         KeyID        `json:"id"`
	Name       string       `json:"name"`
	Hash       [32]byte     `json:"-"`      // SHA-256 of the key
	Masked     string       `json:"masked"` // "vx_AbCd…"
	Active     bool         `json:"is_active"`
	ExpiresAt  *time.Time   `json:"expires_at"`
	Scopes     []string     `json:"scopes,omitempty"`    // empty = all of dialout, trigger, exclude, results, read
	Campaigns  []CampaignID `json:"campaigns,omitempty"` // empty = all
	CreatedAt  time.Time    `json:"created_at"`
	CreatedBy  string       `json:"created_by"`
	LastUsedAt *time.Time   `json:"last_used_at"`
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
}

// UserSession is a log-in that lasts, as it is stored: of its token only the
// hash. It ends at ExpiresAt, which use moves on.
type UserSession struct {
	Hash      [32]byte // SHA-256 of the token
	User      UserID
	CreatedAt time.Time
	SeenAt    time.Time // last use, as far as it is written down
	ExpiresAt time.Time
}
