package link

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"dialler/engine"
)

// ErrMalformed means that a message could not be decoded.
var ErrMalformed = errors.New("link: a message from another node cannot be read; do all nodes run the same version?")

// Wire reads or writes the fields of a message: one description serves both directions, so that
// they cannot differ.
type Wire struct {
	b       []byte
	reading bool
	bad     bool // the input ends too early or is impossible
	clock   Moment
	version uint64
}

// Write returns what say writes, in the latest version.
func Write(at Moment, say func(*Wire)) []byte {
	w := Wire{clock: at, version: Version}
	say(&w)
	return w.b
}

// Reader decodes what Write encoded.
func Reader(b []byte, at Moment) *Wire {
	return &Wire{b: b, reading: true, clock: at, version: Version}
}

// Reading says whether fields are being read rather than written.
func (w *Wire) Reading() bool { return w.reading }

// Version returns the message's version: a field that was added in a version is described only from
// that version on.
func (w *Wire) Version() uint64 { return w.version }

// Skip leaves the rest unread.
func (w *Wire) Skip() { w.b = nil }

// Whole says whether exactly the whole message was read.
func (w *Wire) Whole() bool { return !w.bad && len(w.b) == 0 }

// Moment is a reading of a node's clocks, with the offset of another node's boot-time clock.
type Moment struct {
	Now  time.Time
	Boot engine.BootTime
	// Ahead is the best estimate of what to add to the other's boot-time readings; Least is a lower
	// bound of it.
	Ahead, Least time.Duration
}

// Fail marks the input as impossible.
func (w *Wire) Fail() {
	w.bad, w.b = true, nil
}

// Unsigned carries a non-negative number.
func (w *Wire) Unsigned(v *uint64) {
	if !w.reading {
		w.b = binary.AppendUvarint(w.b, *v)
		return
	}
	x, n := binary.Uvarint(w.b)
	if n <= 0 {
		*v = 0
		w.Fail()
		return
	}
	*v, w.b = x, w.b[n:]
}

// Signed carries a number.
func (w *Wire) Signed(v *int64) {
	if !w.reading {
		w.b = binary.AppendVarint(w.b, *v)
		return
	}
	x, n := binary.Varint(w.b)
	if n <= 0 {
		*v = 0
		w.Fail()
		return
	}
	*v, w.b = x, w.b[n:]
}

// Number carries a number of any type; one that does not fit is malformed.
func Number[T ~int | ~int32 | ~int64 | ~uint8 | ~uint32](w *Wire, v *T) {
	x := int64(*v)
	w.Signed(&x)
	if w.reading {
		if *v = T(x); int64(*v) != x {
			*v = 0
			w.Fail()
		}
	}
}

// Flag carries a boolean.
func (w *Wire) Flag(v *bool) {
	var x uint64
	if *v {
		x = 1
	}
	w.Unsigned(&x)
	*v = x != 0
}

// Real carries a floating-point number.
func (w *Wire) Real(v *float64) {
	if !w.reading {
		w.b = binary.BigEndian.AppendUint64(w.b, math.Float64bits(*v))
		return
	}
	if len(w.b) < 8 {
		*v = 0
		w.Fail()
		return
	}
	*v, w.b = math.Float64frombits(binary.BigEndian.Uint64(w.b)), w.b[8:]
}

// Text carries a string of any type.
func Text[T ~string](w *Wire, v *T) {
	n := uint64(len(*v))
	w.Unsigned(&n)
	if !w.reading {
		w.b = append(w.b, *v...)
		return
	}
	*v = T(w.take(n))
}

// take gives the next n bytes.
func (w *Wire) take(n uint64) []byte {
	if n > uint64(len(w.b)) {
		w.Fail()
		return nil
	}
	p := w.b[:n]
	w.b = w.b[n:]
	return p
}

// Octets carries bytes and distinguishes nil from empty.
func (w *Wire) Octets(v *[]byte) {
	n := uint64(len(*v)) + 1
	if *v == nil {
		n = 0
	}
	w.Unsigned(&n)
	switch {
	case !w.reading:
		w.b = append(w.b, *v...)
	case n == 0:
		*v = nil
	default:
		*v = append([]byte{}, w.take(n-1)...)
	}
}

// size carries the length of a list, or -1 for nil. Every element takes at least a byte, so an
// impossible length is found before memory is allocated for it.
func (w *Wire) size(n int) int {
	x := uint64(n + 1) //nolint:gosec // -1 at least
	w.Unsigned(&x)
	if w.reading && x > uint64(len(w.b))+1 {
		w.Fail()
		return -1
	}
	return int(x) - 1 //nolint:gosec // no more than a frame has bytes
}

// trusted is the number of elements for which memory is allocated on another node's word: beyond
// it, memory is allocated as elements are read.
const trusted = 16

// List carries a slice; it distinguishes nil from empty.
func List[T any](w *Wire, v *[]T, each func(*T)) {
	n := -1
	if *v != nil {
		n = len(*v)
	}
	n = w.size(n)
	if !w.reading {
		for i := range *v {
			each(&(*v)[i])
		}
		return
	}
	*v = nil
	if n < 0 {
		return
	}
	*v = make([]T, 0, min(n, trusted))
	for range n {
		var x T
		each(&x)
		if w.bad {
			return
		}
		*v = append(*v, x)
	}
}

// Table carries a map; it distinguishes nil from empty.
func Table[V any](w *Wire, v *map[string]V, each func(*V)) {
	n := -1
	if *v != nil {
		n = len(*v)
	}
	n = w.size(n)
	if !w.reading {
		for k, x := range *v {
			Text(w, &k)
			each(&x)
		}
		return
	}
	*v = nil
	if n < 0 {
		return
	}
	*v = make(map[string]V, min(n, trusted))
	for range n {
		var k string
		var x V
		Text(w, &k)
		each(&x)
		if w.bad {
			return
		}
		(*v)[k] = x
	}
}

// Optional carries a value that may be absent.
func Optional[T any](w *Wire, v **T, each func(*T)) {
	there := *v != nil
	w.Flag(&there)
	if !there {
		*v = nil
		return
	}
	if w.reading {
		*v = new(T)
	}
	each(*v)
}

// Instant carries a time as the sender's boot-time reading at that moment.
func (w *Wire) Instant(v *time.Time) {
	there := !v.IsZero()
	w.Flag(&there)
	if !there {
		*v = time.Time{}
		return
	}
	at := int64(w.clock.Boot) + int64(v.Sub(w.clock.Now))
	w.Signed(&at)
	if w.reading {
		*v = w.clock.Now.Add(time.Duration(at-int64(w.clock.Boot)) + w.clock.Ahead)
	}
}

// Date carries a wall-clock time unchanged.
func (w *Wire) Date(v *time.Time) {
	there := !v.IsZero()
	w.Flag(&there)
	if !there {
		*v = time.Time{}
		return
	}
	sec, nsec := v.Unix(), int64(v.Nanosecond())
	w.Signed(&sec)
	w.Signed(&nsec)
	if w.reading {
		*v = time.Unix(sec, nsec).UTC()
	}
}

// SendBy carries a deadline, which is never later on the receiving node than here.
func (w *Wire) SendBy(v *engine.BootTime) {
	Number(w, v)
	if w.reading && *v != 0 {
		*v = v.Add(w.clock.Least)
	}
}
