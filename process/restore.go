package process

import (
	"context"
	"time"

	"dialler/engine"
)

// inUseEvery is how often it is noted that the database is in use.
const inUseEvery = 15 * time.Second

// noteUse goes on noting that the database is in use, from at on.
func (p *Process) noteUse(at time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(inUseEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c, stop := context.WithTimeout(ctx, inUseEvery)
				next, err := p.store.InUse(c, at)
				stop()
				switch {
				case err == nil:
					at = next
				case engine.ErrorCode(err) == "database_restored":
					p.log.Error().Err(err).Msg("the database lost what was written last, by a recovery or a standby that took over; the next start will ask for a word on that")
				}
			}
		}
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
}
