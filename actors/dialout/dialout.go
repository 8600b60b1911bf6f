package dialout

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	fleetactor "dialler/actors/fleet"
	"dialler/actors/host"
	numberactor "dialler/actors/number"
	trunkactor "dialler/actors/trunk"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	admission "dialler/engine/dialout"
	"dialler/engine/fleet"
	"dialler/engine/inbound"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

type (
	// Place places one call; lookedUp says that the database was already asked for a bot that was
	// not known.
	Place struct {
		Command  campaign.Dialout
		lookedUp bool
	}
	// Recover takes over a call that an earlier process, or a node that is gone, has placed.
	Recover struct{ Attempt attempt.Attempt }
	// retryLoad retries what could not be loaded, expire renews seats.
	retryLoad struct{}
	expire    struct{}
	// over says that the call no longer needs its actor, which has received this many results.
	over struct {
		Attempt engine.AttemptID
		PID     *actor.PID
		Results int
	}
)

// dialout owns the calls outside campaigns; package engine/dialout admits them.
type dialout struct {
	d     *Deps
	self  *actor.PID
	ready bool
	stash []host.Stashed
	state *admission.State
	calls map[engine.AttemptID]*actor.PID
	came  *inbound.Calls // calls that came in
	// results counts the results passed on to each call's actor.
	results map[engine.AttemptID]int
	ops     map[int]*suppressedCalls
	opSeq   int
	effects []admission.Effect
}

// New makes the actor that owns the calls outside campaigns.
func New(d *Deps) actor.Actor {
	return &dialout{d: d, state: admission.New(), came: inbound.New(), calls: map[engine.AttemptID]*actor.PID{},
		results: map[engine.AttemptID]int{},
		ops:     map[int]*suppressedCalls{}}
}

func (o *dialout) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		o.self = ctx.Self()
		o.load(ctx)
		o.d.After(o.d.LeaseTTL/3, ctx.Self(), &expire{})
	case *retryLoad:
		if !o.ready {
			o.load(ctx)
		}
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	case *core.BotsChanged:
		o.apply(ctx, &admission.BotsChanged{Bots: m.Bots})
		if !o.ready {
			o.ready = true
			o.apply(ctx, &admission.Look{})
			o.tellUntold(&lookUntold{untoldFirst})
		}
		stash := o.stash
		o.stash = nil
		for _, s := range stash {
			o.handle(ctx, s.Msg, s.Sender)
		}
	default:
		if !o.ready {
			o.stash = append(o.stash, host.Stashed{Msg: m, Sender: ctx.Sender()})
			return
		}
		o.handle(ctx, m, ctx.Sender())
	}
}

func (o *dialout) load(ctx actor.Context) {
	d, self := o.d, ctx.Self()
	go func() {
		c, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		bots, err := d.Store.Bots(c)
		if err != nil {
			d.After(time.Second, self, &retryLoad{})
			return
		}
		d.Root.Send(self, &core.BotsChanged{Bots: bots})
	}()
}

