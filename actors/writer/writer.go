package writer

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/journal"
)

// groupCap limits the number of writes in one transaction.
const groupCap = 512

// Persist asks a writer to make a write durable; call.Durable goes to ReplyTo (if given) once it
// is, or once the database refused it.
type Persist struct {
	Write   journal.Write
	ReplyTo *actor.PID
	Step    int // the sender's own number of the write
	// Run is also told of a refusal (WriteRefused), because it has counted the events.
	Run *actor.PID
	// Then, if given, is called by the writer once the write is in the database, or was refused; it
	// may only send messages.
	Then func(error)
}

// WriteRefused tells a run which write the database refused, and why.
type WriteRefused struct {
	Write journal.Write
	Err   error
}

// Barrier is answered with BarrierPassed once every write queued before it
// is durable in the database, or refused.
type Barrier struct {
	ReplyTo *actor.PID
	N       int64 // the sender's number, repeated in BarrierPassed
}

// BarrierPassed answers a Barrier.
type BarrierPassed struct{ N int64 }

// committed returns the result of a commit from its goroutine.
type committed struct {
	flight  int // whose
	refused []error
	err     error
}

type (
	retryCommit struct{}
	gathered    struct{} // a busy writer has gathered long enough
	resumed     struct{} // after a fault: process the queue
)

// writer is the group commit. An idle one commits at once; a busy one gathers writes for the next
// transaction, and begins one at most every Config.Gather: otherwise a fast disk would make many
// small groups, which cost the server several times as much per write. Writes that nothing waits
// for (journal.Write.Patient) wait up to Config.Patience for one that is waited for, because a
// commit costs about the same with one write and with ten. While the database is down it keeps its
// queue and retries; every write is idempotent. Writes that may be spooled wait on disk (spool.go).
type writer struct {
	d       *Group
	lane    int // of the spool
	queue   []queued
	flying  int             // length of the queue's head in the current transaction, with barriers
	flight  int             // counts the transactions
	slow    func()          // stops the timer for the current one
	began   engine.BootTime // of the last transaction, 0 means none yet
	waiting bool            // gathered or retryCommit will come
	doze    func()          // stops a wait that a less patient write ends
	tries   int             // consecutive failures
	backoff time.Duration
	spool   spooling
	faults  int // in a row
}

type queued struct {
	Persist
	barrier *Barrier // in place of a write
	state   queuedState
	told    bool // the sender knows the result
	patient bool
	at      engine.BootTime // when it came
}

func (w *writer) Receive(ctx actor.Context) {
	whole := false
	defer func() {
		if !whole {
			w.faulted(ctx)
		}
	}()
	w.receive(ctx)
	w.d.oldest[w.lane].Store(int64(w.oldest()))
	whole = true
}

// oldest returns the arrival of the write that has waited longest to be durable; 0 means none
// waits.
func (w *writer) oldest() engine.BootTime {
	for i := range w.queue {
		if q := &w.queue[i]; q.state != inSpool && !q.told && q.barrier == nil {
			return q.at
		}
	}
	return 0
}

// faulted makes the lane go on after a panic, so that it does not wait for something that is
// already over. A message that ends something is sent again, and handled from where it was; writes
// and barriers were queued before anything could fail.
func (w *writer) faulted(ctx actor.Context) {
	var again any = &resumed{}
	switch msg := ctx.Message().(type) {
	case *committed, *replayed, *appended, *retryCommit, *gathered, *slowCommit:
		again = msg
	}
	wait := min(faultFirst<<min(w.faults, 10), faultLast)
	w.faults++
	w.d.After(wait, ctx.Self(), again)
}

// A writer that faulted goes on after faultFirst, doubled for each consecutive fault, up to
// faultLast.
const (
	faultFirst = 10 * time.Millisecond
	faultLast  = time.Second
)

