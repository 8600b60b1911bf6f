package number

import (
	"context"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/cluster/link"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/dialout"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
	core "dialler/engine/run"
)

// retryLoad retries a failed load.
type retryLoad struct{}

type (
	// Reserve asks a pool for a caller ID for each of several attempts; run.NumbersReserved
	// answers.
	Reserve struct {
		Round   int
		Want    []core.NumberWant
		ReplyTo *actor.PID
	}
	// leaseOne travels pool → slot → number; leased answers the pool, or the node that asked by
	// answer.
	leaseOne struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		ReplyTo *actor.PID
		answer  func([]byte)
	}
	leased struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		OK      bool
		UseBy   engine.BootTime // when the unused lease ends; 0 means never
		C       numberpool.Candidate
	}
	// SetPool sets the numbers of a campaign's pool.
	SetPool struct {
		Numbers    []engine.PhoneNumber
		LocalMatch bool
	}
	// Configured tells the numbers that caps were edited.
	Configured struct{ List []engine.NumberSettings }
	// loaded is everything known when the process starts.
	loaded struct{ Known }
	// LeaseAny asks for any of the configured numbers, or for a specific one; dialout.NumberLeased
	// answers.
	LeaseAny struct {
		Attempt engine.AttemptID
		From    engine.PhoneNumber
		ReplyTo *actor.PID
		tried   map[engine.PhoneNumber]struct{}
		away    bool // a number's calls are counted by a node that did not answer
	}
	// IsOurs asks whether the caller ID of a dialout is one of ours; dialout.NumberAsked answers.
	IsOurs struct {
		Place   *dialout.Place
		ReplyTo *actor.PID
	}
	// States asks for the states of those numbers that are configured or have been used.
	States struct{ Numbers []engine.PhoneNumber }
	// barred reports that a number's strikes have quarantined it.
	barred struct{ Number engine.PhoneNumber }
	// Actors asks for the actors of all numbers, configured or used.
	Actors struct{}
	// Status asks for a number's state.
	Status struct{}
	// quarantine makes a quarantine durable.
	quarantine struct{}
)

// numbers owns the outbound numbers of the installation, with one actor for each.
type numbers struct {
	d    *Deps
	byNo map[engine.PhoneNumber]*actor.PID
	set  map[engine.PhoneNumber]engine.NumberSettings
	// pending are leases requested before the configuration was read.
	pending []any
	loaded  bool
	any     map[engine.AttemptID]*LeaseAny // dialouts waiting for a number
	used    map[engine.PhoneNumber]time.Time
	barred  map[engine.PhoneNumber]struct{}             // quarantined by their strikes
	past    map[engine.PhoneNumber][]engine.NumberDials // of earlier processes
	ends    map[engine.PhoneNumber][]engine.NumberEnd   // likewise
}

// New makes the actor that owns the outbound numbers.
func New(d *Deps) actor.Actor {
	return &numbers{d: d, byNo: map[engine.PhoneNumber]*actor.PID{},
		set: map[engine.PhoneNumber]engine.NumberSettings{},
		any: map[engine.AttemptID]*LeaseAny{}, used: map[engine.PhoneNumber]time.Time{},
		barred: map[engine.PhoneNumber]struct{}{}, past: map[engine.PhoneNumber][]engine.NumberDials{},
		ends: map[engine.PhoneNumber][]engine.NumberEnd{}}
}

func (n *numbers) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		n.load(ctx)
	case *Actors:
		n.list(ctx)
	case *Configured:
		n.configure(ctx, m.List)
	case *loaded:
		for _, d := range m.Past {
			n.past[d.Number] = append(n.past[d.Number], d)
		}
		for _, e := range m.Ends {
			n.ends[e.Number] = append(n.ends[e.Number], e)
		}
		n.configure(ctx, m.List)
		n.loaded = true
		pending := n.pending
		n.pending = nil
		for _, p := range pending {
			n.pass(ctx, p)
		}
	case *retryLoad:
		n.load(ctx)
	case *leaseOne, *LeaseAny, *IsOurs, *call.ReleaseNumber:
		if !n.loaded {
			n.pending = append(n.pending, m)
			return
		}
		n.pass(ctx, m)
	case *lease.Served:
		n.serve(ctx, m)
	case *lease.Returned:
		n.undone(ctx, m)
	case *Counted:
		n.counted(ctx, m)
	case *lease.Dropped:
		n.shard(ctx, m.Of, m)
	case *leased:
		n.leasedAny(ctx, m)
	case *States:
		n.d.Reply(ctx.Sender(), n.states(m.Numbers), nil)
	case *barred:
		n.barred[m.Number] = struct{}{}
		n.countQuarantined()
	}
}

func (n *numbers) load(ctx actor.Context) {
	d, self, now := n.d, ctx.Self(), n.d.Clock.Now()
	go func() {
		c, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		known, err := Load(c, d.Store, now)
		if err != nil {
			d.After(time.Second, self, &retryLoad{})
			return
		}
		d.Root.Send(self, &loaded{known})
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
			n.d.Edited(s.Number)
		}
	}
	n.countQuarantined()
}

