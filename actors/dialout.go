package actors

import (
	"context"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
)

// dialoutLimit bounds the conversation of a call outside campaigns.
const dialoutLimit = 15 * time.Minute

// dialoutPatience is how long a dialout may wait for seat, trunk and number.
const dialoutPatience = 2 * time.Second

type (
	placeDialout struct{ cmd campaign.Dialout }
	recoverCall  struct{ Attempt attempt.Attempt }
	// leaseAny asks for any of the configured numbers, or for one of them.
	leaseAny struct {
		Attempt engine.AttemptID
		From    engine.PhoneNumber
		ReplyTo *actor.PID
		tried   map[engine.PhoneNumber]struct{}
	}
	anyLeased struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		Err     error
	}
	dialoutOver struct {
		Attempt engine.AttemptID
		PID     *actor.PID
	}
	// dialoutAgain asks a call to say once more if it is over: its word may have
	// been lost with a fault.
	dialoutAgain struct{}
	dialoutLate  struct{ Attempt engine.AttemptID }
)

// dialout places calls outside campaigns: it never over-dials, a seat is held
// first.
type dialout struct {
	d     *deps
	bots  map[engine.BotID]engine.Bot
	ready bool
	stash []stashed
	seats map[engine.BotID]*dialoutSeats
	calls map[engine.AttemptID]*actor.PID
	wants map[engine.AttemptID]*dialoutWant
	// seated are the calls that hold a seat, and of which bot.
	seated map[engine.AttemptID]engine.BotID
	now    time.Time
}

// dialoutSeats are the seats of one bot that dialout holds and uses.
type dialoutSeats struct {
	granted, used int
	asked         int            // number of the last demand
	queue         []*dialoutWant // wait for the fleet's word
}

// dialoutWant is a dialout that gathers what it needs: seat, trunk, number.
type dialoutWant struct {
	cmd     campaign.Dialout
	replyTo *actor.PID
	bot     engine.Bot
	attempt engine.AttemptID
	trunk   engine.TrunkID
	media   *engine.MediaProfile // the trunk's
	seated  bool
	stop    func()
}

// keyCap is what bounds the dialouts of the key that asked, nil when nothing does.
func (w *dialoutWant) keyCap(now time.Time) *journal.KeyCap {
	if w.cmd.DayCap <= 0 {
		return nil
	}
	return &journal.KeyCap{Key: w.cmd.Who.Key, Calls: w.cmd.DayCap, Now: now}
}

func newDialout(d *deps) *dialout {
	return &dialout{d: d, bots: map[engine.BotID]engine.Bot{}, seats: map[engine.BotID]*dialoutSeats{},
		calls: map[engine.AttemptID]*actor.PID{}, wants: map[engine.AttemptID]*dialoutWant{},
		seated: map[engine.AttemptID]engine.BotID{}}
}

