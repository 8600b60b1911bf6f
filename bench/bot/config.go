package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/admin"
	"dialler/bench/draw"
	"dialler/engine"
)

// Config configures the bot. The zero value is a bot on a free loopback port that talks, waits for
// the callee to hang up, and posts DefaultResults.
type Config struct {
	Listen      string `json:"listen,omitempty"` // host:port; port 0 takes a free one
	Path        string `json:"path,omitempty"`   // of the socket; default "/media"
	AllowRemote bool   `json:"allow_remote,omitempty"`
	Seed        uint64 `json:"seed,omitempty"`

	// AuthToken, if set, verifies X-Twilio-Signature; an upgrade without a valid one gets 403.
	// PublicURL is the URL that was signed; if empty it is composed from the Host header and the
	// path.
	AuthToken string `json:"auth_token,omitempty"`
	PublicURL string `json:"public_url,omitempty"`

	// Seats is the number of concurrent sessions beyond which an upgrade gets 503. 0 means no
	// limit.
	Seats int  `json:"seats,omitempty"`
	Door  Door `json:"door,omitzero"`

	// Conversations are drawn by weight; Script sets those of single numbers: the n-th session with
	// the number takes the n-th entry, later ones the last.
	Conversations []Conversation                        `json:"conversations,omitempty"`
	Script        map[engine.PhoneNumber][]Conversation `json:"script,omitempty"`
	// Results are drawn by weight if the conversation names none.
	Results []Result `json:"results,omitempty"`

	// ResultTries bounds the posts of one result (default 10); ResultBackoff
	// is the wait after the first failure, doubling up to 32 times that
	// (default 200 ms).
	ResultTries   int           `json:"result_tries,omitempty"`
	ResultBackoff time.Duration `json:"result_backoff,omitempty"`

	// KeepSessions bounds the finished sessions that are kept one by one; older ones are only
	// counted in the summary, and their numbers are new again. 0 means all are kept.
	KeepSessions int `json:"keep_sessions,omitempty"`
	// ReadEvery, if set, makes the bot read its sockets in batches of that length instead of frame
	// by frame, at a fraction of the cost; the times of what it hears, including a stop frame, are
	// that coarse.
	ReadEvery time.Duration `json:"read_every,omitempty"`

	HTTP      string        `json:"http,omitempty"` // host:port of the admin interface; empty: none
	StopAfter time.Duration `json:"stop_after,omitempty"`

	Log *zerolog.Logger `json:"-"`
}

// Door is the behaviour before the upgrade.
type Door struct {
	Delay       draw.Span `json:"delay,omitzero"`         // before every answer
	SlowShare   float64   `json:"slow_share,omitempty"`   // of the upgrades
	Slow        draw.Span `json:"slow,omitzero"`          // their delay
	RefuseShare float64   `json:"refuse_share,omitempty"` // get 503
	DropShare   float64   `json:"drop_share,omitempty"`   // the connection is closed without an answer
}

// Conversation is what the bot does in one session.
type Conversation struct {
	Weight float64 `json:"weight,omitempty"`
	// Talk is the time from the start frame until the bot closes the socket; zero waits for the
	// callee to hang up.
	Talk draw.Span `json:"talk,omitzero"`
	// Die, if set, is the time from the start frame until the socket breaks without a close frame,
	// as if the bot's process died.
	Die draw.Span `json:"die,omitzero"`

	Think     draw.Span `json:"think,omitzero"`     // start frame to the first word
	Utterance draw.Span `json:"utterance,omitzero"` // default 2s..5s
	Pause     draw.Span `json:"pause,omitzero"`     // mark returned to the next sentence; default 1s..4s
	Mute      bool      `json:"mute,omitempty"`     // says nothing
	// Burst sends a whole sentence at once, in frames of half a second, as bots with fast speech
	// synthesis do; otherwise 20 ms frames in real time.
	Burst bool `json:"burst,omitempty"`
	// Noise is how many invalid frames the bot sends at the start: no JSON, unknown events, audio
	// that is not base64, one of 300 KiB.
	Noise int `json:"noise,omitempty"`
	// Clear is the fraction of sentences that the bot breaks off half-way with a clear frame, as if
	// interrupted.
	Clear float64 `json:"clear,omitempty"`

	Result *Result `json:"result,omitempty"`
}

