// Package inventory finds legs, audio and bot sockets in a process that no actor owns. A cluster
// node's gateway uses it, which leaves other nodes time to adopt a call; Keeper is for a process
// that runs alone.
//
// It must not know actors or nodes.
package inventory

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/actors/ports"
	"dialler/engine"
)

const (
	// Every is the interval between checks; UnownedFor is how long a call may have no owner before
	// that is a fault.
	Every      = 5 * time.Second
	UnownedFor = 5 * time.Second
	// ActorAwayFor is how long a repeatedly faulting actor may be away before it is back and finds
	// its call.
	ActorAwayFor = 30 * time.Second
)

// Noted holds the calls without an owner at the last check, and since when.
type Noted map[engine.AttemptID]engine.BootTime

// Since returns the calls in all that have had no owner for that long, and notes the others.
func (n *Noted) Since(now engine.BootTime, long time.Duration, all []engine.AttemptID,
	has func(engine.AttemptID) bool) (gone []engine.AttemptID) {
	still := Noted{}
	for _, a := range all {
		if has(a) {
			continue
		}
		at, known := (*n)[a]
		if !known {
			at = now
		}
		if time.Duration(now-at) >= long {
			gone = append(gone, a)
			continue
		}
		still[a] = at
	}
	*n = still
	return gone
}

// End ends the legs of an ownerless call and disconnects its bot; sink gets their ends.
func End(phone ports.Telephony, media ports.Media, a engine.AttemptID, sink func(engine.LegEvent)) {
	for _, leg := range phone.AttachLeg(a, sink) {
		phone.HangUpLeg(leg, engine.HangUpCause{Q850: 41, Text: "owner lost"})
	}
	media.DetachBot(a)
}

// Config configures a Keeper.
type Config struct {
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	// Carried lists the attempts with anything still running here; Owned says whether the actor of
	// one exists.
	Carried func() []engine.AttemptID
	Owned   func(engine.AttemptID) bool
	Log     zerolog.Logger
}

// Keeper ends the ownerless calls of a process that runs alone.
type Keeper struct {
	Unowned atomic.Int64 // ownerless calls found

	cfg   Config
	noted Noted
}

// New makes a Keeper.
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg} }

// Run checks until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.look()
		}
	}
}

func (k *Keeper) look() {
	c := &k.cfg
	for _, a := range k.noted.Since(c.Clock.Boot(), UnownedFor+ActorAwayFor, c.Carried(), c.Owned) {
		k.Unowned.Add(1)
		c.Log.Warn().Str("attempt_id", string(a)).Msg("a call here has no owner; it is hung up")
		End(c.Telephony, c.Media, a, func(engine.LegEvent) {})
		c.Media.CloseMedia(a)
		c.Telephony.ForgetLegs(a)
	}
}
