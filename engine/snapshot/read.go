package snapshot

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

var (
	errOther = errors.New("snapshot: the bytes are not of this version's types")
	errShort = errors.New("snapshot: the bytes are incomplete")
)

// Read fills in the value that a pointer points at. Fields that are not written stay unchanged.
func (c *Codec) Read(b []byte, into any) error {
	if c.problem != nil {
		return c.problem
	}
	if t := reflect.TypeOf(into); t != reflect.PointerTo(c.root) {
		return fmt.Errorf("snapshot: %s in place of a pointer to %s", t, c.root)
	}
	rest, ok := bytes.CutPrefix(b, c.seal[:])
	if !ok {
		return errOther
	}
	r := reader{c: c, b: rest}
	c.forms[c.root].get(&r, reflect.ValueOf(into).Elem())
	if len(r.b) > 0 {
		r.fail(errShort)
	}
	return r.err
}

type reader struct {
	c     *Codec
	b     []byte
	words *wordReader
	clock *clock
	err   error
}

// fail ends the reading and discards the rest.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail(errShort)
		return make([]byte, max(8, min(n, 64))) // of a float, or of the bits of a struct
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail(errShort)
		return 0
	}
	r.b = r.b[n:]
	return v
}

// count is a length of elements that take at least a byte each.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.b))+1 {
		r.fail(errShort)
		return 0
	}
	return int(n) //nolint:gosec // it is small
}

func (r *reader) float() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))) }

func (r *reader) text() string {
	if r.words != nil {
		return r.words.read(r)
	}
	return string(r.take(r.count()))
}

func (r *reader) elements(v reflect.Value, of *form) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := r.take(v.Len())
		if r.err == nil {
			reflect.Copy(v, reflect.ValueOf(b).Convert(reflect.SliceOf(v.Type().Elem())))
		}
		return
	}
	for i := range v.Len() {
		of.get(r, v.Index(i))
	}
}

// itself reads a value by its own method.
func (r *reader) itself(v reflect.Value) {
	err := v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(bytes.Clone(r.take(r.count())))
	if err != nil {
		r.fail(fmt.Errorf("snapshot: %s: %w", v.Type(), err))
	}
}

func (r *reader) variant(v reflect.Value) {
	v.SetZero()
	if held := r.held(); held.IsValid() {
		if !held.Type().AssignableTo(v.Type()) {
			r.fail(errOther)
			return
		}
		v.Set(held)
	}
}

// held reads a variant, invalid when there is none of that number.
func (r *reader) held() reflect.Value {
	n := r.uint()
	if r.err == nil && n >= uint64(len(r.c.variants)) {
		r.fail(errOther)
	}
	if r.err != nil {
		return reflect.Value{}
	}
	held := reflect.New(r.c.variants[n]).Elem()
	r.c.forms[held.Type()].get(r, held)
	return held
}
