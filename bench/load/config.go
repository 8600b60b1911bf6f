package load

import (
	"fmt"
	"time"
)

// Config is one measurement. Zero values mean the default in parentheses.
type Config struct {
	Binary string // the program to measure; required

	Rate     int           // calls offered per second (300)
	Duration time.Duration // of the offer (20 s)
	Talk     time.Duration // bot connected to its hang-up (2 s)
	Ring     time.Duration // INVITE to the carrier's 200 OK (200 ms)
	Media    bool          // callee and bot speak all the time
	AMD      bool          // the campaign classifies answers (parallel)
	Seats    int           // of the bot (twice what the rate needs)

	Trunk string // host:port of another answerer; the model carrier is not started
	SIPp  bool   // start SIPp's -sn uas as the answerer
	Bot   string // how to reach the bot: ws (the default), or sip: a model that accepts INVITEs and hangs up after Talk

	// Symmetric is media.symmetric of the trunk (auto). On loopback no call latches: give the engine another RTP host.
	Symmetric string

	FindMax bool // search the highest rate that succeeds, from Rate upwards
	Step    int  // resolution of the search, calls/s (25)
	MaxRate int  // end of the search, calls/s (3000)

	ListTimed bool // the contacts of a list have times, priorities and several numbers, and their campaign a cadence

	Profiles string   // folder for CPU, heap and allocation profiles of the engine
	Keep     bool     // keep data and logs
	Env      []string // K=V for the engine

	Log func(format string, args ...any) // progress; nil: none

	// Replacements for the usual ones: callees configures the model carrier's callees, and
	// conversation the model bot's conversations.
	callees, conversation map[string]any
}

// Limits of a run: it is bounded and stops by itself.
const (
	rateLimit     = 20000
	durationLimit = 15 * time.Minute
	contactLimit  = 2_000_000
)

func (c Config) withDefaults() (Config, error) {
	if c.Rate == 0 {
		c.Rate = 300
	}
	or := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	or(&c.Duration, 20*time.Second)
	or(&c.Talk, 2*time.Second)
	or(&c.Ring, 200*time.Millisecond)
	if c.Step == 0 {
		c.Step = 25
	}
	if c.MaxRate == 0 {
		c.MaxRate = 3000
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	switch {
	case c.Binary == "":
		return c, fmt.Errorf("load: the program to measure is not named")
	case c.Rate < 1 || c.Rate > rateLimit:
		return c, fmt.Errorf("load: --rate must be 1 to %d calls a second", rateLimit)
	case c.Duration < 3*time.Second || c.Duration > durationLimit:
		return c, fmt.Errorf("load: --duration must be 3s to %s", durationLimit)
	case c.Talk < 100*time.Millisecond || c.Talk > durationLimit:
		return c, fmt.Errorf("load: --talk must be 100ms to %s", durationLimit)
	case c.Ring < 0 || c.Ring > 20*time.Second:
		return c, fmt.Errorf("load: --ring must be 0 to 20s")
	case float64(c.Rate)*c.Duration.Seconds() > contactLimit:
		return c, fmt.Errorf("load: rate times duration is over %d calls", contactLimit)
	case c.Trunk != "" && c.SIPp:
		return c, fmt.Errorf("load: --trunk and --sipp are mutually exclusive")
	case c.Bot != "" && c.Bot != "ws" && c.Bot != "sip":
		return c, fmt.Errorf("load: --bot must be ws or sip")
	case c.MaxRate > rateLimit || c.Step < 1:
		return c, fmt.Errorf("load: --max-rate must be at most %d and --step at least 1", rateLimit)
	}
	return c, nil
}

// calls is the number of calls offered.
func (c *Config) calls() int { return int(float64(c.Rate) * c.Duration.Seconds()) }

// seats is enough seats for every conversation, with a margin.
func (c *Config) seats() int {
	if c.Seats > 0 {
		return c.Seats
	}
	return max(50, int(2*float64(c.Rate)*(c.Talk+time.Second).Seconds()))
}
