package draw

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

type shape uint8

const (
	fixed shape = iota
	uniform
	exponential
)

// expCap bounds an exponential draw, in means: one call in 22,000 is cut, so that no load run waits
// for the tail.
const expCap = 10

// Span is a random length of time. The zero value is always 0. Its text form, used in JSON, is
// "3s", "2s..8s" (uniform) or "exp(60s)" (exponential with that mean, at most ten means).
type Span struct {
	shape shape
	a, b  time.Duration
}

// Exactly is always d.
func Exactly(d time.Duration) Span { return Span{a: d} }

// Between is uniform over [lo, hi].
func Between(lo, hi time.Duration) Span { return Span{shape: uniform, a: lo, b: hi} }

// Exponential has the given mean.
func Exponential(mean time.Duration) Span { return Span{shape: exponential, a: mean} }

// IsZero says whether the span was never set.
func (s Span) IsZero() bool { return s == Span{} }

// Draw returns a random length of time, never negative.
func (s Span) Draw(r *rand.Rand) time.Duration {
	switch s.shape {
	case uniform:
		if s.b <= s.a {
			return max(0, s.a)
		}
		return max(0, s.a+time.Duration(r.Int64N(int64(s.b-s.a)+1)))
	case exponential:
		return max(0, min(time.Duration(r.ExpFloat64()*float64(s.a)), expCap*s.a))
	case fixed:
		return max(0, s.a)
	}
	return 0
}

// String is the text form.
func (s Span) String() string {
	switch s.shape {
	case uniform:
		return s.a.String() + ".." + s.b.String()
	case exponential:
		return "exp(" + s.a.String() + ")"
	case fixed:
		return s.a.String()
	}
	return ""
}

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	t := strings.TrimSpace(string(text))
	var out Span
	var err error
	if lo, hi, ok := strings.Cut(t, ".."); ok {
		out.shape = uniform
		if out.a, err = time.ParseDuration(strings.TrimSpace(lo)); err == nil {
			out.b, err = time.ParseDuration(strings.TrimSpace(hi))
		}
		if err == nil && out.b < out.a {
			err = fmt.Errorf("the upper end is below the lower end")
		}
	} else if mean, ok := strings.CutPrefix(t, "exp("); ok && strings.HasSuffix(mean, ")") {
		out.shape = exponential
		out.a, err = time.ParseDuration(strings.TrimSuffix(mean, ")"))
	} else {
		out.a, err = time.ParseDuration(t)
	}
	if err == nil && out.a < 0 {
		err = fmt.Errorf("a span cannot be negative")
	}
	if err != nil {
		return fmt.Errorf("span %q: %w; write \"3s\", \"2s..8s\" or \"exp(60s)\"", t, err)
	}
	*s = out
	return nil
}
