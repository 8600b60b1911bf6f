package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
)

// What is in a mailbox when its actor stops is never answered. So a campaign's
// actors are stopped in two steps: the run says its last word, which comes after
// the answer to all that was asked before; and only then they stop. What is asked
// in between waits at the guardian until they have.

// ending is a campaign whose actors are being stopped.
type ending struct {
	pid     *actor.PID // campaign-<id> supervisor
	waiting []stashed  // wake and forCampaign
	// handOver is who waits for the last word to stop them himself, for another
	// node is to act for the campaign; else nil.
	handOver *actor.PID
	said     bool
}

type (
	// lastWord asks a run whether its actors may stop.
	lastWord struct {
		To       *actor.PID
		Actors   *actor.PID // campaign-<id> supervisor
		HandOver bool
	}
	// lastWordSaid answers it: all that came before is answered. The campaign
	// Stays when it exists on this node, again.
	lastWordSaid struct {
		Campaign engine.CampaignID
		Actors   *actor.PID
		Stays    bool
	}
	// lastWordLate is told when a run has had lastWordAfter for it.
	lastWordLate struct {
		Campaign engine.CampaignID
		Actors   *actor.PID
	}
)

const (
	// lastWordAfter is after how long a run is asked again: it may have crashed with
	// the question.
	lastWordAfter = 5 * time.Second
)

// waits keeps a message for a campaign whose actors are being stopped.
func (c *campaigns) waits(id engine.CampaignID, msg any, sender *actor.PID) bool {
	e := c.endings[id]
	switch {
	case e == nil:
		return false
	case sender != nil && len(e.waiting) >= stashCap: // nobody would be told of the others
		c.d.stats.Overloads.Add(1)
		reply(c.d, sender, nil, errOverloaded)
	default:
		e.waiting = append(e.waiting, stashed{msg, sender})
	}
	return true
}

func (c *campaigns) end(ctx actor.Context, id engine.CampaignID, e *ending) {
	delete(c.runs, id)
	c.endings[id] = e
	c.askLastWord(ctx, id, e)
}

func (c *campaigns) askLastWord(ctx actor.Context, id engine.CampaignID, e *ending) {
	ctx.Send(e.pid, &lastWord{To: ctx.Self(), Actors: e.pid, HandOver: e.handOver != nil})
	c.d.after(lastWordAfter, ctx.Self(), &lastWordLate{id, e.pid})
}

// letGo ends a campaign of which another node is to act: nothing that is asked of
// it is answered by this one any more.
func (c *campaigns) letGo(ctx actor.Context, id engine.CampaignID) {
	c.leaving[id] = struct{}{}
	if e := c.endings[id]; e != nil {
		e.handOver = ctx.Sender()
		if e.said {
			c.stop(ctx, id, e)
		} else {
			c.askLastWord(ctx, id, e)
		}
		return
	}
	pid := c.runs[id]
	if pid == nil {
		reply(c.d, ctx.Sender(), pid, nil)
		return
	}
	c.end(ctx, id, &ending{pid: pid, handOver: ctx.Sender()})
}

func (c *campaigns) lastWordSaid(ctx actor.Context, m *lastWordSaid) {
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

func (c *campaigns) lastWordLate(ctx actor.Context, m *lastWordLate) {
	e := c.endings[m.Campaign]
	switch {
	case e == nil || e.said || !e.pid.Equal(m.Actors):
	case e.handOver != nil:
		c.stop(ctx, m.Campaign, e)
	default:
		c.askLastWord(ctx, m.Campaign, e)
	}
}

func (c *campaigns) stop(ctx actor.Context, id engine.CampaignID, e *ending) {
	e.said = true
	c.d.mailboxes.forget(id)
	if e.handOver != nil {
		reply(c.d, e.handOver, e.pid, nil)
		return
	}
	ctx.Stop(e.pid)
}

func (c *campaigns) terminated(ctx actor.Context, who *actor.PID) {
	for id, pid := range c.runs {
		if pid.Equal(who) { // it stopped under a message that brought it up again
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

// resume passes on what has waited.
func (c *campaigns) resume(ctx actor.Context, e *ending) {
	waiting := e.waiting
	e.waiting = nil
	for _, w := range waiting {
		switch m := w.msg.(type) {
		case *wake:
			c.run(ctx, m.Campaign)
		case *forCampaign:
			c.pass(ctx, m, w.sender)
		}
	}
}

// leaveAfter is how long the actors of a campaign that does not exist, or that
// another node acts for, stay up.
const leaveAfter = time.Second
