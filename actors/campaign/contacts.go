package campaign

import (
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/call"
	core "dialler/engine/run"
)

// spawnContact asks the contacts supervisor for a contact's actor.
type spawnContact struct {
	Name string
	Seed *contactSeed
}

// roster asks for the actors of the contacts, each of which must report.
type roster struct {
	life    int64
	ReplyTo *actor.PID
}

// contactsActor supervises the contact actors of one campaign: a crashed one is restarted alone.
type contactsActor struct {
	d  *Deps
	of map[string]core.ContactActor // by the name of the actor
}

func newContacts(d *Deps) *contactsActor {
	return &contactsActor{d: d, of: map[string]core.ContactActor{}}
}

func (c *contactsActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnContact:
		d, seed := c.d, m.Seed
		props := d.Props(func() actor.Actor { return newContact(d, seed) })
		name := m.Name
		for i := 2; ; i++ {
			if pid, err := ctx.SpawnNamed(props, name); err == nil {
				c.of[pid.Id] = core.ContactActor{Actor: pid.Id, Contact: seed.row.ID, Number: seed.row.Number}
				return
			}
			// The contact's previous actor has not quite stopped yet.
			name = m.Name + "." + strconv.Itoa(i)
		}
	case *roster:
		called := &core.RosterCalled{Life: m.life}
		for _, pid := range ctx.Children() {
			called.Actors = append(called.Actors, c.of[pid.Id])
			ctx.Send(host.FreshPID(pid), &call.Report{})
		}
		ctx.Send(m.ReplyTo, called)
	case *actor.Terminated:
		delete(c.of, m.Who.Id)
	}
}

// decode converts a message for the core, and returns who waits for an answer. A contact is
// identified by the sender of its first report.
func (r *run) decode(msg any, sender *actor.PID) (any, engine.Request) {
	switch m := msg.(type) {
	case *call.Up:
		r.up[m.Contact] = sender
	case *call.Persist:
		r.up[m.Contact] = sender
	case *call.Reported:
		r.up[m.Row.ID] = sender
		return &core.Reported{Actor: sender.Id, Reported: *m}, ""
	case *call.Stopped:
		delete(r.up, m.Row.ID)
	default:
		return msg, host.Request(sender)
	}
	return msg, ""
}

// spawn starts a contact's actor.
func (r *run) spawn(e core.Spawn) {
	seed := &contactSeed{run: r.self, pool: r.pool, row: e.Row, rules: e.Rules, recover: e.Lost, first: e.First}
	r.d.Root.Send(r.contacts, &spawnContact{Name: "contact-" + string(e.Row.ID), Seed: seed})
}

// tell sends a command to a contact that is up.
func (r *run) tell(e core.Tell) {
	if pid := r.up[e.Contact]; pid != nil {
		r.d.Root.Send(pid, e.Command)
	}
}
