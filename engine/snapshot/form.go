package snapshot

import (
	"cmp"
	"reflect"
	"slices"
)

// bare is a form whose zero value is written like any other where it cannot be left out.
func (f *form) bare(put func(*writer, reflect.Value), get func(*reader, reflect.Value)) {
	f.put, f.get, f.got = put, get, get
	f.some = func(w *writer, v reflect.Value) bool {
		if v.IsZero() {
			return false
		}
		put(w, v)
		return true
	}
}

// flagged is a form whose zero value is a byte where it cannot be left out.
func (f *form) flagged(some func(*writer, reflect.Value) bool, got func(*reader, reflect.Value)) {
	f.some, f.got = some, got
	f.put = func(w *writer, v reflect.Value) {
		at := len(w.b)
		if w.b = append(w.b, 1); !some(w, v) {
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

// basic is the form of a kind without parts; false if there is none.
func (f *form) basic(k reflect.Kind) bool {
	switch k { //nolint:exhaustive // the others have parts, or no form
	case reflect.Bool:
		f.flagged(func(_ *writer, v reflect.Value) bool { return v.Bool() },
			func(_ *reader, v reflect.Value) { v.SetBool(true) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.bare(func(w *writer, v reflect.Value) { w.int(v.Int()) }, func(r *reader, v reflect.Value) { v.SetInt(r.int()) })
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.bare(func(w *writer, v reflect.Value) { w.uint(v.Uint()) },
			func(r *reader, v reflect.Value) { v.SetUint(r.uint()) })
	case reflect.Float32, reflect.Float64:
		f.bare(func(w *writer, v reflect.Value) { w.float(v.Float()) },
			func(r *reader, v reflect.Value) { v.SetFloat(r.float()) })
	case reflect.String:
		f.bare(func(w *writer, v reflect.Value) { w.text(v.String()) },
			func(r *reader, v reflect.Value) { v.SetString(r.text()) })
	default:
		return false
	}
	return true
}

func (f *form) list(t reflect.Type, of *form) {
	f.flagged(func(w *writer, v reflect.Value) bool {
		if v.IsNil() {
			return false
		}
		w.count(v.Len())
		w.elements(v, of)
		return true
	}, func(r *reader, v reflect.Value) {
		n := r.count()
		v.Set(reflect.MakeSlice(t, n, n))
		r.elements(v, of)
	})
}

// entries is the form of a map, which is written in the order of its keys.
func (f *form) entries(key, elem *form) {
	f.flagged(func(w *writer, v reflect.Value) bool {
		if v.IsNil() {
			return false
		}
		w.count(v.Len())
		for _, k := range w.keys(v, key) {
			key.put(w, k)
			elem.put(w, addressable(v.MapIndex(k)))
		}
		return true
	}, func(r *reader, v reflect.Value) {
		t, n := v.Type(), r.count()
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
	if len(list) > 1 {
		switch {
		case m.Type().Key().Kind() == reflect.String:
			slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		case list[0].CanInt():
			slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) })
		default:
			plain := func(v reflect.Value) string {
				alone := writer{c: w.c}
				key.put(&alone, v)
				return string(alone.b)
			}
			slices.SortFunc(list, func(a, b reflect.Value) int { return cmp.Compare(plain(a), plain(b)) })
		}
	}
	return list
}

// field is an exported field of a struct, by its index.
type field struct {
	at int
	of *form
}

// fields is the form of a struct: a bit for each field says whether it is there, and those that are
// zero are not. parts are the forms of its Parts.
func (f *form) fields(exported []field, parts []*form) {
	size := (len(exported) + len(parts) + 7) / 8
	put := func(w *writer, v reflect.Value) (any bool) {
		at, n := len(w.b), 0
		for range size {
			w.b = append(w.b, 0)
		}
		note := func(there bool) {
			if there {
				any = true
				w.b[at+n/8] |= 1 << (n % 8)
			}
			n++
		}
		for i := range exported {
			note(exported[i].of.some(w, v.Field(exported[i].at)))
		}
		if len(parts) > 0 {
			for i, p := range v.Addr().Interface().(Parts).Parts() {
				note(parts[i].some(w, reflect.ValueOf(p).Elem()))
			}
		}
		return any
	}
	f.put = func(w *writer, v reflect.Value) { put(w, v) }
	f.some = func(w *writer, v reflect.Value) bool {
		at := len(w.b)
		if put(w, v) {
			return true
		}
		w.b = w.b[:at]
		return false
	}
	f.get = func(r *reader, v reflect.Value) {
		there, n := r.take(size), 0
		read := func(of *form, v reflect.Value) {
			if there[n/8]&(1<<(n%8)) != 0 {
				of.got(r, v)
			} else {
				v.SetZero()
			}
			n++
		}
		for i := range exported {
			read(exported[i].of, v.Field(exported[i].at))
		}
		if len(parts) > 0 {
			for i, p := range v.Addr().Interface().(Parts).Parts() {
				read(parts[i], reflect.ValueOf(p).Elem())
			}
		}
	}
	f.got = f.get
}

// addressable is an addressable copy of a value.
func addressable(v reflect.Value) reflect.Value {
	a := reflect.New(v.Type()).Elem()
	a.Set(v)
	return a
}