func (o *dialout) Receive(ctx actor.Context) {
	o.now = o.d.clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		d, self := o.d, ctx.Self()
		go func() {
			c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
			defer cancel()
			bots, err := d.store.Bots(c)
			if err != nil {
				d.after(time.Second, self, &retryLoad{})
				return
			}
			d.root.Send(self, &refreshBots{bots})
		}()
		d.after(d.cfg.LeaseTTL/3, self, &expireLeases{})
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	case *crash:
		panic("fault injected")
	case *refreshBots:
		clear(o.bots)
		for _, b := range m.bots {
			o.bots[b.ID] = b
		}
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

func (o *dialout) handle(ctx actor.Context, msg any, sender *actor.PID) {
	switch m := msg.(type) {
	case *placeDialout:
		o.place(ctx, m, sender)
	case *seatsAllotted:
		o.allotted(ctx, m)
	case *trunkReserved:
		o.trunk(ctx, m)
	case *anyLeased:
		o.number(ctx, m)
	case *dialoutLate:
		if w := o.wants[m.Attempt]; w != nil {
			o.fail(ctx, w, engine.Unavailable("no_capacity", "no capacity for the call; try again", 2*time.Second))
		}
	case *dialoutOver:
		delete(o.calls, m.Attempt)
		if bot, ok := o.seated[m.Attempt]; ok {
			delete(o.seated, m.Attempt)
			o.seatBack(ctx, bot)
		}
		ctx.Stop(m.PID)
	case *numbersSuppressed, *endErasure:
		for _, pid := range o.calls {
			ctx.Send(pid, m)
		}
	case *recoverCall:
		o.spawn(ctx, &dialoutCall{d: o.d, parent: ctx.Self(), recover: &m.Attempt, bot: o.bots[m.Attempt.Bot]}, m.Attempt.ID)
	case *storeResult:
		id, _ := m.Call.Attempt()
		r := *m
		m = &r
		m.ReplyTo = sender
		pid := o.calls[id]
		if pid == nil {
			pid = o.spawn(ctx, &dialoutCall{d: o.d, parent: ctx.Self(), stored: true}, id)
		}
		ctx.Send(pid, m)
	case *liveAttempt:
		if pid := o.calls[m.Attempt]; pid != nil {
			m.ReplyTo = sender
			ctx.Send(pid, m)
			return
		}
		reply(o.d, sender, nil, errCallNotFound)
	case *tellContact:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &tellCall{Attempt: m.Attempt, Digits: m.Digits, ReplyTo: sender})
			return
		}
		reply(o.d, sender, nil, errCallEnded)
	case *transferContact:
		if pid := o.calls[m.Attempt]; pid != nil {
			ctx.Send(pid, &transferCall{Attempt: m.Attempt, To: m.To, ReplyTo: sender})
			return
		}
		reply(o.d, sender, nil, errCallEnded)
	case *expireLeases:
		for bot, s := range o.seats {
			if s.granted > 0 || len(s.queue) > 0 {
				o.demand(ctx, bot)
			}
		}
		for _, pid := range o.calls {
			ctx.Send(pid, &dialoutAgain{})
		}
		o.d.after(o.d.cfg.LeaseTTL/3, ctx.Self(), m)
	}
}

func (o *dialout) place(ctx actor.Context, m *placeDialout, sender *actor.PID) {
	cmd := m.cmd
	bot, ok := o.bots[cmd.Bot]
	switch {
	case !ok:
		reply(o.d, sender, nil, engine.NotFound("bot_not_found", "no bot has this identifier"))
		return
	case !bot.Active:
		reply(o.d, sender, nil, engine.Conflict("bot_inactive", "the bot is inactive; activate it or choose another"))
		return
	case o.d.draining.Load():
		reply(o.d, sender, nil, engine.Unavailable("node_draining", "the dialler is being stopped and places no new call", 5*time.Second))
		return
	case o.d.dbDown.Load():
		reply(o.d, sender, nil, engine.Unavailable("database_unavailable", "the database does not answer and no call can be placed; try again", 2*time.Second))
		return
	case !cmd.Deadline.IsZero() && !o.now.Before(cmd.Deadline):
		reply(o.d, sender, nil, engine.Unavailable("deadline_passed", "the command waited too long and was not executed; try again", time.Second))
		return
	}
	var fields []engine.FieldError
	for _, v := range bot.Variables {
		if _, ok := cmd.Variables[v]; !ok {
			fields = append(fields, engine.FieldError{Field: "variables." + v, Code: "missing", Message: "the bot needs this variable"})
		}
	}
	if len(fields) > 0 {
		reply(o.d, sender, nil, engine.Invalid("missing_variables", "the bot needs variables that were not given", fields...))
		return
	}
	w := &dialoutWant{cmd: cmd, replyTo: sender, bot: bot, attempt: newAttemptID(o.now)}
	o.wants[w.attempt] = w
	w.stop = o.d.after(dialoutPatience, ctx.Self(), &dialoutLate{w.attempt})
	s := o.seats[bot.ID]
	if s == nil {
		s = &dialoutSeats{}
		o.seats[bot.ID] = s
	}
	s.queue = append(s.queue, w)
	o.serve(ctx, bot.ID)
	o.demand(ctx, bot.ID)
}

