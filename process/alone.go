package process

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/http"
	"dialler/persistence"
	"dialler/persistence/nodes"
)

// presenceEvery is how often the process renews its presence, and so how soon it notices that
// another one has replaced it.
const presenceEvery = time.Second

// attendance is this process's registration at its database.
type attendance struct {
	*nodes.Presence
	log     zerolog.Logger
	drain   func()                     // stops placing calls
	because atomic.Pointer[string]     // why another process serves the database, nil if none does
	lease   *ownLease                  // nil for a node, which has another lease
	over    func(context.Context) bool // every call has ended, and the database knows it
	ended   chan error                 // the end of the process that had replaced this one
}

// ownLease is the lease of a process that runs alone (engine.Fence): it has no end until another
// process replaces this one. Then all calls are ended at once, for nobody can adopt them.
type ownLease struct {
	clock host.Clock
	until atomic.Int64
}

func newOwnLease(clock host.Clock) *ownLease {
	l := &ownLease{clock: clock}
	l.until.Store(1<<63 - 1 - int64(engine.LimboFor))
	return l
}

// Boot implements engine.Fence.
func (l *ownLease) Boot() engine.BootTime { return l.clock.Boot() }

// Lease implements engine.Fence.
func (l *ownLease) Lease() engine.NodeLease { return l }

// Kept implements engine.Fence.
func (l *ownLease) Kept(engine.AttemptID) bool { return false }

// Until implements engine.NodeLease.
func (l *ownLease) Until() engine.BootTime { return engine.BootTime(l.until.Load()) }

// Gap implements engine.NodeLease.
func (l *ownLease) Gap() (since engine.BootTime, without time.Duration) { return 0, 0 }

// end ends every call.
func (l *ownLease) end() { l.until.Store(int64(l.Boot()) - int64(engine.LimboFor)) }

// attend acquires the database, which no other process may serve except, in a cluster, other nodes.
// Nothing is written before.
func attend(
	ctx context.Context,
	url string,
	cfg persistence.Config,
	me ownership.Presence,
	drain func(),
	over func(context.Context) bool,
	lease *ownLease,
) (*attendance, error) {
	me.Life, me.PID = rand.Text(), os.Getpid()
	me.Host, _ = os.Hostname() // only shown to people
	here, err := nodes.Attend(ctx, url, cfg, me)
	if err != nil {
		if engine.ErrorCode(err) == "database_in_use" {
			return nil, err
		}
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &attendance{Presence: here, log: cfg.Log, drain: drain, over: over, lease: lease,
		ended: make(chan error, 1)}, nil
}

// leavingEvery is how often a replaced process checks whether its calls have ended, which the other
// process waits for.
const leavingEvery = 50 * time.Millisecond

// stay watches until ctx ends whether another process replaces this one.
func (a *attendance) stay(ctx context.Context) {
	tick := time.NewTimer(presenceEvery)
	defer tick.Stop()
	lost, left := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := a.Renew(ctx)
		switch {
		case engine.ErrorCode(err) == "database_in_use":
			lost = true
			a.replaced(err.Error() + "; this one ends when that one has")
			left = left || a.leave(ctx)
		case err == nil && lost:
			a.ended <- engine.Unavailable("replaced",
				"another process took this one's place and has ended; start this one again", time.Second)
			return
		} // unavailability of the database is reported elsewhere
		if lost && !left {
			tick.Reset(leavingEvery)
		} else {
			tick.Reset(presenceEvery)
		}
	}
}

// leave reports that every call has ended, once that is so and the database knows their outcomes.
func (a *attendance) leave(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, presenceEvery)
	defer cancel()
	return a.over(ctx) && a.Left(ctx) == nil
}

// replaced stops the process from placing calls and, if it runs alone, ends its current ones:
// another process serves its database until this one is started again.
func (a *attendance) replaced(why string) {
	if !a.because.CompareAndSwap(nil, &why) {
		return
	}
	a.log.Error().Str("reason", why).
		Msg("this process was replaced: it places no calls, has ended its own, and is not ready")
	a.drain()
	if a.lease != nil {
		a.lease.end()
	}
}

// refusal is the API's answer once the process was replaced.
func (a *attendance) refusal() error {
	if why := a.because.Load(); why != nil {
		return engine.Unavailable("replaced", *why, 5*time.Second)
	}
	return nil
}

// check says whether the process still serves its database.
func (a *attendance) check() http.Check {
	c := http.Check{Name: "replaced", OK: true}
	if why := a.because.Load(); why != nil {
		c.OK, c.Detail = false, *why
	}
	return c
}
