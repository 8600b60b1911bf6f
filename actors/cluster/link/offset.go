package link

import (
	"time"

	"dialler/engine"
)

// drift is how far two clocks may go apart, a part of the time that passes:
// twice what a crystal is allowed.
const drift = 200e-6

// offset is what to add to another node's boot-time readings to get ours: it is
// known to lie between two bounds, which part again as time goes by.
type offset struct {
	known    bool // both bounds
	least    time.Duration
	most     time.Duration
	hasLeast bool
	at       engine.BootTime
}

// observe takes the stamps of a frame that was got at now: the other node sent
// it at theirs, held after it had got the one that we sent at echo (0: none yet).
func (o *offset) observe(now, theirs, echo engine.BootTime, held time.Duration) {
	most := time.Duration(now - theirs)
	apart := time.Duration(float64(now-o.at) * drift)
	if o.at == 0 {
		o.most = most
	} else {
		o.most = min(o.most+apart, most)
		o.least -= apart
	}
	o.at = now
	if echo != 0 {
		least := time.Duration(echo-theirs) + held
		if o.hasLeast {
			least = max(least, o.least)
		}
		o.least, o.hasLeast = least, true
	}
	if o.hasLeast && o.least > o.most { // a clock was set, as when a machine is moved
		o.most = most
		o.least, o.hasLeast = most, false
		if echo != 0 {
			o.least, o.hasLeast = time.Duration(echo-theirs)+held, true
			o.least = min(o.least, most)
		}
	}
	o.known = o.hasLeast
}

// read gives the moment with what is known of the other clock.
func (o *offset) read(now time.Time, boot engine.BootTime) Moment {
	apart := time.Duration(float64(boot-o.at) * drift)
	return Moment{Now: now, Boot: boot, Ahead: o.least + (o.most-o.least)/2, Least: o.least - apart}
}
