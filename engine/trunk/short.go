package trunk

import "time"

// patience is how long legs wait for the token of a trunk that was chosen for them before they go to
// another one.
const patience = time.Second

// short is the time in which legs are refused for want of a token, without a request that is granted
// whole in between.
type short struct{ since, last time.Time }

// Short notes that legs of a request are refused for want of a token, and returns for how many of them
// it is right to wait; the others are for another trunk. Legs wait for what the trunk can send within
// a second: a burst stays where it belongs. None waits once the trunk has sent its calls of a second
// within the last one, or has not come to rest for a second: there are more calls than it can take.
func (t *Trunk) Short(now time.Time) (room int) {
	if now.Sub(t.short.last) > patience {
		t.short.since = now
	}
	t.short.last = now
	t.wire.free(now, t.settings.CPSCap)
	wait, interval := t.next(now).Sub(now), t.bucket.interval(now)
	if t.bucket.blocked.After(now) || wait > patience || now.Sub(t.short.since) > patience ||
		t.wire.used() >= max(1, int(perSecond/interval)) {
		return 0
	}
	return max(0, min(1+int((patience-wait)/interval), t.settings.ChannelCap-t.channels.Held()))
}

// Enough notes that a request was granted whole.
func (t *Trunk) Enough() { t.short = short{} }
