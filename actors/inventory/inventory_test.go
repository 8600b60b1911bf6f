package inventory_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/inventory"
	"dialler/actors/ports"
	"dialler/engine"
)

// wires are the legs and the audio of one call.
type wires struct {
	ports.Telephony
	ports.Media
	did []string
}

func (w *wires) AttachLeg(a engine.AttemptID, _ func(engine.LegEvent)) []engine.LegID {
	return []engine.LegID{a.Leg(1)}
}

func (w *wires) HangUpLeg(leg engine.LegID, _ engine.HangUpCause) {
	w.did = append(w.did, "bye "+string(leg))
}

func (w *wires) ForgetLegs(engine.AttemptID) { w.did = append(w.did, "forget") }

func (w *wires) DetachBot(engine.AttemptID) { w.did = append(w.did, "detach") }

func (w *wires) CloseMedia(engine.AttemptID) engine.MediaQuality {
	w.did = append(w.did, "close")
	return engine.MediaQuality{}
}

type bubbleClock struct{ begun time.Time }

func (c bubbleClock) Now() time.Time        { return time.Now() }
func (c bubbleClock) Boot() engine.BootTime { return engine.BootTime(time.Since(c.begun)) }

// A call whose actor is away for a while goes on; an ownerless one is ended once, with its audio
// and its bot.
func TestOnlyACallThatNobodyHasIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id engine.AttemptID = "01a21b0d7cb0f66fe8b7fd656d9a319c"
		var owned atomic.Bool
		owned.Store(true)
		w := new(wires)
		k := inventory.New(inventory.Config{Telephony: w, Media: w, Clock: bubbleClock{time.Now()},
			Carried: func() []engine.AttemptID {
				if len(w.did) > 0 {
					return nil
				}
				return []engine.AttemptID{id}
			},
			Owned: func(engine.AttemptID) bool { return owned.Load() }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go k.Run(ctx)
		for range 5 {
			time.Sleep(30 * time.Second) // virtual
			synctest.Wait()
			owned.Store(!owned.Load())
		}
		if len(w.did) > 0 {
			t.Errorf("its actor was away for half a minute: %q", w.did)
		}
		owned.Store(false)
		time.Sleep(2 * time.Minute) // virtual
		synctest.Wait()
		want := []string{"bye " + string(id.Leg(1)), "detach", "close", "forget"}
		if !slices.Equal(w.did, want) || k.Unowned.Load() != 1 {
			t.Errorf("%q, found %d times", w.did, k.Unowned.Load())
		}
	})
}
