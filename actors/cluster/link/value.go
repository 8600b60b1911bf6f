package link

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
)

// Value carries a value without a description of its type: a struct by its exported fields' names,
// so that nodes understand each other even if only one knows a field. It costs more than a
// description and is meant for rare messages.
func Value[T any](w *Wire, v *T) { w.value(reflect.ValueOf(v).Elem()) }

// Pack encodes what is described.
func Pack(describe func(*Wire)) []byte {
	w := Wire{version: Oldest}
	describe(&w)
	return w.b
}

// Unpack decodes what Pack encoded; it returns false for anything else.
func Unpack(b []byte, describe func(*Wire)) bool {
	w := Wire{b: b, reading: true, version: Oldest}
	describe(&w)
	return w.Whole()
}

// Encode encodes a value, Decode decodes it.
func Encode[T any](v *T) []byte { return Pack(func(w *Wire) { Value(w, v) }) }

// Decode decodes what Encode encoded.
func Decode[T any](b []byte, into *T) error {
	if !Unpack(b, func(w *Wire) { Value(w, into) }) {
		return ErrMalformed
	}
	return nil
}

var asText = reflect.TypeFor[encoding.TextMarshaler]()

func (w *Wire) value(v reflect.Value) {
	if v.Kind() != reflect.Pointer && v.Type().Implements(asText) {
		w.text(v)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		x := v.Bool()
		w.Flag(&x)
		w.set(func() { v.SetBool(x) })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x := v.Int()
		w.Signed(&x)
		w.set(func() {
			if v.OverflowInt(x) {
				w.Fail()
			}
			v.SetInt(x)
		})
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x := v.Uint()
		w.Unsigned(&x)
		w.set(func() {
			if v.OverflowUint(x) {
				w.Fail()
			}
			v.SetUint(x)
		})
	case reflect.Float32, reflect.Float64:
		x := v.Float()
		w.Real(&x)
		w.set(func() { v.SetFloat(x) })
	case reflect.String:
		x := v.String()
		Text(w, &x)
		w.set(func() { v.SetString(x) })
	case reflect.Pointer:
		there := !v.IsNil()
		w.Flag(&there)
		if !there {
			w.set(v.SetZero)
			return
		}
		w.set(func() { v.Set(reflect.New(v.Type().Elem())) })
		w.value(v.Elem())
	case reflect.Slice:
		w.slice(v)
	case reflect.Array:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		w.table(v)
	case reflect.Struct:
		w.fields(v)
	case reflect.Interface:
		w.any(v)
	default:
		panic("link: a " + v.Type().String() + " cannot be sent") // a test covers every type that is sent
	}
}

// set stores a value that was read.
func (w *Wire) set(f func()) {
	if w.reading && !w.bad {
		f()
	}
}

func (w *Wire) text(v reflect.Value) {
	var b []byte
	if !w.reading {
		b, _ = v.Interface().(encoding.TextMarshaler).MarshalText() // what cannot be encoded cannot be decoded either
	}
	w.Octets(&b)
	w.set(func() {
		if v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(b) != nil {
			w.Fail()
		}
	})
}

func (w *Wire) slice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		b := v.Bytes()
		w.Octets(&b)
		w.set(func() { v.SetBytes(b) })
		return
	}
	n := -1
	if !v.IsNil() {
		n = v.Len()
	}
	n = w.size(n)
	if !w.reading {
		for i := range v.Len() {
			w.value(v.Index(i))
		}
		return
	}
	v.SetZero()
	if n >= 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, min(n, trusted)))
	}
	for i := 0; i < n && !w.bad; i++ {
		x := reflect.New(v.Type().Elem()).Elem()
		w.value(x)
		v.Set(reflect.Append(v, x))
	}
}

func (w *Wire) table(v reflect.Value) {
	n := -1
	if !v.IsNil() {
		n = v.Len()
	}
	n = w.size(n)
	if !w.reading {
		for it := v.MapRange(); it.Next(); {
			w.value(it.Key())
			w.value(it.Value())
		}
		return
	}
	v.SetZero()
	if n >= 0 {
		v.Set(reflect.MakeMapWithSize(v.Type(), min(n, trusted)))
	}
	for i := 0; i < n && !w.bad; i++ {
		k, x := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		w.value(k)
		w.value(x)
		w.set(func() { v.SetMapIndex(k, x) })
	}
}

// fields carries the non-zero fields, each with its name and length.
func (w *Wire) fields(v reflect.Value) {
	if !w.reading {
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				part := Wire{clock: w.clock, version: w.version}
				part.value(v.Field(i))
				Text(w, &f.Name)
				w.Octets(&part.b)
			}
		}
		end := ""
		Text(w, &end)
		return
	}
	v.SetZero()
	for !w.bad {
		var name string
		if Text(w, &name); name == "" {
			return
		}
		var n uint64
		w.Unsigned(&n)
		part := Wire{b: w.take(max(n, 1) - 1), reading: true, clock: w.clock, version: w.version}
		if f, ok := v.Type().FieldByName(name); ok && len(f.Index) == 1 && f.IsExported() && !w.bad {
			if part.value(v.Field(f.Index[0])); !part.Whole() {
				w.Fail()
			}
		}
	}
}

// any carries a value of any type as JSON; numbers arrive exactly as they were written.
func (w *Wire) any(v reflect.Value) {
	var b []byte
	if !w.reading && !v.IsNil() {
		b, _ = json.Marshal(v.Interface()) // what cannot be encoded arrives empty
	}
	w.Octets(&b)
	w.set(func() {
		var x any
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if v.SetZero(); len(b) > 0 && d.Decode(&x) != nil {
			w.Fail()
		} else if x != nil {
			v.Set(reflect.ValueOf(x))
		}
	})
}
