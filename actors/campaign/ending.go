package campaign

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	core "dialler/engine/run"
)

// Messages left in a stopped actor's mailbox are never answered. So a campaign's actors are stopped
// in two steps: first the run says that it is ready to stop, which it does after answering all
// earlier requests; only then do they stop. Requests in between wait at the guardian until they
// have stopped.

// ending is a campaign whose actors are being stopped.
type ending struct {
	pid     *actor.PID     // campaign-<id> supervisor
	waiting []host.Stashed // wake and forCampaign
	// handOver is the caller that waits for readyToStop and stops the actors itself, because
	// another node will act for the campaign; otherwise nil.
	handOver *actor.PID
	said     bool
}

type (
	// prepareStop asks a run whether its actors may stop.
	prepareStop struct {
		To       *actor.PID
		Actors   *actor.PID // campaign-<id> supervisor
		HandOver bool
	}
	// readyToStop is the answer: all earlier requests have been answered. Stays means that the
	// campaign exists on this node after all.
	readyToStop struct {
		Campaign engine.CampaignID
		Actors   *actor.PID
		Stays    bool
	}
	// stopLate comes when a run has had stopAfter to answer.
	stopLate struct {
		Campaign engine.CampaignID
		Actors   *actor.PID
	}
)

const (
	// stashCap limits the messages waiting for a campaign whose actors are being stopped.
	stashCap = 1000
	// stopAfter is when a run is asked again: it may have lost the request in a crash.
	stopAfter = 5 * time.Second
)

// waits stashes a message for a campaign whose actors are being stopped.
func (c *guardian) waits(id engine.CampaignID, msg any, sender *actor.PID) bool {
	e := c.endings[id]
	switch {
	case e == nil:
		return false
	case sender != nil && len(e.waiting) >= stashCap: // the others have no caller to refuse
		c.d.System.Stats.Overloads.Add(1)
		c.d.Reply(sender, nil, core.ErrOverloaded)
	default:
		e.waiting = append(e.waiting, host.Stashed{Msg: msg, Sender: sender})
	}
	return true
}

func (c *guardian) end(ctx actor.Context, id engine.CampaignID, e *ending) {
	delete(c.runs, id)
	c.endings[id] = e
	c.askToStop(ctx, id, e)
}

func (c *guardian) askToStop(ctx actor.Context, id engine.CampaignID, e *ending) {
	ctx.Send(e.pid, &prepareStop{To: ctx.Self(), Actors: e.pid, HandOver: e.handOver != nil})
	c.d.After(stopAfter, ctx.Self(), &stopLate{id, e.pid})
}

// letGo ends a campaign that another node will act for: this one answers no more requests for it.
func (c *guardian) letGo(ctx actor.Context, id engine.CampaignID) {
	c.leaving[id] = struct{}{}
	if e := c.endings[id]; e != nil {
		e.handOver = ctx.Sender()
		if e.said {
			c.stop(ctx, id, e)
		} else {
			c.askToStop(ctx, id, e)
		}
		return
	}
	pid := c.runs[id]
	if pid == nil {
		c.d.Reply(ctx.Sender(), pid, nil)
		return
	}
	c.end(ctx, id, &ending{pid: pid, handOver: ctx.Sender()})
}

func (c *guardian) readyToStop(ctx actor.Context, m *readyToStop) {
	e := c.endings[m.Campaign]
	switch {
	case e == nil || e.said || !e.pid.Equal(m.Actors):
	case m.Stays && e.handOver == nil:
		delete(c.endings, m.Campaign)
		c.runs[m.Campaign] = e.pid
		c.resume(ctx, e)
	default:
		c.stop(ctx, m.Campaign, e)
	}
}

func (c *guardian) stopLate(ctx actor.Context, m *stopLate) {
	e := c.endings[m.Campaign]
	switch {
	case e == nil || e.said || !e.pid.Equal(m.Actors):
	case e.handOver != nil:
		c.stop(ctx, m.Campaign, e)
	default:
		c.askToStop(ctx, m.Campaign, e)
	}
}

func (c *guardian) stop(ctx actor.Context, id engine.CampaignID, e *ending) {
	e.said = true
	c.d.Mailboxes.Forget(id)
	if e.handOver != nil {
		c.d.Reply(e.handOver, e.pid, nil)
		return
	}
	ctx.Stop(e.pid)
}

func (c *guardian) terminated(ctx actor.Context, who *actor.PID) {
	for id, pid := range c.runs {
		if pid.Equal(who) { // it stopped while a message started it again
			delete(c.runs, id)
		}
	}
	for id, e := range c.endings {
		if e.pid.Equal(who) {
			delete(c.endings, id)
			c.resume(ctx, e)
		}
	}
}

// resume passes on the waiting messages.
func (c *guardian) resume(ctx actor.Context, e *ending) {
	waiting := e.waiting
	e.waiting = nil
	for _, w := range waiting {
		switch m := w.Msg.(type) {
		case *Wake:
			c.run(ctx, m.Campaign)
		case *ForCampaign:
			c.pass(ctx, m, w.Sender)
		}
	}
}

// leaveAfter is how long the actors of a campaign stay up that does not exist, or that another node
// acts for.
const leaveAfter = time.Second
