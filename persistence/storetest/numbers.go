package storetest

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

func numberDials(t *testing.T, w *world) {
	who := engine.Who{Name: "ada@example.org"}
	capped, free := number(), number()
	for _, n := range []engine.NumberSettings{{Number: capped, DayCap: 5, State: "active"}, {Number: free, State: "active"}} {
		_, err := w.store.PutNumber(t.Context(), n, who)
		must(t, err)
	}
	minute := w.now.Truncate(time.Minute)
	dial := func(from engine.PhoneNumber, at time.Time, left, live bool) {
		c := w.contact()
		a := w.attempt(c)
		a.From, a.ReservedAt = from, &at
		if left {
			a.InviteAt = &at
		}
		if !live {
			a.State, a.EndedAt = attempt.Ended, &at
		}
		w.commit(w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} }))
	}
	dial(capped, minute, true, false)
	dial(capped, minute.Add(time.Second), false, true)
	dial(capped, minute.Add(2*time.Second), false, false) // it never left
	dial(capped, minute.Add(-time.Hour), true, false)
	dial(capped, minute.Add(-25*time.Hour), true, false) // too long ago
	dial(free, minute, true, false)
	list, err := w.store.NumberDials(t.Context(), w.now.Add(-24*time.Hour))
	must(t, err)
	if len(list) != 2 || list[0].Number != capped || !list[0].At.Equal(minute.Add(-time.Hour)) || list[0].Count != 1 || !list[1].At.Equal(minute) || list[1].Count != 2 {
		t.Errorf("dials %+v", list)
	}

	unknown, retired := number(), number()
	_, err = w.store.PutNumber(t.Context(), engine.NumberSettings{Number: retired, State: "retired"}, who)
	must(t, err)
	for _, n := range []engine.PhoneNumber{capped, unknown, retired} {
		must(t, w.store.QuarantineNumber(t.Context(), n))
	}
	all, err := w.store.Numbers(t.Context())
	must(t, err)
	got := map[engine.PhoneNumber]engine.NumberSettings{}
	for _, n := range all {
		got[n.Number] = n
	}
	if got[capped].State != "quarantined" || got[capped].DayCap != 5 || got[unknown].State != "quarantined" || got[retired].State != "retired" || got[free].State != "active" {
		t.Errorf("numbers %+v", all)
	}
}
