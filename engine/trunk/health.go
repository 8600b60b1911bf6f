package trunk

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// Limits of the breaker, see the package documentation. A failure of the trunk itself counts as
// four refusals by the network behind it.
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
	forbiddenCallers      = 2
)

// Health is the health of a trunk, as shown.
type Health string

const (
	Up Health = "up"
	// Unproven means that nothing has shown that the far side is there; one trial call may leave.
	Unproven Health = "unproven"
	Down     Health = "down"   // it has stopped to answer OPTIONS, cannot be sent to, or does not register us
	Broken   Health = "broken" // too many failures in a row
	Held     Health = "held"   // credentials, or 403s to several caller IDs: an operator should look
	Trying   Health = "trying" // broken or held; one trial call may leave
	Off      Health = "off"    // not active
)

// Healths lists all values.
var Healths = []Health{Up, Unproven, Down, Broken, Held, Trying, Off}

type result struct {
	from, to  engine.PhoneNumber
	forbidden bool
}

type health struct {
	life    engine.TrunkLife // "" is TrunkUnproven
	score   int              // weighted failures in a row
	until   time.Time        // no calls before this, zero = not broken
	pause   time.Duration
	held    bool         // by credentials or 403s
	reason  string       // why it is broken or held, for people
	trial   engine.LegID // the trial call under way
	results []result     // the last ones, oldest first
}

// admits says whether a call may leave, and if not, when to ask again.
func (h *health) admits(now time.Time) (bool, time.Time) {
	switch {
	case h.life == engine.TrunkLost:
		return false, time.Time{}
	case !h.onTrial():
		return true, time.Time{}
	case now.Before(h.until):
		return false, h.until
	}
	return h.trial == "", time.Time{} // one trial at a time
}

// trying says that the breaker is open: once its pause is over, a trial call decides.
func (h *health) trying() bool { return !h.until.IsZero() }

// onTrial says that only single calls may leave, whose results decide.
func (h *health) onTrial() bool { return h.trying() || h.life != engine.TrunkAlive }

func (h *health) granted(leg engine.LegID) {
	if h.onTrial() {
		h.trial = leg
	}
}

// released frees the slot of a trial call that ended without a result.
func (h *health) released(leg engine.LegID) {
	if h.trial == leg {
		h.trial = ""
	}
}

func (h *health) open(now time.Time, first, last time.Duration, reason string) {
	if h.pause == 0 {
		h.pause = first
	} else {
		h.pause = min(max(2*h.pause, first), last)
	}
	h.until, h.score, h.trial, h.reason = now.Add(h.pause), 0, "", reason
}

// forgive closes the breaker.
func (h *health) forgive() {
	h.score, h.until, h.pause, h.held, h.trial, h.reason = 0, time.Time{}, 0, false, "", ""
	h.results = h.results[:0]
}

// Report tells the trunk the result of a leg of a call between two numbers: class is
// engine/disposition's result for its end, nil for ringing or an answer.
func (t *Trunk) Report(now time.Time, leg engine.LegID, from, to engine.PhoneNumber, class *disposition.Result) {
	h := &t.health
	if class == nil || class.Fault != disposition.FaultUs && !class.TrunkBad {
		h.prove()
	}
	// The result of a call granted before the breaker opened is not new information.
	stale := h.trying() && h.trial != leg
	if class != nil {
		if class.Throttle {
			t.bucket.shrink(now, class.TrunkRetryAfter)
		}
		if class.Retry == disposition.RetryHoldTrunk {
			if !stale {
				h.held = true
				h.open(now, holdFirst, holdLast, class.Friendly)
			}
			return
		}
	}
	if stale {
		return
	}
	trial := h.trial == leg && h.trial != ""
	switch {
	case class != nil && class.TrunkBad:
		weight := networkRefusal
		if class.Fault == disposition.FaultTrunk {
			weight = trunkFailure
		}
		h.score += weight
		switch unproven := !h.trying() && h.onTrial(); {
		case trial && unproven && weight == trunkFailure:
			h.open(now, breakerFirst, breakerLast, "Nothing has been heard from it yet; the last call: "+class.Friendly)
		case trial && !unproven, h.score >= breakerLimit:
			h.open(now, breakerFirst, breakerLast, "Too many calls failed in a row; the last: "+class.Friendly)
		}
	case class != nil && class.Fault == disposition.FaultUs, class != nil && class.Throttle:
		// This says nothing about the trunk's health.
	case class != nil && class.TrunkDoubt && trial && h.held: // the fault still exists
		h.open(now, holdFirst, holdLast, h.reason)
	case class != nil && class.TrunkDoubt:
		if trial { // a carrier that refuses one number is reachable
			h.forgive()
		}
		h.note(result{from, to, true})
		if reason, ok := h.forbidden(); ok {
			h.held = true
			h.open(now, holdFirst, holdLast, reason)
			h.results = h.results[:0]
		}
	default:
		h.note(result{from, to, false})
		if h.trying() {
			h.forgive()
		}
		h.score, h.pause = 0, 0
	}
}

