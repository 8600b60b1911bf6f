package snapshot

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"reflect"
	"unsafe"

	"dialler/engine"
)

// Digest digests values of any type: two lists of values with the same sum are the same in
// everything that is exported, or among the Parts. Times count by the wall clock, errors by their
// text and code, functions not at all. It is not safe for concurrent use.
type Digest struct {
	w      writer
	passed [4]unsafe.Pointer
}

// NewDigest returns a digest, which learns types as they come.
func NewDigest() *Digest {
	return &Digest{w: writer{c: &Codec{forms: map[reflect.Type]*form{}, lenient: true}}}
}

// Begin forgets the values so far.
func (d *Digest) Begin() { d.w.b, d.w.err = d.w.b[:0], nil }

// Passed names up to four lists whose elements are known to be as they were: the lists count, what is
// in them does not. It holds until it is called again.
func (d *Digest) Passed(lists ...any) {
	d.w.passed = d.passed[:0]
	for _, l := range lists {
		if p := reflect.ValueOf(l).UnsafePointer(); p != nil && len(d.w.passed) < len(d.passed) {
			d.w.passed = append(d.w.passed, p)
		}
	}
}

// Add adds a value.
func (d *Digest) Add(v any) {
	if v == nil {
		d.w.count(0)
		return
	}
	d.w.held(reflect.ValueOf(v))
}

// Sum is the digest of the values since Begin.
func (d *Digest) Sum() uint64 {
	s, b := uint64(len(d.w.b))^0x9e3779b97f4a7c15, d.w.b
	for ; len(b) >= 8; b = b[8:] {
		s = mixed(s ^ binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	return mixed(mixed(s ^ binary.LittleEndian.Uint64(rest[:])))
}

func mixed(s uint64) uint64 {
	high, low := bits.Mul64(s, 0xd6e8feb86659fd93)
	return (high ^ low) + 0x9e3779b97f4a7c15
}

// counted writes what of a value counts for a digest.
func (w *writer) counted(v reflect.Value) {
	t := v.Type()
	if err, is := v.Interface().(error); is {
		w.text(err.Error()) // of what type it is, a recording may not know
		var e *engine.Error
		if errors.As(err, &e) {
			w.text(string(e.Kind) + " " + e.Code + " " + e.Detail)
			w.int(int64(e.RetryAfter))
		}
		return
	}
	w.text(t.String())
	l := learner{Codec: w.c}
	w.put(l.learn(t), v)
}
