package pacing

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Lines are placed with the credit of one day and may be answered on the next, which begins without
// any credit.
func TestTheCapHoldsAcrossMidnight(t *testing.T) {
	const lead = 40 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		midnight := time.Date(2030, 5, 2, 0, 0, 0, 0, time.UTC)
		now := midnight.Add(-time.Duration(rapid.IntRange(1, 90).Draw(t, "before")) * time.Second)
		w := &world{in: Input{Mode: Strict, CapPPM: 30_000, Concurrency: 10, Seats: 10,
			TrunkTokens: Unlimited, NumberSlots: Unlimited, DueContacts: Unlimited}}
		w.books = NewBooks(now, midnight, now.Add(-time.Hour))
		for range rapid.IntRange(0, 1000).Draw(t, "live") {
			w.books.Served()
		}
		var over []time.Time // when each line must be over for the rate
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			w.books.Roll(now, midnight.AddDate(0, 0, 1))
			// Lines whose time is up end now at the latest, abandoned if possible.
			for len(over) > 0 && !now.Before(over[0]) {
				over = over[1:]
				if w.in.Ringing > 0 {
					w.in.Ringing--
					w.in.Waiting++
					w.serve()
				}
				if w.in.Waiting > 0 {
					w.in.Waiting--
					w.books.Abandoned()
				}
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				w.in.Ledgers = w.books.Active(now, lead, w.in.Ledgers[:0])
				for range rapid.IntRange(0, Decide(&w.in).Dials).Draw(t, "dials") {
					w.in.Ringing++
					over = append(over, now.Add(lead-3*time.Second)) // noticed up to 3 s late
				}
			case 1:
				if w.in.Ringing > 0 {
					w.in.Ringing--
					w.in.Waiting++
					w.serve()
				}
			case 2:
				if w.in.Busy > 0 {
					w.in.Busy--
					w.serve()
				}
			}
			for _, l := range []Ledger{w.books.Run, w.books.Day, w.books.Thirty} {
				if !l.Within(30_000, 0) {
					t.Fatalf("at %s over the cap: %+v", now.Format(time.TimeOnly), l)
				}
			}
		}
	})
}