func (o *dialout) handle(ctx actor.Context, msg any, sender *actor.PID) {
	switch m := msg.(type) {
	case *Place:
		o.apply(ctx, &admission.Place{Command: m.Command, Request: host.Request(sender),
			Attempt: o.attemptOf(&m.Command), LookedUp: m.lookedUp})
	case *Cancel:
		o.apply(ctx, &admission.Cancel{Dialout: m.Dialout, Who: m.Who, Request: host.Request(sender)})
	case *fleet.Allotted, *call.TrunkReserved, *admission.NumberLeased, *admission.NumberAsked, *engine.SocketEvent,
		*admission.TooLate, *admission.AskAgain, *admission.Look, *admission.DueRead, *call.Durable, *call.DialoutReturned:
		o.apply(ctx, m)
	case *over:
		if m.Results < o.results[m.Attempt] {
			return // a result is on its way to it; it will report over again
		}
		delete(o.calls, m.Attempt)
		delete(o.results, m.Attempt)
		o.cameIn(ctx, inbound.Event{Kind: inbound.Over, Attempt: m.Attempt})
		o.suppressedCall(m.Attempt, func(int) bool { return true })
		o.apply(ctx, &admission.Over{Attempt: m.Attempt})
		ctx.Stop(m.PID)
	case *Numbers:
		if m.Also != "" {
			o.came.KnowAlso(m.Also)
		} else {
			o.came.Know(m.All)
		}
	case *CalledIn:
		o.cameIn(ctx, inbound.Event{Kind: inbound.Offered, Attempt: m.Call.Attempt, Call: &m.Call})
	case *found:
		o.cameIn(ctx, inbound.Event{Kind: inbound.Found, Attempt: m.attempt, Called: m.called})
	case *rings:
		if c := o.came.Of[m.attempt]; c != nil && c.State == inbound.Seating {
			o.d.Phone.RingLeg(c.In.Leg)
		}
	case *gaveUp:
		if o.calls[m.attempt] == nil {
			o.d.Phone.ForgetLegs(m.attempt)
		}
		o.cameIn(ctx, inbound.Event{Kind: inbound.Left, Attempt: m.attempt})
	case *tell:
		o.tell(m)
	case *lookUntold:
		o.tellUntold(m)
	case *core.Suppressed:
		o.suppressed(ctx, m, sender)
	case *call.DialoutSuppressed:
		o.suppressedCall(m.Attempt, func(op int) bool { return op == m.Op })
	case *core.EndErasure:
		for _, pid := range o.calls {
			ctx.Send(pid, &call.Erased{Number: m.Number, Tombstone: m.Tombstone})
		}
	case *Recover:
		if o.calls[m.Attempt.ID] != nil {
			return
		}
		o.spawn(ctx, m.Attempt.ID, o.state.Bots[m.Attempt.Bot], &call.Started{Lost: &m.Attempt})
	case *call.StoreResult:
		id, _ := m.Call.Attempt()
		r := *m
		m = &r
		m.Request = host.Request(sender)
		pid := o.calls[id]
		if pid == nil {
			pid = o.spawn(ctx, id, engine.Bot{}, nil)
		}
		o.results[id]++
		ctx.Send(pid, m)
	case *call.Show:
		if pid := o.calls[m.Attempt]; pid != nil {
			m.Request = host.Request(sender)
			ctx.Send(pid, m)
			return
		}
		o.d.Reply(sender, nil, call.ErrCallNotFound)
	case *call.Keys:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &call.Keys{Attempt: m.Attempt, Digits: m.Digits, Request: host.Request(sender)})
			return
		}
		o.d.Reply(sender, nil, call.ErrCallEnded)
	case *call.LegsGone:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, m)
		}
	case *call.Taken:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, m)
		}
	case *call.Transfer:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &call.Transfer{Attempt: m.Attempt, To: m.To, Request: host.Request(sender)})
			return
		}
		o.d.Reply(sender, nil, call.ErrCallEnded)
	case *expire:
		o.apply(ctx, &admission.Renew{})
		for id, pid := range o.calls { // a fault may have lost its report
			ctx.Send(pid, &call.SayAgain{Results: o.results[id]})
		}
		o.d.After(o.d.LeaseTTL/3, ctx.Self(), m)
	}
}

// apply runs an event through the admission and carries out the effects.
func (o *dialout) apply(ctx actor.Context, event any) {
	now := o.d.Clock.Now()
	o.effects = o.state.Apply(admission.Input{Now: now, Boot: o.d.Clock.Boot(), Event: event, Barred: o.barred(),
		Heard: func(id engine.BotID) bool { return o.d.Reach.Heard(id, now) }, Here: o.d.Here()}, o.effects[:0])
	for _, e := range o.effects {
		o.do(ctx, e)
	}
	clear(o.effects)
}

// barred returns why no call can be placed from here now.
func (o *dialout) barred() error {
	switch {
	case o.d.Draining.Load():
		return errDraining
	case o.d.Fenced():
		return errFenced
	case o.d.Writers.Database.Away():
		return errDialoutDatabase
	}
	return nil
}

