package dialout

import (
	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/call"
)

// dialoutCall is one call outside campaigns: the shell of a call.Dialout. The struct, and with it
// the core, outlives a crash: only the message that caused it is lost.
type dialoutCall struct {
	callactor.Shell
	d      *Deps
	core   *call.Dialout
	parent *actor.PID
	first  any // first event; nil means a result is expected
	begun  bool
}

// newDialoutCall makes a call that begins with an event; nil means that the call is over and a
// result follows.
func newDialoutCall(d *Deps, parent *actor.PID, id engine.AttemptID, bot engine.Bot, first any) *dialoutCall {
	core := call.NewDialout(id, bot, d.Limits(), first == nil)
	c := &dialoutCall{Shell: callactor.NewShell(d.Process), d: d, core: core, parent: parent, first: first}
	c.Drive(core, &core.Call)
	return c
}

func (c *dialoutCall) Receive(ctx actor.Context) {
	c.Stamp()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.Begin(ctx.Self(), c.carryOut)
		c.start()
	case *actor.Stopping:
		c.Leave()
	case *actor.Stopped:
		c.Disown()
	case *actor.Restarting:
	default:
		c.Apply(m)
	}
}

func (c *dialoutCall) start() {
	switch {
	case c.begun:
		c.Apply(&call.Restarted{})
	case c.first != nil:
		c.Apply(c.first)
	}
	c.begun = true
}

// carryOut carries out the effects that only dialouts have.
func (c *dialoutCall) carryOut(e call.Effect) bool {
	d := c.d
	switch e := e.(type) {
	case *call.Persist:
		d.Root.Send(d.Writers.For(string(c.core.Of)), &writer.Persist{Write: *e.Write, ReplyTo: c.Self, Step: e.Step})
	case *call.ReleaseNumber:
		d.Root.Send(d.Numbers, e)
	case *call.Abandoned:
		d.Abandoned.Add(e.Number, c.Now, c.Now)
	case *call.WhenSettled:
		d.WhenSettled(e, c.parent)
	case *call.DialoutSuppressed:
		d.Root.Send(c.parent, e)
	case *call.DialoutReturned:
		d.Root.Send(c.parent, e)
	case *call.Returned:
		d.Root.Send(c.parent, &tell{Returned: e})
	case *call.DialoutOver:
		d.Root.Send(c.parent, &over{Attempt: e.Attempt, PID: c.Self, Results: e.Results})
	default:
		return false
	}
	return true
}
