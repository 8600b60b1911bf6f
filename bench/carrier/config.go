package carrier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/admin"
	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/bench/voice"
	"dialler/engine"
)

// Config configures the carrier. The zero value is a carrier on a free loopback port whose callees
// follow DefaultMix.
type Config struct {
	// Listen is host:port for both UDP and TCP; port 0 takes a free one.
	Listen string `json:"listen,omitempty"`
	// AllowRemote permits addresses other than loopback.
	AllowRemote bool `json:"allow_remote,omitempty"`

	Seed uint64 `json:"seed,omitempty"`
	// Profile is drawn from by weight; if empty, Mix provides one.
	Profile []Behaviour `json:"profile,omitempty"`
	Mix     *Mix        `json:"mix,omitempty"`
	// Script sets the behaviour of single numbers: the n-th call to the number takes the n-th
	// entry, later ones the last. It overrides the profile.
	Script map[engine.PhoneNumber][]Behaviour `json:"script,omitempty"`

	// CountryCode, for example "49", converts called numbers in national format (leading 0) or with
	// 00 to E.164.
	CountryCode string `json:"country_code,omitempty"`

	// Credentials, if set, are demanded for INVITE and REGISTER.
	Credentials *Credentials `json:"credentials,omitempty"`

	// CPS is the call rate above which INVITEs get 503 "CPS limit exceeded" with Retry-After;
	// CPSBurst is how many calls may come at once (default: one second's worth). 0 means no limit.
	CPS      float64 `json:"cps,omitempty"`
	CPSBurst int     `json:"cps_burst,omitempty"`
	// Channels is the number of concurrent calls above which INVITEs get 503 "Concurrent call limit
	// exceeded". 0 means no limit.
	Channels int `json:"channels,omitempty"`
	// Dead makes everything disappear, in both directions, as if the trunk's far end had lost
	// power; Configure can switch it.
	Dead bool `json:"dead,omitempty"`
	// Options is the status with which OPTIONS are answered: 0 is 200, -1 no answer.
	Options int `json:"options,omitempty"`
	// Loss is the fraction of UDP messages lost in each direction. With it, bye_before_ack and
	// missing ACKs are no longer the caller's fault.
	Loss float64 `json:"loss,omitempty"`
	// RetryAfter goes into those refusals (default 1 s, whole seconds).
	RetryAfter time.Duration `json:"retry_after,omitempty"`

	// T1, T2 and T4 are RFC 3261's timers (500 ms, 4 s, 5 s).
	T1 time.Duration `json:"t1,omitempty"`
	T2 time.Duration `json:"t2,omitempty"`
	T4 time.Duration `json:"t4,omitempty"`
	// MaxCall ends a call that neither side ended (default 1 h), so that a
	// forgotten run stops by itself.
	MaxCall time.Duration `json:"max_call,omitempty"`
	// StopAfter ends Run (0: until its context ends).
	StopAfter time.Duration `json:"stop_after,omitempty"`

	// Media turns RTP on. Without it the SDP answers name a port that is never read.
	Media bool `json:"media,omitempty"`
	// Codecs in order of preference, "PCMU" and "PCMA" (default both); the first codec in the
	// caller's offer that is listed is used.
	Codecs []string `json:"codecs,omitempty"`
	// RTPPortMin and RTPPortMax bound the RTP ports; 0 leaves them to the
	// system.
	RTPPortMin int `json:"rtp_port_min,omitempty"`
	RTPPortMax int `json:"rtp_port_max,omitempty"`

	// LedgerFile gets a JSON line for every change of a call.
	LedgerFile string `json:"ledger_file,omitempty"`
	// KeepInvites keeps the text of every call's INVITE in its row, for checking headers.
	KeepInvites bool `json:"keep_invites,omitempty"`
	// HTTP is host:port of the admin interface; empty means none.
	HTTP string `json:"http,omitempty"`

	Log *zerolog.Logger `json:"-"`
	// Tap, if set, is called with each audio frame that a callee hears, in order of arrival. It
	// must not block, nor query the carrier.
	Tap func(Frame) `json:"-"`
}

// Frame is a frame of the caller's audio.
type Frame struct {
	CallID  string
	Payload []byte // in the call's codec; valid until Tap returns
	// Said is how many 20 ms frames the callee has sent of its recording or clip, and of what
	// follows it.
	Said int
}

// DefaultMix is an ordinary consumer campaign.
var DefaultMix = Mix{
	AnswerRate: 0.45, MachineShare: 0.3, FaxShare: 0.01,
	Busy: 0.08, Invalid: 0.03, Unavailable: 0.05, Congestion: 0.01, Rejected: 0.02,
	EarlyMedia: 0.2, HangUpShare: 0.5,
	Post: draw.Between(200*time.Millisecond, 1500*time.Millisecond),
	Ring: draw.Between(2*time.Second, 20*time.Second),
	Talk: draw.Exponential(45 * time.Second),
}

