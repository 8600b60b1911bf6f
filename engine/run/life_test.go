package run

import (
	"testing"
	"time"
)

// Timers and questions of an earlier instance reach the next one: a timer must fire nothing, and an
// answer must not be taken for the answer to a question of the next instance.
func TestANewLifeOfARunGivesNoNumberOfAnEarlierOneAgain(t *testing.T) {
	lifeAt := func(now time.Time) *State {
		s := New("c", Config{Tick: time.Second})
		if _, err := s.Apply(Input{Now: now, Event: &Started{}}, nil); err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	a, b := lifeAt(now), lifeAt(now.Add(time.Millisecond))
	for name, n := range map[string][2]int64{"timers": {a.Epochs, b.Epochs}, "rounds": {int64(a.Rounds), int64(b.Rounds)},
		"exclusions": {int64(a.OpSeq), int64(b.OpSeq)}, "demands": {int64(a.Demands), int64(b.Demands)},
		"fences": {a.Tickets, b.Tickets}} {
		if n[1]-n[0] < 100_000 {
			t.Errorf("%s of the first life are numbered from %d and of the second from %d", name, n[0], n[1])
		}
	}
}
