package actors

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/quota"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// channelTTL is when a channel or a caller ID whose leg nobody ended is taken
// back. It is beyond any call, which rings and talks no longer than the most
// that settings allow: the reconciliation of a crashed owner comes first.
const channelTTL = 5 * time.Hour

// Messages to the trunks.
type (
	// reserveTrunkBatch asks for a channel and a token for each of several
	// legs; TrunksReserved follows.
	reserveTrunkBatch struct {
		Round   int
		Legs    []engine.LegID
		ReplyTo *actor.PID
	}
	// trunkEvent tells how a leg went. Sent: its INVITE left, and nothing else. Class
	// nil and not Over otherwise: it was answered.
	trunkEvent = call.TrunkEvent
	// reserveTrunk asks for a channel and a token for one leg; call.TrunkReserved
	// answers.
	reserveTrunk struct {
		Leg     engine.LegID
		Attempt engine.AttemptID
		Tried   []engine.TrunkID
		Only    engine.TrunkID // no other; "" = any
		ReplyTo *actor.PID
	}
	// trunksConfigured are all trunks; those of put were edited, be it to what
	// they were.
	trunksConfigured struct {
		trunks []engine.TrunkSettings
		put    []engine.TrunkID
	}
	// trunkOp travels from trunk to trunk until every leg has a channel or no
	// trunk is left.
	trunkOp struct {
		legs    []engine.LegID
		got     []engine.TrunkID
		media   []*engine.MediaProfile // of the trunks in got
		use     []call.Validity        // of the grants in got
		tried   []engine.TrunkID
		refusal trunk.Refusal
		batch   *reserveTrunkBatch
		single  *reserveTrunk
	}
	trunkState struct{ c trunk.Candidate }
	// trunkActors asks for the actors of all trunks, trunkStatus a trunk how it
	// stands.
	trunkActors struct{}
	trunkStatus struct{}
)

// trunks keeps what the last word of each trunk was, and passes reservations
// to the trunk that its choice falls on.
type trunks struct {
	d     *deps
	byID  map[engine.TrunkID]*actor.PID
	known map[engine.TrunkID]trunk.Candidate
	set   []engine.TrunkSettings
	told  map[engine.TrunkID]engine.TrunkSettings
}

func newTrunks(d *deps, set []engine.TrunkSettings) *trunks {
	return &trunks{d: d, byID: map[engine.TrunkID]*actor.PID{}, known: map[engine.TrunkID]trunk.Candidate{},
		told: map[engine.TrunkID]engine.TrunkSettings{}, set: set}
}

func (t *trunks) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		t.configure(ctx, t.set, nil, trunk.Resumed)
	case *trunksConfigured:
		t.configure(ctx, m.trunks, m.put, func(s engine.TrunkSettings, _ time.Time) *trunk.Trunk { return trunk.New(s) })
	case *reserveTrunkBatch:
		t.place(ctx, &trunkOp{legs: m.Legs, got: make([]engine.TrunkID, len(m.Legs)), media: make([]*engine.MediaProfile, len(m.Legs)), use: make([]call.Validity, len(m.Legs)), batch: m})
	case *reserveTrunk:
		t.place(ctx, &trunkOp{legs: []engine.LegID{m.Leg}, got: make([]engine.TrunkID, 1), media: make([]*engine.MediaProfile, 1), use: make([]call.Validity, 1), tried: m.Tried, single: m})
	case *trunkOp:
		t.place(ctx, m)
	case *trunkState:
		if _, there := t.known[m.c.ID]; there { // else it was deleted meanwhile
			t.known[m.c.ID] = m.c
			t.countDown()
		}
	case *trunkEvent:
		if pid := t.byID[m.Trunk]; pid != nil {
			ctx.Send(pid, m)
		}
	case *engine.TrunkHealth:
		if pid := t.byID[m.Trunk]; pid != nil {
			ctx.Send(pid, m)
		}
	case *trunksKnown:
		reply(t.d, ctx.Sender(), t.last(), nil)
	case *trunkActors:
		reply(t.d, ctx.Sender(), maps.Clone(t.byID), nil)
	case *served:
		t.passOn(ctx, m.of, m)
	case *undone:
		t.passOn(ctx, m.of, m)
	case *dropped:
		t.passOn(ctx, m.of, m)
	case *counted:
		t.counted(ctx, m)
	case *crash:
		panic("fault injected")
	}
}

