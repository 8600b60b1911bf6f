package callee

import (
	"math"
	"slices"
	"time"
)

// Schedule is a value over time: a number; steps; sine waves around a base; or a base with pieces
// that repeat in every period.
type Schedule struct {
	Base   float64
	Steps  []Step
	Sines  []Sine
	Period time.Duration
	Pieces []Piece
}

// Step sets the value from At on. Before the first step, the value is that of the first step.
type Step struct {
	At    time.Duration
	Value float64
}

// Sine adds Amplitude·sin(2πt/Period + Phase).
type Sine struct {
	Amplitude float64
	Period    time.Duration
	Phase     float64 // radians
}

// Piece sets the value from Start to End of each period.
type Piece struct {
	Start, End time.Duration
	Value      float64
}

// Always is a constant value.
func Always(v float64) Schedule { return Schedule{Base: v} }

// At returns the value at a time since the start.
func (s *Schedule) At(t time.Duration) float64 {
	switch {
	case len(s.Steps) > 0:
		v := s.Steps[0].Value
		for _, p := range s.Steps {
			if p.At > t {
				break
			}
			v = p.Value
		}
		return v
	case s.Period > 0:
		in := t % s.Period
		for _, p := range s.Pieces {
			if in >= p.Start && in < p.End {
				return p.Value
			}
		}
	}
	v := s.Base
	for _, w := range s.Sines {
		v += w.Amplitude * math.Sin(2*math.Pi*t.Seconds()/w.Period.Seconds()+w.Phase)
	}
	return v
}

// Next returns the first instant after t at which the value jumps; ok is false when there is none.
// Sines do not jump.
func (s *Schedule) Next(t time.Duration) (at time.Duration, ok bool) {
	consider := func(x time.Duration) {
		if x > t && (!ok || x < at) {
			at, ok = x, true
		}
	}
	for _, p := range s.Steps {
		consider(p.At)
	}
	if len(s.Steps) == 0 && s.Period > 0 {
		start := t - t%s.Period
		for _, p := range s.Pieces {
			for _, x := range []time.Duration{p.Start, p.End} {
				consider(start + x)
				consider(start + s.Period + x)
			}
		}
	}
	return at, ok
}

// Range returns bounds of the value over all times.
func (s *Schedule) Range() (low, high float64) {
	if len(s.Steps) > 0 {
		low, high = s.Steps[0].Value, s.Steps[0].Value
		for _, p := range s.Steps {
			low, high = min(low, p.Value), max(high, p.Value)
		}
		return low, high
	}
	low, high = s.Base, s.Base
	for _, w := range s.Sines {
		low, high = low-math.Abs(w.Amplitude), high+math.Abs(w.Amplitude)
	}
	for _, p := range s.Pieces {
		low, high = min(low, p.Value), max(high, p.Value)
	}
	return low, high
}

// validate names the invalid field.
func (s *Schedule) validate(field string, low, high float64) error {
	kinds := 0
	for _, given := range []bool{len(s.Steps) > 0, len(s.Sines) > 0, s.Period > 0 || len(s.Pieces) > 0} {
		if given {
			kinds++
		}
	}
	if kinds > 1 {
		return wrong(field, "steps, sines and repeat cannot be combined")
	}
	if !slices.IsSortedFunc(s.Steps, func(a, b Step) int { return int(a.At - b.At) }) {
		return wrong(field+".steps", "must be in time order")
	}
	for _, w := range s.Sines {
		if w.Period <= 0 {
			return wrong(field+".sines.period", "must be more than 0")
		}
	}
	if len(s.Pieces) > 0 && s.Period <= 0 {
		return wrong(field+".repeat.period", "must be more than 0")
	}
	for i, p := range s.Pieces {
		if p.Start < 0 || p.End <= p.Start || p.End > s.Period {
			return wrong(field+".repeat.pieces", "start must come before end, both within the period")
		}
		if i > 0 && p.Start < s.Pieces[i-1].End {
			return wrong(field+".repeat.pieces", "must be in order and must not overlap")
		}
	}
	if l, h := s.Range(); !(l >= low) || !(h <= high) {
		return wrong(field, "must stay from "+number(low)+" to "+number(high)+"; it ranges from "+number(l)+" to "+number(h))
	}
	return nil
}
