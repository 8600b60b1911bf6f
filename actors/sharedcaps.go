package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/lease"
	numberactor "dialler/actors/number"
	"dialler/engine"
	"dialler/engine/ownership"
)

// SharedCounts is the tree as keeper of counts for other nodes: it implements sharedcaps.Tree.
type SharedCounts struct{ t *Tree }

// SharedCounts returns the interface for nodes that share trunks, bots and numbers with this one.
func (t *Tree) SharedCounts() SharedCounts { return SharedCounts{t} }

// Count implements sharedcaps.Tree.
func (s SharedCounts) Count(ctx context.Context, of []ownership.Identity, anew bool) error {
	now := s.t.sys.Clock.Now()
	use, err := lease.CountInUse(ctx, s.t.store, s.t.caps.As())
	if err != nil {
		return err
	}
	byKind := map[*actor.PID]*lease.Counted{}
	for _, id := range of {
		to := s.countOf(id)
		m := byKind[to]
		if m == nil {
			m = &lease.Counted{Of: map[ownership.Identity]struct{}{}, Anew: anew, Use: use, Now: now}
			byKind[to] = m
		}
		m.Of[id] = struct{}{}
	}
	var known numberactor.Known
	if byKind[s.t.numbers] != nil && anew {
		if known, err = numberactor.Load(ctx, s.t.store, now); err != nil {
			return err
		}
	}
	for to, m := range byKind {
		var msg any = m
		if to == s.t.numbers {
			msg = &numberactor.Counted{Counted: m, Known: known}
		}
		if _, err := ask[struct{}](ctx, s.t, to, msg); err != nil {
			return err
		}
	}
	return nil
}

func (s SharedCounts) countOf(id ownership.Identity) *actor.PID {
	switch id.Kind {
	case ownership.Trunk:
		return s.t.trunks
	case ownership.Fleet:
		return s.t.fleet
	default: // no node asks for what is not counted
		return s.t.numbers
	}
}

// Serve implements sharedcaps.Tree.
func (s SharedCounts) Serve(of ownership.Identity, from engine.Incarnation, question []byte, answer func([]byte)) {
	s.t.sys.Root.Send(s.countOf(of), &lease.Served{Of: of, From: from, Body: question, Answer: answer})
}

// Take implements sharedcaps.Tree.
func (s SharedCounts) Take(of ownership.Identity, notice []byte) {
	s.t.sys.Root.Send(s.countOf(of), &lease.Returned{Of: of, Body: notice})
}

// Drop implements sharedcaps.Tree.
func (s SharedCounts) Drop(of ownership.Identity) {
	s.t.sys.Root.Send(s.countOf(of), &lease.Dropped{Of: of})
}
