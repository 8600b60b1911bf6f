package actors

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
)

// This file has what the tree does about calls whose legs are on another node.

// adoptLegs makes this node the owner of open attempts whose legs may be on other
// nodes, those excepted that an actor here has. The epoch is the campaign's now, not
// that of whoever dialled: the latest owner has them. It blocks until all nodes
// have answered or been given up.
func (d *deps) adoptLegs(ctx context.Context, epoch int64, open []attempt.Attempt) {
	if d.away == nil {
		return
	}
	asked := 0
	answers := make(chan struct{}, len(open))
	for i := range open {
		at := open[i]
		at.Epoch = epoch
		if at.Node == 0 || d.owners.owned(at.ID) || d.away.Away(at.ID) {
			continue
		}
		asked++
		d.away.AdoptLegs(&at, func(_ []engine.LegID, err error) {
			if err != nil {
				d.log.Warn().Err(err).Str("attempt_id", string(at.ID)).Int32("node", int32(at.Node)).Msg("the node of a call does not answer; the call is lost")
			}
			answers <- struct{}{}
		})
	}
	for range asked {
		select {
		case <-answers:
		case <-ctx.Done():
			return
		}
	}
}

// LegsGone says that the node is gone that had the legs of these attempts, and
// sends nothing any more: they are lost, and what may be left of them at the
// carrier is ended from here.
func (t *Tree) LegsGone(ids []engine.AttemptID) {
	for _, id := range ids {
		of, ok := t.d.owners.of(id)
		m := &call.LegsGone{Contact: of.contact, Attempt: id}
		switch {
		case !ok:
		case of.campaign == "":
			t.d.root.Send(t.d.dialout, m)
		default:
			t.d.root.Send(t.d.campaigns, t.askRun(of.campaign, m))
		}
	}
}
