package site

import (
	"sort"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// PeakAbandons is the highest share of abandoned live answers at any moment:
// after each live answer, served or abandoned, in order of time.
func PeakAbandons(attempts []attempt.Attempt) (peak float64) {
	type answer struct {
		at        time.Time
		abandoned bool
	}
	var answers []answer
	for i := range attempts {
		a := &attempts[i]
		switch {
		case a.Outcome == engine.OutcomeAbandoned && a.Ending != nil:
			answers = append(answers, answer{a.Ending.At, true})
		case a.Outcome == engine.OutcomeAbandoned && a.EndedAt != nil:
			answers = append(answers, answer{*a.EndedAt, true})
		case a.ServedAt != nil:
			answers = append(answers, answer{*a.ServedAt, false})
		}
	}
	sort.Slice(answers, func(i, j int) bool { return answers[i].at.Before(answers[j].at) })
	live, abandoned := 0, 0
	for _, x := range answers {
		live++
		if x.abandoned {
			abandoned++
		}
		peak = max(peak, float64(abandoned)/float64(live))
	}
	return peak
}
