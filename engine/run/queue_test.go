package run

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/contact"
)

// The look-ahead returns the contacts in the order of the rule, whatever is added, removed or
// becomes overdue meanwhile.
func TestTheLookAheadKeepsTheOrder(t *testing.T) {
	t0 := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue()
		o := contact.Order{Now: t0, Overdue: time.Duration(rapid.IntRange(0, 2).Draw(t, "overdue")) * 10 * time.Second}
		var in []contact.Contact
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				due := t0.Add(-time.Duration(rapid.IntRange(0, 30).Draw(t, "due")) * time.Second)
				c := contact.Contact{ID: engine.ContactID(fmt.Sprint(i)), Position: int64(i), DueAt: &due,
					DueClass: contact.DueClass(rapid.IntRange(0, 3).Draw(t, "class")), Used: rapid.IntRange(0,
						2).Draw(t, "used"), Precedence: rapid.IntRange(-1, 1).Draw(t, "precedence")}
				q.Push(c)
				in = append(in, c)
			case 2:
				o.Now = o.Now.Add(7 * time.Second)
			case 3:
				slices.SortFunc(in, func(a, b contact.Contact) int {
					if o.Before(&a, &b) {
						return -1
					}
					return 1
				})
				got, ok := q.Pop(o, false)
				if ok != (len(in) > 0) || ok && got.ID != in[0].ID {
					t.Fatalf("got %v %+v, want the first of %d", ok, got, len(in))
				}
				in = in[min(1, len(in)):]
			}
			if q.Len() != len(in) {
				t.Fatalf("%d in the look-ahead, want %d", q.Len(), len(in))
			}
		}
	})
}

func TestWhoWaitsForASeatIsTakenWithOneOnly(t *testing.T) {
	now := time.Now()
	q := NewQueue()
	row := func(id string, position int64) contact.Contact {
		return contact.Contact{ID: engine.ContactID(id), Position: position, DueClass: contact.DueFirst, DueAt: &now}
	}
	q.PushSeatedOnly(row("a", 1))
	q.Push(row("b", 2))
	q.PushSeatedOnly(row("c", 3))
	var got []engine.ContactID
	for _, seat := range []bool{false, false, true, true, true} {
		if c, ok := q.Pop(contact.Order{Now: now}, seat); ok {
			got = append(got, c.ID)
		} else {
			got = append(got, "")
		}
	}
	if !slices.Equal(got, []engine.ContactID{"b", "", "a", "c", ""}) {
		t.Errorf("got %q", got)
	}
}

// A look-ahead that is read back equals the one written, retries included, whose order differs from
// that of the whole queue.
func TestALookAheadIsReadBackAsItWas(t *testing.T) {
	q := NewQueue()
	w := &world{now: t0}
	for i := range 40 {
		c := w.later(fmt.Sprintf("c%d", i), time.Duration(i*7%40)*time.Second)
		c.Position, c.Used, c.DuePass, c.Precedence = int64(i), i*11%5, i*11%5+1, i%3-1
		if i%4 == 0 {
			c.DueClass = contact.DueFirst
		}
		if i%9 == 0 {
			q.PushSeatedOnly(c)
		} else {
			q.Push(c)
		}
	}
	for range 5 {
		q.Pop(contact.Order{}, true)
	}
	b, err := q.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read Queue
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if a, b := dump(q), dump(read); a != b {
		t.Errorf("another look-ahead:\n%s", differ(a, b))
	}
	image := queueImage{Rows: []contact.Contact{w.row("c1")}, Retries: []int{1}}
	b, _ = queueCodec().Write(&image)
	if read.UnmarshalBinary(b) == nil {
		t.Error("a retry that is not there is read back")
	}
}
