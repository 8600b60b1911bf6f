package actors

import (
	"context"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/engine/numberpool"
)

// Messages about caller IDs.
type (
	numberWant struct {
		Attempt engine.AttemptID
		To      engine.PhoneNumber
		Sticky  engine.PhoneNumber // the number that called the contact before, if it matters
	}
	// reserveNumbers asks a pool for a caller ID for each of several attempts;
	// numbersReserved follows.
	reserveNumbers struct {
		Round   int
		Want    []numberWant
		ReplyTo *actor.PID
	}
	numberGrant struct {
		Attempt    engine.AttemptID
		From       engine.PhoneNumber // "" when refused
		Constraint engine.Constraint
		RetryAt    time.Time
	}
	numbersReserved struct {
		Round int
		Got   []numberGrant
	}
	releaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		End     numberpool.End
	}
	// leaseNumber travels pool → slot → number; numberLeased answers to the pool.
	leaseNumber struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		ReplyTo *actor.PID
	}
	numberLeased struct {
		Attempt engine.AttemptID
		Number  engine.PhoneNumber
		OK      bool
		C       numberpool.Candidate
	}
	poolNumbers struct {
		Numbers    []engine.PhoneNumber
		LocalMatch bool
	}
	numbersConfigured struct {
		list []engine.NumberSettings
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
		n.loaded = true
		pending := n.pending
		n.pending = nil
		for _, p := range pending {
			n.pass(ctx, p)
		}
	case *retryLoad:
		n.load(ctx)
	case *leaseNumber, *releaseNumber:
		if !n.loaded {
			n.pending = append(n.pending, m)
			return
		}
		n.pass(ctx, m)
	case *leaseAny:
		n.leaseAny(ctx, m)
	case *numberLeased:
		n.leasedAny(ctx, m)
	case *numberStates:
		reply(n.d, ctx.Sender(), n.states(m.Numbers), nil)
	case *numberBarred:
		n.barred[m.Number] = struct{}{}
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
		list, err := d.store.Numbers(c)
		var past []engine.NumberDials
		if err == nil {
			past, err = d.store.NumberDials(c, now.Add(-numberpool.Memory))
		}
		var ends []engine.NumberEnd
		if err == nil {
			ends, err = d.store.NumberEnds(c, now.Add(-endsMemory), numberpool.CallsKept)
		}
		if err != nil {
			d.after(time.Second, self, &retryLoad{})
			return
		}
		d.root.Send(self, &numbersConfigured{list, past, ends})
	}()
}

func (n *numbers) configure(ctx actor.Context, list []engine.NumberSettings) {
	for _, s := range list {
		n.set[s.Number] = s
		delete(n.barred, s.Number)
		if pid := n.byNo[s.Number]; pid != nil {
			ctx.Send(pid, &s)
		}
	}
}

func (n *numbers) pass(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case *leaseNumber:
		ctx.Send(n.number(ctx, m.Number), m)
	case *releaseNumber:
		ctx.Send(n.number(ctx, m.Number), m)
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
		ctx.Send(n.number(ctx, m.From), &leaseNumber{Attempt: m.Attempt, Number: m.From, ReplyTo: ctx.Self()})
		n.any[m.Attempt] = m
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
	ctx.Send(n.number(ctx, best), &leaseNumber{Attempt: m.Attempt, Number: best, ReplyTo: ctx.Self()})
}

func (n *numbers) leasedAny(ctx actor.Context, l *numberLeased) {
	m := n.any[l.Attempt]
	switch {
	case m == nil:
	case l.OK:
		delete(n.any, l.Attempt)
		ctx.Send(m.ReplyTo, &anyLeased{Attempt: l.Attempt, Number: l.Number})
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
		slot := numberpool.NewSlot(s)
		for _, p := range past {
			for range p.Count {
				slot.Replay(p.At)
			}
		}
		for _, e := range ends {
			slot.Recall(e.At, numberpool.End{Answered: e.Answered, Strike: e.Struck})
		}
		return &numberActor{d: d, slot: slot, no: no, alarm: slot.Alarm()}
	}), "number-"+no.E164())
	if err != nil {
		pid = actor.NewPID(ctx.ActorSystem().Address(), ctx.Self().Id+"/number-"+no.E164())
	}
	n.byNo[no] = pid
	return pid
}

// list answers with the actors of the numbers, brought up if they are not.
func (n *numbers) list(ctx actor.Context) {
	for no := range n.set {
		n.number(ctx, no)
	}
	reply(n.d, ctx.Sender(), maps.Clone(n.byNo), nil)
}

