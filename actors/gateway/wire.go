package gateway

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"dialler/engine"
)

// errMalformed: what came is no frame of this version.
var errMalformed = errors.New("gateway: a message of another node cannot be read; do all nodes run the same version?")

// wire reads or writes the fields of a message: one description of a message
// serves both, so that they cannot differ.
type wire struct {
	b       []byte
	reading bool
	bad     bool // what is read ends too early, or is impossible
	clock   reading
}

// reading is one moment on a node's clocks, and how far another node's boot-time
// clock is behind them.
type reading struct {
	now  time.Time
	boot engine.BootTime
	// ahead is what to add to the other's boot-time readings, as good as it is
	// known; least is certainly no more than that.
	ahead, least time.Duration
}

func (w *wire) fail() {
	w.bad, w.b = true, nil
}

func (w *wire) unsigned(v *uint64) {
	if !w.reading {
		w.b = binary.AppendUvarint(w.b, *v)
		return
	}
	x, n := binary.Uvarint(w.b)
	if n <= 0 {
		*v = 0
		w.fail()
		return
	}
	*v, w.b = x, w.b[n:]
}

func (w *wire) signed(v *int64) {
	if !w.reading {
		w.b = binary.AppendVarint(w.b, *v)
		return
	}
	x, n := binary.Varint(w.b)
	if n <= 0 {
		*v = 0
		w.fail()
		return
	}
	*v, w.b = x, w.b[n:]
}

func number[T ~int | ~int32 | ~int64 | ~uint8 | ~uint32](w *wire, v *T) {
	x := int64(*v)
	w.signed(&x)
	if w.reading {
		if *v = T(x); int64(*v) != x {
			*v = 0
			w.fail()
		}
	}
}

func (w *wire) flag(v *bool) {
	var x uint64
	if *v {
		x = 1
	}
	w.unsigned(&x)
	*v = x != 0
}

func (w *wire) real(v *float64) {
	if !w.reading {
		w.b = binary.BigEndian.AppendUint64(w.b, math.Float64bits(*v))
		return
	}
	if len(w.b) < 8 {
		*v = 0
		w.fail()
		return
	}
	*v, w.b = math.Float64frombits(binary.BigEndian.Uint64(w.b)), w.b[8:]
}

func text[T ~string](w *wire, v *T) {
	n := uint64(len(*v))
	w.unsigned(&n)
	if !w.reading {
		w.b = append(w.b, *v...)
		return
	}
	*v = T(w.take(n))
}

// take gives the next n bytes.
func (w *wire) take(n uint64) []byte {
	if n > uint64(len(w.b)) {
		w.fail()
		return nil
	}
	p := w.b[:n]
	w.b = w.b[n:]
	return p
}

// octets keep the difference of nil and empty.
func (w *wire) octets(v *[]byte) {
	n := uint64(len(*v)) + 1
	if *v == nil {
		n = 0
	}
	w.unsigned(&n)
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
func (w *wire) size(n int) int {
	x := uint64(n + 1) //nolint:gosec // -1 at least
	w.unsigned(&x)
	if w.reading && x > uint64(len(w.b))+1 {
		w.fail()
		return -1
	}
	return int(x) - 1 //nolint:gosec // no more than a frame has bytes
}

// trusted is for how many elements memory is taken on the word of another node:
// for more it is taken as they are read.
const trusted = 16

func list[T any](w *wire, v *[]T, each func(*T)) {
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

func table[V any](w *wire, v *map[string]V, each func(*V)) {
	n := -1
	if *v != nil {
		n = len(*v)
	}
	n = w.size(n)
	if !w.reading {
		for k, x := range *v {
			text(w, &k)
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
		text(w, &k)
		each(&x)
		if w.bad {
			return
		}
		(*v)[k] = x
	}
}

// optional is a value that may be absent.
func optional[T any](w *wire, v **T, each func(*T)) {
	there := *v != nil
	w.flag(&there)
	if !there {
		*v = nil
		return
	}
	if w.reading {
		*v = new(T)
	}
	each(*v)
}

// instant carries a time as the sender's boot-time reading at it.
func (w *wire) instant(v *time.Time) {
	there := !v.IsZero()
	w.flag(&there)
	if !there {
		*v = time.Time{}
		return
	}
	at := int64(w.clock.boot) + int64(v.Sub(w.clock.now))
	w.signed(&at)
	if w.reading {
		*v = w.clock.now.Add(time.Duration(at-int64(w.clock.boot)) + w.clock.ahead)
	}
}

// date carries a time of the wall clock as it is.
func (w *wire) date(v *time.Time) {
	there := !v.IsZero()
	w.flag(&there)
	if !there {
		*v = time.Time{}
		return
	}
	sec, nsec := v.Unix(), int64(v.Nanosecond())
	w.signed(&sec)
	w.signed(&nsec)
	if w.reading {
		*v = time.Unix(sec, nsec).UTC()
	}
}

// sendBy carries a time after which something must not be done any more: it is
// never later there than here.
func (w *wire) sendBy(v *engine.BootTime) {
	number(w, v)
	if w.reading && *v != 0 {
		*v = v.Add(w.clock.least)
	}
}
