package flight

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"dialler/engine/run"
)

// Text renders effects, including the events of their writes, deterministically.
func Text(effects []run.Effect) []byte {
	var b bytes.Buffer
	for _, e := range effects {
		render(&b, e)
		b.WriteByte('\n')
	}
	return b.Bytes()
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

var moment = reflect.TypeFor[time.Time]()

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
		if v.Type() == moment {
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
