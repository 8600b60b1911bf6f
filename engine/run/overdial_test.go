package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// Beyond the free seats, only numbers that need no seat of their own are dialled.
func TestOfLinesBeyondTheFreeSeatsNoneIsToANumberAbandonedOfLate(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = 2 }))
	for _, l := range []*int{&w.s.Pace.Books.Run.Live, &w.s.Pace.Books.Day.Live, &w.s.Pace.Books.Thirty.Live} {
		*l = 100_000
	}
	w.due(w.rows(400), 0)
	w.seats(2)
	most := 0
	for range 200 { // hardly anybody answers
		for w.s.Round != nil {
			w.round()
		}
		most = max(most, w.s.engagedLines())
		w.pass(3 * time.Second)
		for _, l := range w.s.linesInOrder() {
			w.do(&call.Up{Contact: l.ID})
			w.moved(l.ID, attempt.PhaseOver)
			w.rests(w.final(string(l.ID)))
		}
		w.forget2()
	}
	if most <= 2 {
		t.Fatalf("at most %d lines at a time", most)
	}
	w.s.Queue.Clear()
	w.s.endRound()
	for i := range 10 {
		id := fmt.Sprint("c", 900+i)
		w.proc.seat[phone(id)] = true
		w.s.Queue.Push(w.row(id))
	}
	w.s.Queue.Push(func() contact.Contact { c := w.row("c990"); c.Position = 9; return c }())
	w.s.NextDue, w.s.Seats, w.s.SeatTarget = nil, 2, 2
	w.do(&DatabaseChanged{})
	if w.s.Round == nil {
		t.Fatalf("nobody is dialled: %s", w.s.Pace.Last.Constraint)
	}
	seated, other := 0, 0
	for _, c := range w.s.Round.Candidates {
		if c.Seated {
			seated++
		} else {
			other++
		}
	}
	eq(w, "with a seat and without", []any{seated, other}, "[2 1]")
}
