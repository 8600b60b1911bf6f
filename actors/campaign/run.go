package campaign

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/call"
	core "dialler/engine/run"
)

// run gives a campaign's run (package engine/run) its mailbox: inputs are applied there, and
// effects are carried out here. It is a leaf of the tree, so its crash stops no other actor; the
// next activation loads the durable state, asks the contacts for theirs, and goes on.
type run struct {
	d           *Deps
	id          engine.CampaignID
	self        *actor.PID
	guardian    *actor.PID // of all campaigns
	contacts    *actor.PID
	pool        *actor.PID
	activations *activations

	state   *core.State
	boot    engine.BootTime                 // of the event that is handled
	up      map[engine.ContactID]*actor.PID // contacts that accept commands
	timers  map[core.Timer]func()           // one per name
	stop    *prepareStop                    // nil unless a stop was requested
	effects []core.Effect
	record  RunRecorder // nil means inputs are not recorded
}

// activations are the successive activations of one campaign's run. One that crashes while loading
// must not take the campaign from its successor.
type activations struct {
	one    sync.Mutex
	newest atomic.Pointer[run]
	seats  atomic.Int64 // as last demanded: the fleet keeps them for the next activation
}

func newRun(d *Deps, l *activations, id engine.CampaignID, guardian, contacts, pool *actor.PID) *run {
	cfg := core.Config{Tick: d.Tick, Reconcile: d.Reconcile, SendBy: d.SendByTimeout, LookAhead: d.LookAhead,
		OptOut: d.OptOutDigit, Shared: d.SharesCaps}
	r := &run{d: d, activations: l, id: id, guardian: guardian, contacts: contacts, pool: pool,
		state: core.New(id, cfg), up: map[engine.ContactID]*actor.PID{}, timers: map[core.Timer]func(){}}
	if d.RecordRun != nil {
		r.record = d.RecordRun(id, cfg)
	}
	return r
}

func (r *run) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.self = ctx.Self()
		r.activations.newest.Store(r)
		e := &core.Started{}
		_, _ = rand.Read(e.Seed[:]) // crypto/rand.Read never fails
		r.apply(e, "")
	case *actor.Stopped, *actor.Restarting:
		if r.record != nil {
			r.record.Close()
		}
	case *actor.Stopping:
	case *writer.BarrierPassed:
		r.apply(&core.Durable{Ticket: m.N}, "")
	case *call.Durable:
	case *writer.WriteRefused:
		r.apply(&core.WriteRefused{Write: &m.Write, Err: m.Err}, "")
	case *writer.Barrier:
		r.apply(&core.FenceFor{}, host.Request(m.ReplyTo))
	case *DatabaseState:
		r.apply(&core.DatabaseChanged{}, "")
	case *prepareStop:
		r.stop = m
		r.apply(&core.LastWord{HandOver: m.HandOver}, "")
	default:
		e, from := r.decode(m, ctx.Sender())
		r.apply(e, from)
	}
}

// apply runs an event through the core and carries out the effects.
func (r *run) apply(event any, from engine.Request) {
	r.boot = r.d.Clock.Boot()
	in := core.Input{Now: r.d.Clock.Now(), Boot: r.boot, From: from, Event: event, Process: r}
	if r.record != nil {
		in = r.record.Before(in)
	}
	effects, err := r.state.Apply(in, r.effects[:0])
	if r.record != nil {
		r.record.After(effects)
	}
	if err != nil {
		r.d.Stats.Illegal.Add(1)
		r.d.Log.Error().Err(err).Str("campaign_id", string(r.id)).Msg("message not understood")
	}
	for _, e := range effects {
		r.do(e)
	}
	clear(effects)
	r.effects = effects
}

// Queries that the core may put to the process.

func (r *run) Draining() bool     { return r.d.Draining.Load() }
func (r *run) DatabaseAway() bool { return r.d.Writers.Database.Away() }
func (r *run) TrunksDown() bool   { return r.d.TrunksDown() }
func (r *run) Fenced() bool       { return r.d.Fenced() }
func (r *run) CommitLate() time.Duration {
	return r.d.Writers.Late(string(r.id), r.boot)
}
func (r *run) BotLate(id engine.BotID) time.Duration {
	return r.d.Connects.Late(id, r.boot)
}
func (r *run) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	return r.d.Abandoned.NeedsSeat(n, now)
}
func (r *run) Carrier(t engine.TrunkID) engine.Incarnation { return r.d.Carrier(t) }
func (r *run) Owned(id engine.AttemptID) bool              { return r.d.Owners.Owned(id) }
