package snapshot

import (
	"cmp"
	"encoding/binary"
	"maps"
	"reflect"
	"slices"
	"unsafe"
)

// Values are written by the layout of their types, since a recording writes thousands of fields a
// second: a put gets the address of a value of the form's type, which the caller holds. They are
// read by reflection.

// put writes the value at an address.
type put func(*writer, unsafe.Pointer)

// some writes the value at an address unless it is zero, and says whether it did.
type some func(*writer, unsafe.Pointer) bool

// bare is a form whose zero value is written like any other where it cannot be left out.
func (f *form) bare(put put, some some, get func(*reader, reflect.Value)) {
	f.put, f.some, f.get, f.got = put, some, get, get
}

// flagged is a form whose zero value is a byte where it cannot be left out.
func (f *form) flagged(some some, got func(*reader, reflect.Value)) {
	f.some, f.got = some, got
	f.put = func(w *writer, p unsafe.Pointer) {
		at := len(w.b)
		if w.b = append(w.b, 1); !some(w, p) {
			w.b[at] = 0
		}
	}
	f.get = func(r *reader, v reflect.Value) {
		if r.uint() == 0 {
			v.SetZero()
			return
		}
		got(r, v)
	}
}

// number is the form of a kind that is a number, a text or a bool.
func number[T comparable](f *form, write func(*writer, T), get func(*reader, reflect.Value)) {
	f.bare(func(w *writer, p unsafe.Pointer) { write(w, *(*T)(p)) }, func(w *writer, p unsafe.Pointer) bool {
		var zero T
		if x := *(*T)(p); x != zero {
			write(w, x)
			return true
		}
		return false
	}, get)
}

func signed[T int | int8 | int16 | int32 | int64](f *form) {
	number(f, func(w *writer, x T) { w.int(int64(x)) }, func(r *reader, v reflect.Value) { v.SetInt(r.int()) })
}

func unsigned[T uint | uint8 | uint16 | uint32 | uint64](f *form) {
	number(f, func(w *writer, x T) { w.uint(uint64(x)) }, func(r *reader, v reflect.Value) { v.SetUint(r.uint()) })
}

// share is a float: its sign counts, even that of 0.
func share[T float32 | float64](f *form) {
	write := func(w *writer, p unsafe.Pointer) { w.float(float64(*(*T)(p))) }
	f.bare(write, func(w *writer, p unsafe.Pointer) bool {
		at := len(w.b)
		if write(w, p); binary.LittleEndian.Uint64(w.b[at:]) == 0 {
			w.b = w.b[:at]
			return false
		}
		return true
	}, func(r *reader, v reflect.Value) { v.SetFloat(r.float()) })
}

// basic is the form of a kind without parts; false if there is none.
func (f *form) basic(k reflect.Kind) bool {
	switch k {
	case reflect.Bool:
		f.flagged(func(_ *writer, p unsafe.Pointer) bool { return *(*bool)(p) },
			func(_ *reader, v reflect.Value) { v.SetBool(true) })
	case reflect.Int:
		signed[int](f)
	case reflect.Int8:
		signed[int8](f)
	case reflect.Int16:
		signed[int16](f)
	case reflect.Int32:
		signed[int32](f)
	case reflect.Int64:
		signed[int64](f)
	case reflect.Uint:
		unsigned[uint](f)
	case reflect.Uint8:
		unsigned[uint8](f)
	case reflect.Uint16:
		unsigned[uint16](f)
	case reflect.Uint32:
		unsigned[uint32](f)
	case reflect.Uint64:
		unsigned[uint64](f)
	case reflect.Float32:
		share[float32](f)
	case reflect.Float64:
		share[float64](f)
	case reflect.String:
		number(f, (*writer).text, func(r *reader, v reflect.Value) { v.SetString(r.text()) })
	default:
		return false
	}
	return true
}

