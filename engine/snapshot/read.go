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
	r.fields(reflect.ValueOf(into).Elem())
	if len(r.b) > 0 {
		r.fail(errShort)
	}
	return r.err
}

type reader struct {
	c   *Codec
	b   []byte
	err error
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
		return make([]byte, 8) // of a float
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

func (r *reader) flag() bool { return r.uint() != 0 }

func (r *reader) text() string { return string(r.take(r.count())) }

// value fills in an addressable value.
func (r *reader) value(v reflect.Value) { r.formed(v, r.c.forms[v.Type()]) }

func (r *reader) formed(v reflect.Value, f form) {
	t := v.Type()
	if f.binary {
		err := v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary([]byte(r.text()))
		if err != nil {
			r.fail(fmt.Errorf("snapshot: %s: %w", t, err))
		}
		return
	}
	switch t.Kind() { //nolint:exhaustive // the others have no form
	case reflect.Bool:
		v.SetBool(r.flag())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.uint())
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(r.take(8))))
	case reflect.String:
		v.SetString(r.text())
	case reflect.Pointer:
		v.SetZero()
		if r.flag() {
			v.Set(reflect.New(t.Elem()))
			r.value(v.Elem())
		}
	case reflect.Interface:
		r.variant(v)
	case reflect.Struct:
		r.fields(v)
	case reflect.Slice:
		v.SetZero()
		if n := r.count(); n > 0 {
			v.Set(reflect.MakeSlice(t, n-1, n-1))
			r.elements(v)
		}
	case reflect.Array:
		r.elements(v)
	case reflect.Map:
		v.SetZero()
		if n := r.count(); n > 0 {
			v.Set(reflect.MakeMapWithSize(t, n-1))
			r.entries(v, n-1)
		}
	}
}

func (r *reader) elements(v reflect.Value) {
	f := r.c.forms[v.Type().Elem()]
	for i := range v.Len() {
		r.formed(v.Index(i), f)
	}
}

func (r *reader) entries(v reflect.Value, n int) {
	for ; n > 0 && r.err == nil; n-- {
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		r.value(key)
		r.value(elem)
		v.SetMapIndex(key, elem)
	}
}

func (r *reader) fields(v reflect.Value) {
	f := r.c.forms[v.Type()]
	for _, i := range f.fields {
		r.value(v.Field(i))
	}
	if f.parts {
		for _, p := range v.Addr().Interface().(Parts).Parts() {
			r.value(reflect.ValueOf(p).Elem())
		}
	}
}

func (r *reader) variant(v reflect.Value) {
	v.SetZero()
	name := r.text()
	if name == "" {
		return
	}
	t, known := r.c.variants[name]
	if !known || !t.AssignableTo(v.Type()) {
		r.fail(errOther)
		return
	}
	held := reflect.New(t).Elem()
	r.value(held)
	v.Set(held)
}
