package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine/journal"
)

// Writers are the group commits of a tree on their own, for measurements.
type Writers struct {
	d      *deps
	cancel context.CancelFunc
	told   *actor.PID
}

// told hears what became of writes.
type told struct{ durable func(step int, err error) }

func (t *told) Receive(ctx actor.Context) {
	if m, ok := ctx.Message().(*persisted); ok {
		t.durable(m.Step, m.Err)
	}
}

// StartWriters starts them on a store; durable hears of each write, one at a
// time, that it is in the database or was refused.
func StartWriters(cfg Config, p Ports, durable func(step int, err error)) (*Writers, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	w := &Writers{cancel: cancel, d: &deps{ctx: ctx, cfg: cfg, store: p.Store, clock: p.Clock, spool: p.Spool, log: cfg.Log}}
	w.d.system = newSystem()
	w.d.root = w.d.system.Root
	w.d.database.open(w.d)
	w.d.late.open(cfg.Writers)
	w.told = w.d.root.Spawn(w.d.props(func() actor.Actor { return &told{durable} }))
	for i := range cfg.Writers {
		pid, err := w.d.root.SpawnNamed(w.d.props(func() actor.Actor { return &writer{d: w.d, lane: i, stats: &w.d.stats.Writer} }), fmt.Sprintf("writer-%d", i))
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("actors: spawn a writer: %w", err)
		}
		w.d.writers = append(w.d.writers, pid)
	}
	return w, nil
}

// Persist gives a write to the writer that keeps the order of an identity.
func (w *Writers) Persist(id string, write journal.Write, step int) {
	w.d.root.Send(w.d.writerFor(id), &persist{Write: write, ReplyTo: w.told, Step: step})
}

// Close ends them; what is not durable by then is not told.
func (w *Writers) Close() {
	w.cancel()
	for _, pid := range append(w.d.writers, w.told) {
		_ = w.d.root.StopFuture(pid).Wait() // one that does not stop in time is left behind
	}
	w.d.system.Shutdown()
	w.d.workers.close()
}
