package actors

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	core "dialler/engine/run"
)

// run gives a campaign's run (package engine/run) its mailbox: what comes in is
// applied there, and what is to be done is carried out here. It is a leaf of the
// tree: when it crashes nobody else is stopped; the next life loads what is durable,
// asks the contacts where they stand, and goes on.
type run struct {
	d        *deps
	id       engine.CampaignID
	self     *actor.PID
	contacts *actor.PID
	pool     *actor.PID
	lives    *lives

	state   *core.State
	up      map[engine.ContactID]*actor.PID // contacts that take commands
	timers  map[core.Timer]func()           // those alone of their name
	word    *lastWord                       // that was asked for
	effects []core.Effect
	record  RunRecorder // nil: nobody keeps the inputs
}

// lives are those of one campaign's run. One that crashes while it loads must not
// take the campaign over once the next one has.
type lives struct {
	one    sync.Mutex
	newest atomic.Pointer[run]
	seats  atomic.Int64 // that the last demand asked for: the fleet keeps them for the next life
}

func newRun(d *deps, l *lives, id engine.CampaignID, contacts, pool *actor.PID) *run {
	cfg := core.Config{Tick: d.cfg.Tick, Reconcile: d.cfg.Reconcile, SendBy: d.cfg.SendByTimeout,
		LookAhead: d.cfg.LookAhead,
		OptOut:    d.cfg.OptOutDigit, Shared: d.keepers != nil}
	r := &run{d: d, lives: l, id: id, contacts: contacts, pool: pool, state: core.New(id, cfg),
		up: map[engine.ContactID]*actor.PID{}, timers: map[core.Timer]func(){}}
	if d.cfg.RecordRun != nil {
		r.record = d.cfg.RecordRun(id, cfg)
	}
	return r
}

func (r *run) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.self = ctx.Self()
		r.lives.newest.Store(r)
		e := &core.Started{}
		_, _ = rand.Read(e.Seed[:]) // crypto/rand.Read never fails
		r.apply(e, "")
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
	case *barrierPassed:
		r.apply(&core.Durable{Ticket: m.N}, "")
	case *persisted:
	case *writeRefused:
		r.apply(&core.WriteRefused{Write: &m.Write}, "")
	case *barrier:
		r.apply(&core.FenceFor{}, request(m.ReplyTo))
	case *databaseState:
		r.apply(&core.DatabaseChanged{}, "")
	case *lastWord:
		r.word = m
		r.apply(&core.LastWord{HandOver: m.HandOver}, "")
	case *crash:
		panic("fault injected")
	default:
		e, from := r.decode(m, ctx.Sender())
		r.apply(e, from)
	}
}

// apply takes an event through the core and carries out what it says.
func (r *run) apply(event any, from engine.Request) {
	in := core.Input{Now: r.d.clock.Now(), Boot: r.d.clock.Boot(), From: from, Event: event, Process: r}
	if r.record != nil {
		in = r.record.Before(in)
	}
	effects, err := r.state.Apply(in, r.effects[:0])
	if r.record != nil {
		r.record.After(effects)
	}
	if err != nil {
		r.d.stats.Illegal.Add(1)
		r.d.log.Error().Err(err).Str("campaign_id", string(r.id)).Msg("message not understood")
	}
	for _, e := range effects {
		r.do(e)
	}
	clear(effects)
	r.effects = effects
}

// What the core may ask the process.

func (r *run) Draining() bool     { return r.d.draining.Load() }
func (r *run) DatabaseAway() bool { return r.d.dbDown.Load() }
func (r *run) TrunksDown() bool   { return r.d.trunksDown.Load() }
func (r *run) Fenced() bool       { return r.d.fenced() }
func (r *run) CommitLate() time.Duration {
	return r.d.late.commitLate(r.d.laneOf(string(r.id)), r.d.clock.Boot())
}
func (r *run) BotLate(id engine.BotID) time.Duration { return r.d.late.bot(id).late(r.d.clock.Boot()) }
func (r *run) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	return r.d.abandons.needsSeat(n, now)
}
func (r *run) Owned(id engine.AttemptID) bool { return r.d.owners.owned(id) }
