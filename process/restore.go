package process

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/persistence"
)

// inUseEvery is how often it is noted that the database is in use, and how long
// that may take.
const inUseEvery = 15 * time.Second

// noteUse goes on noting that the database is in use, from at on. It does so at
// once when the database was away and is back: a standby may have taken over, and
// a start that finds its timeline unknown would take it for a restored backup.
func (p *Process) noteUse(at time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		noted, outages := time.Now(), int64(0)
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if t := p.treeUp.Load(); t != nil {
					db := t.Database()
					if !db.Up || db.Outages == outages && now.Sub(noted) < inUseEvery {
						continue
					}
					outages = db.Outages
				} else if now.Sub(noted) < inUseEvery {
					continue
				}
				noted = now
				c, stop := context.WithTimeout(ctx, inUseEvery)
				next, err := p.store.InUse(c, at)
				stop()
				switch {
				case err == nil:
					at = next
				case persistence.Why(err) != "": // it is away again, perhaps before anybody else has noticed
					outages = -1
				case engine.ErrorCode(err) == "database_restored":
					p.log.Error().Err(err).Msg("the database lost what was written last, by a recovery or a standby that took over; the next start will ask for a word on that")
				}
			}
		}
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
}