func (o *dialout) demand(ctx actor.Context, bot engine.BotID) {
	s := o.seats[bot]
	s.asked++
	ctx.Send(o.d.fleet, &seatDemand{Holder: fleet.Dialout, Bot: bot, Want: s.used + len(s.queue), N: s.asked, ReplyTo: ctx.Self()})
}

func (o *dialout) allotted(ctx actor.Context, m *seatsAllotted) {
	s := o.seats[m.Bot]
	if s == nil {
		return
	}
	s.granted = m.Seats
	o.serve(ctx, m.Bot)
	if s.granted <= s.used && m.N == s.asked { // the answer to all who wait
		err := engine.Unavailable("no_capacity", "the fleet has no free seat; try again", 2*time.Second)
		if m.Outage != nil {
			err = engine.Unavailable("bot_unavailable", "the bot takes no calls now ("+m.Outage.Reason+"); try again once it does", 5*time.Second)
		}
		for _, w := range s.queue { // the fleet has none to give now
			o.fail(ctx, w, err)
		}
		s.queue = nil
	}
}

// serve gives seats that are held and free to those who wait.
func (o *dialout) serve(ctx actor.Context, bot engine.BotID) {
	s := o.seats[bot]
	for len(s.queue) > 0 && s.used < s.granted {
		w := s.queue[0]
		s.queue = s.queue[1:]
		if o.wants[w.attempt] == nil {
			continue
		}
		s.used++
		w.seated = true
		ctx.Send(o.d.trunks, &reserveTrunk{Leg: w.attempt.Leg(1), Attempt: w.attempt, Only: w.cmd.Trunk, ReplyTo: ctx.Self()})
	}
}

func (o *dialout) seatBack(ctx actor.Context, bot engine.BotID) {
	if s := o.seats[bot]; s != nil {
		s.used--
		o.serve(ctx, bot)
		o.demand(ctx, bot)
	}
}

func (o *dialout) trunk(ctx actor.Context, m *trunkReserved) {
	w := o.wants[m.Attempt]
	if w == nil {
		if m.Trunk != "" {
			ctx.Send(o.d.trunks, &trunkEvent{Trunk: m.Trunk, Leg: m.Leg, Over: true, At: o.now})
		}
		return
	}
	if wait := m.RetryAt.Sub(o.now); m.Trunk == "" && !m.RetryAt.IsZero() && wait < dialoutPatience {
		// The trunk's next token is near: worth the wait.
		o.d.after(wait, o.d.trunks, &reserveTrunk{Leg: w.attempt.Leg(1), Attempt: w.attempt, Only: w.cmd.Trunk, ReplyTo: ctx.Self()})
		return
	}
	if m.Trunk == "" {
		o.fail(ctx, w, engine.Unavailable("no_capacity", "no trunk can take the call now ("+string(m.Constraint)+"); try again", 2*time.Second))
		return
	}
	w.trunk, w.media = m.Trunk, m.Media
	ctx.Send(o.d.numbers, &leaseAny{Attempt: w.attempt, From: w.cmd.From, ReplyTo: ctx.Self()})
}

func (o *dialout) number(ctx actor.Context, m *anyLeased) {
	w := o.wants[m.Attempt]
	if w == nil {
		if m.Number != "" {
			ctx.Send(o.d.numbers, &releaseNumber{Attempt: m.Attempt, Number: m.Number, End: numberpool.End{NotDialled: true}})
		}
		return
	}
	if m.Err != nil {
		o.fail(ctx, w, m.Err)
		return
	}
	w.stop()
	delete(o.wants, w.attempt)
	o.seated[w.attempt] = w.bot.ID
	o.spawn(ctx, &dialoutCall{d: o.d, parent: ctx.Self(), bot: w.bot, want: w, from: m.Number}, w.attempt)
}

