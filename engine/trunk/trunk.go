package trunk

import (
	"time"

	"dialler/engine"
	"dialler/engine/lease"
)

// Defaults of omitted settings.
const (
	defaultCPS      = 10
	defaultChannels = 100
)

// Trunk is the single owner of a trunk's calls per second and channels. It is used by one actor and
// is not safe for concurrent use.
type Trunk struct {
	settings engine.TrunkSettings
	bucket   bucket
	wire     wire
	channels lease.Book[engine.LegID]
	health   health
	placed   placed
	awaited  awaited
	short    short
}

// New returns a trunk that has carried nothing yet, and of which nothing has been heard.
func New(s engine.TrunkSettings) *Trunk {
	t := &Trunk{}
	t.health.results = make([]result, 0, resultWindow+1)
	t.Configure(s)
	return t
}

// Resumed returns a trunk whose last second is unknown: its owner, or the whole process, was
// restarted. Its first token comes as if one had been granted at this moment, so that the cap holds
// across the restart.
func Resumed(s engine.TrunkSettings, now time.Time) *Trunk {
	t := New(s)
	t.bucket.dueAt = now.Add(catchUp + t.bucket.interval(now))
	return t
}

// Configure applies edited settings. It ends a hold and a wait requested by a carrier: the operator
// may have corrected the credentials, or had the carrier raise its limit. Legs keep their leases:
// over a lowered cap nothing is granted until enough of them have ended.
func (t *Trunk) Configure(s engine.TrunkSettings) {
	if s.CPSCap <= 0 {
		s.CPSCap = defaultCPS
	}
	if s.ChannelCap <= 0 {
		s.ChannelCap = defaultChannels
	}
	if s.Weight <= 0 {
		s.Weight = 1
	}
	t.settings = s
	t.bucket.resize(s.CPSCap)
	t.bucket.open()
	t.health.forgive()
}

// Settings are the current settings, with defaults filled in.
func (t *Trunk) Settings() engine.TrunkSettings { return t.settings }

// Check says whether a leg would be granted now, and if not, why and when asking again makes sense;
// retryAt is zero if that depends on others (a call that ends, an operator, a sign of life).
func (t *Trunk) Check(now time.Time) (ok bool, c engine.Constraint, retryAt time.Time) {
	if !t.settings.Active {
		return false, engine.ConstraintTrunkHealth, time.Time{}
	}
	if ok, retryAt := t.health.admits(now); !ok {
		return false, engine.ConstraintTrunkHealth, retryAt
	}
	if t.channels.Held() >= t.settings.ChannelCap {
		return false, engine.ConstraintTrunkChannels, time.Time{}
	}
	if at := t.next(now); at.After(now) {
		return false, engine.ConstraintTrunkCPS, at
	}
	return true, engine.ConstraintNone, time.Time{}
}

// next is when a token may be taken, now or later.
func (t *Trunk) next(now time.Time) time.Time {
	at, by := t.bucket.next(now), t.wire.next(now, t.settings.CPSCap, t.bucket.gap())
	if by.After(at) {
		return by
	}
	return at
}

// take takes a token for a leg whose INVITE leaves before until or never; zero means that Sent or
// Release reports it.
func (t *Trunk) take(now time.Time, leg engine.LegID, until time.Time) {
	t.bucket.take(now)
	t.wire.grant(leg, until, t.settings.CPSCap, t.bucket.gap())
}

// Acquire takes one CPS token and leases one channel to a leg for ttl. A repeated request for the
// same leg renews its lease and takes no second token. Its INVITE may leave from From on.
func (t *Trunk) Acquire(now time.Time, leg engine.LegID, ttl time.Duration) (ok bool, c engine.Constraint,
	retryAt time.Time) {
	if t.channels.Renew(now, leg, ttl) {
		return true, engine.ConstraintNone, time.Time{}
	}
	if ok, c, retryAt = t.Check(now); !ok && c != engine.ConstraintTrunkCPS {
		return false, c, retryAt
	}
	if at := t.token(now, leg); at.After(now) {
		return false, engine.ConstraintTrunkCPS, at
	}
	t.take(now, leg, time.Time{})
	t.placed.note(now)
	t.channels.Take(now, leg, ttl)
	t.health.granted(leg)
	return true, engine.ConstraintNone, time.Time{}
}

// From is when the INVITE of a granted leg may leave; a zero or past time means at once.
func (t *Trunk) From(leg engine.LegID) time.Time { return t.wire.unsent[leg].from }