// note stores the last results. Beyond their limit the caller ID with the most results loses its
// oldest one: a number that is refused quickly must not displace the results of others.
func (h *health) note(r result) {
	h.results = append(h.results, r)
	if len(h.results) <= resultWindow {
		return
	}
	count := h.byCaller(func(result) bool { return true })
	oldest := 0
	for i, r := range h.results {
		if count[r.from] > count[h.results[oldest].from] {
			oldest = i
		}
	}
	h.results = slices.Delete(h.results, oldest, oldest+1)
}

// byCaller counts results by their caller ID.
func (h *health) byCaller(of func(result) bool) map[engine.PhoneNumber]int {
	count := map[engine.PhoneNumber]int{}
	for _, r := range h.results {
		if of(r) {
			count[r.from]++
		}
	}
	return count
}

// forbidden says whether 403s exceed the rate over enough destinations and caller IDs, and how many
// there were. The rate must also be exceeded without the caller ID that is refused most: refusals
// of one number do not condemn the trunk.
func (h *health) forbidden() (reason string, ok bool) {
	refused := h.byCaller(func(r result) bool { return r.forbidden })
	var worst engine.PhoneNumber
	for _, r := range h.results {
		if refused[r.from] > refused[worst] {
			worst = r.from
		}
	}
	destinations := map[engine.PhoneNumber]struct{}{}
	count, others, results := 0, 0, 0
	for _, r := range h.results {
		if r.from != worst {
			results++
		}
		if !r.forbidden {
			continue
		}
		count++
		destinations[r.to] = struct{}{}
		if r.from != worst {
			others++
		}
	}
	if len(refused) < forbiddenCallers || len(destinations) < forbiddenDestinations || 2*count < len(h.results) ||
		2*others < results {
		return "", false
	}
	return fmt.Sprintf("403 Forbidden to %d of the last %d calls, from %d caller IDs to %d destinations",
		count, len(h.results), len(refused), len(destinations)), true
}

// Heard tells the trunk what its signs of life say.
func (t *Trunk) Heard(life engine.TrunkLife) {
	h := &t.health
	if h.life = life; !h.onTrial() {
		h.trial = ""
	}
}

// prove notes that a call has met somebody. A trunk that is lost stays so until it is heard again:
// what was on its way may still arrive.
func (h *health) prove() {
	if h.life == engine.TrunkLost || h.life == engine.TrunkAlive {
		return
	}
	if h.life = engine.TrunkAlive; !h.trying() {
		h.trial = ""
	}
}

// Health returns the trunk's current health.
func (t *Trunk) Health(now time.Time) Health {
	h := &t.health
	switch {
	case !t.settings.Active:
		return Off
	case h.life == engine.TrunkLost:
		return Down
	case !h.onTrial():
		return Up
	case !h.trying():
		return Unproven
	case !now.Before(h.until):
		return Trying
	case h.held:
		return Held
	}
	return Broken
}