// fail answers a dialout that cannot be placed and gives back what it held.
func (o *dialout) fail(ctx actor.Context, w *dialoutWant, err error) {
	w.stop()
	delete(o.wants, w.attempt)
	if w.trunk != "" {
		o.d.root.Send(o.d.trunks, &trunkEvent{Trunk: w.trunk, Leg: w.attempt.Leg(1), Over: true, At: o.now})
	}
	if w.seated {
		o.seatBack(ctx, w.bot.ID)
	}
	reply(o.d, w.replyTo, nil, err)
}

func (o *dialout) spawn(ctx actor.Context, c *dialoutCall, id engine.AttemptID) *actor.PID {
	pid, err := ctx.SpawnNamed(o.d.props(func() actor.Actor { return c }, actor.WithSupervisor(supervise(o.d, "call"))), "call-"+string(id))
	if err != nil {
		return o.calls[id]
	}
	o.calls[id] = pid
	return pid
}

// dialoutCall is one call outside campaigns.
type dialoutCall struct {
	d       *deps
	parent  *actor.PID
	self    *actor.PID
	bot     engine.Bot
	want    *dialoutWant
	from    engine.PhoneNumber
	recover *attempt.Attempt
	stored  bool // the call has ended; only its result is awaited

	call     *call
	step     int
	pending  []pendingWrite
	watching int
	result   *storeResult
	now      time.Time
	begun    bool
	awaiting bool // a result is on its way to this ended call
}

func (c *dialoutCall) Receive(ctx actor.Context) {
	c.now = c.d.clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.self = ctx.Self()
		c.start()
	case *actor.Stopping, *actor.Stopped:
		c.d.owners.remove(c.id())
		return
	case *actor.Restarting:
		return
	case *persisted:
		if m.Spooled {
			spooledAt(c.pending, m.Step)
			if c.call != nil {
				c.call.durable(m.Step, nil, c.now)
			}
			break
		}
		for len(c.pending) > 0 && c.pending[0].Step <= m.Step {
			p := c.pending[0]
			c.pending = c.pending[1:]
			if p.then != nil {
				p.then(m.Err)
			}
		}
		if c.call != nil {
			c.call.durable(m.Step, m.Err, c.now)
		}
	case *storeResult:
		c.storeResult(m)
	case *liveAttempt:
		if c.call == nil {
			reply(c.d, m.ReplyTo, nil, errCallNotFound)
			break
		}
		c.call.show(m, c.pending)
	case *tellCall:
		reply(c.d, m.ReplyTo, nil, c.call.tell(m, c.now))
	case *transferCall:
		if c.call == nil || !c.call.m.A.Live() {
			reply(c.d, m.ReplyTo, nil, errCallEnded)
			break
		}
		c.call.transfer(m, c.now)
	case *endErasure:
		if c.to() == m.Number && !c.call.m.A.Live() {
			scrub(&c.call.m.A, m.Tombstone)
		}
	case *numbersSuppressed:
		if _, ok := m.numbers[c.to()]; ok && c.call.m.A.Live() {
			c.call.apply(attempt.Event{Kind: attempt.CancelRequested, At: c.now, By: engine.PartySystem})
		}
	case *engine.LegEvent:
		if c.watching > 0 {
			c.watched(m)
			break
		}
		c.call.receive(m, c.now)
	case *crash:
		panic("fault injected")
	default:
		if c.call != nil {
			c.call.receive(m, c.now)
		}
	}
	if !c.awaiting && len(c.pending) == 0 && c.watching == 0 && (c.call == nil || !c.call.m.A.Live()) {
		c.d.root.Send(c.parent, &dialoutOver{Attempt: c.id(), PID: c.self})
	}
}

func (c *dialoutCall) id() engine.AttemptID {
	switch {
	case c.call != nil:
		return c.call.m.A.ID
	case c.want != nil:
		return c.want.attempt
	}
	return ""
}

// to is the number that is called, "" before the call is known.
func (c *dialoutCall) to() engine.PhoneNumber {
	if c.call == nil {
		return ""
	}
	return c.call.m.A.To
}

