package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	admission "dialler/engine/dialout"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

type (
	// placeDialout: lookedUp, the database was asked for a bot that was not known.
	placeDialout struct {
		cmd      campaign.Dialout
		lookedUp bool
	}
	recoverCall struct{ Attempt attempt.Attempt }
	// leaseAny asks for any of the configured numbers, or for one of them.
	leaseAny struct {
		Attempt engine.AttemptID
		From    engine.PhoneNumber
		ReplyTo *actor.PID
		tried   map[engine.PhoneNumber]struct{}
	}
	anyLeased = admission.NumberLeased
	// dialoutOver: the call needs its actor no more, which has taken so many
	// results.
	dialoutOver struct {
		Attempt engine.AttemptID
		PID     *actor.PID
		Results int
	}
)

// dialout owns the calls outside campaigns; package engine/dialout admits them.
type dialout struct {
	d     *deps
	self  *actor.PID
	ready bool
	stash []stashed
	state *admission.State
	calls map[engine.AttemptID]*actor.PID
	// results are how many were passed on to a call's actor.
	results map[engine.AttemptID]int
	ops     map[int]*suppressedCalls
	opSeq   int
	effects []admission.Effect
}

func newDialout(d *deps) *dialout {
	return &dialout{d: d, state: admission.New(), calls: map[engine.AttemptID]*actor.PID{},
		results: map[engine.AttemptID]int{},
		ops:     map[int]*suppressedCalls{}}
}

func (o *dialout) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		o.self = ctx.Self()
		o.load(ctx)
		o.d.after(o.d.cfg.LeaseTTL/3, ctx.Self(), &expireLeases{})
	case *retryLoad:
		if !o.ready {
			o.load(ctx)
		}
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	case *crash:
		panic("fault injected")
	case *core.BotsChanged:
		o.apply(ctx, &admission.BotsChanged{Bots: m.Bots})
		o.ready = true
		stash := o.stash
		o.stash = nil
		for _, s := range stash {
			o.handle(ctx, s.msg, s.sender)
		}
	default:
		if !o.ready {
			o.stash = append(o.stash, stashed{m, ctx.Sender()})
			return
		}
		o.handle(ctx, m, ctx.Sender())
	}
}

func (o *dialout) load(ctx actor.Context) {
	d, self := o.d, ctx.Self()
	go func() {
		c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		bots, err := d.store.Bots(c)
		if err != nil {
			d.after(time.Second, self, &retryLoad{})
			return
		}
		d.root.Send(self, &core.BotsChanged{Bots: bots})
	}()
}

func (o *dialout) handle(ctx actor.Context, msg any, sender *actor.PID) {
	switch m := msg.(type) {
	case *placeDialout:
		o.apply(ctx, &admission.Place{Command: m.cmd, Request: request(sender), Attempt: newAttemptID(o.d.clock.Now()),
			LookedUp: m.lookedUp})
	case *fleet.Allotted, *call.TrunkReserved, *admission.NumberLeased, *admission.TooLate, *admission.AskAgain:
		o.apply(ctx, m)
	case *dialoutOver:
		if m.Results < o.results[m.Attempt] {
			return // one is on its way to it; it says this again
		}
		delete(o.calls, m.Attempt)
		delete(o.results, m.Attempt)
		o.suppressedCall(m.Attempt, func(int) bool { return true })
		o.apply(ctx, &admission.Over{Attempt: m.Attempt})
		ctx.Stop(m.PID)
	case *core.Suppressed:
		o.suppressed(ctx, m, sender)
	case *call.DialoutSuppressed:
		o.suppressedCall(m.Attempt, func(op int) bool { return op == m.Op })
	case *core.EndErasure:
		for _, pid := range o.calls {
			ctx.Send(pid, &call.Erased{Number: m.Number, Tombstone: m.Tombstone})
		}
	case *recoverCall:
		if o.calls[m.Attempt.ID] != nil {
			return
		}
		o.spawn(ctx, m.Attempt.ID, o.state.Bots[m.Attempt.Bot], &call.Started{Lost: &m.Attempt})
	case *call.StoreResult:
		id, _ := m.Call.Attempt()
		r := *m
		m = &r
		m.Request = request(sender)
		pid := o.calls[id]
		if pid == nil {
			pid = o.spawn(ctx, id, engine.Bot{}, nil)
		}
		o.results[id]++
		ctx.Send(pid, m)
	case *call.Show:
		if pid := o.calls[m.Attempt]; pid != nil {
			m.Request = request(sender)
			ctx.Send(pid, m)
			return
		}
		reply(o.d, sender, nil, call.ErrCallNotFound)
	case *call.Keys:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &call.Keys{Attempt: m.Attempt, Digits: m.Digits, Request: request(sender)})
			return
		}
		reply(o.d, sender, nil, call.ErrCallEnded)
	case *call.LegsGone:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, m)
		}
	case *call.Transfer:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &call.Transfer{Attempt: m.Attempt, To: m.To, Request: request(sender)})
			return
		}
		reply(o.d, sender, nil, call.ErrCallEnded)
	case *expireLeases:
		o.apply(ctx, &admission.Renew{})
		for _, pid := range o.calls { // its word may have been lost with a fault
			ctx.Send(pid, &call.SayAgain{})
		}
		o.d.after(o.d.cfg.LeaseTTL/3, ctx.Self(), m)
	}
}

