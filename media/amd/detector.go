package amd

import (
	"time"

	"dialler/engine"
)

// Config of the detector; the zero value has the defaults.
type Config struct {
	// Timeout is the latest moment of a decision, in media time; default 3 s.
	Timeout time.Duration
}

// Decision is what the detector says.
type Decision struct {
	Verdict     engine.Verdict
	Confidence  float64       // 0…1
	At          time.Duration // media time of the decision
	GreetingEnd time.Duration // media time at which the greeting ended; 0 when it did not
	Features    Features
}

// Detector classifies one call.
type Detector struct{ cfg Config }

// Features are what the decision rests on.
type Features struct{}

// Map gives the features by name.
func (f Features) Map() map[string]float64 { return nil }

// New gives a detector.
func New(cfg Config) *Detector { return &Detector{cfg: cfg} }

// Feed takes the next 20 ms.
func (d *Detector) Feed(frame []int16) (Decision, bool) { return Decision{}, false }
