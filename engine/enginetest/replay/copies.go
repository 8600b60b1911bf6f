package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"dialler/engine/pacing"
)

// clone copies a value and everything that it points at. Errors stay the same, since they are
// compared by identity, and so do functions.
func clone(v any) any {
	if v == nil {
		return nil
	}
	return cloned(reflect.ValueOf(v)).Interface()
}

var (
	errorType = reflect.TypeFor[error]()
	timeType  = reflect.TypeFor[time.Time]()
	hoursType = reflect.TypeFor[pacing.Hours]()
)

func cloned(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !v.Type().Implements(errorType) {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(cloned(v.Elem()))
		}
	case reflect.Interface:
		if !v.IsNil() && v.Type() != errorType {
			out.Set(cloned(v.Elem()))
		}
	case reflect.Struct:
		switch v.Type() {
		case timeType:
			return out
		case hoursType:
			h, _ := v.Interface().(pacing.Hours)
			out.Set(reflect.ValueOf(h.Clone()))
			return out
		}
		for i := range v.NumField() {
			if f := out.Field(i); f.CanSet() {
				f.Set(cloned(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(cloned(v.Index(i)))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(cloned(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), cloned(it.Value()))
			}
		}
	default:
	}
	return out
}

// render writes a value and everything that it points at, maps in the order of their keys.
// Functions are shown only by their type.
func render(b *bytes.Buffer, v any) {
	if v == nil {
		b.WriteString("nil")
		return
	}
	fmt.Fprintf(b, "%T", v)
	rendered(b, reflect.ValueOf(v))
}

func rendered(b *bytes.Buffer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if v.Kind() == reflect.Interface {
			b.WriteString(v.Elem().Type().String())
		}
		rendered(b, v.Elem())
	case reflect.Struct:
		if v.Type() == timeType {
			if t, ok := v.Interface().(time.Time); ok {
				b.WriteString(strconv.FormatInt(t.UnixNano(), 10))
				return
			}
		}
		b.WriteByte('{')
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				b.WriteString(f.Name + ":")
				rendered(b, v.Field(i))
				b.WriteByte(' ')
			}
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			fmt.Fprintf(b, "%q", v.Bytes())
			return
		}
		b.WriteByte('[')
		for i := range v.Len() {
			rendered(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(fmt.Sprint(x), fmt.Sprint(y)) })
		b.WriteByte('[')
		for _, k := range keys {
			fmt.Fprintf(b, "%v:", k)
			rendered(b, v.MapIndex(k))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Func, reflect.Chan:
		b.WriteString(v.Kind().String())
	default:
		fmt.Fprintf(b, "%v", v)
	}
}
