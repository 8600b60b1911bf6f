package trunk

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// Limits of the breaker, see the package documentation. A failure of the trunk
// itself weighs four refusals by the network behind it.
const (
	breakerLimit   = 20
	trunkFailure   = 4
	networkRefusal = 1

	breakerFirst = 10 * time.Second
	breakerLast  = 5 * time.Minute
	holdFirst    = time.Minute
	holdLast     = 15 * time.Minute

	resultWindow          = 20
	forbiddenDestinations = 5
)

// Health of a trunk, as shown.
type Health string

const (
	Up     Health = "up"
	Down   Health = "down"   // OPTIONS go unanswered
	Broken Health = "broken" // too many failures in a row
	Held   Health = "held"   // credentials or 403s: an operator should look
	Trying Health = "trying" // broken or held; one trial call may go
	Off    Health = "off"    // not active
)

// Healths lists them all.
var Healths = []Health{Up, Down, Broken, Held, Trying, Off}

type result struct {
	to        engine.PhoneNumber
	forbidden bool
}

type health struct {
	unreachable bool      // OPTIONS went unanswered
	score       int       // failures in a row, weighed
	until       time.Time // no calls before, zero = not broken
	pause       time.Duration
	held        bool         // by credentials or 403s
	trial       engine.LegID // the trial call under way
	results     []result     // the last ones, oldest first
}

// admits says whether a call may go, and if not, when to ask again.
func (h *health) admits(now time.Time) (bool, time.Time) {
	switch {
	case h.unreachable:
		return false, time.Time{}
	case h.until.IsZero():
		return true, time.Time{}
	case now.Before(h.until):
		return false, h.until
	}
	return h.trial == "", time.Time{} // one trial at a time
}

func (h *health) trying() bool { return !h.until.IsZero() }

func (h *health) granted(leg engine.LegID) {
	if h.trying() {
		h.trial = leg
	}
}

// released frees the place of a trial call that ended without a result.
func (h *health) released(leg engine.LegID) {
	if h.trial == leg {
		h.trial = ""
	}
}

func (h *health) open(now time.Time, first, last time.Duration) {
	if h.pause == 0 {
		h.pause = first
	} else {
		h.pause = min(max(2*h.pause, first), last)
	}
	h.until, h.score, h.trial = now.Add(h.pause), 0, ""
}

// forgive closes the breaker.
func (h *health) forgive() {
	h.score, h.until, h.pause, h.held, h.trial = 0, time.Time{}, 0, false, ""
	h.results = h.results[:0]
}

// Report tells the trunk how a leg went: class is what engine/disposition says
// of its end, nil for ringing or an answer.
func (t *Trunk) Report(now time.Time, leg engine.LegID, to engine.PhoneNumber, class *disposition.Result) {
	h := &t.health
	// A result of a call that was granted before the breaker opened says
	// nothing new.
	stale := h.trying() && h.trial != leg
	if class != nil {
		if class.Throttle {
			t.bucket.shrink(now, class.MinRetryAfter)
		}
		if class.Retry == disposition.RetryHoldTrunk {
			if !stale {
				h.held = true
				h.open(now, holdFirst, holdLast)
			}
			return
		}
	}
	if stale {
		return
	}
	switch {
	case class != nil && class.TrunkBad:
		weight := networkRefusal
		if class.Fault == disposition.FaultTrunk {
			weight = trunkFailure
		}
		h.score += weight
		if h.trial == leg && h.trial != "" || h.score >= breakerLimit {
			h.open(now, breakerFirst, breakerLast)
		}
	case class != nil && class.Fault == disposition.FaultUs, class != nil && class.Throttle:
		// Says nothing about the trunk's health.
	case class != nil && class.TrunkDoubt:
		h.note(to, true)
		if h.trial == leg && h.trial != "" || h.forbidden() {
			h.held = true
			h.open(now, holdFirst, holdLast)
			h.results = h.results[:0]
		}
	default:
		h.note(to, false)
		if h.trying() {
			h.forgive()
		}
		h.score, h.pause = 0, 0
	}
}

func (h *health) note(to engine.PhoneNumber, forbidden bool) {
	if len(h.results) == resultWindow {
		copy(h.results, h.results[1:])
		h.results = h.results[:resultWindow-1]
	}
	h.results = append(h.results, result{to, forbidden})
}

// forbidden says whether 403s pass the rate over enough destinations.
func (h *health) forbidden() bool {
	var count, different int
	for i, r := range h.results {
		if !r.forbidden {
			continue
		}
		count++
		first := true
		for _, s := range h.results[:i] {
			first = first && (!s.forbidden || s.to != r.to)
		}
		if first {
			different++
		}
	}
	return different >= forbiddenDestinations && 2*count >= len(h.results)
}

// Options tells the trunk what the OPTIONS keepalive found. One unanswered
// OPTIONS is enough: its transaction was retransmitted for 64·T1 already.
func (t *Trunk) Options(answered bool) { t.health.unreachable = !answered }

// Health is the trunk's health now.
func (t *Trunk) Health(now time.Time) Health {
	h := &t.health
	switch {
	case !t.settings.Active:
		return Off
	case h.unreachable:
		return Down
	case h.until.IsZero():
		return Up
	case !now.Before(h.until):
		return Trying
	case h.held:
		return Held
	}
	return Broken
}
