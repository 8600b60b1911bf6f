package campaign

import (
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/ownership"
)

// guardian owns the campaigns: it starts a campaign's actors on demand and passes everything else
// on to its run.
type guardian struct {
	d    *Deps
	runs map[engine.CampaignID]*actor.PID // campaign-<id> supervisors
	// leaving are campaigns moving to another node: no request starts their actors again.
	leaving map[engine.CampaignID]struct{}
	// endings are the campaigns whose actors are being stopped.
	endings map[engine.CampaignID]*ending
}

// New makes the guardian of the campaigns.
func New(d *Deps) actor.Actor {
	return &guardian{d: d, runs: map[engine.CampaignID]*actor.PID{}, leaving: map[engine.CampaignID]struct{}{},
		endings: map[engine.CampaignID]*ending{}}
}

type (
	// Wake starts a campaign's actors, whatever they then find to do.
	Wake struct{ Campaign engine.CampaignID }
	// ForCampaign carries a request to a campaign's run.
	ForCampaign struct {
		Campaign engine.CampaignID
		Msg      any
	}
	// IfUp carries a request to a campaign's run if that is up; else the answer
	// is nil.
	IfUp struct {
		Campaign engine.CampaignID
		Msg      any
	}
	// EveryRun carries a message to all runs that are up.
	EveryRun struct{ Msg any }
	// campaignGone stops the actors of a campaign that does not exist or is not this node's.
	campaignGone struct{ Campaign engine.CampaignID }
	// Ping is answered as soon as it is read.
	Ping struct{}
	// DatabaseState says that the database went down, or that it is back.
	DatabaseState struct{}
	// Up asks which campaigns' actors are up; Dialling asks for these actors, including those being
	// stopped.
	Up       struct{}
	Dialling struct{}
	// LetGo asks for the actors of a campaign in order to stop them: the answer comes when its run
	// is ready to stop. Until HasLeft only Wake starts them again.
	LetGo   struct{ Campaign engine.CampaignID }
	HasLeft struct{ Campaign engine.CampaignID }
)

func (c *guardian) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *Wake:
		if !c.waits(m.Campaign, m, nil) {
			c.run(ctx, m.Campaign)
		}
	case *ForCampaign:
		c.pass(ctx, m, ctx.Sender())
	case *IfUp:
		if pid := c.runs[m.Campaign]; pid != nil {
			ctx.RequestWithCustomSender(pid, m.Msg, ctx.Sender())
			return
		}
		c.d.Reply(ctx.Sender(), nil, nil)
	case *Ping:
		c.d.Reply(ctx.Sender(), nil, nil)
	case *campaignGone:
		if pid := c.runs[m.Campaign]; pid != nil {
			c.end(ctx, m.Campaign, &ending{pid: pid})
		}
	case *readyToStop:
		c.readyToStop(ctx, m)
	case *stopLate:
		c.stopLate(ctx, m)
	case *Up:
		c.d.Reply(ctx.Sender(), slices.Sorted(maps.Keys(c.runs)), nil)
	case *Dialling:
		pids := slices.Collect(maps.Values(c.runs))
		for _, e := range c.endings {
			pids = append(pids, e.pid)
		}
		c.d.Reply(ctx.Sender(), pids, nil)
	case *LetGo:
		c.letGo(ctx, m.Campaign)
	case *HasLeft:
		delete(c.leaving, m.Campaign)
	case *actor.Terminated:
		c.terminated(ctx, m.Who)
	case *DatabaseState:
		c.every(ctx, m)
	case *EveryRun:
		c.every(ctx, m.Msg)
	}
}

func (c *guardian) every(ctx actor.Context, msg any) {
	for _, pid := range c.runs {
		ctx.Send(pid, msg)
	}
}

// pass passes a request to a campaign's run, now or once its actors have stopped.
func (c *guardian) pass(ctx actor.Context, m *ForCampaign, sender *actor.PID) {
	if _, leaves := c.leaving[m.Campaign]; leaves {
		c.d.Reply(sender, nil, ownership.ErrNotOwner)
		return
	}
	if !c.waits(m.Campaign, m, sender) {
		ctx.RequestWithCustomSender(c.run(ctx, m.Campaign), m.Msg, sender)
	}
}

func (c *guardian) run(ctx actor.Context, id engine.CampaignID) *actor.PID {
	if pid, ok := c.runs[id]; ok {
		return pid
	}
	d := c.d
	props := d.Props(func() actor.Actor { return &supervisor{d: d, id: id} },
		actor.WithSupervisor(d.Guard("campaign", resumesAllButRun)))
	name := "campaign-" + string(id)
	pid, err := ctx.SpawnNamed(props, name)
	if err != nil {
		// The guardian was restarted; the campaign's actor still has this name.
		pid = actor.NewPID(ctx.ActorSystem().Address(), ctx.Self().Id+"/"+name)
	}
	pid = host.FreshPID(pid)
	ctx.Watch(pid)
	c.runs[id] = pid
	return pid
}
