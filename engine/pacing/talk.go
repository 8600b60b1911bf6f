package pacing

import (
	"math"
	"time"
)

// talkEdges are the bounds of the buckets of call lengths, in seconds; the last bucket has no end.
var talkEdges = [...]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 75, 90,
	110, 130, 150, 180, 210, 240, 300, 360, 420, 540, 660, 900, 1200}

const talkBuckets = len(talkEdges)

const (
	talkPrior    = 0.5    // ends in each bucket …
	talkMean     = 60.0   // … at that mean, s
	talkHalfLife = 3600.0 // s
	// talkBins is the number of half-seconds of age that are distinguished, talkAhead how many more
	// a forecast may look ahead.
	talkBins  = 2 * 1200
	talkAhead = 2 * (maxRing + 30)
)

// TalkStats are the observations of how long calls hold a worker.
type TalkStats struct {
	Ends     [talkBuckets]float64 `json:"ends"`
	Exposure [talkBuckets]float64 `json:"exposure"` // s
}

// talk are the calls that hold a worker now, and how long such calls last.
type talk struct {
	st    TalkStats
	bins  []int32 // calls by the bin of their start
	first int64   // the oldest bin
	old   int     // older calls
	known int     // calls in all

	survival []float64 // share of calls that reach an age, by half-seconds
	mean     float64   // s
}

func newTalk(st TalkStats) talk {
	return talk{st: st, bins: make([]int32, talkBins), survival: make([]float64, talkBins+talkAhead)}
}

func (t *talk) at(bin int64) *int32 { return &t.bins[bin%int64(len(t.bins))] }

// advance makes room for calls that begin now.
func (t *talk) advance(now int64) {
	n := int64(len(t.bins))
	if now-t.first >= 2*n {
		clear(t.bins)
		t.old, t.first = t.known, now-n+1
		return
	}
	for t.first+n <= now {
		c := t.at(t.first)
		t.old += int(*c)
		*c = 0
		t.first++
	}
}

// add counts a call that began in the bin, or removes it; ok is false for a call that the model
// does not know.
func (t *talk) add(bin int64, n int) (ok bool) {
	if bin < t.first {
		if t.old+n < 0 {
			return false
		}
		t.old += n
	} else {
		c := t.at(bin)
		if int(*c)+n < 0 {
			return false
		}
		*c += int32(n) //nolint:gosec // one at a time
	}
	t.known += n
	return true
}

// forget drops n calls, the oldest first: their ends were missed.
func (t *talk) forget(n int, now int64) {
	k := min(n, t.old)
	t.old, t.known, n = t.old-k, t.known-k, n-k
	for b := t.first; n > 0 && b <= now; b++ {
		c := t.at(b)
		k := min(n, int(*c))
		*c -= int32(k) //nolint:gosec // at most what is there
		t.known, n = t.known-k, n-k
	}
}

// ended notes the end of a call of that age. It counts for the whole of its bucket, so that ends
// over exposure is the hazard of the bucket.
func (t *talk) ended(age time.Duration) {
	a := max(age.Seconds(), 0)
	b := talkBucket(a)
	t.st.Ends[b]++
	if b+1 < talkBuckets {
		t.st.Exposure[b] += talkEdges[b+1] - a
	}
}

func talkBucket(age float64) int {
	lo, hi := 0, talkBuckets
	for lo+1 < hi {
		if m := (lo + hi) / 2; talkEdges[m] <= age {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// observe advances time by dt seconds.
func (t *talk) observe(now int64, dt float64) {
	fade := math.Exp2(-dt / talkHalfLife)
	for b := range t.st.Ends {
		t.st.Ends[b] *= fade
		t.st.Exposure[b] *= fade
	}
	t.st.Exposure[talkBuckets-1] += float64(t.old) * dt
	left, bucket := t.known-t.old, 0
	for b := now; left > 0 && b >= t.first; b-- {
		n := int(*t.at(b))
		if n == 0 {
			continue
		}
		left -= n
		age := float64(now-b) / 2
		for bucket+1 < talkBuckets && talkEdges[bucket+1] <= age {
			bucket++
		}
		t.st.Exposure[bucket] += float64(n) * dt
	}
}

// estimate recomputes the survival, bucket by bucket.
func (t *talk) estimate() {
	s, i := 1.0, 0
	t.mean = 0
	for b := range talkEdges {
		hazard := (t.st.Ends[b] + talkPrior) / (t.st.Exposure[b] + talkPrior*talkMean)
		end, last := len(t.survival), b+1 == talkBuckets
		q := 0.999
		width := 60.0
		if !last {
			width = talkEdges[b+1] - talkEdges[b]
			end = int(2 * talkEdges[b+1])
		}
		q = min(q, hazard*width)
		step := math.Exp(math.Log1p(-q) * 0.5 / width)
		for ; i < end; i++ {
			t.survival[i] = s
			t.mean += 0.25 * s * (1 + step)
			s *= step
		}
		if last {
			t.mean += s / hazard
		}
	}
}

// stays is the probability that a call of an age (half-seconds) still holds its worker the given
// number of half-seconds later.
func (t *talk) stays(age, later int) float64 {
	s := t.survival[age]
	if s < 1e-12 {
		return 0
	}
	return t.survival[min(age+later, len(t.survival)-1)] / s
}

func (t *talk) Parts() []any {
	return []any{&t.st, &t.bins, &t.first, &t.old, &t.known, &t.survival, &t.mean}
}
