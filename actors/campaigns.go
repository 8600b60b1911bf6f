package actors

import (
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/ownership"
)

// campaigns is the guardian: it brings a campaign's actors up when it is
// touched and passes everything else on to its run.
type campaigns struct {
	d    *deps
	runs map[engine.CampaignID]*actor.PID // campaign-<id> supervisors
	// leaving are campaigns on their way to another node: no request brings one
	// up again.
	leaving map[engine.CampaignID]struct{}
	// endings are those whose actors are being stopped.
	endings map[engine.CampaignID]*ending
}

func newCampaigns(d *deps) *campaigns {
	return &campaigns{d: d, runs: map[engine.CampaignID]*actor.PID{}, leaving: map[engine.CampaignID]struct{}{},
		endings: map[engine.CampaignID]*ending{}}
}

type (
	// wake brings a campaign up, whatever it then finds to do.
	wake struct{ Campaign engine.CampaignID }
	// forCampaign carries a request to a campaign's run.
	forCampaign struct {
		Campaign engine.CampaignID
		Msg      any
	}
	// ifUp carries a request to a campaign's run if that is up; else the answer
	// is nil.
	ifUp struct {
		Campaign engine.CampaignID
		Msg      any
	}
	// everyRun carries news to the runs that are up.
	everyRun struct{ Msg any }
	// campaignGone stops the actors of a campaign that does not exist, or that is
	// not this node's.
	campaignGone struct{ Campaign engine.CampaignID }
	// areYouThere is answered as soon as it is read.
	areYouThere struct{}
)

func (c *campaigns) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *wake:
		if !c.waits(m.Campaign, m, nil) {
			c.run(ctx, m.Campaign)
		}
	case *forCampaign:
		c.pass(ctx, m, ctx.Sender())
	case *ifUp:
		if pid := c.runs[m.Campaign]; pid != nil {
			ctx.RequestWithCustomSender(pid, m.Msg, ctx.Sender())
			return
		}
		reply(c.d, ctx.Sender(), nil, nil)
	case *areYouThere:
		reply(c.d, ctx.Sender(), nil, nil)
	case *campaignGone:
		if pid := c.runs[m.Campaign]; pid != nil {
			c.end(ctx, m.Campaign, &ending{pid: pid})
		}
	case *lastWordSaid:
		c.lastWordSaid(ctx, m)
	case *lastWordLate:
		c.lastWordLate(ctx, m)
	case *whoIsUp:
		reply(c.d, ctx.Sender(), slices.Sorted(maps.Keys(c.runs)), nil)
	case *whoDials:
		pids := slices.Collect(maps.Values(c.runs))
		for _, e := range c.endings {
			pids = append(pids, e.pid)
		}
		reply(c.d, ctx.Sender(), pids, nil)
	case *letGo:
		c.letGo(ctx, m.Campaign)
	case *hasLeft:
		delete(c.leaving, m.Campaign)
	case *actor.Terminated:
		c.terminated(ctx, m.Who)
	case *databaseState:
		c.every(ctx, m)
	case *everyRun:
		c.every(ctx, m.Msg)
	case *crash:
		panic("fault injected")
	}
}

func (c *campaigns) every(ctx actor.Context, msg any) {
	for _, pid := range c.runs {
		ctx.Send(pid, msg)
	}
}

// pass hands a request to a campaign's run, now or once its actors have stopped.
func (c *campaigns) pass(ctx actor.Context, m *forCampaign, sender *actor.PID) {
	if _, leaves := c.leaving[m.Campaign]; leaves {
		reply(c.d, sender, nil, ownership.ErrNotOwner)
		return
	}
	if !c.waits(m.Campaign, m, sender) {
		ctx.RequestWithCustomSender(c.run(ctx, m.Campaign), m.Msg, sender)
	}
}

func (c *campaigns) run(ctx actor.Context, id engine.CampaignID) *actor.PID {
	if pid, ok := c.runs[id]; ok {
		return pid
	}
	d := c.d
	props := d.props(func() actor.Actor { return &campaignActor{d: d, id: id} },
		actor.WithSupervisor(guard(d, "campaign", runRestarts)))
	name := "campaign-" + string(id)
	pid, err := ctx.SpawnNamed(props, name)
	if err != nil {
		// The guardian was restarted; the campaign lives on under its name.
		pid = actor.NewPID(ctx.ActorSystem().Address(), ctx.Self().Id+"/"+name)
	}
	pid = again(pid)
	ctx.Watch(pid)
	c.runs[id] = pid
	return pid
}

// campaignActor supervises one campaign's run, numbers and contacts. It keeps
// nothing that a crash could lose, so none of its children is ever stopped for
// a sibling's fault.
type campaignActor struct {
	d   *deps
	id  engine.CampaignID
	run *actor.PID
}

func (c *campaignActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *crashChild:
		if m.child == "" {
			panic("fault injected")
		}
		ctx.Send(actor.NewPID(c.run.Address, ctx.Self().Id+"/"+m.child), &crash{})
	case *actor.Started:
		d, id := c.d, c.id
		cp, _ := ctx.SpawnNamed(d.props(func() actor.Actor { return &contactsActor{d: d} },
			actor.WithSupervisor(supervise(d, "contact"))), "contacts")
		np, _ := ctx.SpawnNamed(d.props(func() actor.Actor { return newPool(d, id) },
			actor.WithSupervisor(supervise(d, "slot"))), "numbers")
		l := new(lives)
		c.run, _ = ctx.SpawnNamed(d.props(func() actor.Actor { return newRun(d, l, id, cp, np) }, d.mailboxes.of(id)), "run")
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		if c.run != nil {
			ctx.RequestWithCustomSender(c.run, ctx.Message(), ctx.Sender())
		}
	}
}
