package amd

import "time"

// Config configures a Detector; zero fields have the defaults.
type Config struct {
	// Timeout is the latest time of a decision, in media time since the first frame; default 3 s. A
	// call undecided by then is unknown.
	Timeout time.Duration
	// TalkTimeout applies instead while the far side is speaking; default 4 s.
	TalkTimeout time.Duration
	// Bias is added to the log-odds of a machine; 0 is the tuned rule, a negative value requires
	// more evidence.
	Bias float64
	// Model distinguishes people from machines; default the shipped one.
	Model *Model
}

// QuietTimeout is the default of Config.Timeout.
const QuietTimeout = 3 * time.Second

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.Timeout, QuietTimeout)
	set(&c.TalkTimeout, max(4*time.Second, c.Timeout))
	if c.Model == nil {
		c.Model = Shipped()
	}
	return c
}
