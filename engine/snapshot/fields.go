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
	// zero, or as it was: eight bytes that are need no look at their fields.
	words [][2]int
	tail  int // the first field that reaches beyond the words
}

func (f *form) fields(t reflect.Type, exported, hidden []field) {
	r := &record{fields: slices.Concat(exported, hidden)}
	slices.SortStableFunc(r.fields, func(a, b field) int { return cmp.Compare(a.offset, b.offset) })
	r.bits, r.tail, f.record = (len(r.fields)+7)/8, len(r.fields), r
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
	f.diff = func(w *writer, p, q unsafe.Pointer) bool {
		at := len(w.b)
		any := r.diff(w, p, q)
		if !any {
			w.b = w.b[:at]
		}
		return any
	}
	f.same = r.same
	f.get = func(in *reader, v reflect.Value) {
		r.read(in, v, func(of *form, v reflect.Value) { of.got(in, v) }, true)
	}
	f.got = f.get
	f.into = func(in *reader, v reflect.Value) {
		r.read(in, v, func(of *form, v reflect.Value) { of.into(in, v) }, false)
	}
}

func word(p unsafe.Pointer, i int) uint64 { return *(*uint64)(unsafe.Add(p, 8*i)) }

// write writes the fields that are not zero.
func (r *record) write(w *writer, p unsafe.Pointer) (any bool) {
	at, next := r.begin(w), 0
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

// begin makes room for the bits.
func (r *record) begin(w *writer) int {
	at := len(w.b)
	for n := r.bits; n > 0; n -= 8 {
		w.b = append(w.b, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	w.b = w.b[:at+r.bits]
	return at
}

// diff writes the fields that are not as they were at q.
func (r *record) diff(w *writer, p, q unsafe.Pointer) (any bool) {
	at, next := r.begin(w), 0
	diff := func(to int) {
		for ; next < to; next++ {
			if f := &r.fields[next]; f.of.diff(w, unsafe.Add(p, f.offset), unsafe.Add(q, f.offset)) {
				any = true
				w.b[at+next/8] |= 1 << (next % 8)
			}
		}
	}
	for i := range r.words {
		if word(p, i) != word(q, i) {
			next = max(next, r.words[i][0])
			diff(r.words[i][1])
		}
	}
	next = max(next, r.tail)
	diff(len(r.fields))
	return any
}

func (r *record) same(p, q unsafe.Pointer) bool {
	next := 0
	same := func(to int) bool {
		for ; next < to; next++ {
			if f := &r.fields[next]; !f.of.same(unsafe.Add(p, f.offset), unsafe.Add(q, f.offset)) {
				return false
			}
		}
		return true
	}
	for i := range r.words {
		if word(p, i) != word(q, i) {
			if next = max(next, r.words[i][0]); !same(r.words[i][1]) {
				return false
			}
		}
	}
	next = max(next, r.tail)
	return same(len(r.fields))
}

// read reads the fields that are there; the others become zero, or stay.
func (r *record) read(in *reader, v reflect.Value, read func(*form, reflect.Value), clear bool) {
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
		switch {
		case there[i/8]&(1<<(i%8)) != 0:
			read(f.of, to)
		case clear:
			to.SetZero()
		}
	}
}