// apply takes an event through the admission and carries out what it says.
func (o *dialout) apply(ctx actor.Context, event any) {
	o.effects = o.state.Apply(admission.Input{Now: o.d.clock.Now(), Boot: o.d.clock.Boot(), Event: event,
		Barred: o.barred()}, o.effects[:0])
	for _, e := range o.effects {
		o.do(ctx, e)
	}
	clear(o.effects)
}

// barred is why no call is placed from here now.
func (o *dialout) barred() error {
	switch {
	case o.d.draining.Load():
		return errDraining
	case o.d.fenced():
		return errFenced
	case o.d.dbDown.Load():
		return errDialoutDatabase
	}
	return nil
}

var (
	errDraining = engine.Unavailable("node_draining", "the dialler is being stopped and places no new call",
		5*time.Second)
	errDialoutDatabase = engine.Unavailable("database_unavailable",
		"the database does not answer and no call can be placed; try again", 2*time.Second)
)

// do carries out one effect of the admission.
func (o *dialout) do(ctx actor.Context, effect admission.Effect) {
	d := o.d
	switch e := effect.(type) {
	case admission.Refuse:
		reply(d, d.requester(e.Request), nil, e.Err)
	case admission.LookUp:
		o.lookUp(e.Place)
	case admission.Demand:
		ctx.Send(d.fleet, &seatDemand{Holder: fleet.Dialout, Bot: e.Bot, Want: e.Want, N: e.N, ReplyTo: o.self})
	case admission.ReserveTrunk:
		m := &reserveTrunk{Leg: e.Attempt.Leg(1), Attempt: e.Attempt, Only: e.Only, ReplyTo: o.self}
		if e.After > 0 {
			d.after(e.After, d.trunks, m)
		} else {
			ctx.Send(d.trunks, m)
		}
	case admission.ReleaseTrunk:
		ctx.Send(d.trunks, &trunkEvent{Trunk: e.Trunk, Leg: e.Leg, Over: true, At: d.clock.Now()})
	case admission.LeaseNumber:
		ctx.Send(d.numbers, &leaseAny{Attempt: e.Attempt, From: e.From, ReplyTo: o.self})
	case admission.ReleaseNumber:
		ctx.Send(d.numbers, &releaseNumber{Attempt: e.Attempt, Number: e.Number, End: e.End})
	case admission.Begin:
		o.spawn(ctx, e.Place.Attempt, e.Bot, e.Place)
	case admission.Later:
		d.after(e.After, o.self, e.Event)
	default:
		panic(fmt.Sprintf("actors: an effect %T of a dialout's admission is not carried out", effect))
	}
}

// lookUp asks the database for a bot that was made a moment ago, perhaps: by
// another node, which may have told this one before it was up.
func (o *dialout) lookUp(m *admission.Place) {
	d, self, to := o.d, o.self, o.d.requester(m.Request)
	go func() {
		c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		bots, err := d.store.Bots(c)
		if err != nil {
			reply(d, to, nil, journal.Unavailable(err))
			return
		}
		if slices.ContainsFunc(bots, func(b engine.Bot) bool { return b.ID == m.Command.Bot }) {
			d.botsChanged(bots)
		}
		d.root.RequestWithCustomSender(self, &placeDialout{cmd: m.Command, lookedUp: true}, to)
	}()
}

// spawn starts the actor of a call, under a name of its own: the one that the call
// had before may be stopping still.
func (o *dialout) spawn(ctx actor.Context, id engine.AttemptID, bot engine.Bot, first any) *actor.PID {
	c := newDialoutCall(o.d, ctx.Self(), id, bot, first)
	pid := again(ctx.SpawnPrefix(o.d.props(func() actor.Actor { return c }, actor.WithSupervisor(supervise(o.d, "call"))),
		"call-"+string(id)))
	o.calls[id] = pid
	return pid
}