func (c Config) withDefaults() (Config, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	addr, err := admin.Address(c.Listen, c.AllowRemote)
	if err != nil {
		return c, fmt.Errorf("listen: %w", err)
	}
	if addr.Addr().IsUnspecified() {
		return c, errors.New("listen: the address goes into Contact and SDP; give one that callers can reach")
	}
	setDuration(&c.T1, 500*time.Millisecond)
	setDuration(&c.T2, 8*c.T1)
	setDuration(&c.T4, 10*c.T1)
	setDuration(&c.MaxCall, time.Hour)
	setDuration(&c.RetryAfter, time.Second)
	if len(c.Codecs) == 0 {
		c.Codecs = []string{"PCMU", "PCMA"}
	}
	for _, name := range c.Codecs {
		if _, ok := codecNamed(name); !ok {
			return c, fmt.Errorf("codec %q is unknown; use PCMU or PCMA", name)
		}
	}
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	return c, nil
}

func setDuration(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

func codecNamed(name string) (voice.Codec, bool) {
	switch name {
	case "PCMU":
		return voice.PCMU, true
	case "PCMA":
		return voice.PCMA, true
	}
	return 0, false
}

// media returns the audio configuration for an address.
func (c *Config) media(ip netip.Addr) media.Config {
	m := media.Config{IP: ip, On: c.Media, Remote: c.AllowRemote, Min: c.RTPPortMin, Max: c.RTPPortMax}
	for _, name := range c.Codecs {
		codec, _ := codecNamed(name)
		m.Codecs = append(m.Codecs, codec)
	}
	return m
}

// rules are the part of the configuration that can change during calls. They are replaced as a
// whole.
type rules struct {
	seed        uint64
	profile     []Behaviour
	script      map[engine.PhoneNumber][]Behaviour
	credentials *Credentials
	limit       *limiter
	channels    int64
	retryAfter  time.Duration
	dead        bool
	options     int
	loss        float64
}

func (c *Config) rules() (*rules, error) {
	profile := c.Profile
	if len(profile) == 0 {
		mix := DefaultMix
		if c.Mix != nil {
			mix = *c.Mix
		}
		if err := mix.validate(); err != nil {
			return nil, err
		}
		profile = mix.Profile()
	}
	for i := range profile {
		if err := profile[i].validate(); err != nil {
			return nil, err
		}
	}
	for number, list := range c.Script {
		if len(list) == 0 {
			return nil, fmt.Errorf("script of %v is empty", number)
		}
		for i := range list {
			if err := list[i].validate(); err != nil {
				return nil, err
			}
		}
	}
	if c.Loss < 0 || c.Loss >= 1 {
		return nil, fmt.Errorf("loss %v: must be a share below 1", c.Loss)
	}
	if err := c.Credentials.validate(); err != nil {
		return nil, err
	}
	r := &rules{
		seed: c.Seed, profile: profile, script: c.Script, credentials: c.Credentials,
		channels: int64(c.Channels), retryAfter: c.RetryAfter, dead: c.Dead, options: cmp.Or(c.Options, 200), loss: c.Loss,
	}
	if c.CPS > 0 {
		burst := c.CPSBurst
		if burst <= 0 {
			burst = max(1, int(c.CPS))
		}
		r.limit = newLimiter(c.CPS, burst)
	}
	return r, nil
}

// behaviour decides the n-th call (from 1) to a number.
func (r *rules) behaviour(number engine.PhoneNumber, n int) (*Behaviour, *rand.Rand) {
	rng := draw.Rand(r.seed, number.E164(), n)
	if list := r.script[number]; len(list) > 0 {
		return &list[min(n, len(list))-1], rng
	}
	return pick(rng, r.profile), rng
}

type plainConfig Config

// jsonConfig shadows the durations of Config with their text form.
type jsonConfig struct {
	*plainConfig
	RetryAfter draw.Length `json:"retry_after,omitzero"`
	T1         draw.Length `json:"t1,omitzero"`
	T2         draw.Length `json:"t2,omitzero"`
	T4         draw.Length `json:"t4,omitzero"`
	MaxCall    draw.Length `json:"max_call,omitzero"`
	StopAfter  draw.Length `json:"stop_after,omitzero"`
}

func (c *Config) shadow() jsonConfig {
	return jsonConfig{
		(*plainConfig)(c), draw.Length(c.RetryAfter),
		draw.Length(c.T1), draw.Length(c.T2), draw.Length(c.T4), draw.Length(c.MaxCall), draw.Length(c.StopAfter),
	}
}

// MarshalJSON writes durations as text.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.shadow()) }

// UnmarshalJSON reads durations as text, over the values already there.
func (c *Config) UnmarshalJSON(b []byte) error {
	s := c.shadow()
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	c.RetryAfter = time.Duration(s.RetryAfter)
	c.T1, c.T2, c.T4 = time.Duration(s.T1), time.Duration(s.T2), time.Duration(s.T4)
	c.MaxCall, c.StopAfter = time.Duration(s.MaxCall), time.Duration(s.StopAfter)
	return nil
}
