package trunk

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// Messages to the trunks.
type (
	// ReserveBatch asks for a channel and a token for each of several legs; run.TrunksReserved
	// answers.
	ReserveBatch struct {
		Round   int
		Legs    []engine.LegID
		Draws   []uint64 // of these, for trunks of equal priority
		ReplyTo *actor.PID
	}
	// Reserve asks for a channel and a token for one leg; call.TrunkReserved
	// answers.
	Reserve struct {
		Leg     engine.LegID
		Attempt engine.AttemptID
		Tried   []engine.TrunkID
		Only    engine.TrunkID // only this trunk; "" = any
		ReplyTo *actor.PID
	}
	// Configured contains all trunks; those in Put were edited, even if unchanged.
	Configured struct {
		Trunks []engine.TrunkSettings
		Put    []engine.TrunkID
	}
	// Candidates asks for the latest state of every active trunk.
	Candidates struct{}
	// Actors asks for the actors of all trunks, or of the configured ones; Status asks for a
	// trunk's status.
	Actors struct{ Configured bool }
	Status struct{}
	// reservation travels from trunk to trunk until every leg has a channel or no
	// trunk is left.
	reservation struct {
		*call.Reservation
		batch  *ReserveBatch
		single *Reserve
	}
	state struct{ c trunk.Candidate }
)

// trunks keeps the latest state of each trunk, and passes reservations to the trunk that it
// chooses.
type trunks struct {
	d       *Deps
	byID    map[engine.TrunkID]*actor.PID
	known   map[engine.TrunkID]trunk.Candidate
	set     []engine.TrunkSettings
	applied map[engine.TrunkID]engine.TrunkSettings
}

// New makes the actor that owns the trunks; set are the existing ones.
func New(d *Deps, set []engine.TrunkSettings) actor.Actor {
	return &trunks{d: d, byID: map[engine.TrunkID]*actor.PID{}, known: map[engine.TrunkID]trunk.Candidate{},
		applied: map[engine.TrunkID]engine.TrunkSettings{}, set: set}
}

func (t *trunks) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		t.configure(ctx, t.set, nil, trunk.Resumed)
	case *Configured:
		t.configure(ctx, m.Trunks, m.Put, func(s engine.TrunkSettings, _ time.Time) *trunk.Trunk {
			return trunk.New(s)
		})
	case *ReserveBatch:
		t.place(ctx, &reservation{Reservation: call.NewBatch(m.Legs, m.Draws), batch: m})
	case *Reserve:
		t.place(ctx, &reservation{Reservation: call.NewReservation(m.Tried, m.Leg), single: m})
	case *reservation:
		t.place(ctx, m)
	case *state:
		if _, there := t.known[m.c.ID]; there { // otherwise it was deleted meanwhile
			t.known[m.c.ID] = m.c
			t.countDown()
		}
	case *call.TrunkEvent:
		if pid := t.byID[m.Trunk]; pid != nil {
			ctx.Send(pid, m)
		}
	case *engine.TrunkHealth:
		if pid := t.byID[m.Trunk]; pid != nil {
			ctx.Send(pid, m)
		}
	case *Candidates:
		t.d.Reply(ctx.Sender(), t.last(), nil)
	case *Actors:
		pids := maps.Clone(t.byID)
		maps.DeleteFunc(pids, func(id engine.TrunkID, _ *actor.PID) bool {
			_, set := t.known[id]
			return m.Configured && !set
		})
		t.d.Reply(ctx.Sender(), pids, nil)
	case *lease.Served:
		t.passOn(ctx, m.Of, m)
	case *lease.Returned:
		t.passOn(ctx, m.Of, m)
	case *lease.Dropped:
		t.passOn(ctx, m.Of, m)
	case *lease.Counted:
		t.counted(ctx, m)
	}
}

// countDown publishes whether no active trunk takes calls, and which ones are lost.
func (t *trunks) countDown() {
	down, active := 0, 0
	var lost []engine.TrunkID
	for _, s := range t.set {
		if s.Active {
			active++
			c, ok := t.known[s.ID]
			if ok && c.Down() {
				down++
			}
			if c.Health == trunk.Down {
				lost = append(lost, s.ID)
			}
		}
	}
	t.d.Stats.AllDown.Store(down == active)
	t.d.Stats.Lost.Store(&lost)
}

// configure applies the settings; a trunk that was not edited keeps its hold. first makes the
// trunks that are new here: those that existed before this process have an unknown past.
func (t *trunks) configure(ctx actor.Context, set []engine.TrunkSettings, put []engine.TrunkID,
	first func(engine.TrunkSettings, time.Time) *trunk.Trunk) {
	t.set = set
	defer t.countDown()
	gone := maps.Clone(t.byID)
	for _, s := range set {
		delete(gone, s.ID)
		if old := t.applied[s.ID]; t.byID[s.ID] != nil && reflect.DeepEqual(old, s) && !slices.Contains(put, s.ID) {
			continue
		}
		t.applied[s.ID] = s
		// Until the trunk itself has reported: it takes calls from now on.
		t.known[s.ID] = trunk.New(s).Candidate(t.d.Clock.Now())
		if pid := t.byID[s.ID]; pid != nil {
			ctx.Send(pid, &s)
			continue
		}
		a := &trunkActor{d: t.d, t: first(s, t.d.Clock.Now()), parent: ctx.Self()}
		pid, err := ctx.SpawnNamed(t.d.Props(func() actor.Actor { return a }), "trunk-"+string(s.ID))
		if err == nil {
			t.byID[s.ID] = pid
		}
	}
	for id, pid := range gone {
		// A deleted trunk grants nothing more; its actor stays for legs in progress, and for a new
		// trunk of the same name.
		delete(t.known, id)
		delete(t.applied, id)
		ctx.Send(pid, &engine.TrunkSettings{ID: id})
	}
}

// place chooses trunks for the legs without one.
func (t *trunks) place(ctx actor.Context, op *reservation) {
	cands := make([]trunk.Candidate, 0, len(t.known))
	for _, id := range slices.Sorted(maps.Keys(t.known)) { // the same draw is the same trunk
		if c := t.known[id]; op.single == nil || op.single.Only == "" || op.single.Only == c.ID {
			cands = append(cands, c)
		}
	}
	var next *actor.PID
	if id, ok := op.Next(cands); ok {
		next = t.byID[id]
	}
	op.answer(ctx, next)
}

// answer tells whoever asked, once every leg has a channel; until then next goes on, if there is one.
func (op *reservation) answer(ctx actor.Context, next *actor.PID) {
	switch {
	case next != nil && slices.Contains(op.Trunks, ""):
		ctx.Send(next, op)
	case op.single != nil:
		ctx.Send(op.single.ReplyTo, op.Of(op.single.Attempt))
	default:
		ctx.Send(op.batch.ReplyTo, core.ReservedTrunks(op.batch.Round, op.Reservation))
	}
}

// last returns the latest state of every trunk.
func (t *trunks) last() []trunk.Candidate {
	list := make([]trunk.Candidate, 0, len(t.set))
	for _, s := range t.set {
		if s.Active {
			list = append(list, t.known[s.ID])
		}
	}
	return list
}