// numberActor is a number's one owner: caps, rest, strikes.
type numberActor struct {
	d    *deps
	slot *numberpool.Slot
	no   engine.PhoneNumber

	strays       strays[engine.AttemptID]
	faulty       bool             // by tests
	alarm        numberpool.Alarm // as it was told last
	area, region string           // of the number, for local match
}

func (a *numberActor) Receive(ctx actor.Context) {
	now := a.d.clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.d.after(a.d.cfg.Reconcile, ctx.Self(), &expireLeases{})
	case *leaseNumber:
		before := a.slot.Held()
		_, ok := a.slot.Acquire(now, m.Attempt, channelTTL)
		a.d.stats.SlotLeases.Add(int64(a.slot.Held() - before))
		ctx.Send(m.ReplyTo, &numberLeased{Attempt: m.Attempt, Number: a.no, OK: ok, C: a.candidate(now)})
	case *releaseNumber:
		if a.faulty {
			panic("fault injected")
		}
		before := a.slot.Held()
		if a.slot.Release(now, m.Attempt, m.End) {
			ctx.Send(ctx.Parent(), &numberBarred{a.no})
			a.d.log.Warn().Stringer("number", a.no).Msg("outbound number quarantined: its caller ID was refused too often")
			a.store(ctx.Self())
		}
		a.d.stats.SlotLeases.Add(int64(a.slot.Held() - before))
		a.watch()
	case *quarantine:
		if a.slot.State(now) == numberpool.Quarantined {
			a.store(ctx.Self())
		}
	case *crash:
		a.faulty = m.onRelease
		if !a.faulty {
			panic("fault injected")
		}
	case *numberStatus:
		reply(a.d, ctx.Sender(), a.slot.Status(now), nil)
	case *engine.NumberSettings:
		a.slot.Configure(*m)
		a.watch()
	case *expireLeases:
		before := a.slot.Held()
		a.slot.Expire(now)
		for _, id := range a.strays.find(now, a.slot.Attempts(), a.d.owners.owned) {
			a.slot.Forget(id)
			a.d.log.Warn().Stringer("number", a.no).Str("attempt_id", string(id)).Msg("an outbound number that nobody gave back is taken back")
		}
		a.d.stats.SlotLeases.Add(int64(a.slot.Held() - before))
		a.d.after(a.d.cfg.Reconcile, ctx.Self(), m)
	}
}

// watch tells people when the number's answer rate begins to alarm, and when it
// does no more.
func (a *numberActor) watch() {
	before := a.alarm
	if a.alarm = a.slot.Alarm(); a.alarm == before {
		return
	}
	answered, of := a.slot.AnswerRate()
	if a.alarm == numberpool.AlarmNone {
		a.d.log.Info().Stringer("number", a.no).Int("answered", answered).Int("calls", of).Msg("outbound number: its answer rate is usual again")
		return
	}
	a.d.log.Warn().Stringer("number", a.no).Str("alarm", string(a.alarm)).Int("answered", answered).Int("calls", of).
		Msg("outbound number: so few answer that it may be labelled as spam; look at it, rest it or replace it")
}

// store makes a quarantine durable: it outlives the process.
func (a *numberActor) store(self *actor.PID) {
	d, no := a.d, a.no
	go func() {
		c, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		if err := d.store.QuarantineNumber(c, no); err != nil {
			d.after(time.Second, self, &quarantine{})
		}
	}()
}

func (a *numberActor) candidate(now time.Time) numberpool.Candidate {
	if a.area == "" {
		a.area, a.region = number.AreaKey(a.no), number.Region(a.no) // worked out once, it is slow
	}
	return a.slot.Candidate(now, a.area, a.region)
}

// pool chooses among the numbers of one campaign. Each is a slot actor below
// it, which leases from the number's owner; the pool keeps the last word of
// each to choose by.
type pool struct {
	d      *deps
	id     engine.CampaignID
	slots  map[engine.PhoneNumber]*actor.PID
	cands  []numberpool.Candidate
	local  bool
	ops    map[engine.AttemptID]*poolOp
	barred map[engine.PhoneNumber]time.Time // when it was last asked
}

// askBarred is how often a number that is quarantined or retired is asked again:
// an operator may have ended that.
const askBarred = 5 * time.Second

type poolOp struct {
	req   *reserveNumbers
	got   []numberGrant
	left  int
	index map[engine.AttemptID]int
	tried map[engine.AttemptID][]engine.PhoneNumber
}

func newPool(d *deps, id engine.CampaignID) *pool {
	return &pool{d: d, id: id, slots: map[engine.PhoneNumber]*actor.PID{}, ops: map[engine.AttemptID]*poolOp{}, barred: map[engine.PhoneNumber]time.Time{}}
}