func (f *form) pointer(t reflect.Type, of *form) {
	f.flagged(func(w *writer, p unsafe.Pointer) bool {
		to := *(*unsafe.Pointer)(p)
		if to == nil {
			return false
		}
		of.put(w, to)
		return true
	}, func(r *reader, v reflect.Value) {
		v.Set(reflect.New(t.Elem()))
		of.get(r, v.Elem())
	})
}

// sliceHeader is the layout of a slice.
type sliceHeader struct {
	first    unsafe.Pointer
	len, cap int
}

// elements writes n values that lie one after the other.
func elements(w *writer, p unsafe.Pointer, n int, t reflect.Type, of *form) {
	if t.Kind() == reflect.Uint8 {
		w.b = append(w.b, unsafe.Slice((*byte)(p), n)...) //nolint:gosec // the slice's own length
		return
	}
	for i := range n {
		of.put(w, unsafe.Add(p, uintptr(i)*t.Size()))
	}
}

func (f *form) list(t reflect.Type, of *form) {
	f.flagged(func(w *writer, p unsafe.Pointer) bool {
		s := (*sliceHeader)(p)
		if s.first == nil {
			return false
		}
		w.count(s.len)
		elements(w, s.first, s.len, t.Elem(), of)
		return true
	}, func(r *reader, v reflect.Value) {
		n := r.count()
		v.Set(reflect.MakeSlice(t, n, n))
		r.elements(v, of)
	})
}

func (f *form) array(t reflect.Type, of *form) {
	write := func(w *writer, p unsafe.Pointer) { elements(w, p, t.Len(), t.Elem(), of) }
	f.bare(write, func(w *writer, p unsafe.Pointer) bool {
		if reflect.NewAt(t, p).Elem().IsZero() {
			return false
		}
		write(w, p)
		return true
	}, func(r *reader, v reflect.Value) { r.elements(v, of) })
}

// entries is the form of a map, which is written in the order of its keys.
func (f *form) entries(t reflect.Type, key, elem *form) {
	write := func(w *writer, p unsafe.Pointer) {
		v := reflect.NewAt(t, p).Elem()
		w.count(v.Len())
		for _, k := range w.keys(v, key) {
			key.put(w, k.Addr().UnsafePointer())
			elem.put(w, addressable(v.MapIndex(k)).Addr().UnsafePointer())
		}
	}
	if t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.String {
		write = func(w *writer, p unsafe.Pointer) {
			m := *(*map[string]string)(p) // named texts are laid out and hashed alike
			w.count(len(m))
			for _, k := range slices.Sorted(maps.Keys(m)) {
				w.text(k)
				w.text(m[k])
			}
		}
	}
	f.flagged(func(w *writer, p unsafe.Pointer) bool {
		if *(*unsafe.Pointer)(p) == nil {
			return false
		}
		write(w, p)
		return true
	}, func(r *reader, v reflect.Value) {
		n := r.count()
		v.Set(reflect.MakeMapWithSize(t, n))
		for ; n > 0 && r.err == nil; n-- {
			k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.get(r, k)
			elem.get(r, e)
			v.SetMapIndex(k, e)
		}
	})
}

// keys are a map's keys, addressable and sorted: by what they are, or by their bytes.
func (w *writer) keys(m reflect.Value, key *form) []reflect.Value {
	list := make([]reflect.Value, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		list = append(list, addressable(it.Key()))
	}
	if len(list) < 2 {
		return list
	}
	switch {
	case list[0].Kind() == reflect.String:
		slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	case list[0].CanInt():
		slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
	default:
		plain := func(v reflect.Value) string {
			alone := writer{c: w.c}
			key.put(&alone, v.Addr().UnsafePointer())
			return string(alone.b)
		}
		slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(plain(a), plain(b)) })
	}
	return list
}

// addressable is an addressable copy of a value.
func addressable(v reflect.Value) reflect.Value {
	a := reflect.New(v.Type()).Elem()
	a.Set(v)
	return a
}
