package campaign

import (
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	numberactor "dialler/actors/number"
	"dialler/engine"
)

// supervisor supervises one campaign's run, numbers and contacts. It holds no state that a crash
// could lose, so no child is ever stopped because a sibling failed.
type supervisor struct {
	d   *Deps
	id  engine.CampaignID
	run *actor.PID
}

func (c *supervisor) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started:
		d, id := c.d, c.id
		cp, _ := ctx.SpawnNamed(d.Props(func() actor.Actor { return newContacts(d) },
			actor.WithSupervisor(d.Supervise("contact"))), "contacts")
		np, _ := ctx.SpawnNamed(d.Props(func() actor.Actor { return numberactor.NewPool(d.System, d.Numbers) },
			actor.WithSupervisor(d.Supervise("slot"))), "numbers")
		l := new(activations)
		guardian := ctx.Parent()
		c.run, _ = ctx.SpawnNamed(d.Props(func() actor.Actor { return newRun(d, l, id, guardian, cp, np) },
			d.Mailboxes.Of(id)), "run")
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		if c.run != nil {
			ctx.RequestWithCustomSender(c.run, ctx.Message(), ctx.Sender())
		}
	}
}

// resumesAllButRun says whether a child of a campaign that faults is resumed, because a restart would
// stop its own children. Only the run is restarted: it reloads its durable state.
func resumesAllButRun(child *actor.PID) bool { return !strings.HasSuffix(child.Id, "/run") }
