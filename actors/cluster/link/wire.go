package link

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"dialler/engine"
)

// ErrMalformed: what came cannot be read.
var ErrMalformed = errors.New("link: a message of another node cannot be read; do all nodes run the same version?")

// Wire reads or writes the fields of a message: one description of a message
// serves both, so that they cannot differ.
type Wire struct {
	b       []byte
	reading bool
	bad     bool // what is read ends too early, or is impossible
	clock   Moment
	version uint64
}

// Write gives what say writes, in the version of a node that speaks only the oldest.
func Write(at Moment, say func(*Wire)) []byte {
	w := Wire{clock: at, version: Oldest}
	say(&w)
	return w.b
}

// Reader reads what Write wrote.
func Reader(b []byte, at Moment) *Wire { return &Wire{b: b, reading: true, clock: at, version: Oldest} }

// Reading says whether fields are read, not written.
func (w *Wire) Reading() bool { return w.reading }

// Version is that of the message: a field that is new in a version is described under
// the condition that it is at least that one.
func (w *Wire) Version() uint64 { return w.version }

// Skip leaves the rest unread.
func (w *Wire) Skip() { w.b = nil }

// Whole says whether a message was read, from its first byte to its last.
func (w *Wire) Whole() bool { return !w.bad && len(w.b) == 0 }

// Moment is one moment on a node's clocks, and how far another node's boot-time
// clock is behind them.
type Moment struct {
	Now  time.Time
	Boot engine.BootTime
	// Ahead is what to add to the other's boot-time readings, as good as it is
	// known; Least is certainly no more than that.
	Ahead, Least time.Duration
}

// Fail says that what is read is impossible.
func (w *Wire) Fail() {
	w.bad, w.b = true, nil
}

// Unsigned is a number that is not negative.
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

// Signed is a number.
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

// Number is a number of any type; one that does not fit into it is none.
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

// Flag is a yes or no.
func (w *Wire) Flag(v *bool) {
	var x uint64
	if *v {
		x = 1
	}
	w.Unsigned(&x)
	*v = x != 0
}

// Real is a fraction.
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

// Text is a string of any type.
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

// Octets keep the difference of nil and empty.
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

// size is the length of a list, or -1 of none: every element takes a byte at
// least, so that a length that cannot be is found before memory is taken for it.
func (w *Wire) size(n int) int {
	x := uint64(n + 1) //nolint:gosec // -1 at least
	w.Unsigned(&x)
	if w.reading && x > uint64(len(w.b))+1 {
		w.Fail()
		return -1
	}
	return int(x) - 1 //nolint:gosec // no more than a frame has bytes
}

// trusted is for how many elements memory is taken on the word of another node:
// for more it is taken as they are read.
const trusted = 16

// List is a slice; nil and empty are not the same.
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

// Table is a map; nil and empty are not the same.
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

// Optional is a value that may be absent.
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

// Instant carries a time as the sender's boot-time reading at it.
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

// Date carries a time of the wall clock as it is.
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

// SendBy carries a time after which something must not be done any more: it is
// never later there than here.
func (w *Wire) SendBy(v *engine.BootTime) {
	Number(w, v)
	if w.reading && *v != 0 {
		*v = v.Add(w.clock.Least)
	}
}
