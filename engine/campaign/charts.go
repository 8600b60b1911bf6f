package campaign

import (
	"time"

	"dialler/engine"
)

// Data for the charts of a campaign's page: how a run proceeded over time, and how its dials ended.

// SeriesQuery asks how a run proceeded between two times.
type SeriesQuery struct {
	Campaign engine.CampaignID
	Run      int       // 0 = the current one
	From     time.Time // zero = its first dial
	Until    time.Time // zero = its last call's end, or Now while one is live
	Points   int       // at most this many, 1…SeriesPointsCap
	Now      time.Time
}

// SeriesPointsCap limits the number of points of a series.
const SeriesPointsCap = 500

// Series is a run in steps of equal length. The last step extends beyond Until when the time is no
// multiple of Step.
type Series struct {
	Run    int
	From   time.Time // a multiple of Step, in UTC
	Until  time.Time
	Step   time.Duration
	Points []SeriesPoint
}

// SeriesPoint is one step. Ringing and Connected are the average number of such calls at a time
// during the step.
type SeriesPoint struct {
	Dials    int // calls placed in it …
	Decided  int // … of which this many are decided by now: answered or ended …
	Answered int // … and this many were answered
	// LiveAnswers counts the step's answers that reached the bot or were abandoned, Abandoned only
	// the latter: the counts of the abandon rate.
	LiveAnswers, Abandoned int
	Ringing, Connected     float64
}

var seriesSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// NewSeries divides a period into at most points steps of a round length: from a second to half a
// day, then whole days.
func NewSeries(from, until time.Time, points int) Series {
	const day = 24 * time.Hour
	points = min(max(points, 1), SeriesPointsCap)
	span := max(until.Sub(from), 0)
	divided := func(step time.Duration) (s Series, fits bool) {
		s = Series{From: from.UTC().Truncate(step), Until: until.UTC(), Step: step}
		n := int((until.Sub(s.From) + step - 1) / step)
		s.Points = make([]SeriesPoint, min(max(n, 1), points))
		return s, n <= points
	}
	for _, step := range seriesSteps {
		if span/step <= time.Duration(points) {
			if s, fits := divided(step); fits {
				return s
			}
		}
	}
	for days := max(span/day/time.Duration(points), 1); ; days++ {
		if s, fits := divided(days * day); fits {
			return s
		}
	}
}

// Breakdown shows how the dials of a run ended.
type Breakdown struct {
	Run   int
	Dials int // that have ended
	// Causes are grouped by final code and outcome, the most frequent first, BreakdownCap at most.
	Causes  []DialCause
	Numbers []NumberDials // by dials, BreakdownCap at most
	// FirstAudio counts the calls by the time from the answer to the bot's first sound:
	// FirstAudioBounds[i-1] < t ≤ FirstAudioBounds[i]; the last entry is beyond all bounds.
	FirstAudio []int
}

// BreakdownCap bounds the lists of a Breakdown.
const BreakdownCap = 100

// DialCause is one way in which dials ended.
type DialCause struct {
	Code    int    // of the final response; 0 means there was none
	Reason  string // as a carrier wrote it
	Outcome engine.Outcome
	Count   int
}

// NumberDials counts the results of dials from one number.
type NumberDials struct {
	Number  engine.PhoneNumber
	Dials   int // that have ended
	Decided int // that can no longer change: answered, or ended and consumed …
	// … of which this many were answered.
	Answered int
}

// FirstAudioBounds are the upper bounds of Breakdown.FirstAudio.
var FirstAudioBounds = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond,
	500 * time.Millisecond, 600 * time.Millisecond, 800 * time.Millisecond, time.Second, 1500 * time.Millisecond,
	2 * time.Second, 3 * time.Second, 5 * time.Second,
}
