package snapshot

import (
	"encoding/binary"
	"reflect"
	"time"
)

// Join returns a time with a wall clock and a monotonic reading, counted from any moment. Package
// time cannot make one.
type Join func(wall time.Time, monotonic time.Duration) time.Time

// clock is what the times of a stream are written relative to.
type clock struct {
	zero time.Time // the first one with a monotonic reading
	base int64     // ns of the Unix epoch: of the value's own time
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

func (w *writer) moment(v reflect.Value) { w.time(*v.Addr().Interface().(*time.Time)) }

func (w *writer) time(t time.Time) {
	var bits byte
	if w.clock != nil && t != t.Round(0) { //nolint:staticcheck // that is how a monotonic reading shows
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

func (r *reader) moment(v reflect.Value) { *v.Addr().Interface().(*time.Time) = r.time() }

func (r *reader) time() (t time.Time) {
	bits := r.take(1)[0]
	if bits&isFar != 0 {
		sec := r.int()
		t = time.Unix(sec, int64(r.uint()%uint64(time.Second))) //nolint:gosec // less than a second
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

// dictionary numbers the texts of a stream, so that one that is there already is not written again.
type dictionary struct {
	numbers map[string]uint64 // of a writer
	list    []string          // of a reader
	next    uint64
}

// Bounds of a dictionary: short texts are as short as their number, long ones hardly come twice,
// and a full dictionary begins again.
const (
	leastWord = 3
	mostWord  = 200
	mostWords = 1 << 13
)

func (d *dictionary) write(b []byte, s string) []byte {
	if n, known := d.numbers[s]; known {
		return binary.AppendUvarint(b, (d.next-n)<<1|1)
	}
	b = append(binary.AppendUvarint(b, uint64(len(s))<<1), s...)
	if len(s) >= leastWord && len(s) <= mostWord {
		if d.numbers == nil {
			d.numbers = map[string]uint64{}
		}
		if len(d.numbers) >= mostWords {
			clear(d.numbers)
		}
		d.numbers[string([]byte(s))] = d.next // a copy, since it may be part of something large
		d.next++
	}
	return b
}

func (d *dictionary) read(r *reader) string {
	n := r.uint()
	if n&1 != 0 {
		back := n >> 1
		if back == 0 || back > uint64(len(d.list)) {
			r.fail(errShort)
			return ""
		}
		return d.list[uint64(len(d.list))-back]
	}
	if n>>1 > uint64(len(r.b)) {
		r.fail(errShort)
		return ""
	}
	s := string(r.take(int(n >> 1))) //nolint:gosec // it is small
	if len(s) >= leastWord && len(s) <= mostWord {
		if len(d.list) >= mostWords {
			d.list = d.list[:0]
		}
		d.list = append(d.list, s)
	}
	return s
}
