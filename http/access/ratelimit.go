package access

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"dialler/engine"
	"dialler/http/wire"
)

// pacer is the rate limit of API keys: one token bucket per key.
type pacer struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	buckets sync.Map // engine.KeyID → *rate.Limiter; only for existing keys
	policy  string
	limited prometheus.Counter // refused requests
}

func newPacer(perSecond float64, burst int, now func() time.Time, limited prometheus.Counter) *pacer {
	p := &pacer{rate: rate.Limit(perSecond), burst: burst, now: now, limited: limited}
	if perSecond > 0 {
		// Structured fields of draft-ietf-httpapi-ratelimit-headers: q requests
		// in a window of w seconds, the time an empty bucket takes to fill.
		p.policy = fmt.Sprintf(`"key";q=%d;w=%d`, burst, int(math.Max(1, math.Ceil(float64(burst)/perSecond))))
	}
	return p
}

// admit takes a token of the request's key and reports the rest in the headers.
func (p *pacer) admit(r *wire.Request) error {
	if p.rate <= 0 {
		return nil
	}
	v, ok := p.buckets.Load(r.Key.ID)
	if !ok {
		v, _ = p.buckets.LoadOrStore(r.Key.ID, rate.NewLimiter(p.rate, p.burst))
	}
	bucket := v.(*rate.Limiter)
	now := p.now()
	allowed := bucket.AllowN(now, 1)
	left := math.Max(0, bucket.TokensAt(now))
	fill := time.Duration((float64(p.burst) - left) / float64(p.rate) * float64(time.Second))
	h := &r.HTTP.Response.Header
	h.Set("RateLimit-Policy", p.policy)
	h.Set("RateLimit", fmt.Sprintf(`"key";r=%d;t=%d`, int(left), int(math.Ceil(fill.Seconds()))))
	if allowed {
		return nil
	}
	p.limited.Inc()
	wait := time.Duration((1 - left) / float64(p.rate) * float64(time.Second))
	return &engine.Error{Kind: engine.KindTooMany, Code: "rate_limited",
		Detail: "This key sends requests faster than its limit; wait for Retry-After.", RetryAfter: wait}
}

// throttle slows down guessing: a bucket for every subject (an account, an address, both together)
// with recent failures.
type throttle struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
}

// throttleCap limits the remembered subjects; beyond it the full buckets, which carry no
// information, are dropped first.
const throttleCap = 50_000

func newThrottle(now func() time.Time) *throttle {
	return &throttle{now: now, buckets: make(map[string]*rate.Limiter)}
}

// subject is what guesses are counted against.
type subject struct {
	name  string
	every time.Duration // interval at which one guess comes back
	burst int
}

// admit takes one guess of every subject, or says how long to wait. refund gives the guesses back
// if it was not one.
func (t *throttle) admit(subjects ...subject) (refund func(), wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, s := range subjects {
		b := t.buckets[s.name]
		if b == nil {
			continue
		}
		if left := b.TokensAt(now); left < 1 {
			wait = max(wait, time.Duration((1-left)*float64(s.every)))
		}
	}
	if wait > 0 {
		return nil, wait, false
	}
	taken := make([]*rate.Reservation, 0, len(subjects))
	for _, s := range subjects {
		b := t.buckets[s.name]
		if b == nil {
			if len(t.buckets) >= throttleCap {
				t.shrink(now)
			}
			b = rate.NewLimiter(rate.Every(s.every), s.burst)
			t.buckets[s.name] = b
		}
		taken = append(taken, b.ReserveN(now, 1))
	}
	return func() {
		for _, r := range taken {
			r.CancelAt(now)
		}
	}, 0, true
}

// succeeded clears the failures of a subject.
func (t *throttle) succeeded(s subject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.buckets, s.name)
}

func (t *throttle) shrink(now time.Time) {
	for name, b := range t.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(t.buckets, name)
		}
	}
	if len(t.buckets) >= throttleCap { // under attack: forget some, never grow
		n := 0
		for name := range t.buckets {
			delete(t.buckets, name)
			if n++; n >= throttleCap/10 {
				return
			}
		}
	}
}
