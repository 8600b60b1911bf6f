package actors

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine/journal"
)

// groupCap bounds how many writes share one transaction.
const groupCap = 512

// persist asks a writer to make a write durable; persisted follows to ReplyTo
// (when given) once it is, or once the database refused it.
type persist struct {
	Write   journal.Write
	ReplyTo *actor.PID
	Step    int // the sender's own number of the write
	// Run hears of a refusal too (writeRefused): it has counted the events.
	Run *actor.PID
}

type persisted struct {
	Step int
	Err  error // one of journal's refusals, or nil
}

// writeRefused tells a run which write the database did not take.
type writeRefused struct{ Write journal.Write }

// barrier is answered with barrierPassed once every write queued before it
// is durable or refused.
type barrier struct {
	ReplyTo *actor.PID
	N       int64 // the sender's own, repeated in barrierPassed
}
type barrierPassed struct{ N int64 }

// committed brings the result of a commit back from its goroutine.
type committed struct {
	refused []error
	err     error
}

type (
	retryCommit struct{}
	gathered    struct{} // a busy writer has gathered long enough
)

// databaseState tells whoever dials whether intents can be made durable.
type databaseState struct{ Up bool }

// writer is the group commit: an idle one commits at once, a busy one gathers
// what comes into the next transaction, and begins one no more often than every
// Config.Gather: a fast disk would otherwise make many small groups, which cost
// the server several times as much per write. While the database is away it
// keeps its queue and tries again; every write is idempotent.
type writer struct {
	d       *deps
	queue   []queued
	flying  int       // writes of the queue's head that are in the transaction under way
	began   time.Time // of the last transaction
	waiting bool      // gathered or retryCommit is on its way
	down    bool
	backoff time.Duration
	stats   *writerStats
}

type queued struct {
	persist
	barrier *barrier // in place of a write
}

func (w *writer) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *persist:
		w.queue = append(w.queue, queued{persist: *msg})
		w.commit(ctx)
	case *barrier:
		w.queue = append(w.queue, queued{barrier: msg})
		w.commit(ctx)
	case *committed:
		w.done(ctx, msg)
	case *retryCommit:
		w.waiting = false
		w.begin(ctx)
	case *gathered:
		w.waiting = false
		w.commit(ctx)
	}
}

// commit begins a transaction, or waits a little for more to share it.
func (w *writer) commit(ctx actor.Context) {
	if w.flying > 0 || w.waiting || len(w.queue) == 0 {
		return
	}
	if wait := w.d.cfg.Gather - w.d.clock.Now().Sub(w.began); wait > 0 && len(w.queue) < groupCap && w.queue[0].barrier == nil {
		w.waiting = true
		w.d.after(wait, ctx.Self(), &gathered{})
		return
	}
	w.begin(ctx)
}

func (w *writer) begin(ctx actor.Context) {
	if w.flying > 0 || len(w.queue) == 0 {
		return
	}
	n := 0
	for n < len(w.queue) && n < groupCap && w.queue[n].barrier == nil {
		n++
	}
	if n == 0 { // a barrier heads the queue: all before it is done
		b := w.queue[0].barrier
		w.shift(1)
		ctx.Send(b.ReplyTo, &barrierPassed{N: b.N})
		w.commit(ctx)
		return
	}
	group := make([]journal.Write, n)
	for i := range n {
		group[i] = w.queue[i].Write
	}
	w.flying, w.began = n, w.d.clock.Now()
	self, root := ctx.Self(), ctx.ActorSystem().Root
	started := time.Now()
	go func() {
		c, cancel := context.WithTimeout(w.d.ctx, w.d.cfg.CommitTimeout)
		defer cancel()
		refused, err := w.d.store.Commit(c, group)
		took := time.Since(started)
		w.stats.observe(n, err)
		if err == nil {
			w.d.cfg.OnCommit(n, took)
		}
		root.Send(self, &committed{refused: refused, err: err})
	}()
}

func (w *writer) done(ctx actor.Context, c *committed) {
	n := w.flying
	w.flying = 0
	if c.err != nil {
		// Nothing is known to be durable; the same group goes again. A write
		// that the database cannot take at all is a fault of ours and must not
		// hold up the others for ever: the group is tried one by one.
		w.down = true
		w.d.database.failed(ctx.Self().Id, c.err)
		w.backoff = min(max(2*w.backoff, 50*time.Millisecond), time.Second)
		w.waiting = true
		w.d.after(w.backoff, ctx.Self(), &retryCommit{})
		return
	}
	if w.down {
		w.down, w.backoff = false, 0
		w.d.database.succeeded(ctx.Self().Id)
	}
	for i := range n {
		q := &w.queue[i]
		var err error
		if i < len(c.refused) {
			err = c.refused[i]
		}
		if err != nil && q.Run != nil {
			// A copy: who wrote it may write its events again.
			refused := q.Write
			refused.Events = slices.Clone(refused.Events)
			ctx.Send(q.Run, &writeRefused{refused})
		}
		if q.ReplyTo == nil {
			continue
		}
		ctx.Send(q.ReplyTo, &persisted{Step: q.Step, Err: err})
	}
	w.shift(n)
	w.commit(ctx)
}

func (w *writer) shift(n int) {
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
}