func (n *numbers) pass(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case *leaseOne:
		n.lease(ctx, m)
	case *LeaseAny:
		n.leaseAny(ctx, m)
	case *IsOurs:
		ctx.Send(m.ReplyTo, &dialout.NumberAsked{Place: m.Place, Err: n.known(m.Place.Command.From)})
	case *call.ReleaseNumber:
		if lease.Mine(n.d.Shared, quota.Shard(m.Number)) {
			ctx.Send(n.number(ctx, m.Number), m)
		} else {
			n.d.Shared.Owe(quota.Shard(m.Number), link.Pack(func(w *link.Wire) { notice(w, m) }))
		}
	}
}

// lease asks the keeper of the number's count.
func (n *numbers) lease(ctx actor.Context, m *leaseOne) {
	if lease.Mine(n.d.Shared, quota.Shard(m.Number)) {
		ctx.Send(n.number(ctx, m.Number), m)
	} else {
		n.askKeeper(m)
	}
}

// known refuses a caller ID that is none of ours.
func (n *numbers) known(no engine.PhoneNumber) error {
	if _, ok := n.set[no]; ok {
		return nil
	}
	return engine.Invalid("from_number_unknown", "", engine.FieldError{Field: "from_number", Code: "unknown",
		Message: "choose one of the configured numbers, or leave it out"})
}

// leaseAny serves a dialout: it leases the requested number if it is one of ours, or, if none was
// requested, the least recently used one. A dialout that is tried again while it waits is answered
// once: it would keep a second number that nobody returns.
func (n *numbers) leaseAny(ctx actor.Context, m *LeaseAny) {
	if w := n.any[m.Attempt]; w != nil {
		w.ReplyTo = m.ReplyTo
		return
	}
	if m.From != "" {
		if err := n.known(m.From); err != nil {
			ctx.Send(m.ReplyTo, &dialout.NumberLeased{Attempt: m.Attempt, Err: err})
			return
		}
		n.any[m.Attempt] = m
		n.lease(ctx, &leaseOne{Attempt: m.Attempt, Number: m.From, ReplyTo: ctx.Self()})
		return
	}
	if len(n.set) == 0 {
		ctx.Send(m.ReplyTo, &dialout.NumberLeased{Attempt: m.Attempt,
			Err: engine.Unavailable("no_number", "no outbound number is configured", 5*time.Second)})
		return
	}
	n.any[m.Attempt] = m
	n.tryAny(ctx, m)
}

// tryAny asks the least recently used number that has not been asked yet.
func (n *numbers) tryAny(ctx actor.Context, m *LeaseAny) {
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
		ctx.Send(m.ReplyTo, &dialout.NumberLeased{Attempt: m.Attempt, Err: m.refusal("every outbound number")})
		return
	}
	if m.tried == nil {
		m.tried = map[engine.PhoneNumber]struct{}{}
	}
	m.tried[best] = struct{}{}
	n.used[best] = n.d.Clock.Now()
	n.lease(ctx, &leaseOne{Attempt: m.Attempt, Number: best, ReplyTo: ctx.Self()})
}

// refusal says why none of the numbers that were asked can be called from.
func (m *LeaseAny) refusal(what string) error {
	if m.away {
		return engine.Unavailable("keeper_away", "", time.Second)
	}
	return engine.Unavailable("no_number", what+" is at its cap, resting or quarantined; try again", 5*time.Second)
}

func (n *numbers) leasedAny(ctx actor.Context, l *leased) {
	m := n.any[l.Attempt]
	if m == nil {
		return
	}
	m.away = m.away || l.C.Refusal.Cap == numberpool.CapAway
	switch {
	case l.OK:
		delete(n.any, l.Attempt)
		ctx.Send(m.ReplyTo, &dialout.NumberLeased{Attempt: l.Attempt, Number: l.Number, UseBy: l.UseBy})
	case m.From != "":
		delete(n.any, l.Attempt)
		ctx.Send(m.ReplyTo, &dialout.NumberLeased{Attempt: l.Attempt, Err: m.refusal("from_number")})
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
	pid, err := ctx.SpawnNamed(d.Props(func() actor.Actor {
		slot := slotOf(s, past, ends)
		return &numberActor{d: d, slot: slot, no: no, alarm: slot.Alarm()}
	}), "number-"+no.E164())
	if err != nil {
		pid = actor.NewPID(ctx.ActorSystem().Address(), ctx.Self().Id+"/number-"+no.E164())
	}
	n.byNo[no] = pid
	return pid
}

// slotOf makes a number's slot from what is known of its calls.
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

// list answers with the actors of the numbers, and starts them if necessary.
func (n *numbers) list(ctx actor.Context) {
	for no := range n.set {
		n.number(ctx, no)
	}
	n.d.Reply(ctx.Sender(), maps.Clone(n.byNo), nil)
}

// states returns the states of those numbers that are configured or barred.
func (n *numbers) states(of []engine.PhoneNumber) map[engine.PhoneNumber]numberpool.State {
	out := make(map[engine.PhoneNumber]numberpool.State, len(of))
	for _, no := range of {
		if s, ok := n.set[no]; ok {
			out[no] = numberpool.State(s.State)
		}
		if _, ok := n.barred[no]; ok {
			out[no] = numberpool.Quarantined
		}
	}
	return out
}

// countQuarantined publishes how many of the numbers are quarantined.
func (n *numbers) countQuarantined() {
	count := len(n.barred)
	for no, s := range n.set {
		if _, barred := n.barred[no]; !barred && s.State == string(numberpool.Quarantined) {
			count++
		}
	}
	n.d.Stats.Quarantined.Store(int64(count))
}
