package actors

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
	core "dialler/engine/run"
)

const (
	// dialoutPatience is how long a dialout may wait for seat, trunk and number.
	dialoutPatience = 2 * time.Second
	// shareAgain is how often seats of one's share are asked for that others have
	// yet to give back.
	shareAgain = 100 * time.Millisecond
)

type (
	// placeDialout: looked, the database was asked for a bot that was not known.
	placeDialout struct {
		cmd    campaign.Dialout
		looked bool
	}
	// askAgain: seats of one's share may have come free.
	askAgain    struct{ Bot engine.BotID }
	recoverCall struct{ Attempt attempt.Attempt }
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
		UseBy   engine.BootTime // when the lease ends unused, 0: never
		Err     error
	}
	// dialoutOver: the call needs its actor no more, which has taken so many
	// results.
	dialoutOver struct {
		Attempt engine.AttemptID
		PID     *actor.PID
		Results int
	}
	dialoutLate struct{ Attempt engine.AttemptID }
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
	// results are how many were passed on to a call's actor.
	results map[engine.AttemptID]int
	wants   map[engine.AttemptID]*dialoutWant
	// seated are the calls that hold a seat, and of which bot.
	seated map[engine.AttemptID]engine.BotID
	ops    map[int]*suppressedCalls
	opSeq  int
	now    time.Time
}

// dialoutSeats are the seats of one bot that dialout holds and uses.
type dialoutSeats struct {
	granted, used int
	asked         int             // number of the last demand
	until         engine.BootTime // no call begins with the seats from then on, 0: they stay
	queue         []*dialoutWant  // wait for the fleet's word
	again         bool            // it is asked once more
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
	use     call.Validity // when what was granted may be used
	stop    func()
}

// errKeeperAway: whether the bot has a free seat is not known.
var errKeeperAway = engine.Unavailable("keeper_away", "the node that keeps the count of the bot's seats does not answer or is being replaced; try again", time.Second)

func newDialout(d *deps) *dialout {
	return &dialout{d: d, bots: map[engine.BotID]engine.Bot{}, seats: map[engine.BotID]*dialoutSeats{},
		calls: map[engine.AttemptID]*actor.PID{}, results: map[engine.AttemptID]int{}, wants: map[engine.AttemptID]*dialoutWant{},
		seated: map[engine.AttemptID]engine.BotID{}, ops: map[int]*suppressedCalls{}}
}

func (o *dialout) Receive(ctx actor.Context) {
	o.now = o.d.clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
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
		clear(o.bots)
		for _, b := range m.Bots {
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
		o.place(ctx, m, sender)
	case *core.SeatsAllotted:
		o.allotted(ctx, m)
	case *askAgain:
		if s := o.seats[m.Bot]; s != nil {
			s.again = false
			if len(s.queue) > 0 {
				o.demand(ctx, m.Bot)
			}
		}
	case *call.TrunkReserved:
		o.trunk(ctx, m)
	case *anyLeased:
		o.number(ctx, m)
	case *dialoutLate:
		if w := o.wants[m.Attempt]; w != nil {
			o.fail(ctx, w, engine.Unavailable("no_capacity", "no capacity for the call; try again", 2*time.Second))
		}
	case *dialoutOver:
		if m.Results < o.results[m.Attempt] {
			return // one is on its way to it; it says this again
		}
		delete(o.calls, m.Attempt)
		delete(o.results, m.Attempt)
		o.suppressedCall(m.Attempt, func(int) bool { return true })
		if bot, ok := o.seated[m.Attempt]; ok {
			delete(o.seated, m.Attempt)
			o.seatBack(ctx, bot)
		}
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
		o.spawn(ctx, m.Attempt.ID, o.bots[m.Attempt.Bot], &call.Started{Lost: &m.Attempt})
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
		for bot, s := range o.seats {
			if s.granted > 0 || len(s.queue) > 0 {
				o.demand(ctx, bot)
			}
		}
		for _, pid := range o.calls { // its word may have been lost with a fault
			ctx.Send(pid, &call.SayAgain{})
		}
		o.d.after(o.d.cfg.LeaseTTL/3, ctx.Self(), m)
	}
}

