package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/dialout"
	"dialler/engine/fleet"
	"dialler/engine/inbound"
	"dialler/engine/run"
)

// callsIn carries out what is decided about calls that come in: by package inbound what becomes of
// them, by package dialout who has a seat, and by package call each one that has begun.
type callsIn struct {
	p       *process
	ready   bool
	stash   []any // what came before it was ready
	came    *inbound.Calls
	seats   *dialout.State
	calls   map[engine.AttemptID]*callIn
	results map[engine.CallID]int // passed on to each call
}

type (
	// callsLoaded are the bots, and what an earlier process left.
	callsLoaded struct {
		bots []engine.Bot
		left []attempt.Attempt
	}
	// callFound is what the store knows of a call's numbers.
	callFound struct {
		attempt engine.AttemptID
		called  *inbound.Called
	}
	// callResult is a result for a call that came in.
	callResult struct{ call.StoreResult }
	// callOver says that a call no longer needs its shell.
	callOver struct {
		call    *callIn
		results int
	}
)

// bringUpCallsIn starts it, and takes over what an earlier process left.
func (p *process) bringUpCallsIn() {
	o := &callsIn{p: p, came: inbound.New(), seats: dialout.New(), calls: map[engine.AttemptID]*callIn{},
		results: map[engine.CallID]int{}}
	p.callsIn = o
	o.load()
	o.renew()
	if p.w.in.CallsBack > 0 {
		o.tellUntold()
	}
}

func (o *callsIn) load() {
	s := o.p.w.store
	o.p.put(o, func(err error) any {
		if err != nil {
			o.p.do(time.Second, o.load)
			return nil
		}
		m := &callsLoaded{}
		m.bots, _ = s.Bots(background)
		open, _ := s.OpenAttempts(background)
		watched, _ := s.OpenLegs(background)
		for _, a := range slices.Concat(open, watched) {
			if a.Campaign == "" {
				m.left = append(m.left, a)
			}
		}
		return m
	})
}

// renew keeps the seats, from time to time.
func (o *callsIn) renew() {
	o.p.again(leaseTTL/3, func() {
		o.apply(&dialout.Renew{})
		for _, id := range slices.Sorted(maps.Keys(o.calls)) {
			o.p.after(0, o.calls[id], &call.SayAgain{Results: o.results[id.Call()]})
		}
		o.renew()
	})
}

// tellCallsIn tells each call that came in.
func (w *campaignWorld) tellCallsIn(event any) {
	if w.process == nil || w.process.callsIn == nil {
		return
	}
	o := w.process.callsIn
	for _, id := range slices.Sorted(maps.Keys(o.calls)) {
		o.p.after(0, o.calls[id], event)
	}
}

func (o *callsIn) in() *process { return o.p }

func (o *callsIn) receive(event any, from engine.Request) {
	p := o.p
	if m, loaded := event.(*callsLoaded); loaded {
		o.apply(&dialout.BotsChanged{Bots: m.bots})
		for i := range m.left {
			o.begin(m.left[i].ID, &call.Started{Lost: &m.left[i]})
		}
		o.ready = true
		for _, e := range o.stash {
			p.after(0, o, e)
		}
		o.stash = nil
		return
	}
	if !o.ready {
		if m, ok := event.(*callResult); ok {
			m.Request = from
		}
		o.stash = append(o.stash, event)
		return
	}
	switch e := event.(type) {
	case *engine.IncomingCall:
		o.cameIn(inbound.Event{Kind: inbound.Offered, Attempt: e.Attempt, Call: e})
	case *callFound:
		o.cameIn(inbound.Event{Kind: inbound.Found, Attempt: e.attempt, Called: e.called})
	case *engine.LegEvent: // before it has begun
		if e.Kind.Final() {
			if o.calls[e.Attempt] == nil {
				delete(p.port, e.Attempt)
			}
			o.cameIn(inbound.Event{Kind: inbound.Left, Attempt: e.Attempt})
		}
	case *callResult:
		id, _ := e.Call.Attempt()
		a := o.calls[id]
		if a == nil {
			a = o.begin(id, nil)
		}
		o.results[e.Call]++
		m := e.StoreResult
		if from != "" {
			m.Request = from
		}
		a.receive(&m, "")
	case *callOver:
		o.over(e)
	default:
		o.apply(event)
	}
}

func (o *callsIn) over(e *callOver) {
	id := e.call.core.Of
	if e.results < o.results[id.Call()] || o.calls[id] != e.call {
		return
	}
	delete(o.calls, id)
	delete(o.results, id.Call())
	e.call.gone = true
	e.call.disown()
	o.cameIn(inbound.Event{Kind: inbound.Over, Attempt: id})
	o.apply(&dialout.Over{Attempt: id})
}

