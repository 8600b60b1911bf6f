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
	words *wordWriter             // nil: texts are written anew each time
	clock *clock                  // nil: no monotonic readings are written
	fixed map[reflect.Type]*fixed // of a digest
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

// itself is the form of a type that writes itself.
func (f *form) itself(t reflect.Type) {
	marshalled := func(w *writer, p unsafe.Pointer) []byte {
		b, err := reflect.NewAt(t, p).Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			w.fail(fmt.Errorf("snapshot: %s: %w", t, err))
		}
		return b
	}
	write := func(w *writer, p unsafe.Pointer) {
		if last := w.fixed[t]; last != nil {
			if last.at != p {
				last.at, last.sum = p, sum(marshalled(w, p))
			}
			w.b = binary.LittleEndian.AppendUint64(w.b, last.sum)
			return
		}
		b := marshalled(w, p)
		w.count(len(b))
		w.b = append(w.b, b...)
	}
	f.bare(write, func(w *writer, p unsafe.Pointer) bool {
		if reflect.NewAt(t, p).Elem().IsZero() {
			return false
		}
		write(w, p)
		return true
	}, (*reader).itself)
}
