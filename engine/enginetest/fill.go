// Package enginetest is for tests of code that stores or sends values of the engine: it makes
// values without any zero-valued field, so that a field lost on the way is found.
package enginetest

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// Filled is a T with every exported field set; times have whole microseconds, as a database stores
// them.
func Filled[T any]() T {
	var v T
	n := 0
	Fill(reflect.ValueOf(&v).Elem(), &n, func(reflect.StructField) bool { return true })
	return v
}

// Fill sets what v holds, in structs the exported fields that wanted selects. n keeps counting, so
// that no two fields are the same.
func Fill(v reflect.Value, n *int, wanted func(reflect.StructField) bool) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("text" + string(rune('a'+*n%26)))
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		v.SetInt(int64(*n) % 100)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(uint64(*n) % 100) //nolint:gosec // small
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Fill(v.Elem(), n, wanted)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage(strconv.Itoa(*n))))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		Fill(v.Index(0), n, wanted)
	case reflect.Array:
		for i := range v.Len() {
			Fill(v.Index(i), n, wanted)
		}
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		Fill(k, n, wanted)
		Fill(e, n, wanted)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2030, 5, 6, 7, 8, *n%60, 123456000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && wanted(f) {
				Fill(v.Field(i), n, wanted)
			}
		}
	default:
		panic("a kind of field that the tests do not know: " + v.Kind().String()) //nolint:forbidigo // it ends the test
	}
}
