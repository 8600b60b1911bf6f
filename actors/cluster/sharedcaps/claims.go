package sharedcaps

import (
	"context"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// tick runs the periodic work.
func (k *Caps) tick(ctx context.Context) {
	k.mu.Lock()
	now, as := k.clock.Boot(), k.as()
	var do []func()
	for _, q := range k.asks.Late(now) {
		k.stats.Unanswered.Add(1)
		if st := k.of[q.of]; st != nil {
			st.owner, st.again = 0, 0 // the keeper may have changed
		}
		do = append(do, func() {
			if q.undo != nil {
				k.Owe(q.of, q.undo)
			}
			q.then(nil, 0, ErrAway)
		})
	}
	var count []ownership.Identity
	kept, owed := 0, 0
	for of, st := range k.of {
		if st.keeper.Stage != quota.Away && st.keeper.As != as {
			st.keeper.Lost()
			do = append(do, func() { k.tree.Drop(of) })
		}
		if st.keeper.Count(now) {
			count = append(count, of)
		}
		if st.keeper.May(as) {
			kept++
			for _, id := range st.waiting { // waiting for the first count
				if f := k.route(st, id); f != nil {
					do = append(do, f)
				}
			}
			st.waiting = nil
			if now >= st.asked.Add(quota.IdleAfter) {
				give := k.giveUp(ctx, st)
				do = append(do, func() { k.wg.Go(give) })
			}
		}
		if as == 0 {
			continue
		}
		do = append(do, k.payBack(st, now)...)
		if len(st.waiting) > 0 || st.wanted || st.owed.Len() > 0 && st.owner == 0 && st.keeper.Stage == quota.Away {
			k.find(st)
		}
		owed += st.owed.Len()
		if idle := st.keeper.Stage == quota.Away && st.owed.Len() == 0 && len(st.waiting) == 0 && !st.finding; idle &&
			now >= st.asked.Add(quota.IdleAfter) {
			delete(k.of, of)
		}
	}
	k.stats.Kept.Store(int64(kept))
	k.stats.Owed.Store(int64(owed))
	if len(count) > 0 {
		k.wg.Go(func() { k.count(ctx, count, true) })
		k.trouble, k.next = now.Add(troubleFor), max(k.next, now.Add(compareTrouble))
	}
	if kept > 0 && !k.busy && now >= k.next {
		k.compareLater(now)
		k.busy = true
		var all []ownership.Identity
		for of, st := range k.of {
			if st.keeper.May(as) {
				all = append(all, of)
			}
		}
		k.wg.Go(func() {
			k.count(ctx, all, false)
			k.mu.Lock()
			k.busy = false
			k.mu.Unlock()
		})
	}
	k.mu.Unlock()
	for _, f := range do {
		f()
	}
}

func (k *Caps) compareLater(now engine.BootTime) {
	k.next = now.Add(compareEvery)
	if now < k.trouble {
		k.next = now.Add(compareTrouble)
	}
}

// payBack sends the grants that are still to be returned; mu is held.
func (k *Caps) payBack(st *standing, now engine.BootTime) (do []func()) {
	mine := st.keeper.May(k.as())
	if st.owed.Len() == 0 || !mine && st.owner == 0 {
		return nil
	}
	for _, d := range st.owed.Due(now) {
		if mine {
			st.owed.Confirmed(d.ID)
			do = append(do, func() { k.tree.Take(st.of, d.What) })
			continue
		}
		k.giveBack(st, d.ID, d.What)
	}
	return do
}

// count has the tree compare its books with the database.
func (k *Caps) count(ctx context.Context, of []ownership.Identity, anew bool) {
	c, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := k.tree.Count(c, of, anew)
	if err != nil && ctx.Err() == nil {
		k.log.Warn().Str("code", engine.ErrorCode(err)).Bool("new",
			anew).Msg("could not count what is in use on trunks, bots and numbers; it is tried again")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !anew {
		return
	}
	now := k.clock.Boot()
	for _, id := range of {
		if st := k.of[id]; st != nil {
			st.keeper.Counted(now, err == nil)
		}
	}
}

// find looks up the keeper of a count, or claims it; mu is held.
func (k *Caps) find(st *standing) {
	if st.finding || st.keeper.Stage != quota.Away || k.clock.Boot() < st.again || k.as() == 0 {
		return
	}
	st.finding = true
	wanted := (len(st.waiting) > 0 || st.wanted) && !k.drained
	of := st.of
	k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookFor)
		defer cancel()
		f := k.look(ctx, of, wanted)
		k.mu.Lock()
		st.finding = false
		now := k.clock.Boot()
		var do []func()
		if f.owner != 0 || f.mine != 0 {
			st.wanted = false
		}
		switch {
		case f.mine != 0:
			st.owner = 0
			st.keeper.Claimed(now, f.mine, f.settle)
			st.asked = now
			if f.after != 0 {
				k.succeed(f.after)
			}
			if k.drained {
				do = append(do, k.giveUp(context.Background(), st))
			}
		case f.owner != 0:
			st.owner = f.owner
		default:
			st.again = now.Add(findAgain)
			if f.nobody && !wanted {
				st.owed = quota.Owed[[]byte]{} // the next keeper counts from the database
			}
		}
		if f.owner != 0 || f.mine != 0 {
			waiting := st.waiting
			st.waiting = nil
			if f.mine != 0 && f.settle == 0 {
				// Its first count is a moment away, so the questions wait for it.
				st.waiting = waiting
				waiting = nil
			}
			for _, id := range waiting {
				if f := k.route(st, id); f != nil {
					do = append(do, f)
				}
			}
		}
		k.mu.Unlock()
		for _, f := range do {
			f()
		}
	})
}

