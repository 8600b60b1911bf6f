package main

import (
	"context"
	"fmt"
	"time"

	"dialler/engine"
)

// inUseEvery is how often it is noted that the database is in use.
const inUseEvery = 15 * time.Second

// noteUse goes on noting that the database is in use, from at on.
func (p *process) noteUse(at time.Time) {
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

type dbAcceptRestoreCmd struct {
	storeFlags `embed:""`
}

// Run accepts a restored database.
func (d *dbAcceptRestoreCmd) Run(c *cli) error {
	ctx, cancel := signals()
	defer cancel()
	s, done, err := d.open(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	was, err := s.AcceptRestore(ctx, engine.Who{Name: "command line"})
	switch {
	case err != nil:
		return err
	case was:
		fmt.Println("accepted: the dialler may run on this database; who asked not to be called since the backup is not known to it")
	default:
		fmt.Println("this database was not restored; there is nothing to accept")
	}
	return nil
}