// countDown notes whether every active trunk is down.
func (t *trunks) countDown() {
	down, active := 0, 0
	for _, s := range t.set {
		if s.Active {
			active++
			if c, ok := t.known[s.ID]; ok && c.Down() {
				down++
			}
		}
	}
	t.d.trunksDown.Store(active > 0 && down == active)
}

// configure takes the settings over; a trunk that was not edited keeps its hold.
// first makes the trunks that are new here:
// those that were there before the process have a past that nobody knows.
func (t *trunks) configure(ctx actor.Context, set []engine.TrunkSettings, put []engine.TrunkID, first func(engine.TrunkSettings, time.Time) *trunk.Trunk) {
	t.set = set
	defer t.countDown()
	gone := maps.Clone(t.byID)
	for _, s := range set {
		delete(gone, s.ID)
		if old := t.told[s.ID]; t.byID[s.ID] != nil && reflect.DeepEqual(old, s) && !slices.Contains(put, s.ID) {
			continue
		}
		t.told[s.ID] = s
		// Until the trunk itself has spoken: it takes calls from this moment on.
		t.known[s.ID] = trunk.New(s).Candidate(t.d.clock.Now())
		if pid := t.byID[s.ID]; pid != nil {
			ctx.Send(pid, &s)
			continue
		}
		a := &trunkActor{d: t.d, t: first(s, t.d.clock.Now()), parent: ctx.Self()}
		pid, err := ctx.SpawnNamed(t.d.props(func() actor.Actor { return a }), "trunk-"+string(s.ID))
		if err == nil {
			t.byID[s.ID] = pid
		}
	}
	for id, pid := range gone {
		// A deleted trunk grants nothing more; its actor stays for the legs
		// that are under way, and for a trunk that takes its name again.
		delete(t.known, id)
		delete(t.told, id)
		ctx.Send(pid, &engine.TrunkSettings{ID: id})
	}
}

// place chooses a trunk for the legs that have none yet.
func (t *trunks) place(ctx actor.Context, op *trunkOp) {
	for _, g := range op.got {
		if g == "" {
			cands := make([]trunk.Candidate, 0, len(t.known))
			for _, c := range t.known {
				if op.single != nil && op.single.Only != "" && op.single.Only != c.ID {
					continue
				}
				c.Available = true // its own word decides; the copy only orders
				cands = append(cands, c)
			}
			id, _, ok := trunk.Choose(cands, op.tried, rand.Uint64()) //nolint:gosec // spreads the load, no secret
			if !ok {
				break
			}
			op.tried = append(op.tried, id)
			ctx.Send(t.byID[id], op)
			return
		}
	}
	t.answer(ctx, op)
}

func (t *trunks) answer(ctx actor.Context, op *trunkOp) {
	c := op.refusal.Constraint
	if c == "" {
		c = engine.ConstraintTrunkHealth // there is no trunk at all
	}
	if op.single != nil {
		ctx.Send(op.single.ReplyTo, &call.TrunkReserved{Attempt: op.single.Attempt, Leg: op.single.Leg, Trunk: op.got[0], Media: op.media[0], Validity: op.use[0], Constraint: c, RetryAt: op.refusal.RetryAt})
		return
	}
	ctx.Send(op.batch.ReplyTo, &core.TrunksReserved{Round: op.batch.Round, Legs: op.legs, Trunks: op.got, Media: op.media, Validity: op.use, Constraint: c, RetryAt: op.refusal.RetryAt})
}

// trunkActor owns one trunk's calls a second and channels.
type trunkActor struct {
	d      *deps
	t      *trunk.Trunk
	parent *actor.PID
	now    time.Time
	strays strays[engine.LegID]
	lost   quota.Strays[engine.LegID] // by the database, where several nodes use the trunk
	down   bool                       // it is counted so
	faulty bool                       // by tests
}

