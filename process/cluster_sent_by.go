package process

import (
	"context"
	"maps"
	"time"

	"dialler/engine"
)

// sentByEvery is how often it is looked whether this node writes something else
// into its Via than it has told.
const sentByEvery = time.Second

// tellSentBy keeps in the database what this node writes into the Via of its
// requests: when it dies, another one cancels what it was calling.
func (s *several) tellSentBy(ctx context.Context, now func() map[engine.TrunkID]string) {
	tick := time.NewTicker(sentByEvery)
	defer tick.Stop()
	var told map[engine.TrunkID]string
	var as engine.Incarnation
	for {
		if id, by := s.node.Incarnation(), now(); id != 0 && len(by) > 0 && (id != as || !maps.Equal(by, told)) {
			c, cancel := context.WithTimeout(ctx, tellFor)
			if s.owners.PutSentBy(c, id, by) == nil { // else it is tried again
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

// SentBy is what another node wrote into the Via of its requests over a trunk, ""
// when that is not known.
func (l *lease) SentBy(ctx context.Context, node engine.Incarnation, trunk engine.TrunkID) string {
	o := l.owners.Load()
	if o == nil || node == 0 || trunk == "" {
		return ""
	}
	by, err := o.SentBy(ctx, node, trunk)
	if err != nil {
		return ""
	}
	return by
}
