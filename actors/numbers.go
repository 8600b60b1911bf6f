package actors

import (
	"context"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
	core "dialler/engine/run"
)

// Messages about caller IDs.
// retryLoad has what could not be loaded loaded again.
type retryLoad struct{}

type (
	// reserveNumbers asks a pool for a caller ID for each of several attempts;
	// numbersReserved follows.
	reserveNumbers struct {
		Round   int
		Want    []core.NumberWant
		ReplyTo *actor.PID
	}
	releaseNumber = call.ReleaseNumber
	// leaseNumber travels pool → slot → number; numberLeased answers to the pool, or
	// to the node that asks by answer.
	leaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		ReplyTo *actor.PID
		answer  func([]byte)
	}
	numberLeased struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		OK      bool
		UseBy   engine.BootTime // when the lease ends unused, 0: never
		C       numberpool.Candidate
	}
	poolNumbers struct {
		Numbers    []engine.PhoneNumber
		LocalMatch bool
	}
	numbersConfigured struct {
		list []engine.NumberSettings
		all  bool                 // it is the list of all
		past []engine.NumberDials // of earlier process lives, when they are loaded
		ends []engine.NumberEnd   // likewise
	}
	// numberActors asks for the actors of all numbers, configured or used.
	numberActors struct{}
	// numberStatus asks a number how it stands.
	numberStatus struct{}
	// quarantine makes a quarantine durable.
	quarantine struct{}
)

// numbers owns the outbound numbers of the installation, an actor each.
type numbers struct {
	d    *deps
	byNo map[engine.PhoneNumber]*actor.PID
	set  map[engine.PhoneNumber]engine.NumberSettings
	// pending are leases asked for before the configuration was read.
	pending []any
	loaded  bool
	any     map[engine.AttemptID]*leaseAny // dialouts that wait for a number
	used    map[engine.PhoneNumber]time.Time
	barred  map[engine.PhoneNumber]struct{}             // quarantined by their strikes
	past    map[engine.PhoneNumber][]engine.NumberDials // of earlier process lives
	ends    map[engine.PhoneNumber][]engine.NumberEnd   // likewise
}

func newNumbers(d *deps) *numbers {
	return &numbers{d: d, byNo: map[engine.PhoneNumber]*actor.PID{}, set: map[engine.PhoneNumber]engine.NumberSettings{},
		any: map[engine.AttemptID]*leaseAny{}, used: map[engine.PhoneNumber]time.Time{}, barred: map[engine.PhoneNumber]struct{}{}, past: map[engine.PhoneNumber][]engine.NumberDials{}, ends: map[engine.PhoneNumber][]engine.NumberEnd{}}
}

func (n *numbers) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		n.load(ctx)
	case *numberActors:
		n.list(ctx)
	case *numbersConfigured:
		for _, d := range m.past {
			n.past[d.Number] = append(n.past[d.Number], d)
		}
		for _, e := range m.ends {
			n.ends[e.Number] = append(n.ends[e.Number], e)
		}
		n.configure(ctx, m.list)
		if !m.all && !n.loaded {
			return
		}
		n.loaded = true
		pending := n.pending
		n.pending = nil
		for _, p := range pending {
			n.pass(ctx, p)
		}
	case *retryLoad:
		n.load(ctx)
	case *leaseNumber, *leaseAny, *releaseNumber:
		if !n.loaded {
			n.pending = append(n.pending, m)
			return
		}
		n.pass(ctx, m)
	case *served:
		n.serve(ctx, m)
	case *undone:
		n.undone(ctx, m)
	case *counted:
		n.counted(ctx, m)
	case *dropped:
		n.shard(ctx, m.of, m)
	case *numberLeased:
		n.leasedAny(ctx, m)
	case *numberStates:
		reply(n.d, ctx.Sender(), n.states(m.Numbers), nil)
	case *numberBarred:
		n.barred[m.Number] = struct{}{}
		n.countQuarantined()
	case *crash:
		panic("fault injected")
	}
}

// endsMemory is how far back the ended calls of a number are looked for.
const endsMemory = 30 * 24 * time.Hour

func (n *numbers) load(ctx actor.Context) {
	d, self, now := n.d, ctx.Self(), n.d.clock.Now()
	go func() {
		c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		list, past, ends, err := d.loadNumbers(c, now)
		if err != nil {
			d.after(time.Second, self, &retryLoad{})
			return
		}
		d.root.Send(self, &numbersConfigured{list: list, all: true, past: past, ends: ends})
	}()
}

func (n *numbers) configure(ctx actor.Context, list []engine.NumberSettings) {
	for _, s := range list {
		old := n.set[s.Number]
		_, barred := n.barred[s.Number]
		n.set[s.Number] = s
		delete(n.barred, s.Number)
		if pid := n.byNo[s.Number]; pid != nil {
			ctx.Send(pid, &s)
		}
		if n.loaded && (barred || old != s) {
			ctx.Send(n.d.campaigns, &everyRun{&core.NumberChanged{Number: s.Number}})
		}
	}
	n.countQuarantined()
}