func (w *writer) receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		w.d.Database.succeeded(ctx.Self().Id) // its earlier failures no longer count
	case *Persist:
		w.queue = append(w.queue, queued{Persist: *msg, patient: msg.Write.Patient(), at: w.d.Clock.Boot()})
		w.d.Stats.Waiting.Add(1)
		w.spool.on = w.spool.on || w.d.spool != nil && w.d.Database.Away() // as others have found
		w.toSpool(ctx)
		w.commit(ctx)
	case *Barrier:
		w.queue = append(w.queue, queued{barrier: msg})
		w.d.Stats.Waiting.Add(1)
		w.commit(ctx)
	case *committed:
		w.done(ctx, msg)
	case *replayed:
		w.replayed(ctx, msg)
	case *appended:
		w.appended(ctx, msg)
	case *slowCommit:
		if msg.flight == w.flight && w.busy() {
			w.divert(ctx)
		}
	case *retryCommit:
		if w.doze != nil {
			w.doze()
		}
		w.waiting, w.doze = false, nil
		w.begin(ctx)
	case *gathered:
		w.waiting, w.doze = false, nil
		w.commit(ctx)
	case *resumed:
		w.toSpool(ctx)
		w.commit(ctx)
	}
}

// busy says that a transaction is in progress.
func (w *writer) busy() bool { return w.flying > 0 || w.spool.replaying > 0 }

// commit begins a transaction, or waits a little for more writes to share it.
func (w *writer) commit(ctx actor.Context) {
	if w.busy() || len(w.queue)+len(w.spool.kept) == 0 {
		return
	}
	if w.waiting && w.doze == nil {
		return
	}
	wait, patient := w.wait()
	if w.waiting {
		if patient {
			return
		}
		w.doze()
	}
	w.doze = nil
	if w.waiting = wait > 0; w.waiting {
		stop := w.d.After(wait, ctx.Self(), &gathered{})
		if patient {
			w.doze = stop
		}
		return
	}
	w.begin(ctx)
}

// wait returns how long the next transaction is delayed. patient says that everything in the queue
// allows more delay than a busy writer's gathering.
func (w *writer) wait() (wait time.Duration, patient bool) {
	if len(w.spool.kept) > 0 || len(w.queue) >= groupCap || w.queue[0].barrier != nil {
		return 0, false
	}
	now := w.d.Clock.Boot()
	if w.began != 0 {
		wait = w.d.cfg.Gather - time.Duration(now-w.began)
	}
	for i := range w.queue {
		if !w.queue[i].patient {
			return wait, false
		}
	}
	return max(wait, w.d.cfg.Patience-time.Duration(now-w.queue[0].at)), true
}

func (w *writer) begin(ctx actor.Context) {
	switch {
	case w.busy():
		return
	case len(w.spool.kept) > 0:
		w.replay(ctx)
		return
	case len(w.queue) == 0:
		return
	}
	n, group := w.group()
	if len(group) == 0 { // barriers at the head: everything before them is done
		for i := range n {
			w.queue[i].pass(ctx)
		}
		w.shift(n)
		w.commit(ctx)
		return
	}
	self, root, flight := ctx.Self(), ctx.ActorSystem().Root, w.flight+1
	w.transact(ctx, group, func(refused []error, err error) {
		root.Send(self, &committed{flight: flight, refused: refused, err: err})
	})
	w.flying = n
}

// group returns the next transaction: the first n of the queue, and the writes among them. A
// barrier does not end a group: what waits before it is durable once the group is.
func (w *writer) group() (n int, group []journal.Write) {
	for n < len(w.queue) && len(group) < groupCap {
		if q := &w.queue[n]; q.barrier == nil {
			group = append(group, q.Write)
		} else if len(group) == 0 && n+1 < len(w.queue) && w.queue[n+1].barrier == nil {
			return n + 1, nil // a barrier does not wait for an unrelated transaction
		}
		n++
	}
	return n, group
}

// pass tells the waiting sender that a barrier is passed.
func (q *queued) pass(ctx actor.Context) {
	if !q.told {
		q.told = true
		ctx.Send(q.barrier.ReplyTo, &BarrierPassed{N: q.barrier.N})
	}
}

