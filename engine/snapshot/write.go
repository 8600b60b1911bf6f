package snapshot

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Write returns the bytes of the value that a pointer points at.
func (c *Codec) Write(v any) ([]byte, error) {
	if c.problem != nil {
		return nil, c.problem
	}
	if t := reflect.TypeOf(v); t != reflect.PointerTo(c.root) {
		return nil, fmt.Errorf("snapshot: %s in place of a pointer to %s", t, c.root)
	}
	w := writer{c: c, b: c.seal[:len(c.seal):len(c.seal)]}
	w.fields(reflect.ValueOf(v).Elem())
	return w.b, w.err
}

type writer struct {
	c   *Codec
	b   []byte
	err error
}

func (w *writer) count(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) } //nolint:gosec // no length is negative

func (w *writer) flag(on bool) {
	if on {
		w.count(1)
	} else {
		w.count(0)
	}
}

func (w *writer) text(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
}

// length writes the length of a slice or map, with nil distinct from empty, and says whether it is
// not nil.
func (w *writer) length(v reflect.Value) bool {
	if v.IsNil() {
		w.count(0)
		return false
	}
	w.count(v.Len() + 1)
	return true
}

// value writes an addressable value.
func (w *writer) value(v reflect.Value) { w.formed(v, w.c.forms[v.Type()]) }

func (w *writer) formed(v reflect.Value, f form) {
	if f.binary {
		b, err := v.Addr().Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("snapshot: %s: %w", v.Type(), err)
		}
		w.text(string(b))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the others have no form
	case reflect.Bool:
		w.flag(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.b = binary.AppendVarint(w.b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.b = binary.AppendUvarint(w.b, v.Uint())
	case reflect.Float32, reflect.Float64:
		w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(v.Float()))
	case reflect.String:
		w.text(v.String())
	case reflect.Pointer:
		if w.flag(!v.IsNil()); !v.IsNil() {
			w.value(v.Elem())
		}
	case reflect.Interface:
		w.variant(v)
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice:
		if w.length(v) {
			w.elements(v)
		}
	case reflect.Array:
		w.elements(v)
	case reflect.Map:
		if w.length(v) {
			w.entries(v)
		}
	}
}

func (w *writer) elements(v reflect.Value) {
	f := w.c.forms[v.Type().Elem()]
	for i := range v.Len() {
		w.formed(v.Index(i), f)
	}
}

func (w *writer) fields(v reflect.Value) {
	f := w.c.forms[v.Type()]
	for _, i := range f.fields {
		w.value(v.Field(i))
	}
	if f.parts {
		for _, p := range v.Addr().Interface().(Parts).Parts() {
			w.value(reflect.ValueOf(p).Elem())
		}
	}
}

// entries writes a map's entries, sorted by the bytes of their keys.
func (w *writer) entries(v reflect.Value) {
	list := make([][2][]byte, 0, v.Len())
	whole := w.b
	one := func(v reflect.Value) []byte {
		w.b = nil
		w.value(addressable(v))
		return w.b
	}
	for it := v.MapRange(); it.Next(); {
		list = append(list, [2][]byte{one(it.Key()), one(it.Value())})
	}
	slices.SortFunc(list, func(x, y [2][]byte) int { return bytes.Compare(x[0], y[0]) })
	w.b = whole
	for _, e := range list {
		w.b = append(append(w.b, e[0]...), e[1]...)
	}
}

// variant writes the type name of an interface's content before the content; "" is nil.
func (w *writer) variant(v reflect.Value) {
	if v.IsNil() {
		w.text("")
		return
	}
	held := v.Elem()
	known := func() bool { return w.c.variants[held.Type().String()] == held.Type() }
	if err, is := held.Interface().(error); is && !known() {
		held = reflect.ValueOf(failure(err))
	}
	if !known() && w.err == nil {
		w.err = fmt.Errorf("snapshot: %s is not one of the variants", held.Type())
	}
	w.text(held.Type().String())
	w.value(addressable(held))
}

// addressable is an addressable copy of a value.
func addressable(v reflect.Value) reflect.Value {
	a := reflect.New(v.Type()).Elem()
	a.Set(v)
	return a
}