// Sent notes that a leg's INVITE has left, now at the latest. Until then no other leg uses its
// token.
func (t *Trunk) Sent(now time.Time, leg engine.LegID) { t.wire.gone(now, leg) }

// Renew extends the lease of a continuing leg; ok is false when it has none any more.
func (t *Trunk) Renew(now time.Time, leg engine.LegID, ttl time.Duration) (ok bool) {
	return t.channels.Renew(now, leg, ttl)
}

// Release gives a leg's channel back. The token is spent: the INVITE left, or
// was about to, now at the latest.
func (t *Trunk) Release(now time.Time, leg engine.LegID) {
	t.wire.gone(now, leg)
	t.channels.Release(leg)
	t.health.released(leg)
}

// Expire ends the expired leases and returns their legs.
func (t *Trunk) Expire(now time.Time) []engine.LegID {
	gone := t.channels.Expire(now)
	for _, leg := range gone {
		t.wire.gone(now, leg)
		t.health.released(leg)
	}
	return gone
}

// Held is the number of channels in use: the live leases.
func (t *Trunk) Held() int { return t.channels.Held() }

// Legs returns the legs that hold a channel.
func (t *Trunk) Legs() []engine.LegID { return t.channels.Holders() }

// Tokens is how many legs would be granted right now.
func (t *Trunk) Tokens(now time.Time) int {
	if ok, _, _ := t.Check(now); !ok {
		return 0
	}
	n := t.ready(now, t.settings.ChannelCap-t.channels.Held())
	if t.health.onTrial() {
		n = min(n, 1)
	}
	return n
}

// Rate is the number of calls per second that the trunk grants now: the cap, or less while it is
// throttled, and nothing while the carrier has asked to wait.
func (t *Trunk) Rate(now time.Time) float64 {
	if t.bucket.blocked.After(now) {
		return 0
	}
	return float64(time.Second) / float64(t.bucket.interval(now))
}

// Candidate returns the trunk's current state for a choice.
func (t *Trunk) Candidate(now time.Time) Candidate {
	ok, c, at := t.Check(now)
	return Candidate{ID: t.settings.ID, Priority: t.settings.Priority, Weight: t.settings.Weight,
		Health: t.Health(now), Available: ok, Constraint: c, RetryAt: at}
}

// Status is the state of a trunk at a moment.
type Status struct {
	Health Health
	// Reason is why the trunk refuses calls or grants fewer than its cap, judging by its calls; ""
	// if it does neither, or if its signs of life are the reason.
	Reason string
	// Rate is the number of calls per second that it grants now, Share the part of the cap that
	// throttling leaves, 0 to 1.
	Rate  float64
	Share float64
	// Placed is the number of calls per second that it was given over the last 9 s.
	Placed   float64
	Legs     int // live ones, …
	Channels int // … out of this maximum
	// RetryAt is when it will grant again what it refuses now; nil if it refuses nothing, or if
	// that depends on others.
	RetryAt *time.Time
}

// Status returns the trunk's current state, for people.
func (t *Trunk) Status(now time.Time) Status {
	s := Status{Health: t.Health(now), Rate: t.Rate(now), Share: float64(t.bucket.share(now)) / whole,
		Placed: t.placed.rate(now), Legs: t.Held(), Channels: t.settings.ChannelCap}
	blocked := t.bucket.blocked
	switch _, c, at := t.Check(now); {
	case c == engine.ConstraintTrunkHealth && !at.IsZero():
		s.RetryAt = &at
	case c != engine.ConstraintTrunkHealth && blocked.After(now):
		s.RetryAt = &blocked
	}
	switch {
	case !t.settings.Active || t.health.life == engine.TrunkLost:
	case t.health.trying():
		s.Reason = t.health.reason
	case blocked.After(now):
		s.Reason = "The carrier's call limit is reached, and it asks us to wait"
	case s.Share < 1:
		s.Reason = "The carrier's call limit was reached; the rate grows back"
	}
	return s
}

// placed counts grants by whole seconds: the current one, and those over which the rate is
// computed.
type placed [10]struct {
	second int64
	n      int
}

func (p *placed) note(now time.Time) {
	s := now.Unix()
	b := &p[uint64(s)%uint64(len(p))] //nolint:gosec // any order will do
	if b.second != s {
		b.second, b.n = s, 0
	}
	b.n++
}

// rate is the rate over the completed seconds.
func (p *placed) rate(now time.Time) float64 {
	n := 0
	for i := range p {
		if age := now.Unix() - p[i].second; age > 0 && age < int64(len(p)) {
			n += p[i].n
		}
	}
	return float64(n) / float64(len(p)-1)
}
