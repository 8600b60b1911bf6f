package callee

import (
	"math"
	"strconv"
	"time"

	"dialler/engine"
)

// Scenario describes a world. The letters are those of the pacing notes and of scenario files.
type Scenario struct {
	Workers    Schedule      // N: how many the campaign may use
	Answer     Schedule      // p: share of dials that are answered, apart from the ring timeout
	TalkFactor Schedule      // multiplies every person's talk; like p, it is taken at the dial
	RingMean   time.Duration // R: of a person, from the dial to the answer
	RingSD     time.Duration // S
	Timeout    time.Duration // a line rings no longer
	TalkMean   time.Duration // M: of a person
	Machines   float64       // m: share of machines among the answers
	Short      float64       // s: share of short talks among persons
	Hold       time.Duration // a: how long a machine occupies a worker
	Wait       time.Duration // W: how long an answered call waits for a worker
	Cap        float64       // c: abandoned calls among live answers
	Length     time.Duration // T
	Contacts   int           // how many are dialled, once each; 0 means an endless list
}

// Fixed parts of the callee model.
const (
	failFast     = 0.2             // share of unanswered dials that fail at once …
	failLeast    = time.Second     // … after at least this long
	FastFailMost = 5 * time.Second //
	shortTalk    = 8.0             // s, mean of a short talk
	talkSpread   = 0.8             // coefficient of variation of a long talk
	machineR     = 1.4             // machines answer later …
	machineS     = 0.8             // … and with less spread
)

// Standard is the scenario with the usual values: 50 workers, three of ten
// answer, eight hours.
func Standard() Scenario {
	return Scenario{
		Workers: Always(50), Answer: Always(0.3), TalkFactor: Always(1),
		RingMean: 12 * time.Second, RingSD: 6 * time.Second, Timeout: 27 * time.Second,
		TalkMean: 90 * time.Second, Machines: 0.2, Short: 0.3, Hold: 3 * time.Second,
		Wait: 2 * time.Second, Cap: 0.03, Length: 8 * time.Hour,
	}
}

// Limits of a scenario, so that a typing error does not run for days.
const (
	workersMost = 100_000
	lengthMost  = 31 * 24 * time.Hour

	contactsMost = 100_000_000
)

// Validate names the first invalid field by its letter.
func (s *Scenario) Validate() error {
	if err := s.Workers.validate("N", 0, workersMost); err != nil {
		return err
	}
	if err := s.Answer.validate("p", 0, 1); err != nil {
		return err
	}
	if err := s.TalkFactor.validate("talk_factor", 0.01, 100); err != nil {
		return err
	}
	for _, d := range []struct {
		field           string
		v, least, most_ time.Duration
	}{
		{"R", s.RingMean, time.Second, 5 * time.Minute},
		{"S", s.RingSD, 0, 5 * time.Minute},
		{"timeout", s.Timeout, time.Second, 4 * time.Minute},
		{"M", s.TalkMean, time.Second, 4 * time.Hour},
		{"a", s.Hold, 0, 5 * time.Minute},
		{"W", s.Wait, 0, time.Minute},
		{"T", s.Length, time.Minute, lengthMost},
	} {
		if d.v < d.least || d.v > d.most_ {
			return wrong(d.field, "must be from "+d.least.String()+" to "+d.most_.String())
		}
	}
	for _, d := range []struct {
		field   string
		v, most float64
	}{{"m", s.Machines, 0.99}, {"s", s.Short, 1}, {"c", s.Cap, 0.5}} {
		if !(d.v >= 0 && d.v <= d.most) {
			return wrong(d.field, "must be from 0 to "+number(d.most))
		}
	}
	if s.Contacts < 0 || s.Contacts > contactsMost {
		return wrong("contacts", "must be from 0 to "+strconv.Itoa(contactsMost))
	}
	if s.Short < 1 && s.longTalk() < 1 {
		return wrong("M", "is too short for the share s of short talks, whose mean is 8 s")
	}
	return nil
}

// longTalk is the mean of the talks that are not short, in seconds, chosen so that the overall mean
// is M.
func (s *Scenario) longTalk() float64 {
	return (s.TalkMean.Seconds() - shortTalk*s.Short) / (1 - s.Short)
}

// WorkersAt is N at a time.
func (s *Scenario) WorkersAt(t time.Duration) int { return max(int(math.Round(s.Workers.At(t))), 0) }

// CapPPM is the cap in parts per million.
func (s *Scenario) CapPPM() int { return int(math.Round(s.Cap * 1e6)) }

func wrong(field, message string) error {
	return engine.Invalid("invalid_scenario", field+": "+message,
		engine.FieldError{Field: field, Code: "invalid", Message: message})
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
