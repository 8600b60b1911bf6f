package snapshot

import (
	"crypto/sha256"
	"reflect"
	"unsafe"
)

// A row is written again and again as it changes. A stream writes the whole of it once, and then
// what is different from when it was last written: that costs less, and takes less room.

// rowsCap is how many rows of a type a stream remembers.
const rowsCap = 4096

// rows are the last rows of one type, by their identity, on either side of a stream.
type rows struct {
	at    map[string]int
	list  []unsafe.Pointer // copies of the rows
	names []string
	next  int // the oldest of a full list
}

// place is where a row is remembered; known says that it was there before, else its place has
// whatever row was the oldest.
func (s *rows) place(id string, t reflect.Type) (at unsafe.Pointer, known bool) {
	if n, ok := s.at[id]; ok {
		return s.list[n], true
	}
	if s.at == nil {
		s.at = map[string]int{}
	}
	if len(s.list) < rowsCap {
		s.list, s.names = append(s.list, reflect.New(t).UnsafePointer()), append(s.names, "")
		s.next = len(s.list) - 1
	} else {
		s.next = (s.next + 1) % rowsCap
		delete(s.at, s.names[s.next])
	}
	s.at[id], s.names[s.next] = s.next, id
	return s.list[s.next], false
}

// Rows makes streams of the codec remember the rows of a type, which has a text as its identity.
// Of a row that was written, only its own fields and the elements of its lists may change. To be
// called before the codec is used.
func (c *Codec) Rows(row any, identity string) *Codec {
	t := reflect.TypeOf(row)
	of, ok := t.FieldByName(identity)
	f := c.forms[t]
	if f == nil || !ok || of.Type.Kind() != reflect.String || len(of.Index) > 1 {
		l := learner{Codec: c}
		l.wrong(t, "it is no row with a text as its identity")
		return c
	}
	c.seal = sha256.Sum256(append(c.seal[:], "rows of "+t.String()...))
	plain, keep, n := *f, keeper(t), c.rows
	c.rows++
	f.put = func(w *writer, p unsafe.Pointer) {
		if w.rows == nil {
			plain.put(w, p)
			return
		}
		id := *(*string)(unsafe.Add(p, of.Offset))
		last, known := w.rows[n].place(id, t)
		if known {
			w.b = append(w.b, 1)
			w.text(id)
			if !plain.diff(w, p, last) {
				w.b = append(w.b, make([]byte, plain.bits)...)
			}
		} else {
			w.b = append(w.b, 0)
			plain.put(w, p)
		}
		keep(reflect.NewAt(t, last).Elem(), reflect.NewAt(t, p).Elem())
	}
	f.get = func(r *reader, v reflect.Value) {
		if r.rows == nil {
			plain.get(r, v)
			return
		}
		if r.uint() == 0 {
			plain.get(r, v)
			last, _ := r.rows[n].place(v.FieldByIndex(of.Index).String(), t)
			keep(reflect.NewAt(t, last).Elem(), v)
			return
		}
		last, known := r.rows[n].place(r.text(), t)
		if !known {
			r.fail(errShort)
			return
		}
		v.Set(reflect.NewAt(t, last).Elem())
		plain.into(r, v)
		keep(reflect.NewAt(t, last).Elem(), v)
	}
	// A row is always written, also one without content.
	f.some = func(w *writer, p unsafe.Pointer) bool {
		if w.rows == nil {
			return plain.some(w, p)
		}
		f.put(w, p)
		return true
	}
	f.got = func(r *reader, v reflect.Value) {
		if r.rows == nil {
			plain.got(r, v)
			return
		}
		f.get(r, v)
	}
	return c
}

// keeper copies a row with the elements of its lists.
func keeper(t reflect.Type) func(to, from reflect.Value) {
	var lists []int
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Type.Kind() == reflect.Slice {
			lists = append(lists, i)
		}
	}
	return func(to, from reflect.Value) {
		to.Set(from)
		for _, i := range lists {
			if l := from.Field(i); !l.IsNil() {
				own := reflect.MakeSlice(l.Type(), l.Len(), l.Len())
				reflect.Copy(own, l)
				to.Field(i).Set(own)
			}
		}
	}
}
