package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
)

// dialoutCall is one call outside campaigns: the shell of a call.Dialout. Its struct
// outlives a crash, and with it the core: only the message that crashed it is lost.
type dialoutCall struct {
	callShell
	core   *call.Dialout
	parent *actor.PID
	first  any // event, nil: a result is awaited
	begun  bool
}

// newDialoutCall gives a call that begins with an event, nil: it is over, and a result
// of it follows.
func newDialoutCall(d *deps, parent *actor.PID, id engine.AttemptID, bot engine.Bot, first any) *dialoutCall {
	core := call.NewDialout(id, bot, d.limits(), first == nil)
	shell := callShell{d: d, logic: core, call: &core.Call}
	return &dialoutCall{callShell: shell, core: core, parent: parent, first: first}
}

func (c *dialoutCall) Receive(ctx actor.Context) {
	c.stamp()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.begin(ctx.Self(), c.carryOut)
		c.start()
	case *actor.Stopping, *actor.Stopped:
		c.disown()
	case *actor.Restarting:
	case *crash:
		panic("fault injected")
	default:
		c.apply(m)
	}
}

func (c *dialoutCall) start() {
	switch {
	case c.begun:
		c.apply(&call.Restarted{})
	case c.first != nil:
		c.apply(c.first)
	}
	c.begun = true
}

// carryOut carries out the effects that are a dialout's alone.
func (c *dialoutCall) carryOut(e call.Effect) bool {
	d := c.d
	switch e := e.(type) {
	case *call.Persist:
		d.root.Send(d.writerFor(string(c.core.Of)), &persist{Write: *e.Write, ReplyTo: c.self, Step: e.Step})
	case *call.ReleaseNumber:
		d.root.Send(d.numbers, e)
	case *call.Abandoned:
		d.abandons.add(e.Number, c.now, c.now)
	case *call.WhenSettled:
		d.whenSettled(e, c.parent)
	case *call.DialoutSuppressed:
		d.root.Send(c.parent, e)
	case *call.DialoutOver:
		d.root.Send(c.parent, &dialoutOver{Attempt: e.Attempt, PID: c.self, Results: e.Results})
	default:
		return false
	}
	return true
}
