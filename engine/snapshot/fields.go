package snapshot

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"
)

// field is a field of a struct.
type field struct {
	offset uintptr
	index  int // in the struct, or of a hidden one among the Parts
	hidden bool
	of     *form
}

// record is the form of a struct's fields, in the order of their offsets: a bit for each says
// whether it is there.
type record struct {
	fields []field
	bits   int // bytes of them
	// words are the fields in each eight bytes, from the first to before the last. Most of a row is
	// zero: eight bytes that are need no look at their fields.
	words [][2]int
	tail  int // the first field that reaches beyond the words
}

func (f *form) fields(t reflect.Type, exported, hidden []field) {
	r := &record{fields: slices.Concat(exported, hidden)}
	slices.SortStableFunc(r.fields, func(a, b field) int { return cmp.Compare(a.offset, b.offset) })
	r.bits, r.tail = (len(r.fields)+7)/8, len(r.fields)
	end := func(i int) uintptr { // of a field, with what lies before the next
		if i+1 < len(r.fields) {
			return r.fields[i+1].offset
		}
		return t.Size()
	}
	for at := uintptr(0); at+8 <= t.Size(); at += 8 {
		first := 0
		for first < len(r.fields) && end(first) <= at {
			first++
		}
		last := first
		for last < len(r.fields) && r.fields[last].offset < at+8 {
			last++
		}
		r.words = append(r.words, [2]int{first, last})
	}
	for r.tail > 0 && end(r.tail-1) > uintptr(len(r.words))*8 {
		r.tail--
	}
	f.put = func(w *writer, p unsafe.Pointer) { r.write(w, p) }
	f.some = func(w *writer, p unsafe.Pointer) bool {
		at := len(w.b)
		any := r.write(w, p)
		if !any {
			w.b = w.b[:at]
		}
		return any
	}
	f.get, f.got = r.read, r.read
}

func word(p unsafe.Pointer, i int) uint64 { return *(*uint64)(unsafe.Add(p, 8*i)) }

// write writes the fields that are not zero.
func (r *record) write(w *writer, p unsafe.Pointer) (any bool) {
	at, next := len(w.b), 0
	w.b = append(w.b, make([]byte, r.bits)...)
	some := func(to int) {
		for ; next < to; next++ {
			if f := &r.fields[next]; f.of.some(w, unsafe.Add(p, f.offset)) {
				any = true
				w.b[at+next/8] |= 1 << (next % 8)
			}
		}
	}
	for i := range r.words {
		if word(p, i) != 0 {
			next = max(next, r.words[i][0])
			some(r.words[i][1])
		}
	}
	next = max(next, r.tail)
	some(len(r.fields))
	return any
}

// read reads the fields that are there; the others become zero.
func (r *record) read(in *reader, v reflect.Value) {
	there := in.take(r.bits)
	var parts []any
	for i := range r.fields {
		f := &r.fields[i]
		var to reflect.Value
		if f.hidden {
			if parts == nil {
				parts = v.Addr().Interface().(Parts).Parts()
			}
			to = reflect.ValueOf(parts[f.index]).Elem()
		} else {
			to = v.Field(f.index)
		}
		if there[i/8]&(1<<(i%8)) != 0 {
			f.of.got(in, to)
		} else {
			to.SetZero()
		}
	}
}
