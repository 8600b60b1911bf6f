package snapshot

import (
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"dialler/engine"
)

// Parts is a type whose state is in unexported fields: pointers to all of them, in order, except
// those with the tag. The method has a pointer receiver.
type Parts interface{ Parts() []any }

// Codec writes and reads values of one type. It is safe for concurrent use.
type Codec struct {
	root     reflect.Type
	forms    map[reflect.Type]form
	variants map[string]reflect.Type // types that interfaces may hold, by name
	seal     [sha256.Size]byte       // over the variants, and the names and types of all fields
	problem  error
}

// form is how values of a type are written.
type form struct {
	binary bool  // written by their own method
	fields []int // for a struct: the exported ones
	parts  bool  // followed by its Parts
}

var (
	marshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

const tag = "snapshot"

// Of returns the codec of a value's type. The variants are values of the types that interfaces may
// hold; any other error is written as a Failure.
func Of(root any, variants ...any) *Codec {
	c := &Codec{root: reflect.TypeOf(root), forms: map[reflect.Type]form{}, variants: map[string]reflect.Type{}}
	l := learner{Codec: c}
	l.fields(c.root) // by its fields, even if it writes itself with this codec
	for _, v := range append(variants, &engine.Error{}, &Failure{}) {
		t := reflect.TypeOf(v)
		if _, twice := c.variants[t.String()]; twice {
			l.wrong(t, "there are two variants of that name")
		}
		c.variants[t.String()] = t
	}
	for _, name := range c.Variants() {
		l.shape.WriteString(name + "\n")
		l.learn(c.variants[name])
	}
	c.seal = sha256.Sum256([]byte(l.shape.String()))
	return c
}

// Problem says which types cannot be written, nil if all can.
func (c *Codec) Problem() error { return c.problem }

// Variants names the types whose values interfaces may hold, sorted.
func (c *Codec) Variants() []string { return slices.Sorted(maps.Keys(c.variants)) }

// Failure is an error represented by its text, and by the engine's Error that it wraps.
type Failure struct {
	Text  string
	Cause *engine.Error
}

func (f *Failure) Error() string { return f.Text }

// Unwrap gives the engine's Error.
func (f *Failure) Unwrap() error {
	if f.Cause == nil {
		return nil
	}
	return f.Cause
}

func failure(err error) *Failure {
	f := &Failure{Text: err.Error()}
	errors.As(err, &f.Cause)
	return f
}

// learner finds the forms of all types that a codec may encounter.
type learner struct {
	*Codec
	shape strings.Builder
}

func (l *learner) wrong(t reflect.Type, what string) {
	l.problem = errors.Join(l.problem, fmt.Errorf("%s: %s", t, what))
}

func (l *learner) learn(t reflect.Type) {
	if _, known := l.forms[t]; known {
		return
	}
	l.forms[t] = form{}
	switch k := t.Kind(); {
	case t.Implements(marshaler) && k != reflect.Pointer || reflect.PointerTo(t).Implements(marshaler):
		l.forms[t] = form{binary: true}
		if fmt.Fprintf(&l.shape, "%s writes itself\n", t); !reflect.PointerTo(t).Implements(unmarshaler) {
			l.wrong(t, "it writes itself and does not read itself")
		}
	case k == reflect.Struct:
		l.fields(t)
	case k == reflect.Pointer, k == reflect.Slice, k == reflect.Array:
		l.learn(t.Elem())
	case k == reflect.Map:
		l.learn(t.Key())
		l.learn(t.Elem())
	case k == reflect.Func, k == reflect.Chan, k == reflect.UnsafePointer, k == reflect.Uintptr:
		l.wrong(t, "it cannot be written")
	}
}

func (l *learner) fields(t reflect.Type) {
	var f form
	zero := reflect.New(t)
	var hidden []reflect.Value
	for i := range t.NumField() {
		of := t.Field(i)
		if of.Tag.Get(tag) == "-" {
			continue
		}
		fmt.Fprintf(&l.shape, "%s.%s %s\n", t, of.Name, of.Type)
		l.learn(of.Type)
		if of.IsExported() {
			f.fields = append(f.fields, i)
			continue
		}
		hidden = append(hidden, zero.Elem().Field(i))
	}
	if len(hidden) > 0 {
		p, ok := zero.Interface().(Parts)
		if f.parts = ok && slices.EqualFunc(hidden, p.Parts(), func(field reflect.Value, part any) bool {
			v := reflect.ValueOf(part)
			return v.Kind() == reflect.Pointer && v.Type().Elem() == field.Type() && v.Pointer() == field.Addr().Pointer()
		}); !f.parts {
			l.wrong(t, "its Parts are not its unexported fields")
		}
	}
	l.forms[t] = f
}
