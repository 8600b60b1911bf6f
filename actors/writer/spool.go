package writer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/journal"
)

// While the database is down or slow, the data of live calls is made durable in the spool, in
// order. Once the database commits again, the spooled writes go there first, from the copy in
// memory (the contacts keep the same writes until then; only the next process reads the disk). New
// ones still go to the spool, until so little is left that they can wait for it.

// Spool stores on disk what the database cannot take during an outage: one lane for each writer.
// Its calls block on the disk and run outside Receive.
type Spool interface {
	// Append makes writes durable in order and returns how many of them, from the first on, it
	// took: there is no room for the others. After an error none was taken.
	Append(lane int, writes []journal.Write) (n int, err error)
	// Release forgets the oldest n writes of a lane, which the database accepted or, for refused of
	// them, refused.
	Release(lane, n, refused int) error
	// Replay passes what an earlier process left to commit, at most most writes at a time, in each
	// lane's order, and forgets it.
	Replay(most int, commit func(group []journal.Write) (refused int, err error)) error
}

// spooling is a writer's spool state.
type spooling struct {
	on   bool // writes that may be spooled are
	shut bool // full or failing disk: spools nothing more until the spool is empty
	// kept are the spooled writes, in order.
	kept []queued
	// appending are the writes being spooled, which are also still in the queue.
	appending []queued
	batch     int // number of batches given to the spool
	replaying int // of kept, in the current transaction
}

// queuedState is the state of a write in the queue.
type queuedState uint8

const (
	inQueue queuedState = iota
	toSpool             // being spooled
	inSpool             // in the spool, and also in the current transaction
)

type (
	// slowCommit says that the transaction with this number is slow.
	slowCommit struct{ flight int }
	// appended returns the spool's result from its goroutine.
	appended struct {
		batch int // of which
		n     int
		err   error
	}
	// replayed returns the result of a commit of spooled writes.
	replayed struct {
		flight  int // whose
		refused []error
		err     error
		release error // of the spool
	}
)

// divert makes everything that may be spooled go to the spool from now on.
func (w *writer) divert(ctx actor.Context) {
	if w.d.spool != nil {
		w.spool.on = true
		w.toSpool(ctx)
	}
}

// toSpool spools what may be spooled, unless a batch is in progress.
func (w *writer) toSpool(ctx actor.Context) {
	s := &w.spool
	if !s.on || s.shut || s.appending != nil {
		return
	}
	var batch []journal.Write
	held := map[string]struct{}{} // the subjects of those that stay in the queue
	for i := range w.queue {
		q := &w.queue[i]
		if q.barrier != nil || q.state == inSpool || q.told {
			continue
		}
		may := len(batch) < groupCap && q.Write.Spoolable()
		q.Write.Subjects(func(id string) {
			if _, ok := held[id]; ok {
				may = false
			}
		})
		if !may {
			q.Write.Subjects(func(id string) { held[id] = struct{}{} })
			continue
		}
		q.state = toSpool
		batch = append(batch, q.Write)
		s.appending = append(s.appending, *q)
	}
	if len(batch) == 0 {
		return
	}
	s.batch++
	self, root, spool, lane, no := ctx.Self(), w.d.Root, w.d.spool, w.lane, s.batch
	go func() {
		n, err := spool.Append(lane, batch)
		root.Send(self, &appended{no, n, err})
	}()
}

// appended handles that the first n writes being spooled are durable.
func (w *writer) appended(ctx actor.Context, m *appended) {
	s := &w.spool
	if m.batch != s.batch || s.appending == nil { // already handled before the fault
		w.commit(ctx)
		return
	}
	if m.n < len(s.appending) {
		s.shut = true
		if m.err != nil {
			w.d.Log.Error().Err(m.err).Msg("the spool cannot be written; calls wait for the database")
		} else {
			w.d.Log.Error().Msg("the spool is full; calls wait for the database (see --spool-size)")
		}
	}
	for i := range m.n {
		q := &s.appending[i]
		q.state = inQueue
		s.kept = append(s.kept, *q)
		if q.ReplyTo != nil {
			ctx.Send(q.ReplyTo, &call.Durable{Step: q.Step, Spooled: true})
		}
	}
	// Those in the current transaction stay in the queue until it is over; it may already be over,
	// and they gone.
	taken := m.n
	missing := len(s.appending)
	for i := range w.queue {
		if w.queue[i].state == toSpool {
			missing--
		}
	}
	taken -= missing // they were the first ones
	for i := range w.queue {
		if q := &w.queue[i]; q.state == toSpool {
			q.state = inQueue
			if taken > 0 {
				q.state = inSpool
			}
			taken--
		}
	}
	clear(s.appending)
	s.appending = nil
	if w.flying == 0 {
		w.dropSpooled()
	} else {
		w.dropSpooledFrom(w.flying)
	}
	if len(w.queue)+len(s.kept) == 0 {
		w.settle(ctx) // the database has accepted all of it meanwhile
	}
	w.toSpool(ctx)
	w.commit(ctx)
}

