package fleet

import (
	"time"

	"dialler/engine"
)

const (
	// SocketTimeout is how long a socket may take to be opened ahead of its call, and a
	// question to be answered. Nobody waits for it: a bot that needs seconds for each serves
	// people all the same.
	SocketTimeout = 10 * time.Second
	// SocketAge is how old one becomes that no call takes, as soon as no line relies on it:
	// what stands behind a proxy or load balancer may have been replaced meanwhile. The
	// oldest are taken first.
	SocketAge = time.Minute
	// SocketIdle is how long one stays that no line wants: a bot is not held for nothing,
	// and the next line may be near.
	SocketIdle = 20 * time.Second
	// SocketLimit is when whoever opened it closes it by itself: the run that asked for it
	// may be gone. No line rings for so long.
	SocketLimit = 3 * time.Minute
	// SocketPatience is how long lines in flight wait for a socket in place of one that was
	// lost, before they are cancelled.
	SocketPatience = time.Second

	openingsMost  = 64                     // sockets being opened at the same time
	openingsPause = 100 * time.Millisecond // after so many failures in a row, doubling
	openingsLast  = 5 * time.Second
	// Suspicious is how many failures in a row make one ask what the bot is about.
	Suspicious = 3
)

// Openings paces the sockets that are opened ahead of their calls: half as many at a time
// after one that failed, twice as many after one that stands, and a pause once several
// failed in a row. The zero value opens as many as may be.
type Openings struct {
	Window int // at the same time at most, 0: openingsMost
	Failed int // in a row
	// Since is when the last one failed; the pause counts from then.
	Since engine.BootTime
}

// Stood: a socket stands.
func (o *Openings) Stood() {
	o.Failed = 0
	if o.Window *= 2; o.Window >= openingsMost {
		o.Window = 0
	}
}

// Missed: a socket could not be opened, or did not open in time.
func (o *Openings) Missed(now engine.BootTime, under int) {
	if o.Window == 0 {
		o.Window = openingsMost
	}
	o.Window = max(min(o.Window, under)/2, 1)
	o.Failed++
	o.Since = now
}

// Pause is how long none is opened from now on.
func (o *Openings) Pause(now engine.BootTime) time.Duration {
	if o.Failed < Suspicious {
		return 0
	}
	pause := openingsPause
	for range min(o.Failed-Suspicious, 10) {
		pause *= 2
	}
	return max(min(pause, openingsLast)-time.Duration(now-o.Since), 0)
}

// Room is how many more may be opened now, while so many are.
func (o *Openings) Room(now engine.BootTime, under int) int {
	if o.Pause(now) > 0 {
		return 0
	}
	most := openingsMost
	if o.Window > 0 {
		most = o.Window
	}
	return max(most-under, 0)
}
