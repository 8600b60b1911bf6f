package process

import (
	"context"
	"errors"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/persistence/history"
)

// A person is erased on every node: each has actors that know the number, possibly writes waiting
// on its disk, and the recordings of the calls that it carried.

const (
	askedErasure = "erasure"
	// erasureWait bounds how long one node may take for one step.
	erasureWait = 8 * time.Second
	// lapsedFor is how long a node without a lease that does not answer may still be alive and
	// return with its data.
	lapsedFor = time.Minute
)

// errNodeSilent is the error when a node does not answer: it may still know the person.
var errNodeSilent = engine.Unavailable("node_unreachable",
	"a node of the cluster does not answer and may still know the person; check that it runs or has been gone for a "+
		"minute, then erase again", 5*time.Second)

// erasureStep is one step of an erasure, for one node.
type erasureStep struct {
	Step       string // begin, open, files, end
	Number     engine.PhoneNumber
	Tombstone  engine.PhoneNumber
	Campaigns  []engine.CampaignID
	Recordings []string
	Matches    map[engine.CampaignID][]map[string]string
}

// eraseHere carries out a step on this node. Repeating a step does no harm.
func (p *Process) eraseHere(ctx context.Context, s erasureStep) error {
	n := s.Number
	switch s.Step {
	case "begin":
		if p.spool != nil && p.spool.Stats().Records > 0 {
			return errSpoolWaits
		}
		if err := inProgress(p.recorder, s.Recordings); err != nil {
			return err
		}
		return p.tree.BeginErasure(ctx, n, s.Campaigns, nil, history.ErasedReason)
	case "open":
		return p.tree.BeginErasure(ctx, n, s.Campaigns, s.Campaigns, history.ErasedReason)
	case "files":
		if err := p.flights.Forget(n); err != nil {
			return err
		}
		return removeFiles(p.recorder, s.Recordings)
	case "end":
		up, err := p.tree.Ownership().Up(ctx) // more than those that have the person, if an earlier step was lost
		if err != nil {
			return err
		}
		if err := p.tree.EndErasure(ctx, n, s.Tombstone, up, s.Matches); err != nil {
			return err
		}
		return p.flights.Forget(n) // the end names it once more
	}
	return engine.Invalid("request_unreadable", "")
}

// serveErasure carries out steps for other nodes.
func (p *Process) serveErasure(s *several) {
	s.node.Handle(askedErasure, func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte,
		error) {
		var step erasureStep
		if err := link.Decode(body, &step); err != nil {
			return nil, engine.Invalid("request_unreadable", "")
		}
		return nil, p.eraseHere(ctx, step)
	})
}

// eraseEverywhere makes all nodes carry out a step; nil means that all have done so.
func (p *Process) eraseEverywhere(ctx context.Context, step erasureStep) error {
	if err := p.eraseHere(ctx, step); err != nil {
		return err
	}
	return p.several.all(ctx, askedErasure, link.Encode(&step))
}

// all makes every other node carry out a method and returns the first error. A node without a lease
// is asked too, whether or not it was declared dead; it is skipped when it does not answer and has
// been without a lease for lapsedFor.
func (s *several) all(ctx context.Context, method string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, erasureWait)
	defer cancel()
	return s.others(ctx, lapsedFor, func(ctx context.Context, n *ownership.Node) error {
		return s.confirmed(ctx, n, method, body)
	})
}

// confirmed asks one node.
func (s *several) confirmed(ctx context.Context, n *ownership.Node, method string, body []byte) error {
	if !n.Live {
		brief, cancel := context.WithTimeout(ctx, tellFor)
		defer cancel()
		ctx = brief
	}
	_, err := s.node.AskNode(ctx, n.Incarnation, method, body)
	if !unanswered(err) {
		return err
	}
	if !n.Live && time.Since(n.ExpiresAt) > lapsedFor {
		return nil
	}
	s.log.Warn().Str("node", n.Name).Str("method", method).Str("code",
		engine.ErrorCode(err)).Msg("another node did not confirm")
	return errNodeSilent
}

// unanswered says that a node did not answer, or has restarted as another incarnation.
func unanswered(err error) bool {
	switch engine.ErrorCode(err) {
	case "owner_unreachable", "owner_silent", "node_not_found":
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// clusterErasure sends an Eraser's steps to the nodes of a cluster.
type clusterErasure struct{ p *Process }

// Begin implements erasing.
func (e clusterErasure) Begin(ctx context.Context, n engine.PhoneNumber, found *history.Traces) error {
	err := e.p.eraseEverywhere(
		ctx,
		erasureStep{Step: "begin", Number: n, Campaigns: found.Campaigns, Recordings: places(found)},
	)
	if err != nil {
		return err
	}
	for _, id := range found.Open { // its owner removes the person
		body := link.Encode(&erasureStep{Step: "open", Number: n, Campaigns: []engine.CampaignID{id}})
		if _, err := e.p.several.node.Ask(ctx, ownership.Identity{Kind: ownership.Campaign, ID: string(id)}, askedErasure,
			body); err != nil {
			return err
		}
	}
	return nil
}

// RemoveFiles implements erasing.
func (e clusterErasure) RemoveFiles(ctx context.Context, n engine.PhoneNumber, found *history.Traces) error {
	return e.p.eraseEverywhere(ctx, erasureStep{Step: "files", Number: n, Recordings: places(found)})
}

// End implements erasing.
func (e clusterErasure) End(
	ctx context.Context,
	n, tombstone engine.PhoneNumber,
	_ *history.Traces,
	matches map[engine.CampaignID][]map[string]string,
) error {
	return e.p.eraseEverywhere(ctx, erasureStep{Step: "end", Number: n, Tombstone: tombstone, Matches: matches})
}
