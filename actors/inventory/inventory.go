// Package inventory finds what goes on in a process though nobody acts for it: legs,
// audio and sockets of bots. The gateway of a node goes by it, which gives other nodes
// the time to adopt a call, and Keeper, which is for a process that is alone.
//
// It must not know: actors, nodes.
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
	// Every is how often somebody looks, and UnownedFor how long nobody may have a call
	// before that is a fault.
	Every      = 5 * time.Second
	UnownedFor = 5 * time.Second
	// ActorAwayFor is how long an actor that faults again and again may be away before
	// it is back and finds its call.
	ActorAwayFor = 30 * time.Second
)

// Noted is what nobody had when it was last looked for, and since when.
type Noted map[engine.AttemptID]engine.BootTime

// Since gives those of all that nobody has had for so long, and notes the others.
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

// End ends the legs of a call that nobody has, and takes its bot away; sink hears of
// their end.
func End(phone ports.Telephony, media ports.Media, a engine.AttemptID, sink func(engine.LegEvent)) {
	for _, leg := range phone.AttachLeg(a, sink) {
		phone.HangUpLeg(leg, engine.HangUpCause{Q850: 41, Text: "owner lost"})
	}
	media.DetachBot(a)
}

// Config is what a Keeper goes by.
type Config struct {
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	// Carried are the attempts of which something goes on here by itself, and Owned says
	// whether the actor of one lives.
	Carried func() []engine.AttemptID
	Owned   func(engine.AttemptID) bool
	Log     zerolog.Logger
}

// Keeper ends the calls of a process that is alone for which nobody acts.
type Keeper struct {
	Unowned atomic.Int64 // calls that were found

	cfg   Config
	noted Noted
}

// New gives a keeper.
func New(cfg Config) *Keeper { return &Keeper{cfg: cfg} }

// Run looks until ctx ends.
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
		c.Log.Warn().Str("attempt_id", string(a)).Msg("nobody acts for a call here; it is hung up")
		End(c.Telephony, c.Media, a, func(engine.LegEvent) {})
		c.Media.CloseMedia(a)
		c.Telephony.ForgetLegs(a)
	}
}
