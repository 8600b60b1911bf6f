package amd

import "time"

// Config of a Detector; zero fields have the defaults.
type Config struct {
	// Timeout is the latest moment of a decision, in media time since the
	// first frame; default 3 s. An undecided call is unknown then.
	Timeout time.Duration
	// TalkTimeout takes its place while the far side is speaking; default 4 s.
	TalkTimeout time.Duration
	// HumanSpeech and HumanPause: that much speech at most, then a pause that
	// long, is a person who waits for an answer; defaults 2.1 s and 660 ms.
	HumanSpeech, HumanPause time.Duration
	// MachineSpeech is how much speech without such a pause is a recording;
	// default 2.8 s.
	MachineSpeech time.Duration
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.Timeout, 3*time.Second)
	set(&c.TalkTimeout, max(4*time.Second, c.Timeout))
	set(&c.HumanSpeech, 2100*time.Millisecond)
	set(&c.HumanPause, 660*time.Millisecond)
	set(&c.MachineSpeech, 2800*time.Millisecond)
	return c
}