// barred is why no call is taken now.
func (o *callsIn) barred() error {
	if o.p.dbDown {
		return errDatabaseAway
	}
	return nil
}

// cameIn runs an event of a call through its machine.
func (o *callsIn) cameIn(ev inbound.Event) {
	ev.Now, ev.Barred = o.p.w.wall(), o.barred() != nil
	for _, e := range o.came.Apply(ev) {
		o.do(e)
	}
}

func (o *callsIn) do(effect inbound.Effect) {
	p, w := o.p, o.p.w
	switch e := effect.(type) {
	case inbound.Refuse:
		id, _, _ := e.Leg.Attempt()
		w.refuse(p, e.Leg)
		delete(p.port, id)
	case inbound.Ask:
		p.attachLegs(e.Attempt, o)
		p.put(o, func(err error) any {
			if err != nil {
				return &callFound{attempt: e.Attempt}
			}
			called, _ := w.store.CallIn(background, e.To, e.From, w.wall().Add(-inbound.Memory))
			return &callFound{e.Attempt, called}
		})
	case inbound.Seat:
		o.apply(&dialout.CallIn{Attempt: e.Call.In.Attempt, Bot: e.Call.Answer.Bot})
	case inbound.Withdraw:
		o.apply(&dialout.CallInLeft{Attempt: e.Attempt})
	case inbound.Begin:
		c := e.Call
		o.begin(c.In.Attempt, &call.TakeCall{Call: c.In, To: c.To, Caller: c.Caller, Media: c.Media,
			Returns: c.Answer.Returns, Variables: c.Answer.Variables, Message: c.Answer.Message, Bot: c.Answer.Bot,
			By: c.By})
	default:
		panic(fmt.Sprintf("sim: no handler for an effect %T of a call that came in", effect)) //nolint:forbidigo // as above
	}
}

// apply runs an event through the admission.
func (o *callsIn) apply(event any) {
	p, w := o.p, o.p.w
	for _, effect := range o.seats.Apply(dialout.Input{Now: w.wall(), Boot: w.bootTime(), Event: event,
		Barred: o.barred(), Heard: func(engine.BotID) bool { return true }}, nil) {
		switch e := effect.(type) {
		case dialout.Demand:
			p.do(p.seatLane.by(w.now, w.delay(ownersTake))-w.now, func() { o.demand(e) })
		case dialout.CallInSeated:
			o.cameIn(inbound.Event{Kind: inbound.Seated, Attempt: e.Attempt, By: e.By})
		case dialout.CallInRefused:
			o.cameIn(inbound.Event{Kind: inbound.NoSeat, Attempt: e.Attempt})
		case dialout.Later:
			if _, scheduled := e.Event.(*dialout.Look); !scheduled { // nothing is
				p.after(e.After, o, e.Event)
			}
		default:
			panic(fmt.Sprintf("sim: no handler for an effect %T of the admission", effect)) //nolint:forbidigo // as above
		}
	}
}

// demand has the fleet answer for seats.
func (o *callsIn) demand(e dialout.Demand) {
	p := o.p
	now := p.w.mono()
	g := p.fleet.Demand(now, fleet.Dialout, e.Want, 1, 0, leaseTTL)
	p.w.check.grantedTo(fleet.Dialout, g.Granted)
	p.after(p.w.delay(ownersTake), o, &fleet.Allotted{Bot: e.Bot, Seats: g.Granted, Target: g.Target, N: e.N})
	p.tellSeats(p.fleet.Over(now))
}

// --- one call ------------------------------------------------------------------------------

// callIn carries out the decisions of a call that came in.
type callIn struct {
	o     *callsIn
	core  *call.Dialout
	owned engine.AttemptID
	falls bool // with its next message, which is lost
	gone  bool
}

// begin starts a call with its first event, or, with nil, to store a result of one that is over.
func (o *callsIn) begin(id engine.AttemptID, first any) *callIn {
	var bot engine.Bot
	switch e := first.(type) {
	case *call.TakeCall:
		bot = o.seats.Bots[e.Bot]
	case *call.Started:
		bot = o.seats.Bots[e.Lost.Bot]
	}
	a := &callIn{o: o, core: call.NewDialout(id, bot, o.p.limits(), first == nil)}
	o.calls[id] = a
	if first != nil {
		o.p.after(0, a, first)
	}
	return a
}

func (a *callIn) in() *process             { return a.o.p }
func (a *callIn) of() *campaignRecord      { return nil }
func (a *callIn) call() *call.Call         { return &a.core.Call }
func (a *callIn) owns(id engine.AttemptID) { a.o.p.ownedBy(a, &a.owned, id) }
func (a *callIn) disown()                  { a.o.p.disowned(a, &a.owned) }

