package process

import (
	"context"
	"maps"
	"time"

	"dialler/actors/cluster"
	"dialler/engine"
	"dialler/engine/ownership"
)

// sentByEvery is how often to check whether this node's Via has changed since it was stored.
const sentByEvery = time.Second

// tellSentBy stores in the database what this node writes into the Via of its requests: when it
// dies, another node cancels its ringing calls.
func (s *several) tellSentBy(ctx context.Context, now func() map[engine.TrunkID]string) {
	tick := time.NewTicker(sentByEvery)
	defer tick.Stop()
	var told map[engine.TrunkID]string
	var as engine.Incarnation
	for {
		if id, by := s.node.Incarnation(), now(); id != 0 && len(by) > 0 && (id != as || !maps.Equal(by, told)) {
			c, cancel := context.WithTimeout(ctx, tellFor)
			if s.owners.PutSentBy(c, id, by) == nil { // otherwise it is tried again
				told, as = by, id
			}
			cancel()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// joiner is a node's access to the database. As soon as the node has a lease, and before it acts on
// it, joiner stores what this incarnation writes into its Via.
type joiner struct {
	cluster.Owners
	put func(ctx context.Context, id engine.Incarnation, by map[engine.TrunkID]string) error
	now func() map[engine.TrunkID]string
}

// Join implements cluster.Owners. An incarnation whose Via cannot be stored does not start.
func (j joiner) Join(ctx context.Context, n ownership.Node, ttl time.Duration) (ownership.Node, error) {
	me, err := j.Owners.Join(ctx, n, ttl)
	if err != nil {
		return me, err
	}
	if by := j.now(); len(by) > 0 {
		err = j.put(ctx, me.Incarnation, by)
	}
	return me, err
}

// sentByChanged stores at once the Via that changed trunks have from the next call on; if that
// fails, tellSentBy does it later.
func (l *lease) sentByChanged(ctx context.Context, by map[engine.TrunkID]string) {
	if l == nil {
		return // no others
	}
	o, n := l.owners.Load(), l.node.Load()
	if o == nil || n == nil || len(by) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	if id := n.Incarnation(); id != 0 {
		_ = o.PutSentBy(ctx, id, by)
	}
}

// SentBy is what another node wrote into the Via of its requests over a trunk, as far as known,
// otherwise "". A bot's leg has no trunk.
func (l *lease) SentBy(ctx context.Context, node engine.Incarnation, trunk engine.TrunkID) string {
	o := l.owners.Load()
	if o == nil || node == 0 {
		return ""
	}
	by, err := o.SentBy(ctx, node, trunk)
	if err != nil {
		return ""
	}
	return by
}
