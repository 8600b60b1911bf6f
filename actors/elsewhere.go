package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
)

// This file has what the tree does about calls whose legs are on another node.

// elsewhere says that the legs of an attempt are on another node.
func (d *deps) elsewhere(a engine.AttemptID) bool { return d.away != nil && d.away.Away(a) }

// carrier is the node for a new call of a campaign, 0 outside a cluster.
func (d *deps) carrier(trunk engine.TrunkID) engine.Incarnation {
	if d.away == nil {
		return 0
	}
	return d.away.Carrier(trunk)
}

// here is this node, 0 outside a cluster. It carries the dialouts that it owns:
// nobody takes one over, so that its legs must not outlive its actor.
func (d *deps) here() engine.Incarnation {
	if d.away == nil {
		return 0
	}
	return d.away.Here()
}

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

// legsGone tells the owner of an attempt that the node with its legs is gone.
type legsGone struct {
	Contact engine.ContactID
	Attempt engine.AttemptID
}

// LegsGone says that the node is gone that had the legs of these attempts, and
// sends nothing any more: they are lost, and what may be left of them at the
// carrier is ended from here.
func (t *Tree) LegsGone(ids []engine.AttemptID) {
	for _, id := range ids {
		of, ok := t.d.owners.of(id)
		m := &legsGone{Contact: of.contact, Attempt: id}
		switch {
		case !ok:
		case of.campaign == "":
			t.d.root.Send(t.d.dialout, m)
		default:
			t.d.root.Send(t.d.campaigns, t.askRun(of.campaign, m))
		}
	}
}

// legsGone loses the attempt, or goes on watching its legs from here.
func (a *contactActor) legsGone(m *legsGone) {
	switch {
	case a.call == nil || a.call.m.A.ID != m.Attempt:
	case a.call.m.A.Live():
		a.lost("")
	case a.watching > 0:
		a.watching = a.call.recoverLegs()
	}
}

// settled gives what tells the run that an exclusion or a suppression is done.
func (a *contactActor) settled(to *actor.PID, done *excludeDone) func() {
	return a.d.settled(a.call, func() { a.d.root.Send(to, done) })
}

// settled gives what tells that a call was dealt with: of one on another node not
// before that has done so.
func (d *deps) settled(c *call, tell func()) func() {
	if c == nil || !d.elsewhere(c.m.A.ID) {
		return tell
	}
	id := c.m.A.ID
	return func() { d.away.Settled(id, tell) }
}
