package snapshot

import "time"

// Join returns a time with a wall clock and a monotonic reading, counted from any moment. Package
// time cannot make one.
type Join func(wall time.Time, monotonic time.Duration) time.Time

// clock is what the times of a stream are written relative to.
type clock struct {
	zero time.Time // the first one with a monotonic reading
	base int64     // ns of the Unix epoch that are left out of each
	join Join      // nil: monotonic readings are dropped
}

// What the first byte of a time says.
const (
	hasMonotonic = 1 << iota
	isLocal
	isElsewhere // in neither UTC nor the local zone
	isFar       // its nanoseconds do not fit
)

// farSeconds is beyond which a time is written as seconds and nanoseconds.
const farSeconds = 1 << 32

func (w *writer) time(t time.Time) {
	var bits byte
	if w.clock != nil && t != t.Round(0) {
		bits |= hasMonotonic
	}
	switch t.Location() {
	case time.UTC:
	case time.Local:
		bits |= isLocal
	default:
		bits |= isElsewhere
	}
	sec := t.Unix()
	if sec > farSeconds || sec < -farSeconds {
		w.b = append(w.b, bits|isFar)
		w.int(sec)
		w.count(t.Nanosecond())
	} else {
		w.b = append(w.b, bits)
		var base int64
		if w.clock != nil {
			base = w.clock.base
		}
		w.int(t.UnixNano() - base)
	}
	if bits&isElsewhere != 0 {
		name, offset := t.Zone()
		w.text(name)
		w.int(int64(offset))
	}
	if bits&hasMonotonic != 0 { // hardly differs from what has passed by the wall clock
		if w.clock.zero.IsZero() {
			w.clock.zero = t
		}
		w.int(int64(t.Sub(w.clock.zero)) - (t.UnixNano() - w.clock.zero.UnixNano()))
	}
}

func (r *reader) time() (t time.Time) {
	bits := r.take(1)[0]
	if bits&isFar != 0 {
		sec := r.int()
		t = time.Unix(sec, int64(r.uint()%uint64(time.Second)))
	} else {
		var base int64
		if r.clock != nil {
			base = r.clock.base
		}
		t = time.Unix(0, base+r.int())
	}
	switch {
	case bits&isLocal != 0:
	case bits&isElsewhere != 0:
		name := r.text()
		t = t.In(time.FixedZone(name, int(r.int())))
	default:
		t = t.UTC()
	}
	if bits&hasMonotonic != 0 && r.clock != nil {
		if r.clock.zero.IsZero() {
			r.clock.zero = t
		}
		past := r.int() + t.UnixNano() - r.clock.zero.UnixNano()
		if r.clock.join != nil {
			t = r.clock.join(t, time.Duration(past))
		}
	}
	return t
}
