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

// A person is erased on every node: each has actors that know the number, perhaps
// writes that wait on its disk, and the recordings of the calls that it carried.

const (
	askedErasure = "erasure"
	// erasureWait bounds how long one node may take for one step.
	erasureWait = 8 * time.Second
	// lapsedFor is how long a node without a lease that does not answer may still
	// be alive and come back with what it knows.
	lapsedFor = time.Minute
)

// errNodeSilent: who does not answer may know the person.
var errNodeSilent = engine.Unavailable("node_unreachable", "a node of the cluster does not answer and may still know the person; see that it runs or is gone for a minute, then erase again", 5*time.Second)

// erasureStep is one step of an erasure, for one node.
type erasureStep struct {
	Step       string // begin, open, files, end
	Number     engine.PhoneNumber
	Tombstone  engine.PhoneNumber
	Campaigns  []engine.CampaignID
	Recordings []string
	Matches    map[engine.CampaignID][]map[string]string
}

// eraseHere carries out a step on this node. A step that comes again does no harm.
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
		return removeFiles(p.recorder, s.Recordings)
	case "end":
		up, err := p.tree.Ownership().Up(ctx) // more than have the person, if a step was lost before
		if err != nil {
			return err
		}
		return p.tree.EndErasure(ctx, n, s.Tombstone, up, s.Matches)
	}
	return engine.Invalid("request_unreadable", "")
}

// serveErasure has steps carried out for other nodes.
func (p *Process) serveErasure(s *several) {
	s.node.Handle(askedErasure, func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
		var step erasureStep
		if err := link.Decode(body, &step); err != nil {
			return nil, engine.Invalid("request_unreadable", "")
		}
		return nil, p.eraseHere(ctx, step)
	})
}

// eraseEverywhere has a step carried out by all nodes; nil: all have done it.
func (p *Process) eraseEverywhere(ctx context.Context, step erasureStep) error {
	if err := p.eraseHere(ctx, step); err != nil {
		return err
	}
	return p.several.all(ctx, askedErasure, link.Encode(&step))
}

// all has every other node carry out a method and gives the first error. A node
// without a lease is asked as well, whether it was declared dead or not; it is passed
// over when it does not answer and has been so for lapsedFor.
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
	s.log.Warn().Str("node", n.Name).Str("method", method).Str("code", engine.ErrorCode(err)).Msg("another node did not confirm")
	return errNodeSilent
}

// unanswered says that a node did not answer, or is another one by now.
func unanswered(err error) bool {
	switch engine.ErrorCode(err) {
	case "owner_unreachable", "owner_silent", "node_not_found":
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// clusterErasure is what an Eraser tells the nodes of a cluster.
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
	for _, id := range found.Open { // its owner takes the person out
		body := link.Encode(&erasureStep{Step: "open", Number: n, Campaigns: []engine.CampaignID{id}})
		if _, err := e.p.several.node.Ask(ctx, ownership.Identity{Kind: ownership.Campaign, ID: string(id)}, askedErasure, body); err != nil {
			return err
		}
	}
	return nil
}

// RemoveFiles implements erasing.
func (e clusterErasure) RemoveFiles(ctx context.Context, found *history.Traces) error {
	return e.p.eraseEverywhere(ctx, erasureStep{Step: "files", Recordings: places(found)})
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
