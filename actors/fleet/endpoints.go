package fleet

import (
	"context"
	"reflect"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/fleet"
)

// This file is the fleet's monitoring of bot endpoints: what calls and probes report of them, and
// the seats withheld meanwhile.

// lateAfter is how long a callee can wait for a bot. A bot that is called by SIP and takes longer
// to answer could serve nobody in time; a socket may be opened ahead of its call.
const lateAfter = attempt.BridgeBudget

type (
	// botAnswered is the answer to a probe; Err is nil if the bot accepted it. Late means there is
	// none yet.
	botAnswered struct {
		of       *botEnds
		Bot      engine.BotID
		Endpoint string
		Err      error
		Late     bool
	}
	askDue struct {
		of  *botEnds
		Bot engine.BotID
	}
)

// botEnds are the endpoints of one bot as the fleet knows them.
type botEnds struct {
	conf   engine.Bot
	ends   *fleet.Endpoints
	parked []*Demand // waiting for the first answer
	stop   func()    // stops the timer of the next probe
	down   bool      // as last logged
	downAt time.Time
}

// configureEnds discards what is known of a bot that was edited.
func (f *fleetActor) configureEnds(self *actor.PID, bots []engine.Bot) {
	gone := f.ends
	f.ends = make(map[engine.BotID]*botEnds, len(bots))
	for _, b := range bots {
		old := gone[b.ID]
		if old != nil && reflect.DeepEqual(old.conf, b) {
			f.ends[b.ID] = old
			delete(gone, b.ID)
			continue
		}
		f.ends[b.ID] = &botEnds{conf: b, ends: fleet.NewEndpoints(b.Endpoints)}
	}
	for _, e := range gone {
		if e.stop != nil {
			e.stop()
		}
		for _, m := range e.parked {
			f.d.Root.Send(self, m)
		}
	}
}

// askStrangers probes the bots of which nothing is known when some are edited: whoever saves a bot
// sees whether it takes calls. A bot that is called by SIP need not answer OPTIONS: calls show.
func (f *fleetActor) askStrangers(ctx actor.Context, now time.Time) {
	for id, e := range f.ends {
		if e.conf.Active && e.conf.URIs() == nil && e.ends.Health() == fleet.Unknown {
			e.ends.Ask(now)
			f.judge(ctx, id, now)
		}
	}
}

// asksFirst holds a demand back until it is known whether the bot takes calls, because a holder
// begins to dial with it.
func (f *fleetActor) asksFirst(ctx actor.Context, m *Demand, now time.Time) bool {
	e := f.ends[m.Bot]
	if e == nil || !e.conf.Active || e.conf.URIs() != nil || f.bots[m.Bot].Granted() > 0 || e.ends.Fresh(now) {
		return false
	}
	e.parked = append(e.parked, m)
	if len(e.parked) == 1 {
		e.ends.Ask(now)
		f.judge(ctx, m.Bot, now)
	}
	return true
}

func (f *fleetActor) tried(ctx actor.Context, m *call.BotTried, now time.Time) {
	e := f.ends[m.Bot]
	if e == nil {
		return
	}
	for _, miss := range m.Missed {
		e.ends.Missed(now, miss.Endpoint, miss.Reason)
	}
	if m.Reached != "" {
		e.ends.Reached(now, m.Reached)
	}
	f.judge(ctx, m.Bot, now)
}

func (f *fleetActor) answered(ctx actor.Context, m *botAnswered, now time.Time) {
	e := f.ends[m.Bot]
	if e != m.of {
		return // it was edited meanwhile
	}
	why := ""
	if m.Err != nil {
		why = m.Err.Error()
	}
	if m.Late {
		e.ends.Late(now, m.Endpoint)
	} else {
		e.ends.Answered(now, m.Endpoint, why)
	}
	f.judge(ctx, m.Bot, now)
	if len(e.parked) > 0 && e.ends.Fresh(now) {
		parked := e.parked
		e.parked = nil
		for _, p := range parked {
			f.demand(ctx, p, now)
		}
	}
}

