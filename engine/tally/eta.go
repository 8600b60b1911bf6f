package tally

import (
	"math"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/window"
)

// Outlook is what an estimate of the end of a run needs.
type Outlook struct {
	Now         time.Time
	Counters    *campaign.Counters
	MaxAttempts int
	// Dials is how many dials were placed in the last Span of dialling time.
	Dials int
	Span  time.Duration
	// NotBefore is when the next contact is due, zero when one is due now.
	NotBefore time.Time
	Window    window.Window
	Ends      *time.Time // of a single-day window
}

// The minimum dialling time and the minimum number of dials for a rate.
const (
	etaLeastSpan  = 30 * time.Second
	etaLeastDials = 3
)

// ETA is how long it takes, in whole minutes, to place the expected remaining dials at the current
// rate, including closed hours of the window. ok is false when no estimate is possible: nothing was
// dialled recently, or no attempt has ended that could tell how many are redialled.
func ETA(o *Outlook) (eta time.Duration, ok bool) {
	left, ok := Remaining(o.Counters, o.MaxAttempts)
	if !ok || left <= 0 || o.Dials < etaLeastDials || o.Span < etaLeastSpan {
		return 0, false
	}
	from := o.Now
	if o.NotBefore.After(from) {
		from = o.NotBefore
	}
	seconds := left * o.Span.Seconds() / float64(o.Dials)
	if seconds > float64(math.MaxInt64/(2*time.Second)) {
		return 0, false
	}
	at, ok := o.Window.After(from, time.Duration(seconds*float64(time.Second)))
	if !ok {
		return 0, false
	}
	if o.Ends != nil && at.After(*o.Ends) {
		at = *o.Ends // it completes then, whoever still waits
	}
	eta = at.Sub(o.Now)
	if eta <= 0 {
		return 0, false
	}
	return (eta + time.Minute - 1).Truncate(time.Minute), true
}

// Remaining is the expected number of remaining dials: one for each contact that waits, and for
// each attempt that may lead to another, the share of attempts that did so far. ok is false while
// no such attempt has ended.
func Remaining(c *campaign.Counters, maxAttempts int) (dials float64, ok bool) {
	led, ended := 0, 0
	for i := range c.Passes {
		if n := i + 1; n < maxAttempts {
			ended += c.Passes[i].Consumed
			if n < len(c.Passes) {
				led += c.Passes[n].Eligible
			}
		}
	}
	if ended == 0 && maxAttempts > 1 {
		return 0, false
	}
	again := 0.0
	if ended > 0 {
		again = math.Min(1, float64(led)/float64(ended))
	}
	for i := range c.Passes {
		p := &c.Passes[i]
		all := 1.0 // dials per contact from this pass on
		for k, share := i+2, again; k <= maxAttempts; k, share = k+1, share*again {
			all += share
		}
		dials += float64(p.Waiting)*all + float64(p.Live)*(all-1)
	}
	return dials, true
}