func (p *pool) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *poolNumbers:
		p.configure(ctx, m)
	case *reserveNumbers:
		op := &poolOp{req: m, got: make([]numberGrant, len(m.Want)), left: len(m.Want),
			index: make(map[engine.AttemptID]int, len(m.Want)), tried: map[engine.AttemptID][]engine.PhoneNumber{}}
		for i := range m.Want {
			op.index[m.Want[i].Attempt] = i
			op.got[i].Attempt = m.Want[i].Attempt
		}
		for i := range m.Want {
			p.choose(ctx, op, i)
		}
	case *numberLeased:
		p.leased(ctx, m)
	case *crash:
		panic("fault injected")
	case *releaseNumber:
		if pid := p.slots[m.Number]; pid != nil {
			ctx.Send(pid, m)
		} else {
			ctx.Send(p.d.numbers, m)
		}
	}
}

func (p *pool) configure(ctx actor.Context, m *poolNumbers) {
	p.local = m.LocalMatch
	cands := make([]numberpool.Candidate, 0, len(m.Numbers))
	for _, no := range m.Numbers {
		c := numberpool.Candidate{Number: no, AreaKey: number.AreaKey(no), CountryKey: number.Region(no), Available: true}
		for i := range p.cands {
			if p.cands[i].Number == no {
				c = p.cands[i]
			}
		}
		cands = append(cands, c)
		if p.slots[no] == nil {
			d := p.d
			pid, err := ctx.SpawnNamed(d.props(func() actor.Actor { return &slotActor{d: d} }), "slot-"+no.E164())
			if err == nil {
				p.slots[no] = pid
			}
		}
	}
	p.cands = cands
}

func (p *pool) choose(ctx actor.Context, op *poolOp, i int) {
	w := op.req.Want[i]
	now := p.d.clock.Now()
	cands := make([]numberpool.Candidate, 0, len(p.cands))
	for _, c := range p.cands {
		tried := false
		for _, no := range op.tried[w.Attempt] {
			tried = tried || no == c.Number
		}
		if !tried {
			// The copy may be stale: a refusal whose time has come is asked again.
			barred := c.Refusal.Cap == numberpool.CapState && now.Sub(p.barred[c.Number]) < askBarred
			c.Available = c.Available || c.Refusal.Cap == numberpool.CapState && !barred || (!c.Refusal.NextAt.IsZero() && !now.Before(c.Refusal.NextAt)) || c.Refusal.Cap == numberpool.CapConcurrent
			cands = append(cands, c)
		}
	}
	want := numberpool.Want{LocalMatch: p.local, Sticky: w.Sticky}
	if p.local {
		want.AreaKey, want.CountryKey = number.AreaKey(w.To), number.Region(w.To)
	}
	k, refusal := numberpool.Choose(cands, want)
	if k < 0 {
		op.got[i].Constraint, op.got[i].RetryAt = engine.ConstraintNumberPool, refusal.NextAt
		p.resolved(ctx, op)
		return
	}
	no := cands[k].Number
	for j := range p.cands {
		if p.cands[j].Number == no {
			p.cands[j].UsedAt = now // spread a batch over the pool
		}
	}
	op.tried[w.Attempt] = append(op.tried[w.Attempt], no)
	p.ops[w.Attempt] = op
	ctx.Send(p.slots[no], &leaseNumber{Attempt: w.Attempt, Number: no, ReplyTo: ctx.Self()})
}

func (p *pool) leased(ctx actor.Context, m *numberLeased) {
	for j := range p.cands {
		if p.cands[j].Number == m.Number {
			p.cands[j] = m.C
		}
	}
	if !m.OK && m.C.Refusal.Cap == numberpool.CapState {
		p.barred[m.Number] = p.d.clock.Now()
	}
	op := p.ops[m.Attempt]
	if op == nil {
		if m.OK { // asked before a restart of the pool; nobody waits any more
			ctx.Send(p.d.numbers, &releaseNumber{Attempt: m.Attempt, Number: m.Number, End: numberpool.End{NotDialled: true}})
		}
		return
	}
	delete(p.ops, m.Attempt)
	i := op.index[m.Attempt]
	if !m.OK {
		p.choose(ctx, op, i)
		return
	}
	op.got[i].From = m.Number
	p.resolved(ctx, op)
}

func (p *pool) resolved(ctx actor.Context, op *poolOp) {
	if op.left--; op.left == 0 {
		ctx.Send(op.req.ReplyTo, &numbersReserved{Round: op.req.Round, Got: op.got})
	}
}

// slotActor is one number of a campaign's pool: the right to use it for one
// attempt now is leased from the number's owner.
type slotActor struct{ d *deps }

func (s *slotActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *crash:
		panic("fault injected")
	case *leaseNumber, *releaseNumber:
		ctx.Send(s.d.numbers, m)
	}
}