func (o *dialout) place(ctx actor.Context, m *placeDialout, sender *actor.PID) {
	cmd := m.cmd
	bot, ok := o.bots[cmd.Bot]
	switch {
	case !ok && !m.looked:
		o.lookUp(ctx, m, sender)
		return
	case !ok:
		reply(o.d, sender, nil, engine.NotFound("bot_not_found", "no bot has this identifier"))
		return
	case !bot.Active:
		reply(o.d, sender, nil, engine.Conflict("bot_inactive", "the bot is inactive; activate it or choose another"))
		return
	case o.d.draining.Load():
		reply(o.d, sender, nil, engine.Unavailable("node_draining", "the dialler is being stopped and places no new call", 5*time.Second))
		return
	case o.d.fenced():
		reply(o.d, sender, nil, errFenced)
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

// lookUp asks the database for a bot that was made a moment ago, perhaps: by
// another node, which may have told this one before it was up.
func (o *dialout) lookUp(ctx actor.Context, m *placeDialout, sender *actor.PID) {
	d, self := o.d, ctx.Self()
	go func() {
		c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		bots, err := d.store.Bots(c)
		if err != nil {
			reply(d, sender, nil, journal.Unavailable(err))
			return
		}
		if slices.ContainsFunc(bots, func(b engine.Bot) bool { return b.ID == m.cmd.Bot }) {
			d.botsChanged(bots)
		}
		d.root.RequestWithCustomSender(self, &placeDialout{cmd: m.cmd, looked: true}, sender)
	}()
}

func (o *dialout) demand(ctx actor.Context, bot engine.BotID) {
	s := o.seats[bot]
	s.asked++
	s.granted = min(s.granted, s.used+len(s.queue)) // others may have the rest as soon as the fleet hears of it
	ctx.Send(o.d.fleet, &seatDemand{Holder: fleet.Dialout, Bot: bot, Want: s.used + len(s.queue), N: s.asked, ReplyTo: ctx.Self()})
}

func (o *dialout) allotted(ctx actor.Context, m *core.SeatsAllotted) {
	s := o.seats[m.Bot]
	if s == nil {
		return
	}
	switch {
	case m.Away:
		s.until = o.d.clock.Boot() // those in use stay
	case m.N == s.asked:
		s.granted, s.until = m.Seats, m.Until
	default: // it does not know what was given back since
		s.granted, s.until = min(s.granted, m.Seats), m.Until
	}
	o.serve(ctx, m.Bot)
	switch {
	case len(s.queue) == 0:
	case m.Away:
		o.failAll(ctx, s, errKeeperAway)
	case s.granted > s.used || m.N != s.asked: // not the answer to all who wait
	case m.Outage != nil:
		o.failAll(ctx, s, engine.Unavailable("bot_unavailable", "the bot takes no calls now ("+m.Outage.Reason+"); try again once it does", 5*time.Second))
	case m.Target > m.Seats: // others have more than their share, and give it back as their calls end
		if !s.again {
			s.again = true
			o.d.after(shareAgain, ctx.Self(), &askAgain{m.Bot})
		}
	default:
		o.failAll(ctx, s, engine.Unavailable("no_capacity", "the fleet has no free seat; try again", 2*time.Second))
	}
}

// failAll answers everybody who waits for a seat.
func (o *dialout) failAll(ctx actor.Context, s *dialoutSeats, err error) {
	for _, w := range slices.Clone(s.queue) {
		o.fail(ctx, w, err)
	}
}

// serve gives seats that are held and free to those who wait.
func (o *dialout) serve(ctx actor.Context, bot engine.BotID) {
	s := o.seats[bot]
	boot := o.d.clock.Boot()
	for len(s.queue) > 0 && s.used < s.granted && (s.until == 0 || boot < s.until) {
		w := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1) // and holds it no more
		s.used++
		w.seated = true
		if s.until != 0 {
			w.use.By = quota.UseBy(boot)
		}
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

func (o *dialout) trunk(ctx actor.Context, m *call.TrunkReserved) {
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
	w.trunk, w.media, w.use = m.Trunk, m.Media, w.use.And(m.Validity)
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
	w.use = w.use.And(call.Validity{By: m.UseBy})
	o.seated[w.attempt] = w.bot.ID
	o.spawn(ctx, w.attempt, w.bot, &call.PlaceDialout{Command: w.cmd, Request: request(w.replyTo), Attempt: w.attempt, Trunk: w.trunk, Media: w.media,
		From: m.Number, Validity: w.use})
}

// fail answers a dialout that cannot be placed and gives back what it held.
func (o *dialout) fail(ctx actor.Context, w *dialoutWant, err error) {
	w.stop()
	delete(o.wants, w.attempt)
	if s := o.seats[w.bot.ID]; s != nil {
		s.queue = slices.DeleteFunc(s.queue, func(q *dialoutWant) bool { return q == w })
	}
	if w.trunk != "" {
		o.d.root.Send(o.d.trunks, &trunkEvent{Trunk: w.trunk, Leg: w.attempt.Leg(1), Over: true, At: o.now})
	}
	if w.seated {
		o.seatBack(ctx, w.bot.ID)
	}
	reply(o.d, w.replyTo, nil, err)
}

// spawn starts the actor of a call, under a name of its own: the one that the call
// had before may be stopping still.
func (o *dialout) spawn(ctx actor.Context, id engine.AttemptID, bot engine.Bot, first any) *actor.PID {
	c := newDialoutCall(o.d, ctx.Self(), id, bot, first)
	pid := again(ctx.SpawnPrefix(o.d.props(func() actor.Actor { return c }, actor.WithSupervisor(supervise(o.d, "call"))), "call-"+string(id)))
	o.calls[id] = pid
	return pid
}
