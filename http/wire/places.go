package wire

import (
	"context"
	"time"
)

// placeWait is how long to wait for a place: most are free again in a moment, and a client that
// must wait longer should retry (ADR 24).
const placeWait = 2 * time.Second

// Places limits how many may run concurrently.
type Places chan struct{}

// NewPlaces makes n places.
func NewPlaces(n int) Places { return make(Places, n) }

// Take waits for a place; it returns false if none becomes free. Leave gives it back.
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
