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
type Digest struct{ w writer }

// fixed is the last value that a digest saw of a type that writes itself and whose values never change.
type fixed struct {
	at  unsafe.Pointer
	sum uint64 // of its bytes
}

// NewDigest returns a digest, which learns types as they come. Of types that write themselves, pointers
// to values that never change once they are made can be named: such a value is written once.
func NewDigest(unchanging ...any) *Digest {
	c := &Codec{forms: map[reflect.Type]*form{}, kinds: map[unsafe.Pointer]*kind{}, lenient: true}
	d := &Digest{w: writer{c: c, fixed: map[reflect.Type]*fixed{}}}
	for _, v := range unchanging {
		d.w.fixed[reflect.TypeOf(v).Elem()] = &fixed{}
	}
	return d
}

// Begin forgets the values so far, and begins with the sum of others.
func (d *Digest) Begin(others uint64) {
	d.w.b, d.w.err = binary.LittleEndian.AppendUint64(d.w.b[:0], others), nil
}

// Add adds a value.
func (d *Digest) Add(v any) {
	if v == nil {
		d.w.count(0)
		return
	}
	d.w.held(v)
}

// Sum is the digest of the values since Begin.
func (d *Digest) Sum() uint64 { return sum(d.w.b) }

func sum(b []byte) uint64 {
	s := uint64(len(b)) ^ 0x9e3779b97f4a7c15
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

// named writes what a digest has in place of a variant: which type it is, or all that counts of an
// error, whose type a recording may not know; true if that is all.
func (w *writer) named(k *kind, v any) bool {
	if !k.failed {
		w.b = binary.LittleEndian.AppendUint64(w.b, k.name)
		return false
	}
	err, _ := v.(error)
	w.text(err.Error())
	var e *engine.Error
	if errors.As(err, &e) {
		w.text(string(e.Kind) + " " + e.Code + " " + e.Detail)
		w.int(int64(e.RetryAfter))
	}
	return true
}