var (
	errDraining = engine.Unavailable("node_draining", "the dialler is stopping and places no new calls",
		5*time.Second)
	// errFenced refuses a call on a node whose lease ran out.
	errFenced = engine.Unavailable("node_fenced",
		"", 2*time.Second)
	errDialoutDatabase = engine.Unavailable("database_unavailable",
		"the database does not answer and no call can be placed; try again", 2*time.Second)
)

// do carries out one effect of the admission.
func (o *dialout) do(ctx actor.Context, effect admission.Effect) {
	d := o.d
	switch e := effect.(type) {
	case admission.Refuse:
		d.Reply(d.Requester(e.Request), nil, e.Err)
	case admission.LookUp:
		o.lookUp(e.Place)
	case admission.Demand:
		ctx.Send(d.Fleet, &fleetactor.Demand{Holder: fleet.Dialout, Bot: e.Bot, Want: e.Want, N: e.N, ReplyTo: o.self})
	case admission.ReserveTrunk:
		m := &trunkactor.Reserve{Leg: e.Attempt.Leg(1), Attempt: e.Attempt, Only: e.Only, ReplyTo: o.self}
		if e.After > 0 {
			d.After(e.After, d.Trunks, m)
		} else {
			ctx.Send(d.Trunks, m)
		}
	case admission.ReleaseTrunk:
		ctx.Send(d.Trunks, &call.TrunkEvent{Trunk: e.Trunk, Leg: e.Leg, Over: true, At: d.Clock.Now()})
	case admission.AskNumber:
		ctx.Send(d.Numbers, &numberactor.IsOurs{Place: e.Place, ReplyTo: o.self})
	case admission.LeaseNumber:
		ctx.Send(d.Numbers, &numberactor.LeaseAny{Attempt: e.Attempt, From: e.From, ReplyTo: o.self})
	case admission.ReleaseNumber:
		ctx.Send(d.Numbers, &call.ReleaseNumber{Attempt: e.Attempt, Number: e.Number, End: e.End})
	case admission.OpenSocket:
		e.Open.Endpoints = d.Reach.Order(e.Bot, e.Open.Endpoints)
		d.Media.OpenSocket(e.Open, func(ev engine.SocketEvent) { d.Root.Send(o.self, &ev) })
	case admission.CloseSocket:
		d.Media.CloseSocket(e.Socket, 0)
	case *call.BotTried:
		d.Root.Send(d.Fleet, e)
	case admission.Begin:
		o.spawn(ctx, e.Place.Attempt, e.Bot, e.Place)
	case admission.Later:
		d.After(e.After, o.self, e.Event)
	default:
		if o.wait(effect) || o.seating(ctx, effect) {
			return
		}
		panic(fmt.Sprintf("actors: no handler for effect %T of a dialout's admission", effect))
	}
}

// lookUp asks the database for an unknown bot: another node may have created it a moment ago and
// told this one before it was up.
func (o *dialout) lookUp(m *admission.Place) {
	d, self, to := o.d, o.self, o.d.Requester(m.Request)
	go func() {
		c, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		bots, err := d.Store.Bots(c)
		if err != nil {
			d.Reply(to, nil, journal.Unavailable(err))
			return
		}
		if slices.ContainsFunc(bots, func(b engine.Bot) bool { return b.ID == m.Command.Bot }) {
			d.BotsChanged(bots)
		}
		d.Root.RequestWithCustomSender(self, &Place{Command: m.Command, lookedUp: true}, to)
	}()
}

// spawn starts the actor of a call, under a new name: an earlier actor of the same call may still
// be stopping.
func (o *dialout) spawn(ctx actor.Context, id engine.AttemptID, bot engine.Bot, first any) *actor.PID {
	c := newDialoutCall(o.d, ctx.Self(), id, bot, first)
	pid := host.FreshPID(ctx.SpawnPrefix(o.d.Props(func() actor.Actor { return c },
		actor.WithSupervisor(o.d.Supervise("call"))),
		"call-"+string(id)))
	o.calls[id] = pid
	return pid
}
