package snapshot

import (
	"fmt"
	"reflect"
	"unsafe"
)

// What an interface holds is written as one of the variants, found by the address of its type.

// anyHeader is the layout of an interface without methods.
type anyHeader struct{ of, data unsafe.Pointer }

// kind is how an interface that holds a type is written.
type kind struct {
	place  int    // among the variants
	name   uint64 // of the type, for a digest
	failed bool   // an error, which a digest takes by its text
	form   *form
	to     *form // of a pointer: of what it points at
	direct bool  // an interface holds the value itself, which is a pointer, in place of its address
}

// kind learns what an interface may hold.
func (l *learner) kind(t reflect.Type, place int) *kind {
	zero := reflect.Zero(t).Interface()
	held := (*anyHeader)(unsafe.Pointer(&zero)) //nolint:gosec // its layout
	k := &kind{place: place, name: sum([]byte(t.String())), failed: t.Implements(reflect.TypeFor[error]()),
		form: l.learn(t), direct: held.data == nil}
	if t.Kind() == reflect.Pointer {
		k.to = l.learn(t.Elem())
	}
	l.kinds[held.of] = k
	return k
}

// held writes which variant a value is, and the value.
func (w *writer) held(v any) {
	k := w.c.kinds[(*anyHeader)(unsafe.Pointer(&v)).of] //nolint:gosec // its layout
	switch {
	case k == nil && w.c.lenient:
		l := learner{Codec: w.c}
		k = l.kind(reflect.TypeOf(v), 0)
	case k == nil:
		if err, is := v.(error); is {
			w.held(failure(err))
			return
		}
		w.fail(fmt.Errorf("snapshot: %T is not one of the variants", v))
		return
	}
	if !w.c.lenient {
		w.count(k.place)
	} else if w.named(k, v) {
		return
	}
	switch p := (*anyHeader)(unsafe.Pointer(&v)).data; { //nolint:gosec // its layout
	case !k.direct:
		k.form.put(w, p)
	case k.to == nil:
		k.form.put(w, unsafe.Pointer(&p)) //nolint:gosec // the value
	case p == nil:
		w.b = append(w.b, 0)
	default:
		w.b = append(w.b, 1)
		k.to.put(w, p)
	}
}

// anything is the form of an interface.
func (f *form) anything(t reflect.Type) {
	at := func(p unsafe.Pointer) any { return reflect.NewAt(t, p).Elem().Interface() }
	if t.NumMethod() == 0 {
		at = func(p unsafe.Pointer) any { return *(*any)(p) }
	}
	f.flagged(func(w *writer, p unsafe.Pointer) bool {
		v := at(p)
		if v == nil {
			return false
		}
		w.held(v)
		return true
	}, (*reader).variant)
}