func (n *numbers) pass(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case *leaseNumber:
		n.lease(ctx, m)
	case *leaseAny:
		n.leaseAny(ctx, m)
	case *releaseNumber:
		if n.d.kept(quota.Shard(m.Number)) {
			ctx.Send(n.number(ctx, m.Number), m)
		} else {
			n.d.keepers.Owe(quota.Shard(m.Number), numberNotice(m))
		}
	}
}

// lease asks whoever keeps the number's count.
func (n *numbers) lease(ctx actor.Context, m *leaseNumber) {
	if n.d.kept(quota.Shard(m.Number)) {
		ctx.Send(n.number(ctx, m.Number), m)
	} else {
		n.askKeeper(m)
	}
}

// leaseAny serves a dialout: the number that was asked for, if it is one of
// ours, else the least recently used of all.
func (n *numbers) leaseAny(ctx actor.Context, m *leaseAny) {
	if m.From != "" {
		if _, ok := n.set[m.From]; !ok {
			ctx.Send(m.ReplyTo, &anyLeased{Attempt: m.Attempt, Err: engine.Invalid("from_number_unknown", "from_number is not one of the configured outbound numbers",
				engine.FieldError{Field: "from_number", Code: "unknown", Message: "choose one of the configured numbers, or leave it out"})})
			return
		}
		n.any[m.Attempt] = m
		n.lease(ctx, &leaseNumber{Attempt: m.Attempt, Number: m.From, ReplyTo: ctx.Self()})
		return
	}
	if len(n.set) == 0 {
		ctx.Send(m.ReplyTo, &anyLeased{Attempt: m.Attempt, Err: engine.Unavailable("no_number", "no outbound number is configured", 5*time.Second)})
		return
	}
	n.any[m.Attempt] = m
	n.tryAny(ctx, m)
}

// tryAny asks the least recently used number that was not asked yet.
func (n *numbers) tryAny(ctx actor.Context, m *leaseAny) {
	var best engine.PhoneNumber
	for no := range n.set {
		if _, tried := m.tried[no]; tried {
			continue
		}
		if best == "" || n.used[no].Before(n.used[best]) || (n.used[no].Equal(n.used[best]) && no < best) {
			best = no
		}
	}
	if best == "" {
		delete(n.any, m.Attempt)
		ctx.Send(m.ReplyTo, &anyLeased{Attempt: m.Attempt, Err: engine.Unavailable("no_number", "every outbound number is at its cap, resting or quarantined; try again", 5*time.Second)})
		return
	}
	if m.tried == nil {
		m.tried = map[engine.PhoneNumber]struct{}{}
	}
	m.tried[best] = struct{}{}
	n.used[best] = n.d.clock.Now()
	n.lease(ctx, &leaseNumber{Attempt: m.Attempt, Number: best, ReplyTo: ctx.Self()})
}

func (n *numbers) leasedAny(ctx actor.Context, l *numberLeased) {
	m := n.any[l.Attempt]
	switch {
	case m == nil:
	case l.OK:
		delete(n.any, l.Attempt)
		ctx.Send(m.ReplyTo, &anyLeased{Attempt: l.Attempt, Number: l.Number, UseBy: l.UseBy})
	case m.From != "":
		delete(n.any, l.Attempt)
		ctx.Send(m.ReplyTo, &anyLeased{Attempt: l.Attempt, Err: engine.Unavailable("no_number", "from_number is at its cap, resting or quarantined; try again", 5*time.Second)})
	default:
		n.tryAny(ctx, m)
	}
}

func (n *numbers) number(ctx actor.Context, no engine.PhoneNumber) *actor.PID {
	if pid := n.byNo[no]; pid != nil {
		return pid
	}
	s, ok := n.set[no]
	if !ok {
		s = engine.NumberSettings{Number: no, State: string(numberpool.Active)}
	}
	d, past, ends := n.d, n.past[no], n.ends[no]
	delete(n.past, no)
	delete(n.ends, no)
	pid, err := ctx.SpawnNamed(d.props(func() actor.Actor {
		slot := slotOf(s, past, ends)
		return &numberActor{d: d, slot: slot, no: no, alarm: slot.Alarm()}
	}), "number-"+no.E164())
	if err != nil {
		pid = actor.NewPID(ctx.ActorSystem().Address(), ctx.Self().Id+"/number-"+no.E164())
	}
	n.byNo[no] = pid
	return pid
}

// slotOf is a number's slot with what is known of its calls.
func slotOf(s engine.NumberSettings, past []engine.NumberDials, ends []engine.NumberEnd) *numberpool.Slot {
	slot := numberpool.NewSlot(s)
	for _, p := range past {
		for range p.Count {
			slot.Replay(p.At)
		}
	}
	for _, e := range ends {
		slot.Recall(e.At, numberpool.End{Answered: e.Answered, Strike: e.Struck})
	}
	return slot
}

// list answers with the actors of the numbers, brought up if they are not.
func (n *numbers) list(ctx actor.Context) {
	for no := range n.set {
		n.number(ctx, no)
	}
	reply(n.d, ctx.Sender(), maps.Clone(n.byNo), nil)
}