func (c *dialoutCall) config() attempt.Config {
	cfg := attempt.Config{RingTimeout: c.d.cfg.DialoutRing, CallLimit: dialoutLimit, AMD: engine.AMDOff, OptOut: c.d.cfg.OptOutDigit}
	if c.want != nil {
		cfg.Transfers = c.want.cmd.Transfers
	}
	return cfg
}

func (c *dialoutCall) adopt(a attempt.Attempt) {
	c.call = &call{d: c.d, self: c.self, owner: c, bot: c.bot, m: attempt.Machine{A: a, Config: c.config()}}
	c.call.m.Config.BotURIs = c.bot.URIs()
	c.d.owners.add(a.ID, owner{})
}

// start begins the call, or ends what an earlier life left of it. A restart
// after a crash of this actor keeps the struct, and with it the machine: only
// the message that crashed it is gone.
func (c *dialoutCall) start() {
	switch {
	case c.begun:
		if c.call != nil && c.call.m.A.Live() && !c.call.reattach(c.now) {
			c.watching = c.call.recoverLegs()
			c.call.apply(attempt.Event{Kind: attempt.OwnerLost, At: c.now, Err: "gone"})
		} else if c.call != nil {
			c.d.media.AttachMedia(c.call.m.A.ID, c.call.mediaSink())
		}
	case c.recover != nil:
		c.adopt(*c.recover)
		c.watching = c.call.recoverLegs()
		if c.recover.Live() {
			c.d.stats.Recovered.Add(1)
			c.call.apply(attempt.Event{Kind: attempt.OwnerLost, At: c.now})
		}
	case c.stored:
		c.begun, c.awaiting = true, true
		return
	case c.want != nil:
		w := c.want
		c.adopt(attempt.Attempt{ID: w.attempt, Run: 0, Pass: 1, Number: 1, Bot: w.bot.ID, To: w.cmd.To, From: c.from,
			Trunk: w.trunk, Variables: w.cmd.Variables, Key: w.cmd.Who.Key, State: attempt.Reserved, ResultToken: tokenHash(c.d.cfg.ResultToken(w.attempt.Call()))})
		c.call.only = w.cmd.Trunk
		c.call.begin(c.now, c.d.cfg.SendByTimeout, w.media)
	}
	c.begun = true
}

func (c *dialoutCall) persist(w journal.Write, then func(error)) int {
	c.step++
	p := persist{Write: w, ReplyTo: c.self, Step: c.step}
	c.pending = append(c.pending, pendingWrite{persist: p, then: then})
	c.d.root.Send(c.d.writerFor(string(c.call.m.A.ID)), &p)
	return c.step
}

func (c *dialoutCall) event(t journal.Type, d journal.Data) journal.Event {
	return journal.Event{At: c.now, Type: t, Version: 1, Attempt: c.call.m.A.ID, Data: d}
}

func (c *dialoutCall) record(what attempt.What, _ time.Time) int {
	at := c.call.snapshot()
	w := journal.Write{Attempts: []attempt.Attempt{at}}
	data := journal.Data{Trunk: at.Trunk, Number: at.Number}
	var then func(error)
	switch what {
	case attempt.WhatReserved:
		w.Intent = &journal.Intent{Attempt: at.ID, Number: at.To, Refused: c.d.destinations.judge(at.To, at.From), Cap: c.d.calleeCap(c.now), KeyCap: c.want.keyCap(c.now)}
		rep := campaign.DialoutReply{Status: "ok", CallID: at.ID.Call(), AttemptID: at.ID, BotID: at.Bot,
			ToNumber: at.To.E164(), FromNumber: at.From.E164(), CreatedAt: c.now.UTC()}
		cmd, to := c.want.cmd, c.want.replyTo
		if cmd.Idempotency.Present() {
			w.Reply = storedReply(cmd.Idempotency, 201, rep, c.now)
		}
		then = func(err error) { reply(c.d, to, rep, err) }
	case attempt.WhatResult:
		data.Connected, data.Disposition = at.CountsResult(), at.Result.Disposition
		if at.Result.DoNotCall {
			w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByResult, CreatedAt: c.now}}
		}
		m := c.result
		c.result = nil
		c.d.stats.Results.Add(1)
		then = func(err error) { reply(c.d, m.ReplyTo, nil, err) }
	case attempt.WhatConnected:
		data.Verdict = at.Verdict
	case attempt.WhatAbandoned:
		data.Cause = at.Ending.Cause
	case attempt.WhatOptedOut:
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByOptOut, CreatedAt: c.now}}
	case attempt.WhatLeg, attempt.WhatAnswered, attempt.WhatEnded:
	}
	w.Events = []journal.Event{c.event(whatType[what], data)}
	return c.persist(w, then)
}

