package actors

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// Keepers is what the tree needs where several nodes share trunks, bots and
// numbers: for each of them one node keeps the count (package keepers). The
// actor of a count that another node keeps asks there, with bytes that only the
// tree of that node reads.
type Keepers interface {
	// As is whom this node acts as, 0 while it must not act.
	As() engine.Incarnation
	// Mine says whether this node keeps the count and may grant now.
	Mine(of ownership.Identity) bool
	// Ask has whoever keeps the count decide. then is called once, from any
	// goroutine: with the answer and when it was asked for, or with an error; undo
	// is given back then, unless it is nil.
	Ask(of ownership.Identity, question, undo []byte, then func(answer []byte, asked engine.BootTime, err error))
	// Owe has whoever keeps the count told something until that is confirmed.
	Owe(of ownership.Identity, notice []byte)
	// Recount has the books compared with the database soon.
	Recount()
}

// kept says whether this node keeps a count: a process that is alone keeps all.
func (d *deps) kept(of ownership.Identity) bool { return d.keepers == nil || d.keepers.Mine(of) }

// away is when a count whose keeper does not answer is asked for again.
func (d *deps) keeperBack() time.Time { return d.clock.Now().Add(quota.RetryAfter) }

// inUse is what the database says is in use.
type inUse struct {
	legs     map[engine.TrunkID]map[engine.LegID]struct{}
	attempts map[engine.PhoneNumber]map[engine.AttemptID]struct{}
	seats    map[engine.BotID]map[fleet.Holder]int
	// lost are attempts that ended before their legs did: their calls may go on, and
	// nobody's allotment covers them.
	lost map[engine.BotID]int
}

// countInUse reads it.
func (d *deps) countInUse(ctx context.Context) (u inUse, err error) {
	open, err := d.store.OpenAttempts(ctx)
	if err != nil {
		return u, err
	}
	watched, err := d.store.OpenLegs(ctx)
	if err != nil {
		return u, err
	}
	u = inUse{legs: map[engine.TrunkID]map[engine.LegID]struct{}{}, attempts: map[engine.PhoneNumber]map[engine.AttemptID]struct{}{},
		seats: map[engine.BotID]map[fleet.Holder]int{}, lost: map[engine.BotID]int{}}
	me := d.keepers.As()
	for _, a := range slices.Concat(open, watched) {
		u.add(&a, me)
	}
	return u, nil
}

func (u *inUse) add(a *attempt.Attempt, me engine.Incarnation) {
	leg := func(t engine.TrunkID, id engine.LegID) {
		if u.legs[t] == nil {
			u.legs[t] = map[engine.LegID]struct{}{}
		}
		u.legs[t][id] = struct{}{}
	}
	for i := range a.Legs {
		if l := &a.Legs[i]; l.EndedAt == nil {
			leg(l.Trunk, l.ID)
		}
	}
	for i := range a.Peers {
		if p := &a.Peers[i]; p.EndedAt == nil && p.Trunk != "" {
			leg(p.Trunk, p.ID)
		}
	}
	if u.attempts[a.From] == nil {
		u.attempts[a.From] = map[engine.AttemptID]struct{}{}
	}
	u.attempts[a.From][a.ID] = struct{}{}
	if a.State == attempt.Ended {
		u.lost[a.Bot]++
		return
	}
	// Also when its node has lost its lease: until the campaign's owner has lost the
	// call its seat is among those of the campaign, and not to be taken off twice.
	if u.seats[a.Bot] == nil {
		u.seats[a.Bot] = map[fleet.Holder]int{}
	}
	u.seats[a.Bot][holderAt(fleet.Holder(a.Campaign), a.Node, me)]++
}

// holderAt is a holder's name where the count is kept: each node has dialouts.
func holderAt(h fleet.Holder, at, me engine.Incarnation) fleet.Holder {
	if h != "" && h != fleet.Dialout {
		return h
	}
	if at == me || at == 0 {
		return fleet.Dialout
	}
	return fleet.Dialout + "/" + fleet.Holder(string(putInt(nil, int64(at))))
}

// Messages of counts that are kept for other nodes.
type (
	// counted brings what the database says; anew: the book is begun.
	counted struct {
		of   map[ownership.Identity]struct{}
		anew bool
		use  inUse
		now  time.Time
		// Of numbers, when it is anew.
		list []engine.NumberSettings
		past []engine.NumberDials
		ends []engine.NumberEnd
	}
	// served is a question of some node, undone what one gives back, dropped that
	// another node keeps the count from now on.
	served struct {
		of     ownership.Identity
		from   engine.Incarnation
		body   []byte
		answer func([]byte)
	}
	undone struct {
		of   ownership.Identity
		body []byte
	}
	dropped struct{ of ownership.Identity }
)

// Count implements keepers.Tree.
func (t *Tree) Count(ctx context.Context, of []ownership.Identity, anew bool) error {
	d, now := t.d, t.d.clock.Now()
	use, err := d.countInUse(ctx)
	if err != nil {
		return err
	}
	byKind := map[*actor.PID]*counted{}
	for _, id := range of {
		to := t.countOf(id)
		m := byKind[to]
		if m == nil {
			m = &counted{of: map[ownership.Identity]struct{}{}, anew: anew, use: use, now: now}
			byKind[to] = m
		}
		m.of[id] = struct{}{}
	}
	if m := byKind[d.numbers]; m != nil && anew {
		if m.list, m.past, m.ends, err = d.loadNumbers(ctx, now); err != nil {
			return err
		}
	}
	for to, m := range byKind {
		if _, err := ask[struct{}](ctx, d, to, m); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) countOf(id ownership.Identity) *actor.PID {
	switch id.Kind {
	case ownership.Trunk:
		return t.d.trunks
	case ownership.Fleet:
		return t.d.fleet
	default: // of what is not counted nobody asks
		return t.d.numbers
	}
}

// Serve implements keepers.Tree.
func (t *Tree) Serve(of ownership.Identity, from engine.Incarnation, question []byte, answer func([]byte)) {
	t.d.root.Send(t.countOf(of), &served{of, from, question, answer})
}

// Take implements keepers.Tree.
func (t *Tree) Take(of ownership.Identity, notice []byte) {
	t.d.root.Send(t.countOf(of), &undone{of, notice})
}

// Drop implements keepers.Tree.
func (t *Tree) Drop(of ownership.Identity) { t.d.root.Send(t.countOf(of), &dropped{of}) }

// loadNumbers reads the numbers and what is known of their calls.
func (d *deps) loadNumbers(ctx context.Context, now time.Time) (list []engine.NumberSettings, past []engine.NumberDials, ends []engine.NumberEnd, err error) {
	if list, err = d.store.Numbers(ctx); err != nil {
		return nil, nil, nil, err
	}
	if past, err = d.store.NumberDials(ctx, now.Add(-numberpool.Memory)); err != nil {
		return nil, nil, nil, err
	}
	ends, err = d.store.NumberEnds(ctx, now.Add(-endsMemory), numberpool.CallsKept)
	return list, past, ends, err
}
