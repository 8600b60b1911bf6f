package wire

import (
	"context"
	"time"
)

// placeWait is how long a place is waited for: most are free again in a moment, and
// who must wait for longer had better ask again (ADR 24).
const placeWait = 2 * time.Second

// Places bound what may be made at the same time.
type Places chan struct{}

// NewPlaces makes n of them.
func NewPlaces(n int) Places { return make(Places, n) }

// Take waits for a place; without one it says false. leave gives it back.
func (p Places) Take(ctx context.Context) bool {
	select {
	case p <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	select {
	case p <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Leave gives a place back.
func (p Places) Leave() { <-p }