// line: the seat was held before the call; it is granted as soon as it is
// asked for, and goes back when the call no longer needs it.
func (c *dialoutCall) line(l attempt.Line, _ time.Time) {
	switch l.Phase {
	case attempt.PhaseAbandoned:
		c.d.abandons.add(c.call.m.A.To, c.now, c.now)
	case attempt.PhaseWaiting:
		c.d.root.Send(c.self, &seatGranted{Attempt: c.call.m.A.ID})
	default:
	}
}

func (c *dialoutCall) dialled(time.Time) {}

func (c *dialoutCall) numberFree(strike bool) {
	a := &c.call.m.A
	c.d.root.Send(c.d.numbers, &releaseNumber{Attempt: a.ID, Number: a.From,
		End: numberpool.End{NotDialled: a.InviteAt == nil, Strike: strike, Answered: a.AnsweredAt != nil}})
}

func (c *dialoutCall) parameters() map[string]string {
	p := maps.Clone(c.call.m.A.Variables)
	if p == nil {
		p = map[string]string{}
	}
	return p
}

func (c *dialoutCall) over(now time.Time) {
	at := c.call.snapshot()
	hold := journal.HoldRelease{Attempt: at.ID, Number: at.To}
	if c.watching == 0 {
		c.watching = at.OpenPeers() // the bot's leg, which is being ended
	}
	if c.watching > 0 {
		hold.Until = now.Add(c.d.cfg.DialoutRing + c.d.cfg.RingGrace)
	}
	watching := c.watching > 0
	c.persist(journal.Write{Attempts: []attempt.Attempt{at}, Holds: []journal.HoldRelease{hold},
		Events: []journal.Event{c.event(journal.AttemptEnded, endedData(&at))}}, func(error) {
		if !watching {
			c.d.phone.ForgetLegs(at.ID)
		}
	})
}

func (c *dialoutCall) watched(e *engine.LegEvent) {
	if !e.Kind.Final() {
		return
	}
	c.watching--
	c.call.closed(e)
	at := &c.call.m.A
	w := journal.Write{Attempts: []attempt.Attempt{c.call.snapshot()}, Events: []journal.Event{c.event(journal.LegClosed, journal.Data{Leg: e.Leg})}}
	if c.watching == 0 {
		w.Holds = []journal.HoldRelease{{Attempt: at.ID, Number: at.To}}
	}
	id := at.ID
	c.persist(w, func(error) { c.d.phone.ForgetLegs(id) })
}

func (c *dialoutCall) storeResult(m *storeResult) {
	if c.call == nil && !m.fetched {
		id, _ := m.Call.Attempt()
		c.d.fetchAttempt(id, c.self, m)
		return
	}
	c.awaiting = false
	if c.to().Erased() || m.Attempt != nil && m.Attempt.To.Erased() {
		reply(c.d, m.ReplyTo, nil, errPersonErased)
		return
	}
	if c.call == nil {
		if m.Attempt == nil || m.Attempt.State != attempt.Ended {
			reply(c.d, m.ReplyTo, nil, errCallNotFound)
			return
		}
		c.adopt(*m.Attempt)
	}
	c.result = m
	r := m.Result
	c.call.apply(attempt.Event{Kind: attempt.ResultStored, At: c.now, Result: &r})
}
