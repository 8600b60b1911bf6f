package campaign

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	"dialler/actors/writer"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/contact"
)

// rules are the campaign's settings as a contact needs them.
type rules = call.Rules

// contactSeed is what a contact actor starts from.
type contactSeed struct {
	run   *actor.PID
	pool  *actor.PID
	row   contact.Contact
	rules *rules
	// first are the messages waiting for it.
	first []any
	// recover is the row's attempt, if an earlier process made it.
	recover *attempt.Attempt
	// core is the core of the actor's latest life, nil before its first. After a restart it takes
	// over the messages waiting there, and loads everything else.
	core *call.Contact
}

// contactActor is one contact of a running campaign, in memory while there is something to do: the
// shell of a call.Contact.
type contactActor struct {
	callactor.Shell
	d    *Deps
	seed *contactSeed
	core *call.Contact
}

func newContact(d *Deps, seed *contactSeed) *contactActor {
	return &contactActor{Shell: callactor.NewShell(d.Process), d: d, seed: seed}
}

func (a *contactActor) Receive(ctx actor.Context) {
	a.Stamp()
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.start(ctx.Self())
	case *actor.Stopping:
		a.Leave()
	case *actor.Stopped, *actor.Restarting:
		a.Disown()
	case *writer.BarrierPassed:
		a.load()
	default:
		a.turn(msg)
	}
}

func (a *contactActor) start(self *actor.PID) {
	s := a.seed
	a.Begin(self, a.carryOut)
	a.Owner = callactor.Owner{Campaign: s.row.Campaign, Contact: s.row.ID}
	var event any = &call.Restarted{}
	if s.core == nil {
		event = &call.Started{Lost: s.recover}
		a.core = call.NewContact(s.row, s.rules, a.d.Limits(), s.first)
	} else {
		a.core = call.NewContact(s.row, s.core.Rules, a.d.Limits(), s.core.Stash)
	}
	s.core, s.first, s.recover = a.core, nil, nil
	a.Drive(a.core, &a.core.Call)
	a.turn(event)
}

// turn handles an event, then the events that waited for the contact to be loaded.
func (a *contactActor) turn(event any) {
	for ok := true; ok; event, ok = a.core.Next() {
		a.Apply(event)
	}
}

// carryOut carries out the effects that only contacts have.
func (a *contactActor) carryOut(e call.Effect) bool {
	d := a.d
	switch e := e.(type) {
	case *call.ReleaseNumber:
		d.Root.Send(a.seed.pool, e)
	case *call.AskEligibility:
		a.ask(e)
	case *call.LoadContact:
		d.Root.Send(a.seed.run, &writer.Barrier{ReplyTo: a.Self}) // after the writes still queued
	case *call.WhenSettled:
		d.WhenSettled(e, a.seed.run)
	case *call.Stopped:
		d.Root.Send(a.seed.run, e)
		d.Root.Stop(a.Self)
	case *call.Up, *call.Reported, *call.Persist: // the sender tells the run where to answer
		d.Root.RequestWithCustomSender(a.seed.run, e, a.Self)
	case call.ToRun:
		d.Root.Send(a.seed.run, e)
	default:
		return false
	}
	return true
}

func (a *contactActor) load() {
	id, d, self := a.seed.row.ID, a.d, a.Self
	go func() {
		ctx, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		d.Root.Send(self, call.ReadContact(ctx, d.Store, id))
	}()
}

func (a *contactActor) ask(e *call.AskEligibility) {
	d, self := a.d, a.Self
	go func() {
		ctx, cancel := context.WithTimeout(d.Ctx, 2*d.EligibilityBudget)
		defer cancel()
		d.Root.Send(self, &call.EligibilityKnown{Dial: e.Dial, Verdict: d.Eligibility.Eligible(ctx, e.Question)})
	}()
}
