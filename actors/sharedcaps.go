package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/lease"
	numberactor "dialler/actors/number"
	"dialler/engine"
	"dialler/engine/ownership"
)

// What the nodes that share trunks, bots and numbers want of this one (package keepers).

// Count implements keepers.Tree.
func (t *Tree) Count(ctx context.Context, of []ownership.Identity, anew bool) error {
	now := t.sys.Clock.Now()
	use, err := lease.CountInUse(ctx, t.store, t.caps.As())
	if err != nil {
		return err
	}
	byKind := map[*actor.PID]*lease.Counted{}
	for _, id := range of {
		to := t.countOf(id)
		m := byKind[to]
		if m == nil {
			m = &lease.Counted{Of: map[ownership.Identity]struct{}{}, Anew: anew, Use: use, Now: now}
			byKind[to] = m
		}
		m.Of[id] = struct{}{}
	}
	var known numberactor.Known
	if byKind[t.numbers] != nil && anew {
		if known, err = numberactor.Load(ctx, t.store, now); err != nil {
			return err
		}
	}
	for to, m := range byKind {
		var msg any = m
		if to == t.numbers {
			msg = &numberactor.Counted{Counted: m, Known: known}
		}
		if _, err := ask[struct{}](ctx, t, to, msg); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tree) countOf(id ownership.Identity) *actor.PID {
	switch id.Kind {
	case ownership.Trunk:
		return t.trunks
	case ownership.Fleet:
		return t.fleet
	default: // of what is not counted nobody asks
		return t.numbers
	}
}

// Serve implements keepers.Tree.
func (t *Tree) Serve(of ownership.Identity, from engine.Incarnation, question []byte, answer func([]byte)) {
	t.sys.Root.Send(t.countOf(of), &lease.Served{Of: of, From: from, Body: question, Answer: answer})
}

// Take implements keepers.Tree.
func (t *Tree) Take(of ownership.Identity, notice []byte) {
	t.sys.Root.Send(t.countOf(of), &lease.Returned{Of: of, Body: notice})
}

// Drop implements keepers.Tree.
func (t *Tree) Drop(of ownership.Identity) { t.sys.Root.Send(t.countOf(of), &lease.Dropped{Of: of}) }