func (w *writer) dropSpooled() { w.dropSpooledFrom(0) }

// dropSpooledFrom removes spooled writes from the queue, starting at an index.
func (w *writer) dropSpooledFrom(i int) {
	rest := slices.DeleteFunc(w.queue[i:], func(q queued) bool { return q.state == inSpool })
	gone := len(w.queue) - i - len(rest)
	w.queue = w.queue[:i+len(rest)]
	w.d.Stats.Waiting.Add(int64(-gone))
}

// replay writes the oldest spooled writes to the database.
func (w *writer) replay(ctx actor.Context) {
	s := &w.spool
	n := min(len(s.kept), groupCap)
	group := make([]journal.Write, n)
	for i := range n {
		group[i] = s.kept[i].Write
	}
	self, root, spool, lane, flight := ctx.Self(), ctx.ActorSystem().Root, w.d.spool, w.lane, w.flight+1
	w.transact(ctx, group, func(refused []error, err error) {
		m := &replayed{flight: flight, refused: refused, err: err}
		if err == nil {
			m.release = spool.Release(lane, n, count(refused))
		}
		root.Send(self, m)
	})
	s.replaying = n
}

func (w *writer) replayed(ctx actor.Context, m *replayed) {
	s := &w.spool
	if m.flight != w.flight || s.replaying == 0 { // already handled before the fault
		w.commit(ctx)
		return
	}
	n := s.replaying
	w.slow()
	if m.err != nil {
		s.replaying = 0
		w.failed(ctx, m.err)
		return
	}
	if m.release != nil {
		w.d.Log.Error().Err(m.release).
			Msg("the spooled writes are in the database, but the spool cannot be overwritten; the next start tries again")
	}
	for i := range n {
		q := &s.kept[i]
		if q.told {
			continue
		}
		var err error
		if i < len(m.refused) {
			err = m.refused[i]
		}
		if err != nil {
			w.d.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(q.Write.Campaign)).
				Msg("the database refused a spooled write")
		}
		tellPersisted(ctx, q, err)
	}
	s.replaying = 0
	rest := copy(s.kept, s.kept[n:])
	clear(s.kept[rest:])
	s.kept = s.kept[:rest]
	if rest == 0 {
		s.kept = nil
	}
	if rest <= groupCap {
		s.on = false // the last ones: new writes wait for them
	}
	w.settle(ctx)
	w.commit(ctx)
	w.faults = 0
}

// count returns how many were refused.
func count(refused []error) (n int) {
	for _, err := range refused {
		if err != nil {
			n++
		}
	}
	return n
}

// Replay writes an earlier process's spool to the database, before anything is read from there. It
// returns the answered attempts that the database refused: another node acts for their campaigns by
// now, and only the spool had the answers.
func (g *Group) Replay(ctx context.Context) ([]attempt.Attempt, error) {
	if g.spool == nil {
		return nil, nil
	}
	writes, rejected := 0, 0
	answered := map[engine.AttemptID]attempt.Attempt{} // with answers that only this spool has
	err := g.spool.Replay(groupCap, func(group []journal.Write) (int, error) {
		c, cancel := context.WithTimeout(ctx, g.cfg.CommitTimeout)
		defer cancel()
		started := time.Now()
		refused, err := g.store.Commit(c, group)
		g.Stats.observe(len(group), err)
		if err != nil {
			return 0, err
		}
		g.cfg.OnCommit(len(group), time.Since(started))
		for i, err := range refused {
			if err != nil {
				g.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(group[i].Campaign)).
					Msg("the database refused a write that an earlier process had spooled")
			}
			if errors.Is(err, journal.ErrStaleEpoch) {
				for _, a := range group[i].Attempts {
					answered[a.ID] = a
				}
			}
		}
		writes, rejected = writes+len(group), rejected+count(refused)
		return count(refused), nil
	})
	if writes > 0 {
		g.Log.Info().Int("writes", writes).Int("refused", rejected).
			Msg("writes spooled by an earlier process are now in the database")
	}
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(answered)), nil
}
