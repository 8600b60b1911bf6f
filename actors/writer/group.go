package writer

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/journal"
)

// Store is what the writers need from the database. Calls block and run outside
// Receive.
type Store interface {
	// Commit makes a group of writes durable in one transaction and returns, for each, whether the
	// database accepted it (nil) or refused it (one of journal's errors). A non-nil err means that
	// nothing is known to be durable and the same group may be sent again: writes are idempotent.
	Commit(ctx context.Context, group []journal.Write) (refused []error, err error)
	// Ping returns nil if the database takes commits.
	Ping(ctx context.Context) error
	// Renews sets the writes that are committed first on each server that replaces another, or was
	// restarted, because it may have lost the latest commits.
	Renews(held func() []journal.Write)
}

// Config configures the writers.
type Config struct {
	Writers       int           // parallel group commits, 4
	CommitTimeout time.Duration // of one transaction, 10 s
	// Gather is the minimum time between the beginnings of two transactions of a busy writer, which
	// it may add to the latency of a step; default 6 ms.
	Gather time.Duration
	// Patience is how long writes that nothing waits for may wait to be committed with others: the
	// connection and the end of a call, its result. Default 25 ms.
	Patience time.Duration
	// SpoolAfter is how long a transaction may take before the data of live calls goes to the spool
	// instead of waiting for it, default 400 ms: an answer is not confirmed before it is durable,
	// and the callee speaks within 2 s.
	SpoolAfter time.Duration
	// OnCommit reports every successful group commit: its number of writes and duration. OnDatabase
	// reports that the database went down or came back. They must not block; nil is allowed.
	OnCommit   func(writes int, took time.Duration)
	OnDatabase func(up bool)
}

// WithDefaults fills in unset fields.
func (c Config) WithDefaults() Config {
	c.Writers = cmp.Or(c.Writers, 4)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, 10*time.Second)
	c.Gather = cmp.Or(c.Gather, 6*time.Millisecond)
	c.Patience = cmp.Or(c.Patience, 25*time.Millisecond)
	c.SpoolAfter = cmp.Or(c.SpoolAfter, 400*time.Millisecond)
	if c.OnCommit == nil {
		c.OnCommit = func(int, time.Duration) {}
	}
	return c
}

// Group is the writers of a process.
type Group struct {
	*host.System
	Database Database
	Stats    Stats

	cfg    Config
	store  Store
	spool  Spool // nil means calls wait while the database is down
	held   held
	pids   []*actor.PID
	oldest []atomic.Int64 // by writer: arrival of the write that has waited longest, 0: none
}

// Stats are the metrics of the writers.
type Stats struct {
	Commits, Writes, Failures atomic.Int64
	Waiting                   atomic.Int64 // writes that are neither in the database nor in the spool
}

func (s *Stats) observe(n int, err error) {
	if err != nil {
		s.Failures.Add(1)
		return
	}
	s.Commits.Add(1)
	s.Writes.Add(int64(n))
}

// New makes a group whose writers do not run yet. The database counts as up, because something has
// just been read from it.
func New(s *host.System, cfg Config, store Store, spool Spool) *Group {
	g := &Group{System: s, cfg: cfg.WithDefaults(), store: store, spool: spool}
	g.oldest = make([]atomic.Int64, g.cfg.Writers)
	g.Database.open(g)
	g.held.now = s.Clock.Now
	store.Renews(g.held.again)
	return g
}

// Start starts the writers.
func (g *Group) Start() error {
	for i := range g.cfg.Writers {
		pid, err := g.Spawn(fmt.Sprintf("writer-%d", i), func() actor.Actor { return &writer{d: g, lane: i} },
			host.Resumes, host.Restarts)
		if err != nil {
			return err
		}
		g.pids = append(g.pids, pid)
	}
	return nil
}

// PIDs returns the writers, to stop them.
func (g *Group) PIDs() []*actor.PID { return g.pids }

// For gives the writer that keeps the order of an identity's writes.
func (g *Group) For(id string) *actor.PID { return g.pids[g.laneOf(id)] }

// laneOf returns the index of that writer.
func (g *Group) laneOf(id string) int {
	h := uint32(2166136261)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int(h % uint32(len(g.pids))) //nolint:gosec // a few writers
}

// Late returns how long the oldest write of an identity's writer has been waiting.
func (g *Group) Late(id string, now engine.BootTime) time.Duration {
	if since := engine.BootTime(g.oldest[g.laneOf(id)].Load()); since != 0 {
		return max(time.Duration(now-since), 0)
	}
	return 0
}

// Flush waits until every pending write has reached the database.
func (g *Group) Flush(ctx context.Context) error {
	left := time.Minute
	if dl, ok := ctx.Deadline(); ok {
		left = max(time.Until(dl), time.Millisecond)
	}
	passed := make([]*actor.Future, len(g.pids))
	for i, w := range g.pids {
		passed[i] = g.Future(left)
		g.Root.Send(w, &Barrier{ReplyTo: passed[i].PID()})
	}
	for _, f := range passed {
		if err := host.Wait(ctx, f); err != nil {
			return fmt.Errorf("actors: writes are not in the database yet: %w", err)
		}
	}
	return nil
}
