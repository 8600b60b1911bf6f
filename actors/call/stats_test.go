package call

import (
	"testing"

	"dialler/engine"
)

func TestEveryOutcomeIsCounted(t *testing.T) {
	var s Stats
	for i, o := range engine.Outcomes {
		for range i + 1 {
			s.ended(o)
		}
	}
	for i, o := range engine.Outcomes {
		if n := s.Outcome(o); n != int64(i+1) {
			t.Errorf("%s: %d, want %d", o, n, i+1)
		}
	}
	if n := int64(len(engine.Outcomes)); s.Ended.Load() != n*(n+1)/2 || s.Outcome("none") != 0 {
		t.Errorf("%d outcomes, %d ended", len(engine.Outcomes), s.Ended.Load())
	}
}
