package amd

import "time"

// Config of a Detector; zero fields have the defaults.
type Config struct {
	// Timeout is the latest moment of a decision, in media time since the
	// first frame; default 3 s. An undecided call is unknown then.
	Timeout time.Duration
	// TalkTimeout takes its place while the far side is speaking; default 4 s.
	TalkTimeout time.Duration
	// Model decides between people and machines; default the shipped one.
	Model *Model
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.Timeout, 3*time.Second)
	set(&c.TalkTimeout, max(4*time.Second, c.Timeout))
	if c.Model == nil {
		c.Model = Shipped()
	}
	return c
}
