package draw

import (
	"fmt"
	"time"
)

// Length is a time.Duration that is written in JSON as "500ms", "2s".
type Length time.Duration

// MarshalText implements encoding.TextMarshaler.
func (l Length) MarshalText() ([]byte, error) { return []byte(time.Duration(l).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Length) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil || d < 0 {
		return fmt.Errorf("duration %q: write \"500ms\" or \"2s\"", b)
	}
	*l = Length(d)
	return nil
}