// judge applies the state of a bot's endpoints: its seats, the order in which calls try them, and
// the next probes.
func (f *fleetActor) judge(ctx actor.Context, id engine.BotID, now time.Time) {
	b, e := f.bots[id], f.ends[id]
	seats, proved := 0, 0
	if e != nil && e.conf.Active {
		seats, proved = e.conf.Seats, e.ends.Seats(e.conf.Seats)
		f.d.Reach.put(id, reached{e.ends.Order(), e.ends.HeardUntil()})
		f.ask(ctx, e, now)
		f.log(e, now)
	}
	for _, changed := range [][]fleet.Grant{
		b.SetLost(now, f.lost[id]), b.SetSeats(now, seats), b.SetProved(now, proved),
	} {
		for _, g := range changed {
			f.tell(ctx, id, g)
		}
	}
	f.countDown()
	f.count()
}

// ask sends the probes that are due, and schedules the next one.
func (f *fleetActor) ask(ctx actor.Context, e *botEnds, now time.Time) {
	for _, url := range e.ends.Due(now) {
		go f.d.question(ctx.Self(), e, url)
	}
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
	if next := e.ends.Next(); !next.IsZero() {
		e.stop = f.d.After(next.Sub(now), ctx.Self(), &askDue{of: e, Bot: e.conf.ID})
	}
}

// question reports an endpoint's answer to the fleet, and before that whether it is late.
func (d *Deps) question(asker *actor.PID, of *botEnds, url string) {
	within, ask := fleet.SocketTimeout, func(c context.Context) error {
		return d.Media.AskBot(c, of.conf.Question(url))
	}
	if of.conf.URIs() != nil {
		within, ask = lateAfter, func(c context.Context) error { return d.Phone.Ask(c, url) }
	}
	c, cancel := context.WithTimeout(d.Ctx, within)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- ask(c) }()
	m := botAnswered{of: of, Bot: of.conf.ID, Endpoint: url}
	select {
	case m.Err = <-answer:
	case <-time.After(lateAfter):
		late := m
		late.Late = true
		d.Root.Send(asker, &late)
		m.Err = <-answer
	}
	if d.Ctx.Err() == nil {
		d.Root.Send(asker, &m)
	}
}

// log logs once that a bot is down and once that it is back, but not that it is being tried.
func (f *fleetActor) log(e *botEnds, now time.Time) {
	_, reason, down := e.ends.Outage()
	switch {
	case e.down && e.ends.Health() == fleet.Trying:
		return
	case down && !e.down:
		e.downAt = now
		f.d.Log.Warn().Str("bot_id", string(e.conf.ID)).Str("reason", reason).
			Msg("the bot takes no calls; nothing is dialled with it until it does")
	case e.down && !down:
		f.d.Log.Info().Str("bot_id", string(e.conf.ID)).Dur("away_ms", now.Sub(e.downAt)).
			Msg("the bot takes calls again")
	}
	e.down = down
}

func (f *fleetActor) countDown() {
	bots, ends := 0, 0
	for _, e := range f.ends {
		if !e.conf.Active {
			continue
		}
		if e.down {
			bots++
		}
		for _, s := range e.ends.Status() {
			if s.Health == fleet.Down {
				ends++
			}
		}
	}
	f.d.Stats.BotsDown.Store(int64(bots))
	f.d.Stats.EndpointsDown.Store(int64(ends))
}

// outage returns why a bot has no seats; nil if its endpoints are not the reason.
func (f *fleetActor) outage(id engine.BotID) *fleet.Outage {
	e := f.ends[id]
	if e == nil || !e.conf.Active {
		return nil
	}
	since, reason, ok := e.ends.Outage()
	if !ok {
		return nil
	}
	return &fleet.Outage{Since: since, Reason: reason}
}

// BotStatus is the state of a bot.
type BotStatus struct {
	Health    fleet.EndpointHealth // its best endpoint's
	Held      int                  // seats granted to campaigns and dialout
	Endpoints []fleet.EndpointStatus
}

func (f *fleetActor) statuses() map[engine.BotID]BotStatus {
	all := make(map[engine.BotID]BotStatus, len(f.ends))
	for id, e := range f.ends {
		all[id] = BotStatus{Health: e.ends.Health(), Held: f.bots[id].Granted(), Endpoints: e.ends.Status()}
	}
	return all
}
