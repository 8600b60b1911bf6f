package snapshot

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
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
	c.forms[c.root].put(&w, reflect.ValueOf(v).Elem())
	return w.b, w.err
}

type writer struct {
	c     *Codec
	b     []byte
	words *dictionary // nil: texts are written anew each time
	clock *clock      // nil: no monotonic readings are written
	err   error
}

func (w *writer) count(n int)   { w.b = binary.AppendUvarint(w.b, uint64(n)) } //nolint:gosec // no length is negative
func (w *writer) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) int(n int64)   { w.b = binary.AppendVarint(w.b, n) }

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) float(x float64) { w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(x)) }

func (w *writer) text(s string) {
	if w.words != nil {
		w.b = w.words.write(w.b, s)
		return
	}
	w.count(len(s))
	w.b = append(w.b, s...)
}

func (w *writer) elements(v reflect.Value, of *form) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		w.b = append(w.b, v.Bytes()...)
		return
	}
	for i := range v.Len() {
		of.put(w, v.Index(i))
	}
}

// itself writes a value by its own method.
func (w *writer) itself(v reflect.Value) {
	b, err := v.Addr().Interface().(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		w.fail(fmt.Errorf("snapshot: %s: %w", v.Type(), err))
	}
	w.count(len(b))
	w.b = append(w.b, b...)
}

// variant writes which variant an interface holds, and the value.
func (w *writer) variant(v reflect.Value) bool {
	if v.IsNil() {
		return false
	}
	w.held(v.Elem())
	return true
}

func (w *writer) held(v reflect.Value) {
	at, known := w.c.place[v.Type()]
	if !known {
		if err, is := v.Interface().(error); is {
			v = reflect.ValueOf(failure(err))
			at, known = w.c.place[v.Type()]
		}
	}
	if !known {
		w.fail(fmt.Errorf("snapshot: %s is not one of the variants", v.Type()))
		return
	}
	w.count(at)
	if v.Kind() != reflect.Pointer {
		v = addressable(v)
	}
	w.c.forms[v.Type()].put(w, v)
}
