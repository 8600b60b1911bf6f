package run

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

var moment = reflect.TypeFor[time.Time]()

// dump prints everything in a value, unexported fields too: pointers are followed, maps are sorted,
// functions left out.
func dump(v any) string {
	var b strings.Builder
	write(&b, reflect.ValueOf(v))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid, reflect.Func:
		b.WriteString("-")
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Interface {
			b.WriteString(v.Elem().Type().String())
		}
		write(b, v.Elem())
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			if v.Type() == moment && v.Type().Field(i).Name == "loc" {
				continue
			}
			b.WriteString(v.Type().Field(i).Name + ":")
			write(b, v.Field(i))
			b.WriteString(" ")
		}
		b.WriteString("}")
	case reflect.Slice, reflect.Array:
		b.WriteString("[")
		for i := range v.Len() {
			write(b, v.Index(i))
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Map:
		var list []string
		for it := v.MapRange(); it.Next(); {
			var e strings.Builder
			write(&e, it.Key())
			e.WriteString("=")
			write(&e, it.Value())
			list = append(list, e.String())
		}
		slices.Sort(list)
		fmt.Fprintf(b, "map%v", list)
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprint(b, v)
	}
}

// differ shows two dumps around their first difference.
func differ(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	around := func(s string) string { return s[max(n-300, 0):min(n+100, len(s))] }
	return around(a) + "\n" + around(b)
}

// deep copies an event so that the copy shares nothing with it.
func deep[T any](v T) T {
	return copied(reflect.ValueOf(&v).Elem()).Interface().(T)
}

func copied(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(copied(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(copied(v.Elem()))
		}
	case reflect.Struct:
		out.Set(v)
		for i := range v.NumField() {
			if v.Type() != moment && v.Type().Field(i).IsExported() {
				out.Field(i).Set(copied(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(copied(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), copied(it.Value()))
			}
		}
	default:
		out.Set(v)
	}
	return out
}