// Result is what the bot reports of a conversation.
type Result struct {
	Weight float64 `json:"weight,omitempty"`
	// None means that nothing is ever reported.
	None           bool              `json:"none,omitempty"`
	Disposition    string            `json:"disposition,omitempty"`
	SubDisposition string            `json:"sub_disposition,omitempty"`
	DoNotCall      bool              `json:"do_not_call,omitempty"`
	Callback       bool              `json:"callback,omitempty"`
	CallbackIn     draw.Span         `json:"callback_in,omitzero"` // from now; zero names no time
	Variables      map[string]string `json:"variables,omitempty"`
	Delay          draw.Span         `json:"delay,omitzero"` // end of the session to the first post
}

// DefaultResults are the results of an ordinary sales campaign.
var DefaultResults = []Result{
	{Weight: 25, Disposition: "interested"},
	{Weight: 50, Disposition: "not_interested"},
	{Weight: 15, Disposition: "no_decision"},
	{Weight: 7, Disposition: "callback", Callback: true, CallbackIn: draw.Between(time.Hour, 26*time.Hour)},
	{Weight: 3, Disposition: "do_not_call", DoNotCall: true},
}

func (c Config) withDefaults() (Config, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if _, err := admin.Address(c.Listen, c.AllowRemote); err != nil {
		return c, fmt.Errorf("listen: %w", err)
	}
	if c.Path == "" {
		c.Path = "/media"
	}
	if c.Path[0] != '/' {
		return c, fmt.Errorf("path %q must begin with a slash", c.Path)
	}
	if c.ResultTries <= 0 {
		c.ResultTries = 10
	}
	if c.ResultBackoff <= 0 {
		c.ResultBackoff = 200 * time.Millisecond
	}
	if c.Log == nil {
		nop := zerolog.Nop()
		c.Log = &nop
	}
	return c, nil
}

// rules are the part of the configuration that can change while sessions
// are open. They are replaced as a whole.
type rules struct {
	seed          uint64
	seats         int64
	door          Door
	conversations []Conversation
	script        map[engine.PhoneNumber][]Conversation
	results       []Result
}

func (c *Config) rules() (*rules, error) {
	r := &rules{
		seed: c.Seed, seats: int64(c.Seats), door: c.Door,
		conversations: c.Conversations, script: c.Script, results: c.Results,
	}
	if len(r.conversations) == 0 {
		r.conversations = []Conversation{{Weight: 1}}
	}
	if len(r.results) == 0 {
		r.results = DefaultResults
	}
	for i := range r.results {
		if err := r.results[i].validate(); err != nil {
			return nil, err
		}
	}
	lists := [][]Conversation{r.conversations}
	for number, list := range c.Script {
		if len(list) == 0 {
			return nil, fmt.Errorf("script of %v is empty", number)
		}
		lists = append(lists, list)
	}
	for _, list := range lists {
		for i := range list {
			if err := list[i].Result.validate(); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (r *Result) validate() error {
	if r == nil || r.None || r.Disposition != "" {
		return nil
	}
	return errors.New("a result needs a disposition, or none: true")
}

type plainConfig Config

// jsonConfig shadows the durations of Config with their text form.
type jsonConfig struct {
	*plainConfig
	ResultBackoff draw.Length `json:"result_backoff,omitzero"`
	ReadEvery     draw.Length `json:"read_every,omitzero"`
	StopAfter     draw.Length `json:"stop_after,omitzero"`
}

func (c *Config) shadow() jsonConfig {
	return jsonConfig{(*plainConfig)(c), draw.Length(c.ResultBackoff), draw.Length(c.ReadEvery), draw.Length(c.StopAfter)}
}

// MarshalJSON writes durations as text.
func (c Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(c.shadow())
}

// UnmarshalJSON reads durations as text, over the values already there.
func (c *Config) UnmarshalJSON(b []byte) error {
	s := c.shadow()
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	c.ResultBackoff, c.ReadEvery, c.StopAfter = time.Duration(s.ResultBackoff), time.Duration(s.ReadEvery), time.Duration(
		s.StopAfter)
	return nil
}
