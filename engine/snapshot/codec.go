package snapshot

import (
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"dialler/engine"
)

// Parts is a type whose state is in unexported fields: pointers to all of them, in order, except
// those with the tag. The method has a pointer receiver.
type Parts interface{ Parts() []any }

// Codec writes and reads values of one type, and single values of its variants. It is safe for
// concurrent use.
type Codec struct {
	root     reflect.Type
	forms    map[reflect.Type]*form
	variants []reflect.Type // types that interfaces may hold, by name
	kinds    map[unsafe.Pointer]*kind
	rows     int               // how many types of rows there are
	seal     [sha256.Size]byte // over the variants, and the names and types of all fields
	problem  error
	lenient  bool // what cannot be written is left out: the bytes are for a Digest
}

// form is how values of a type are written and read: get reads what put wrote, and got what some wrote.
type form struct {
	put  put
	get  func(*reader, reflect.Value)
	some some
	got  func(*reader, reflect.Value)
}

var (
	moment      = reflect.TypeFor[time.Time]()
	marshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

const tag = "snapshot"

// layout is part of the seal: bytes of an earlier layout are refused.
const layout = "2\n"

// Of returns the codec of a value's type. The variants are values of the types that interfaces may
// hold; any other error is written as a Failure.
func Of(root any, variants ...any) *Codec {
	c := &Codec{root: reflect.TypeOf(root), forms: map[reflect.Type]*form{}, kinds: map[unsafe.Pointer]*kind{}}
	l := learner{Codec: c}
	l.shape.WriteString(layout)
	l.forms[c.root] = &form{}
	l.fields(c.root, l.forms[c.root]) // by its fields, even if it writes itself with this codec
	for _, v := range append(variants, &engine.Error{}, &Failure{}) {
		c.variants = append(c.variants, reflect.TypeOf(v))
	}
	slices.SortFunc(c.variants, func(a, b reflect.Type) int { return strings.Compare(a.String(), b.String()) })
	for i, t := range c.variants {
		if i > 0 && c.variants[i-1].String() == t.String() {
			l.wrong(t, "there are two variants of that name")
		}
		l.shape.WriteString(t.String() + "\n")
		l.kind(t, i)
	}
	c.seal = sha256.Sum256([]byte(l.shape.String()))
	return c
}

// Seal names the types that the codec knows, and how they are written: only a codec with the same
// seal reads what this one wrote.
func (c *Codec) Seal() [sha256.Size]byte { return c.seal }

// Problem says which types cannot be written, nil if all can.
func (c *Codec) Problem() error { return c.problem }

// Variants names the types whose values interfaces may hold, sorted.
func (c *Codec) Variants() []string {
	names := make([]string, len(c.variants))
	for i, t := range c.variants {
		names[i] = t.String()
	}
	return names
}

// Types are the types whose values interfaces may hold, sorted by their names.
func (c *Codec) Types() []reflect.Type { return slices.Clone(c.variants) }

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
	if l.lenient {
		return
	}
	l.problem = errors.Join(l.problem, fmt.Errorf("%s: %s", t, what))
}

// learn returns the form of a type, which is complete once everything is learnt.
func (l *learner) learn(t reflect.Type) *form {
	if f, known := l.forms[t]; known {
		return f
	}
	f := &form{}
	l.forms[t] = f
	switch k := t.Kind(); {
	case t == moment:
		number(f, (*writer).time, func(r *reader, v reflect.Value) { *v.Addr().Interface().(*time.Time) = r.time() })
	case t.Implements(marshaler) && k != reflect.Pointer || reflect.PointerTo(t).Implements(marshaler):
		f.itself(t)
		if fmt.Fprintf(&l.shape, "%s writes itself\n", t); !reflect.PointerTo(t).Implements(unmarshaler) {
			l.wrong(t, "it writes itself and does not read itself")
		}
	case k == reflect.Struct:
		l.fields(t, f)
	case k == reflect.Pointer:
		f.pointer(t, l.learn(t.Elem()))
	case k == reflect.Slice:
		f.list(t, l.learn(t.Elem()))
	case k == reflect.Array:
		f.array(t, l.learn(t.Elem()))
	case k == reflect.Map:
		f.entries(t, l.learn(t.Key()), l.learn(t.Elem()))
	case k == reflect.Interface:
		f.anything(t)
	case !f.basic(k):
		l.wrong(t, "it cannot be written")
		f.bare(func(*writer, unsafe.Pointer) {}, func(*writer, unsafe.Pointer) bool { return false },
			func(*reader, reflect.Value) {})
	}
	return f
}

func (l *learner) fields(t reflect.Type, f *form) {
	var exported, parts []field
	zero := reflect.New(t)
	var hidden []reflect.Value
	for i := range t.NumField() {
		of := t.Field(i)
		if of.Tag.Get(tag) == "-" {
			continue
		}
		fmt.Fprintf(&l.shape, "%s.%s %s\n", t, of.Name, of.Type)
		learnt := l.learn(of.Type)
		if of.IsExported() {
			exported = append(exported, field{of.Offset, i, false, learnt})
			continue
		}
		parts = append(parts, field{of.Offset, len(parts), true, learnt})
		hidden = append(hidden, zero.Elem().Field(i))
	}
	if len(hidden) > 0 {
		p, ok := zero.Interface().(Parts)
		if !ok || !slices.EqualFunc(hidden, p.Parts(), func(field reflect.Value, part any) bool {
			v := reflect.ValueOf(part)
			return v.Kind() == reflect.Pointer && v.Type().Elem() == field.Type() && v.Pointer() == field.Addr().Pointer()
		}) {
			l.wrong(t, "its Parts are not its unexported fields")
			parts = nil
		}
	}
	f.fields(t, exported, parts)
}
