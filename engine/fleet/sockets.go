package fleet

import (
	"time"

	"dialler/engine"
)

const (
	// SocketTimeout is how long a socket may take to open ahead of its call, and a probe to be
	// answered. Nobody waits for it: a bot that needs seconds for each can still serve people.
	SocketTimeout = 10 * time.Second
	// SocketAge is when an unused socket is closed once no line relies on it: the server behind a
	// proxy or load balancer may have been replaced meanwhile. The oldest are taken first.
	SocketAge = time.Minute
	// SocketIdle is how long a socket that no line wants stays open: a bot should not be held for
	// nothing, but the next line may be near.
	SocketIdle = 20 * time.Second
	// SocketLimit is when the opener closes a socket by itself, because the run that requested it
	// may be gone. No line rings for so long.
	SocketLimit = 3 * time.Minute
	// SocketPatience is how long lines in flight wait for a socket to replace a lost one, before
	// they are cancelled.
	SocketPatience = time.Second

	openingsMost  = 64                     // sockets being opened concurrently
	openingsPause = 100 * time.Millisecond // after repeated failures, doubling
	openingsLast  = 5 * time.Second
	// Suspicious is how many failures in a row cause a probe of the bot.
	Suspicious = 3
)

// Openings paces the sockets that are opened ahead of their calls: half as many at a time after a
// failure, twice as many after a success, and a pause after several failures in a row. The zero
// value opens as many as allowed.
type Openings struct {
	Window int // maximum at a time; 0 means openingsMost
	Failed int // in a row
	// Since is when the last opening failed; the pause counts from then.
	Since engine.BootTime
}

// Stood notes that a socket opened.
func (o *Openings) Stood() {
	o.Failed = 0
	if o.Window *= 2; o.Window >= openingsMost {
		o.Window = 0
	}
}

// Missed notes that a socket could not be opened, or did not open in time.
func (o *Openings) Missed(now engine.BootTime, under int) {
	if o.Window == 0 {
		o.Window = openingsMost
	}
	o.Window = max(min(o.Window, under)/2, 1)
	o.Failed++
	o.Since = now
}

// Pause is how long no socket may be opened from now.
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

// Room is how many more may be opened now, with under being opened already.
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