// found is the keeper of a count.
type found struct {
	owner, mine engine.Incarnation // another node, or this node's incarnation
	after       engine.Incarnation // the node whose lease ran out
	settle      time.Duration      // of a claim
	nobody      bool
}

func (k *Caps) look(ctx context.Context, of ownership.Identity, claim bool) (f found) {
	me := k.node.Incarnation()
	w, ok, err := k.node.Acting(ctx, of)
	switch {
	case err != nil || me == 0:
		return f
	case ok && w.Incarnation == me: // a claim whose answer was lost
		return found{mine: me, settle: quota.Unused(of.Kind)}
	case ok:
		return found{owner: w.Incarnation}
	case !claim || k.node.State() != ownership.Member:
		return found{nobody: w.Incarnation == 0}
	}
	before := quota.Nobody
	if w.Incarnation != 0 {
		n, known, err := k.store.Node(ctx, w.Incarnation)
		if err != nil {
			return f
		}
		if before = quota.LeftIt; known {
			before = quota.End(&n)
		}
	}
	was, after := w.Epoch, w.Incarnation
	if w, err = k.node.Claim(ctx, of); err != nil || !w.Live {
		return f // its last owner's margin has not passed yet
	}
	if w.Incarnation != me {
		return found{owner: w.Incarnation}
	}
	k.log.Info().Str("kind", string(of.Kind)).Int64("epoch", w.Epoch).Msg("this node keeps the count now")
	if w.Epoch != was+1 {
		before = quota.LeftIt // another node had it in between
	}
	f = found{mine: me, settle: quota.Settle(of.Kind, before)}
	if before == quota.RanOut {
		f.after = after
	}
	return f
}

// giveUp releases the count for another node to keep; mu is held.
func (k *Caps) giveUp(ctx context.Context, st *standing) func() {
	st.keeper.Lost()
	st.finding = true // not claimed again here while it is being given up
	of, unused := st.of, st.served.Add(quota.Unused(st.of.Kind))
	return func() {
		defer func() {
			k.mu.Lock()
			st.finding = false
			k.mu.Unlock()
		}()
		k.tree.Drop(of)
		if wait := time.Duration(unused - k.clock.Boot()); wait > 0 {
			t := time.NewTimer(wait)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
				return // the next node to claim it waits
			}
		}
		c, cancel := context.WithTimeout(ctx, lookFor)
		defer cancel()
		if err := k.node.Release(c, of); err != nil {
			k.log.Info().Str("kind", string(of.Kind)).Str("code",
				engine.ErrorCode(err)).Msg("a count was not released; it is taken over once this node has left")
		}
	}
}

// HandOver releases every count for other nodes to claim: no new call begins here, and those in
// progress are in the database.
func (k *Caps) HandOver(ctx context.Context) {
	k.mu.Lock()
	k.drained = true
	var giving sync.WaitGroup
	for _, st := range k.of {
		if st.keeper.Stage != quota.Away {
			giving.Go(k.giveUp(ctx, st))
		}
	}
	k.mu.Unlock()
	giving.Wait()
}
