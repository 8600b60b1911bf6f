package writer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/frequency"
	"dialler/engine/journal"
)

// Writes to repeat on a server that lost the latest commits: for each live call, and each whose end
// is not proven, the last one that the database accepted.
func TestWhatCallsHoldIsKeptUntilTheEndOfTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := actortest.NewStore()
		w, err := writer.Start(writer.Config{Writers: 1}, store, bubbleClock{time.Now()}, func(int, error) {})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		const id, to = engine.AttemptID("01a21b0d7cb0f66fe8b7fd656d9a319c"), engine.PhoneNumber("+4915112000000")
		bound := time.Now().Add(time.Hour)
		at := func(s attempt.State) []attempt.Attempt { return []attempt.Attempt{{ID: id, To: to, State: s}} }
		holds := func(until time.Time) []journal.HoldRelease {
			return []journal.HoldRelease{{Attempt: id, Number: to, Until: until}}
		}
		step := func(what string, wr journal.Write, check func(held []journal.Write) bool) {
			t.Helper()
			w.Persist("one", wr, 1)
			time.Sleep(time.Second) // virtual
			synctest.Wait()
			if held := store.Held(); !check(held) {
				t.Errorf("%s: %+v", what, held)
			}
		}
		intent := &journal.Intent{Attempt: id, Number: to, Bound: bound,
			Cap: &journal.CalleeCap{Limits: []frequency.Limit{{What: frequency.Attempts, Most: 1, Period: time.Hour}}}}
		live := func(s attempt.State) func([]journal.Write) bool {
			return func(held []journal.Write) bool {
				return len(held) == 1 && held[0].Intent != nil && held[0].Intent.Bound.Equal(bound) && held[0].Intent.Cap == nil &&
					held[0].Attempts[0].State == s && held[0].Campaign == ""
			}
		}
		none := func(held []journal.Write) bool { return len(held) == 0 }
		refused := *intent
		refused.Refused = journal.ErrNumberHeld
		step("refused", journal.Write{Intent: &refused, Attempts: at(attempt.Reserved)}, none)
		step("reserved", journal.Write{Intent: intent, Attempts: at(attempt.Reserved)}, live(attempt.Reserved))
		step("answered", journal.Write{Attempts: at(attempt.Answered)}, live(attempt.Answered))
		step("lost", journal.Write{Attempts: at(attempt.Ended), Holds: holds(bound)}, func(held []journal.Write) bool {
			return len(held) == 1 && held[0].Intent == nil && len(held[0].Holds) == 1 && held[0].Holds[0].Until.Equal(bound)
		})
		step("proven", journal.Write{Attempts: at(attempt.Ended), Holds: holds(time.Time{})}, none)
		step("lost", journal.Write{Attempts: at(attempt.Ended), Holds: holds(bound)},
			func(held []journal.Write) bool { return len(held) == 1 })
		time.Sleep(time.Hour) // virtual
		if held := store.Held(); len(held) > 0 {
			t.Errorf("the hold has run out: %+v", held)
		}
	})
}
