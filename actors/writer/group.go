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
	// Commit makes a group of writes durable in one transaction and says of
	// each whether it was accepted (nil) or refused by the database (one of
	// journal's errors). A non-nil err means that nothing is known to be
	// durable and the same group may be given again: writes are idempotent.
	Commit(ctx context.Context, group []journal.Write) (refused []error, err error)
	// Ping says whether the database takes commits: nil when it does.
	Ping(ctx context.Context) error
	// Renews has what held gives committed before all else on each server that takes
	// the place of another, or was restarted: it may have lost what was committed last.
	Renews(held func() []journal.Write)
}

// Config are the settings of the writers.
type Config struct {
	Writers       int           // parallel group commits, 4
	CommitTimeout time.Duration // of one transaction, 10 s
	// Gather is the least time between the beginnings of two transactions of a
	// busy writer: what it may add to the latency of a step, 6 ms.
	Gather time.Duration
	// Patience is how long what nobody waits for may wait for others to go with,
	// 25 ms: the connection and the end of a call, its result.
	Patience time.Duration
	// SpoolAfter is how long a transaction may take before what calls under way
	// produce goes to the spool instead of waiting for it, 400 ms: an answer is
	// not confirmed before it is durable, and the callee speaks within 2 s.
	SpoolAfter time.Duration
	// OnCommit sees every group commit that succeeded: its writes and how long
	// the transaction took. OnDatabase hears that the database went away or came
	// back. They must not block; nil: nobody listens.
	OnCommit   func(writes int, took time.Duration)
	OnDatabase func(up bool)
}

// WithDefaults fills in what is not set.
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

// Group are the writers of a process.
type Group struct {
	*host.System
	Database Database
	Stats    Stats

	cfg    Config
	store  Store
	spool  Spool // nil: while the database is away calls wait for it
	held   held
	pids   []*actor.PID
	oldest []atomic.Int64 // by writer: when the write came that has waited longest, 0: none waits
}

// Stats are the figures of the writers.
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

// New gives a group whose writers do not run yet. The database counts as up: something
// has just been read from it.
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

// PIDs are the writers, for their end.
func (g *Group) PIDs() []*actor.PID { return g.pids }

// For gives the writer that keeps the order of an identity's writes.
func (g *Group) For(id string) *actor.PID { return g.pids[g.laneOf(id)] }

// laneOf is the number of that writer.
func (g *Group) laneOf(id string) int {
	h := uint32(2166136261)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return int(h % uint32(len(g.pids))) //nolint:gosec // a few writers
}

// Late is for how long the oldest write waits of the writer that an identity has.
func (g *Group) Late(id string) time.Duration {
	if since := engine.BootTime(g.oldest[g.laneOf(id)].Load()); since != 0 {
		return time.Duration(g.Clock.Boot() - since)
	}
	return 0
}

// Flush waits until every write that is under way has reached the database.
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