type expireLeases struct{}

func (a *trunkActor) Receive(ctx actor.Context) {
	a.now = a.d.clock.Now()
	a.receive(ctx)
	a.count()
}

// count keeps the figure of trunks that are down. One that is tried after a pause
// is until the trial has succeeded.
func (a *trunkActor) count() {
	h := a.t.Health(a.now)
	down := h != trunk.Up && h != trunk.Off
	if down == a.down {
		return
	}
	a.down = down
	if down {
		a.d.stats.TrunksDown.Add(1)
	} else {
		a.d.stats.TrunksDown.Add(-1)
	}
}

func (a *trunkActor) receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.tell(ctx)
		a.d.after(a.d.cfg.Reconcile, ctx.Self(), &expireLeases{})
	case *trunkOp:
		if a.d.kept(a.identity()) {
			a.grant(ctx, m)
		} else {
			a.askKeeper(ctx, m)
		}
	case *trunkAnswered:
		a.answered(ctx, m)
	case *served:
		a.serve(m)
	case *undone:
		a.undone(m)
	case *counted:
		a.counted(m)
	case *dropped:
		a.dropped()
	case *trunkEvent:
		a.tellKeeper(m)
		if m.Sent {
			a.t.Sent(a.now, m.Leg)
			break
		}
		if m.Class != nil || !m.Over {
			a.t.Report(a.now, m.Leg, m.From, m.To, m.Class)
		}
		if m.Over {
			if a.faulty {
				panic("fault injected")
			}
			before := a.t.Held()
			a.t.Release(a.now, m.Leg)
			a.d.stats.TrunkLeases.Add(int64(a.t.Held() - before))
		}
		if m.Class != nil {
			a.tell(ctx)
		}
	case *crash:
		a.faulty = m.onRelease
		if !a.faulty {
			panic("fault injected")
		}
	case *trunkStatus:
		reply(a.d, ctx.Sender(), a.t.Status(a.now), nil)
	case *engine.TrunkHealth:
		a.t.Options(m.Up)
		a.tell(ctx)
	case *engine.TrunkSettings:
		a.t.Configure(*m)
		a.tell(ctx)
	case *expireLeases:
		if gone := a.t.Expire(a.now); len(gone) > 0 {
			a.d.stats.TrunkLeases.Add(-int64(len(gone)))
		}
		for _, leg := range a.straying() {
			a.t.Release(a.now, leg)
			a.d.stats.TrunkLeases.Add(-1)
			a.d.log.Warn().Str("trunk", string(a.t.Settings().ID)).Str("leg", string(leg)).Msg("a channel that nobody gave back is taken back")
		}
		a.d.after(a.d.cfg.Reconcile, ctx.Self(), m)
	}
}

// straying are the legs whose channels are to be taken back. Where several nodes
// use the trunk the database says it (counted).
func (a *trunkActor) straying() []engine.LegID {
	if a.d.keepers != nil {
		return nil
	}
	return a.strays.find(a.now, a.t.Legs(), a.d.owners.ownedLeg)
}

func (a *trunkActor) tell(ctx actor.Context) {
	ctx.Send(a.parent, &trunkState{a.t.Candidate(a.now)})
}

func (a *trunkActor) grant(ctx actor.Context, op *trunkOp) {
	s := a.t.Settings()
	for i, leg := range op.legs {
		if op.got[i] != "" {
			continue
		}
		ok, c, at := a.t.Acquire(a.now, leg, channelTTL)
		if !ok {
			op.refused(c, at)
			break
		}
		a.d.stats.TrunkLeases.Add(1)
		op.got[i], op.media[i] = s.ID, &s.Media
		if from := a.t.From(leg); from.After(a.now) {
			op.use[i].From = a.d.clock.Boot().Add(from.Sub(a.now))
		}
	}
	ctx.Send(a.parent, op)
}
