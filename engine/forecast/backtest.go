package forecast

import (
	"math"
	"time"
)

// A back-test asks, after the end of a run, what a Question would have predicted during it, and
// compares that with what happened.

// BackTestShares are the percentages of a run's dials placed by the time of each question.
var BackTestShares = []int{10, 25, 50, 75}

// Foretold is a figure of the whole run: the predicted band, and the real value.
type Foretold struct {
	Band
	Real float64 `json:"real"`
}

// Error is the error of the median, relative to the real value.
func (f Foretold) Error() float64 { return math.Abs(f.Median-f.Real) / max(math.Abs(f.Real), 1) }

// BackTestPoint is the prediction at one moment.
type BackTestPoint struct {
	SharePct    int       `json:"share_pct"` // of the dials
	At          time.Time `json:"at"`
	Measured    bool      `json:"measured"` // the people are measured, not assumed
	Plays       int       `json:"plays"`
	DurationSec Foretold  `json:"duration_s"` // start of the run → its end
	Dials       Foretold  `json:"dials"`
	Connected   Foretold  `json:"connected"`
	Abandoned   Foretold  `json:"abandoned"`
}

// Course is how a finished run proceeded.
type Course struct {
	Started, Ended              time.Time
	Dials, Connected, Abandoned int
}

// BackTest asks the question, whose standing is that of a moment during the run.
func (c *Course) BackTest(q *Question, share int, halt func() bool) (p BackTestPoint, ok bool) {
	told, ok := Ask(q, halt)
	s := &q.Standing
	whole := func(b Band, before, came float64) Foretold {
		b.Low, b.Median, b.High = decimals(b.Low+before, 1), decimals(b.Median+before, 1), decimals(b.High+before, 1)
		return Foretold{b, decimals(came, 1)}
	}
	f := &told.Forecast
	return BackTestPoint{SharePct: share, At: s.At, Measured: q.People.Dials > 0, Plays: f.Plays,
		DurationSec: whole(f.DurationSec, q.Start.Sub(c.Started).Seconds(), c.Ended.Sub(c.Started).Seconds()),
		Dials:       whole(f.Dials, float64(s.Dials), float64(c.Dials)),
		Connected:   whole(f.Connected, float64(s.Connected), float64(c.Connected)),
		Abandoned:   whole(f.Abandoned, float64(s.Abandoned), float64(c.Abandoned))}, ok
}

// RunBackTest is the back-test of a run.
type RunBackTest struct {
	Run    int             `json:"run"`
	Points []BackTestPoint `json:"points"`
}

// Trust is how reliable forecasts are, according to back-tests.
type Trust struct {
	Runs int `json:"runs"` // that were back-tested
	// The errors are medians, in per cent of the real values; within is how many of a hundred
	// figures lay in their band, which is designed for eighty.
	DurationErrorPct   float64 `json:"duration_error_pct"`
	ConnectedErrorPct  float64 `json:"connected_error_pct"`
	DurationWithinPct  float64 `json:"duration_within_pct"`
	ConnectedWithinPct float64 `json:"connected_within_pct"`
}

// TrustIn summarises back-tests; nil without any.
func TrustIn(runs []RunBackTest) *Trust {
	var all []BackTestPoint
	t := &Trust{}
	for i := range runs {
		if all = append(all, runs[i].Points...); len(runs[i].Points) > 0 {
			t.Runs++
		}
	}
	if t.Runs == 0 {
		return nil
	}
	sum := func(of func(*BackTestPoint) Foretold) (off, within float64) {
		var errors []float64
		held := 0
		for i := range all {
			f := of(&all[i])
			errors = append(errors, 100*f.Error())
			if f.Holds(f.Real) {
				held++
			}
		}
		return BandOf(errors).Median, decimals(100*float64(held)/float64(len(all)), 1)
	}
	t.DurationErrorPct, t.DurationWithinPct = sum(func(p *BackTestPoint) Foretold { return p.DurationSec })
	t.ConnectedErrorPct, t.ConnectedWithinPct = sum(func(p *BackTestPoint) Foretold { return p.Connected })
	return t
}