// transact commits a group in a separate goroutine.
func (w *writer) transact(ctx actor.Context, group []journal.Write, then func([]error, error)) {
	w.began = w.d.Clock.Boot()
	w.flight++
	w.slow = func() {}
	if w.d.spool != nil {
		w.slow = w.d.After(w.d.cfg.SpoolAfter, ctx.Self(), &slowCommit{w.flight})
	}
	started := time.Now()
	go func() {
		c, cancel := context.WithTimeout(w.d.Ctx, w.d.cfg.CommitTimeout)
		defer cancel()
		refused, err := w.d.store.Commit(c, group)
		took := time.Since(started)
		w.d.Stats.observe(len(group), err)
		if err == nil {
			w.d.held.took(group, refused)
			w.d.cfg.OnCommit(len(group), took)
		}
		then(refused, err)
	}()
}

func (w *writer) done(ctx actor.Context, c *committed) {
	if c.flight != w.flight || w.flying == 0 { // already handled before the fault
		w.commit(ctx)
		return
	}
	n := w.flying
	w.slow()
	if c.err != nil {
		w.flying = 0
		// Nothing is known to be durable; the same group is retried. A write that the database
		// cannot accept at all is a bug and must not hold up the others forever: the group is tried
		// one by one.
		w.dropSpooled()
		w.failed(ctx, c.err)
		return
	}
	at := 0 // in the group
	for i := range n {
		q := &w.queue[i]
		if q.barrier != nil {
			q.pass(ctx)
			continue
		}
		var err error
		if at < len(c.refused) {
			err = c.refused[at]
		}
		at++
		if q.state != inSpool && !q.told { // otherwise reported with the spool, now or earlier
			tellPersisted(ctx, q, err)
		}
	}
	w.flying = 0
	w.shift(n)
	w.settle(ctx)
	w.commit(ctx)
	w.faults = 0
}

// tellPersisted reports that a write is in the database, or was refused.
func tellPersisted(ctx actor.Context, q *queued, err error) {
	q.told = true
	if err != nil && q.Run != nil {
		// A copy, because the sender may write its events again.
		refused := q.Write
		refused.Events = slices.Clone(refused.Events)
		ctx.Send(q.Run, &WriteRefused{refused, err})
	}
	if q.ReplyTo != nil {
		ctx.Send(q.ReplyTo, &call.Durable{Step: q.Step, Err: err})
	}
	if q.Then != nil {
		q.Then(err)
	}
}

// failed handles a transaction that was not committed, as far as is known. It is retried; one
// connection may be lost without the database being down.
func (w *writer) failed(ctx actor.Context, err error) {
	w.tries++
	w.backoff = min(max(2*w.backoff, 50*time.Millisecond), time.Second)
	w.waiting, w.doze = true, nil
	w.d.After(w.backoff, ctx.Self(), &retryCommit{})
	if w.tries > 1 {
		w.d.Database.failed(ctx.Self().Id, err)
		w.divert(ctx)
	}
}

// settle handles a committed transaction. The database counts as back once the spool is empty,
// because new calls must find the results of earlier ones there.
func (w *writer) settle(ctx actor.Context) {
	if len(w.spool.kept) > 0 || w.spool.appending != nil {
		return
	}
	w.spool.on, w.spool.shut = false, false
	w.tries, w.backoff = 0, 0
	if w.d.Database.Away() {
		w.d.Database.succeeded(ctx.Self().Id)
	}
}

func (w *writer) shift(n int) {
	rest := copy(w.queue, w.queue[n:])
	clear(w.queue[rest:])
	w.queue = w.queue[:rest]
	if cap(w.queue) > 4*groupCap && rest < cap(w.queue)/4 { // a flood has passed
		w.queue = append(make([]queued, 0, 2*rest), w.queue...)
	}
	w.d.Stats.Waiting.Add(int64(-n))
}