func (a *callIn) receive(event any, _ engine.Request) {
	switch {
	case a.gone:
	case a.falls:
		a.falls = false
		a.o.p.w.disturbAll() // the message may have been a request
		a.apply(&call.Restarted{})
	default:
		a.apply(event)
	}
}

func (a *callIn) apply(event any) { a.o.p.applyTo(a.core, event, a.do) }

func (a *callIn) do(effect call.Effect) {
	p, w := a.o.p, a.o.p.w
	switch e := effect.(type) {
	case *call.Persist:
		w.persisted(e.Write)
		p.writer.submit(queued{write: e.Write, callIn: a, step: e.Step})
	case *call.PlaceLeg:
		w.take(a, &e.Leg)
	case *call.RefuseLeg:
		w.refuse(p, e.Leg)
	case *call.DialoutOver:
		p.after(0, a.o, &callOver{a, e.Results})
	case *call.DialoutSuppressed:
	case *call.Returned:
		w.returned(e.Command, p)
	case *call.ReserveTrunk, *call.TrunkEvent, *call.ReleaseNumber, *call.Abandoned:
		w.check.broke(nil, "call %s came in, and %T counts it as one of ours", a.core.Of.Short(), e)
	default:
		if !p.carryOut(a, effect) {
			panic(fmt.Sprintf("sim: no handler for an effect %T of a call that came in", effect)) //nolint:forbidigo // as above
		}
	}
}

// --- the network ---------------------------------------------------------------------------

// legIn is a call that came in, as this process's port knows it.
func (p *process) legIn(id engine.LegID) *leg {
	of, _, _ := id.Attempt()
	for _, x := range p.port[of] {
		if x.id == id && x.cameIn {
			return x
		}
	}
	return nil
}

// take answers a call.
func (w *campaignWorld) take(a *callIn, e *engine.PlaceLeg) {
	x := a.in().legIn(e.Leg)
	if x == nil { // the caller is gone
		x = &leg{id: e.Leg, attempt: e.Attempt, sink: a}
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled})
		return
	}
	x.sink = a
	for i := range x.events {
		x.deliver(w, i)
	}
	switch {
	case x.over:
	case w.bootTime() > e.SendBy:
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentExpired})
	default:
		w.answer(x)
	}
}

// refuse refuses a call that was not answered.
func (w *campaignWorld) refuse(p *process, id engine.LegID) {
	if x := p.legIn(id); x != nil && !x.answered {
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled})
	}
}

// resultOfCallIn stores a result of a call that came in. Once that is over the contact who called back is told.
func (w *campaignWorld) resultOfCallIn(id engine.AttemptID, x attempt.Result) {
	w.ask(&request{what: "result of a call that came in",
		event: &callResult{call.StoreResult{Call: id.Call(), Result: x}}, done: func(_ any, err error) {
			a, _ := w.stored(id)
			if err == nil && a.Returns != "" && a.ServedAt != nil && a.EndedAt != nil {
				w.returned(campaign.SubmitResult{Call: a.Returns.Call(), Result: x,
					CalledBack: &campaign.CalledBack{Attempt: id, Talk: a.Talk()}}, nil)
			}
		}})
}

// returned tells the contact who called back of that call. A process does so a few times, until its end; the bot
// that is to be answered as often as it takes.
func (w *campaignWorld) returned(cmd campaign.SubmitResult, by *process) {
	id, _ := cmd.Call.Attempt()
	before, _ := w.stored(id)
	if c := w.byID[before.Campaign]; c != nil && !w.deaf {
		w.ask(&request{c: c, what: "called back", by: by, event: &run.SubmitResult{Contact: before.Contact,
			Result: call.StoreResult{Call: cmd.Call, Result: cmd.Result, Late: cmd.Late, CalledBack: cmd.CalledBack}}})
	}
}

// untoldEvery is how often a process looks for contacts who have not heard of their call back.
const untoldEvery = 30 * time.Second

// tellUntold tells them, again and again. From time to time it is so for everybody.
func (o *callsIn) tellUntold() {
	p, w := o.p, o.p.w
	p.put(o, func(err error) any {
		if err == nil && !w.deaf {
			list, _ := w.store.CallsBackUntold(background, w.wall().Add(-7*24*time.Hour), 100)
			for i := range list {
				cmd := call.CalledBack(&list[i]).Command
				cmd.Late = true
				w.returned(cmd, p)
			}
		}
		return nil
	})
	look := p.again
	if untold, _ := w.store.CallsBackUntold(background, time.Time{}, 1); len(untold) > 0 && !w.deaf {
		look = p.do // this is still to happen
	}
	look(untoldEvery, o.tellUntold)
}
