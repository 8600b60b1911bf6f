package snapshot

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"
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
	c.forms[c.root].put(&w, reflect.ValueOf(v).UnsafePointer())
	return w.b, w.err
}

type writer struct {
	c     *Codec
	b     []byte
	words *dictionary // nil: texts are written anew each time
	rows  memory      // nil: rows are written whole
	// passed are lists of which a digest need not see the elements.
	passed []unsafe.Pointer
	clock  *clock // nil: no monotonic readings are written
	err    error
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

// itself is the form of a type that writes itself.
func (f *form) itself(t reflect.Type) {
	write := func(w *writer, p unsafe.Pointer) {
		b, err := reflect.NewAt(t, p).Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			w.fail(fmt.Errorf("snapshot: %s: %w", t, err))
		}
		w.count(len(b))
		w.b = append(w.b, b...)
	}
	f.bare(write, func(w *writer, p unsafe.Pointer) bool {
		if reflect.NewAt(t, p).Elem().IsZero() {
			return false
		}
		write(w, p)
		return true
	}, (*reader).itself, apart)
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
	if w.c.lenient {
		w.counted(v)
		return
	}
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
	w.put(w.c.forms[v.Type()], v)
}

// put writes a value that need not be addressable.
func (w *writer) put(of *form, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		to := v.UnsafePointer()
		of.put(w, unsafe.Pointer(&to)) //nolint:gosec // a pointer is laid out like any other
		return
	}
	of.put(w, addressable(v).Addr().UnsafePointer())
}
