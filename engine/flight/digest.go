package flight

import (
	"errors"
	"math"
	"math/bits"
	"reflect"
	"time"

	"dialler/engine"
	"dialler/engine/run"
)

// digester digests effects: two lists with the same digest are the same in everything that is
// exported. Times count by the wall clock, errors by their text and code, functions not at all.
type digester struct {
	types map[reflect.Type]*digest
}

// digest is how values of a type enter a sum.
type digest struct {
	add  func(sum, reflect.Value) sum
	name sum // of the type
}

// sum is a digest of what was added, in its order.
type sum uint64

const (
	sumSeed  sum = 0x9e3779b97f4a7c15
	sumPrime     = 0xd6e8feb86659fd93
)

func (s sum) number(n uint64) sum {
	high, low := bits.Mul64(uint64(s)^n, sumPrime)
	return sum(high ^ low + 1)
}

func (s sum) text(t string) sum {
	s = s.number(uint64(len(t)))
	for len(t) >= 8 {
		s = s.number(uint64(t[0]) | uint64(t[1])<<8 | uint64(t[2])<<16 | uint64(t[3])<<24 |
			uint64(t[4])<<32 | uint64(t[5])<<40 | uint64(t[6])<<48 | uint64(t[7])<<56)
		t = t[8:]
	}
	var rest uint64
	for i := range len(t) {
		rest = rest<<8 | uint64(t[i])
	}
	return s.number(rest)
}

func (d *digester) effects(list []run.Effect) uint64 {
	s := sumSeed
	for _, e := range list {
		if e == nil {
			s = s.number(0)
			continue
		}
		v := reflect.ValueOf(e)
		of := d.of(v.Type())
		s = of.add(s.number(uint64(of.name)), v)
	}
	return uint64(s)
}

var (
	moment   = reflect.TypeFor[time.Time]()
	fault    = reflect.TypeFor[error]()
	location = reflect.TypeFor[time.Location]()
)

func (d *digester) of(t reflect.Type) *digest {
	if of, known := d.types[t]; known {
		return of
	}
	of := &digest{name: sumSeed.text(t.String())}
	if d.types == nil {
		d.types = map[reflect.Type]*digest{}
	}
	d.types[t] = of
	switch k := t.Kind(); k { //nolint:exhaustive // the others have no value to add
	case reflect.Bool:
		of.add = func(s sum, v reflect.Value) sum {
			if v.Bool() {
				return s.number(1)
			}
			return s.number(0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		of.add = func(s sum, v reflect.Value) sum { return s.number(uint64(v.Int())) } //nolint:gosec // its bits
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		of.add = func(s sum, v reflect.Value) sum { return s.number(v.Uint()) }
	case reflect.Float32, reflect.Float64:
		of.add = func(s sum, v reflect.Value) sum { return s.number(math.Float64bits(v.Float())) }
	case reflect.String:
		of.add = func(s sum, v reflect.Value) sum { return s.text(v.String()) }
	case reflect.Pointer:
		elem := d.of(t.Elem())
		of.add = func(s sum, v reflect.Value) sum {
			if v.IsNil() {
				return s.number(0)
			}
			return elem.add(s.number(1), v.Elem())
		}
	case reflect.Interface:
		of.add = d.held
	case reflect.Slice, reflect.Array:
		of.add = list(d.of(t.Elem()), k == reflect.Slice)
	case reflect.Map:
		of.add = entries(d.of(t.Key()), d.of(t.Elem()))
	case reflect.Struct:
		of.add = d.structure(t)
	default:
		of.add = func(s sum, _ reflect.Value) sum { return s }
	}
	return of
}

// held adds what an interface holds. An error counts by what is left of it in a recording.
func (d *digester) held(s sum, v reflect.Value) sum {
	if v.IsNil() {
		return s.number(0)
	}
	v = v.Elem()
	if v.Type().Implements(fault) && v.CanInterface() {
		err, _ := v.Interface().(error)
		s = s.number(2).text(err.Error())
		var e *engine.Error
		if errors.As(err, &e) {
			s = s.text(string(e.Kind)).text(e.Code).text(e.Detail).number(uint64(e.RetryAfter)) //nolint:gosec // its bits
		}
		return s
	}
	of := d.of(v.Type())
	return of.add(s.number(uint64(of.name)), v)
}

func list(elem *digest, mayBeNil bool) func(sum, reflect.Value) sum {
	return func(s sum, v reflect.Value) sum {
		if mayBeNil && v.IsNil() {
			return s.number(0)
		}
		n := v.Len()
		s = s.number(uint64(n) + 1) //nolint:gosec // no length is negative
		for i := range n {
			s = elem.add(s, v.Index(i))
		}
		return s
	}
}

// entries adds a map, whatever the order in which its entries come.
func entries(key, elem *digest) func(sum, reflect.Value) sum {
	return func(s sum, v reflect.Value) sum {
		if v.IsNil() {
			return s.number(0)
		}
		var all sum
		for it := v.MapRange(); it.Next(); {
			all += elem.add(key.add(sumSeed, it.Key()), it.Value())
		}
		return s.number(uint64(v.Len()) + 1).number(uint64(all)) //nolint:gosec // no length is negative
	}
}

func (d *digester) structure(t reflect.Type) func(sum, reflect.Value) sum {
	switch t {
	case moment:
		return func(s sum, v reflect.Value) sum {
			var at time.Time
			if v.CanAddr() {
				at = *v.Addr().Interface().(*time.Time)
			} else {
				at, _ = v.Interface().(time.Time)
			}
			return s.number(uint64(at.Unix())).number(uint64(at.Nanosecond())) //nolint:gosec // its bits
		}
	case location:
		return func(s sum, _ reflect.Value) sum { return s }
	}
	type part struct {
		at int
		of *digest
	}
	var parts []part
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			parts = append(parts, part{i, d.of(f.Type)})
		}
	}
	return func(s sum, v reflect.Value) sum {
		for i := range parts {
			s = parts[i].of.add(s, v.Field(parts[i].at))
		}
		return s
	}
}
