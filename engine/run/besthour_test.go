package run

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/contact"
	"dialler/engine/window"
)

// germanMorning is a ranking on a Monday at 9:00 in which Germans answer now, and the French later.
func germanMorning(limit int) (*ranking, time.Time) {
	at := time.Date(2030, 1, 7, 8, 0, 0, 0, time.UTC)
	var table besthour.Table
	for slot := range besthour.Slots {
		table.Add("DE", slot, besthour.Cell{Dials: 1000, Answers: 200})
		table.Add("FR", slot, besthour.Cell{Dials: 1000, Answers: 600})
	}
	table.Add("DE", 24+9, besthour.Cell{Dials: 9000, Answers: 8000})
	table.Add("FR", 24+9, besthour.Cell{Dials: 9000, Answers: 100})
	return newRanking(rankingOf{Campaign: "cmp_1", Limit: limit}, table,
		window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 21 * 60}, at), at
}

// someone is a contact by its place in the list: French where the place is even, German else.
func someone(i int, class contact.DueClass, used int, due time.Time) contact.Contact {
	prefix := "+4915112"
	if i%2 == 0 {
		prefix = "+3361212"
	}
	return contact.Contact{ID: engine.ContactID(fmt.Sprintf("%032x", i)), Position: int64(i), DueClass: class,
		Used: used, DueAt: &due, Number: engine.PhoneNumber(fmt.Sprintf("%s%05d", prefix, i))}
}

func control(c *contact.Contact) bool { return besthour.Control("cmp_1", c.ID) }

func TestWhoGainsMostIsDialledFirstAndTheControlInTheOrderWithoutTheOption(t *testing.T) {
	r, at := germanMorning(1000)
	q := NewQueue()
	q.rank(r)
	const n = 400
	for i := range n {
		q.Push(someone(i+1, contact.DueFirst, 0, at))
	}
	controls, french, last := 0, 0, map[bool]int64{}
	for i := range n {
		c, ok := q.Pop(contact.Order{Now: at}, false)
		if !ok {
			t.Fatal("nobody is left")
		}
		if control(&c) {
			if controls++; c.Position < last[true] {
				t.Fatalf("the control's %d after %d", c.Position, last[true])
			}
			last[true] = c.Position
			continue
		}
		if c.Position%2 == 0 {
			french++
		} else if french > 0 {
			t.Fatalf("a German after %d French", french)
		}
		if i == n/4 && (controls < 8 || controls > 12) {
			t.Errorf("%d of the first %d are the control's", controls, i)
		}
	}
	if controls < n/20 || french < n/3 {
		t.Errorf("%d of the control, %d French", controls, french)
	}
}

// Class, attempt number and priority decide before the best hour, also what is overdue; nobody is
// lost, and nobody is passed over by more than the limit apart from those who were there as long.
func TestTheBestHourOnlyOrdersALaneAndStarvesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 6
		r, at := germanMorning(limit)
		q := NewQueue()
		q.rank(r)
		o := contact.Order{Now: at, Overdue: time.Duration(rapid.IntRange(0, 1).Draw(t, "overdue")) * time.Hour}
		in, passed := map[engine.ContactID]contact.Contact{}, map[engine.ContactID]int{}
		held := 0
		for i := range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				c := someone(i+1, contact.DueClass(rapid.IntRange(0, 3).Draw(t, "class")), rapid.IntRange(0, 2).Draw(t, "used"),
					at.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "due"))*time.Minute))
				c.Precedence = rapid.IntRange(0, 1).Draw(t, "precedence")
				q.Push(c)
				in[c.ID] = c
				held = max(held, len(in))
			case 2:
				again, _ := germanMorning(limit)
				again.of.Period = int64(i)
				q.rank(again)
			default:
				c, ok := q.Pop(o, false)
				if ok != (len(in) > 0) {
					t.Fatalf("%d in the look-ahead, got %v", len(in), ok)
				}
				if !ok {
					continue
				}
				delete(in, c.ID)
				if rapid.IntRange(0, 9).Draw(t, "returned") == 0 {
					q.Return(c)
					in[c.ID] = c
				}
				for id, other := range in {
					same := laneOf(&other) == laneOf(&c) && o.Promoted(&other) == o.Promoted(&c)
					if !same && o.Before(&other, &c) {
						t.Fatalf("%+v is taken before %+v", laneOf(&c), laneOf(&other))
					}
					if same && !control(&other) && !control(&c) && id != c.ID {
						if passed[id]++; passed[id] > limit+held {
							t.Fatalf("passed over %d times", passed[id])
						}
					}
				}
			}
			if q.Len() != len(in) {
				t.Fatalf("%d in the look-ahead, want %d", q.Len(), len(in))
			}
		}
	})
}

// A contact that gains little is dialled although there is always somebody who gains more.
func TestNobodyIsPassedOverByMoreThanTheLimit(t *testing.T) {
	const limit = 50
	r, at := germanMorning(limit)
	q := NewQueue()
	q.rank(r)
	last := someone(1<<20, contact.DueFirst, 0, at)
	for i := 1 << 20; control(&last); i += 2 {
		last = someone(i, contact.DueFirst, 0, at)
	}
	q.Push(last)
	german := 0
	for i := 1; i <= 2*limit; i++ {
		q.Push(someone(4*i+1, contact.DueFirst, 0, at))
		q.Push(someone(4*i+3, contact.DueFirst, 0, at))
		c, _ := q.Pop(contact.Order{Now: at}, false)
		if c.ID == last.ID {
			if german != limit {
				t.Errorf("%d were dialled before", german)
			}
			return
		}
		if !control(&c) {
			german++
		}
	}
	t.Error("never dialled")
}

func TestWithoutTheOptionTheOrderIsAsItWas(t *testing.T) {
	r, at := germanMorning(1000)
	q := NewQueue()
	q.rank(r)
	for i := range 60 {
		q.Push(someone(i+1, contact.DueFirst, 0, at))
	}
	q.rank(nil)
	for i := range 60 {
		if c, _ := q.Pop(contact.Order{Now: at}, false); c.Position != int64(i+1) {
			t.Fatalf("the %dth is %d", i+1, c.Position)
		}
	}
}

func TestARankedLookAheadIsReadBackAsItWas(t *testing.T) {
	r, at := germanMorning(8)
	q := NewQueue()
	q.rank(r)
	for i := range 80 {
		class := contact.DueFirst
		if i%3 == 0 {
			class = contact.DueRetry
		}
		q.Push(someone(i+1, class, i%3, at.Add(-time.Minute)))
		if i%2 == 0 {
			q.Pop(contact.Order{Now: at}, false)
		}
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
	image := queueImage{Ranking: &rankingImage{Gain: []int{1}}}
	b, _ = queueCodec().Write(&image)
	if read.UnmarshalBinary(b) == nil {
		t.Error("a ranking of others is read back")
	}
}
