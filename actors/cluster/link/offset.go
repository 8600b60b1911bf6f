package link

import (
	"time"

	"dialler/engine"
)

// drift is how far two clocks may diverge, as a fraction of elapsed time: twice the tolerance of a
// crystal.
const drift = 200e-6

// offset is what to add to another node's boot-time readings to get ours. It is known to lie
// between two bounds, which drift apart as time passes.
type offset struct {
	known    bool // both bounds
	least    time.Duration
	most     time.Duration
	hasLeast bool
	at       engine.BootTime
}

// observe takes the stamps of a frame received at now: the other node sent it at theirs, held after
// it had received the one that we sent at echo (0 means none yet).
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
	if o.hasLeast && o.least > o.most { // a clock was set, as when a VM is moved
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
