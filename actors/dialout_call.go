package actors

import (
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
)

// dialoutLimit bounds the conversation of a call outside campaigns.
const dialoutLimit = 15 * time.Minute

// dialoutCall is one call outside campaigns.
type dialoutCall struct {
	d       *deps
	parent  *actor.PID
	self    *actor.PID
	bot     engine.Bot
	want    *dialoutWant
	from    engine.PhoneNumber
	recover *attempt.Attempt
	stored  bool             // the call has ended; only its result is awaited
	of      engine.AttemptID // whose result that is

	call     *call
	step     int
	pending  []pendingWrite
	watching int
	result   *storeResult
	results  int // that were passed on to it
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
		if !m.fetched {
			c.results++
		}
		c.storeResult(m)
	case *legsGone:
		switch {
		case c.call == nil || c.id() != m.Attempt:
		case c.call.m.A.Live():
			c.watching = c.call.recoverLegs()
			c.call.apply(attempt.Event{Kind: attempt.OwnerLost, At: c.now})
		case c.watching > 0:
			c.watching = c.call.recoverLegs()
		}
	case *liveAttempt:
		if c.call == nil {
			reply(c.d, m.ReplyTo, nil, errCallNotFound)
			break
		}
		c.call.show(m, c.pending)
	case *tellCall:
		c.d.carryOut(c.call, m, c.now)
	case *transferCall:
		if c.call == nil || !c.call.m.A.Live() {
			reply(c.d, m.ReplyTo, nil, errCallEnded)
			break
		}
		c.call.transfer(m, c.now)
	case *core.EndErasure:
		if c.to() == m.Number && !c.call.m.A.Live() {
			scrub(&c.call.m.A, m.Tombstone)
		}
	case *suppressDialout:
		c.suppressed(m)
	case *engine.LegEvent:
		if c.watching > 0 {
			c.watched(m)
			break
		}
		if c.call != nil {
			c.call.receive(m, c.now)
		}
	case *crash:
		panic("fault injected")
	default:
		if c.call != nil {
			c.call.receive(m, c.now)
		}
	}
	if !c.awaiting && len(c.pending) == 0 && c.watching == 0 && (c.call == nil || !c.call.m.A.Live()) {
		c.d.root.Send(c.parent, &dialoutOver{Attempt: c.id(), PID: c.self, Results: c.results})
	}
}

func (c *dialoutCall) id() engine.AttemptID {
	switch {
	case c.call != nil:
		return c.call.m.A.ID
	case c.want != nil:
		return c.want.attempt
	}
	return c.of
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
			Trunk: w.trunk, Node: c.d.here(), Variables: w.cmd.Variables, Key: w.cmd.Who.Key, State: attempt.Reserved, ResultToken: tokenHash(c.d.cfg.ResultToken(w.attempt.Call()))})
		c.call.only = w.cmd.Trunk
		c.call.begin(c.now, c.d.cfg.SendByTimeout, w.use, w.media)
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
		w.Intent = &journal.Intent{Attempt: at.ID, Number: at.To, Bound: at.HoldBound(&c.call.m.Config), Refused: c.d.destinations.judge(at.To, at.From), Cap: c.d.calleeCap(c.now), KeyCap: c.want.keyCap(c.now)}
		rep := campaign.DialoutReply{Status: "ok", CallID: at.ID.Call(), AttemptID: at.ID, BotID: at.Bot,
			ToNumber: at.To.E164(), FromNumber: at.From.E164(), CreatedAt: c.now.UTC()}
		cmd, to := c.want.cmd, c.want.replyTo
		if cmd.Idempotency.Present() {
			w.Reply = journal.ReplyOf(cmd.Idempotency, 201, rep, c.now)
		}
		then = func(err error) { reply(c.d, to, rep, err) }
	case attempt.WhatResult:
		data.Connected, data.Disposition = at.CountsResult(), at.Result.Disposition
		if at.Result.DoNotCall {
			w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByResult, CreatedAt: c.now}}
		}
		// The machine records a result that came before the conversation a second
		// time, as that of a conversation. It was answered and counted by then.
		if m := c.result; m != nil {
			c.result = nil
			c.d.stats.Results.Add(1)
			then = func(err error) { c.d.resultStored(m.ReplyTo, at.To, at.Result.DoNotCall, err) }
		}
	case attempt.WhatConnected:
		data.Verdict = at.Verdict
	case attempt.WhatAbandoned:
		data.Cause = at.Ending.Cause
	case attempt.WhatOptedOut:
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByOptOut, CreatedAt: c.now}}
		then = c.d.optedOut(at.To)
	case attempt.WhatLeg, attempt.WhatAnswered, attempt.WhatEnded, attempt.WhatRevised: // who answers is not classified
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

func (c *dialoutCall) stands() {}

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
	if c.watching == 0 {
		c.watching = at.OpenPeers() // the bot's leg, which is being ended
	}
	hold := c.call.hold(c.watching > 0, now)
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
	w := journal.Write{Attempts: []attempt.Attempt{c.call.snapshot()}, Events: []journal.Event{c.event(journal.LegClosed, journal.Data{Leg: e.Leg, Proof: e.Proves()})}}
	if c.watching == 0 && !c.call.m.Owed() {
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
