package writer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/journal"
)

const (
	// probeEvery is the interval of database probes, which detect an outage and its end even while
	// there is nothing to write; probeAway is the interval during an outage.
	probeEvery = time.Second
	probeAway  = 250 * time.Millisecond
	// probePatience is how long an answer may take before the database counts as down.
	probePatience = 3 * time.Second
	// awayPatience is how long a request in progress when the database goes down waits for its
	// return before it is answered. Most outages are shorter: one connection was lost.
	awayPatience = 2 * time.Second
)

// Status says whether calls can be made durable.
type Status struct {
	Up     bool
	Since  time.Time // of the current state
	Detail string    // why it is down, and what to do
	// Outages counts the outages since this process started.
	Outages int64
}

// Database is the only place that knows whether the database takes commits, from the writers'
// results and its own probes. It reports each change once, in the log and to the campaigns.
type Database struct {
	g *Group

	mu      sync.Mutex
	failing map[string]error // by who found it down
	status  Status
	works   context.Context // ends when the database goes down
	gone    context.CancelFunc
	away    atomic.Bool
}

// errDatabaseAway refuses what cannot be done without the database.
var errDatabaseAway = engine.Unavailable("database_unavailable",
	"the database is unavailable and nothing can be stored; nothing was done, try again", 2*time.Second)

// errLeftWhileAway answers a request in progress when the database went down.
var errLeftWhileAway = engine.Unavailable("database_unavailable",
	"the database went away before it was known to have stored this; repeat the request, with the same "+
		"Idempotency-Key where it had one", 2*time.Second)

// open marks the database as up: the tree has just been loaded from it.
func (w *Database) open(g *Group) {
	w.g = g
	w.failing = map[string]error{}
	w.status = Status{Up: true, Since: g.Clock.Now()}
	w.works, w.gone = context.WithCancel(g.Ctx)
}

func (w *Database) tell(up bool) {
	w.away.Store(!up)
	if w.g.cfg.OnDatabase != nil {
		w.g.cfg.OnDatabase(up)
	}
}

// failed records that someone, by name, found the database down.
func (w *Database) failed(who string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing[who] = err
	detail := engine.ErrorDetail(journal.Unavailable(err))
	if !w.status.Up {
		w.status.Detail = detail
		return
	}
	w.status.Up, w.status.Since, w.status.Detail = false, w.g.Clock.Now(), detail
	w.status.Outages++
	w.g.Log.Error().Err(err).Str("code", errDatabaseAway.Code).
		Msg("the database is unavailable; no new call is placed until it is back, live calls go on")
	w.tell(false)
	w.gone()
}

// succeeded records that someone who found the database down no longer does.
func (w *Database) succeeded(who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, failing := w.failing[who]; !failing {
		return
	}
	delete(w.failing, who)
	if w.status.Up {
		return
	}
	if len(w.failing) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(w.failing)))
		w.status.Detail = engine.ErrorDetail(journal.Unavailable(w.failing[first]))
		return
	}
	now := w.g.Clock.Now()
	w.g.Log.Info().Dur("away_ms", now.Sub(w.status.Since)).Msg("the database is back")
	w.status.Up, w.status.Since, w.status.Detail = true, now, ""
	w.works, w.gone = context.WithCancel(w.g.Ctx)
	w.tell(true)
}

// Now returns the state of the database.
func (w *Database) Now() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Away says that the database takes no commits.
func (w *Database) Away() bool { return w.away.Load() }

// Err refuses what must be stored while the database is down.
func (w *Database) Err() error {
	if w.away.Load() {
		return errDatabaseAway
	}
	return nil
}

// bound limits the wait for an answer to some time after the database goes down; release says
// whether that happened.
func (w *Database) bound(f *actor.Future) (release func() (left bool)) {
	b := &boundWait{of: w, f: f}
	b.watch()
	return b.release
}

// boundWait is one request waiting for its answer.
type boundWait struct {
	of *Database
	f  *actor.Future

	mu   sync.Mutex
	stop func() bool
	late *time.Timer
	over bool
	left bool // without an answer
}

func (b *boundWait) watch() {
	b.of.mu.Lock()
	works := b.of.works
	b.of.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.stop = context.AfterFunc(works, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.over {
			b.late = time.AfterFunc(awayPatience, b.giveUp)
		}
	})
}

// giveUp ends a request's wait, unless the database is back.
func (b *boundWait) giveUp() {
	if b.of.Away() {
		b.mu.Lock()
		b.left = !b.over
		b.mu.Unlock()
		b.of.g.Root.Stop(b.f.PID())
		return
	}
	b.watch()
}

func (b *boundWait) release() (left bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.stop()
	if b.late != nil {
		b.late.Stop()
	}
	return b.left
}

// prober is the probe's name among those who find the database down.
const prober = "probe"

// Watch probes the database until the system ends. When it is back the writers retry at once.
func (w *Database) Watch() {
	away := false
	for {
		wait := probeEvery
		if away {
			wait = probeAway
		}
		select {
		case <-w.g.Ctx.Done():
			return
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(w.g.Ctx, probePatience)
		err := w.g.store.Ping(ctx)
		cancel()
		switch {
		case w.g.Ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, context.Canceled):
			away = true
			w.failed(prober, err)
		case away:
			away = false
			w.succeeded(prober)
			for _, pid := range w.g.pids {
				w.g.Root.Send(pid, &retryCommit{})
			}
		}
	}
}
