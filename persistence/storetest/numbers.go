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
	for _, n := range []engine.NumberSettings{{Number: capped, DayCap: 5, State: "active"},
		{Number: free, State: "active"}} {
		_, err := w.pg.PutNumber(t.Context(), n, who)
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
	list, err := w.pg.NumberDials(t.Context(), w.now.Add(-24*time.Hour))
	must(t, err)
	if len(list) != 2 || list[0].Number != capped || !list[0].At.Equal(minute.Add(-time.Hour)) || list[0].Count != 1 ||
		!list[1].At.Equal(minute) || list[1].Count != 2 {
		t.Errorf("dials %+v", list)
	}

	unknown, retired := number(), number()
	_, err = w.pg.PutNumber(t.Context(), engine.NumberSettings{Number: retired, State: "retired"}, who)
	must(t, err)
	for _, n := range []engine.PhoneNumber{capped, unknown, retired} {
		must(t, w.pg.QuarantineNumber(t.Context(), n))
	}
	all, err := w.pg.Numbers(t.Context())
	must(t, err)
	got := map[engine.PhoneNumber]engine.NumberSettings{}
	for _, n := range all {
		got[n.Number] = n
	}
	if got[capped].State != "quarantined" || got[capped].DayCap != 5 || got[unknown].State != "quarantined" ||
		got[retired].State != "retired" || got[free].State != "active" {
		t.Errorf("numbers %+v", all)
	}
}

// numberEnds checks how a number's calls ended, as read by a process that starts.
func numberEnds(t *testing.T, w *world) {
	who := engine.Who{Name: "ada@example.org"}
	n, other := number(), number()
	for _, s := range []engine.NumberSettings{{Number: n, AnswerFloor: 12, State: "active"},
		{Number: other, State: "active"}} {
		_, err := w.pg.PutNumber(t.Context(), s, who)
		must(t, err)
	}
	call := func(ago time.Duration, edit func(*attempt.Attempt)) {
		c := w.contact()
		a := w.attempt(c)
		begun, over := w.now.Add(-ago), w.now.Add(-ago).Add(time.Second)
		a.From, a.ReservedAt, a.InviteAt, a.EndedAt, a.State, a.Outcome =
			n, &begun, &begun, &over, attempt.Ended, engine.OutcomeBusy
		edit(&a)
		w.commit(w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} }))
	}
	refused := func(a *attempt.Attempt) { a.Outcome, a.SIPCode = engine.OutcomeRejected, 403 }
	call(time.Hour, func(*attempt.Attempt) {}) // before the requested period
	call(50*time.Minute, refused)
	call(40*time.Minute, func(a *attempt.Attempt) { t := a.EndedAt; a.AnsweredAt, a.Outcome = t, engine.OutcomeCompleted })
	call(30*time.Minute, func(a *attempt.Attempt) { a.State, a.EndedAt = attempt.Ringing, nil })
	call(20*time.Minute, func(a *attempt.Attempt) { a.InviteAt = nil }) // it never left
	call(10*time.Minute, refused)
	call(5*time.Minute, func(a *attempt.Attempt) { a.From = other })
	ends := func(most int) (of []engine.NumberEnd, others int) {
		t.Helper()
		list, err := w.pg.NumberEnds(t.Context(), w.now.Add(-55*time.Minute), most)
		must(t, err)
		for _, e := range list {
			switch e.Number {
			case n:
				of = append(of, e)
			case other:
				others++
			}
		}
		return of, others
	}
	got, others := ends(256)
	if len(got) != 3 || others != 1 || !got[0].Struck || got[0].Answered || !got[1].Answered || got[1].Struck ||
		!got[2].Struck ||
		!got[0].At.Equal(w.now.Add(-50*time.Minute+time.Second)) {
		t.Fatalf("%+v, %d of the other", got, others)
	}
	if got, _ := ends(2); len(got) != 2 || !got[0].Answered {
		t.Errorf("the last two: %+v", got)
	}
	// An operator ends the quarantine caused by the strikes.
	must(t, w.pg.QuarantineNumber(t.Context(), n))
	if got, _ := ends(256); !got[0].Struck {
		t.Error("forgiven while it is quarantined")
	}
	for range 2 {
		_, err := w.pg.PutNumber(t.Context(), engine.NumberSettings{Number: n, AnswerFloor: 12, State: "active"}, who)
		must(t, err)
	}
	if got, _ := ends(256); len(got) != 3 || got[0].Struck || got[2].Struck || !got[1].Answered {
		t.Errorf("forgiven: %+v", got)
	}
}
