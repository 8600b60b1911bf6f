package trunk

import (
	"time"

	"dialler/engine"
)

// This file is for several nodes that share one trunk: one of them counts its calls per second and
// channels, and each judges its health by the calls that it placed itself.

// Allowed says whether the trunk's health permits a leg, like Check.
func (t *Trunk) Allowed(now time.Time) (ok bool, c engine.Constraint, retryAt time.Time) {
	if t.settings.Active {
		if ok, retryAt = t.health.admits(now); ok {
			return true, engine.ConstraintNone, time.Time{}
		}
	}
	return false, engine.ConstraintTrunkHealth, retryAt
}

// Trying says that a single leg may leave, to test whether the trunk is there, or has recovered.
func (t *Trunk) Trying() bool { return t.health.onTrial() }

// Granted notes that another node's count granted a leg.
func (t *Trunk) Granted(leg engine.LegID) { t.health.granted(leg) }

// Admit takes a token and leases a channel for a leg of another node, which has checked the trunk's
// health itself, and sends its INVITE within unused or never. Otherwise it is like Acquire.
func (t *Trunk) Admit(now time.Time, leg engine.LegID, ttl, unused time.Duration) (ok bool, c engine.Constraint,
	retryAt time.Time) {
	until := now.Add(unused)
	if a, ok := t.wire.unsent[leg]; ok && t.channels.Renew(now, leg, ttl) { // a repeated request
		t.wire.unsent[leg] = allowance{a.from, until}
		return true, engine.ConstraintNone, time.Time{}
	}
	switch {
	case t.channels.Has(leg): // its earlier grant has expired
	case !t.settings.Active:
		return false, engine.ConstraintTrunkHealth, time.Time{}
	case t.channels.Held() >= t.settings.ChannelCap:
		return false, engine.ConstraintTrunkChannels, time.Time{}
	}
	if at := t.token(now, leg); at.After(now) {
		return false, engine.ConstraintTrunkCPS, at
	}
	t.take(now, leg, until)
	t.channels.Take(now, leg, ttl)
	return true, engine.ConstraintNone, time.Time{}
}

// Throttled notes that the carrier refused another node's leg because of too many calls. A leg that
// holds no channel any more was already reported.
func (t *Trunk) Throttled(now time.Time, leg engine.LegID, after time.Duration) {
	if t.channels.Has(leg) {
		t.bucket.shrink(now, after)
	}
}

// Adopt counts a leg that is in progress, without a token.
func (t *Trunk) Adopt(now time.Time, leg engine.LegID, ttl time.Duration) {
	t.channels.Take(now, leg, ttl)
}

// Recount resets the count: earlier legs are forgotten, and dials of the last second are unknown,
// whichever node granted them.
func (t *Trunk) Recount(now time.Time) {
	for _, leg := range t.channels.Holders() {
		t.channels.Release(leg)
	}
	t.bucket.dueAt = now.Add(catchUp + t.bucket.interval(now))
	t.wire.blind(now, t.bucket.gap())
	t.awaited = nil
}
