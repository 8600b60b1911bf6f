package number

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/host"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/number"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
)

// pool chooses among the numbers of one campaign. Each has a slot actor below it, which leases from
// the number's owner; the pool chooses by the latest answer of each.
type pool struct {
	s      *host.System
	owner  *actor.PID // of all numbers
	slots  map[engine.PhoneNumber]*actor.PID
	cands  []numberpool.Candidate
	local  bool
	ops    map[engine.AttemptID]*poolOp
	barred map[engine.PhoneNumber]time.Time // when each was last asked
}

// askBarred is how often a quarantined or retired number is asked again: an operator may have
// lifted that.
const askBarred = 5 * time.Second

type poolOp struct {
	req   *Reserve
	got   []core.NumberGrant
	left  int
	index map[engine.AttemptID]int
	tried map[engine.AttemptID][]engine.PhoneNumber
}

// NewPool makes the actor that chooses among the numbers of one campaign; owner is the owner of all
// numbers.
func NewPool(s *host.System, owner *actor.PID) actor.Actor {
	return &pool{s: s, owner: owner, slots: map[engine.PhoneNumber]*actor.PID{}, ops: map[engine.AttemptID]*poolOp{},
		barred: map[engine.PhoneNumber]time.Time{}}
}

func (p *pool) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *SetPool:
		p.configure(ctx, m)
	case *Reserve:
		op := &poolOp{req: m, got: make([]core.NumberGrant, len(m.Want)), left: len(m.Want),
			index: make(map[engine.AttemptID]int, len(m.Want)), tried: map[engine.AttemptID][]engine.PhoneNumber{}}
		for i := range m.Want {
			op.index[m.Want[i].Attempt] = i
			op.got[i].Attempt = m.Want[i].Attempt
		}
		for i := range m.Want {
			p.choose(ctx, op, i)
		}
	case *leased:
		p.leased(ctx, m)
	case *core.NumberChanged:
		p.changed(m.Number)
	case *call.ReleaseNumber:
		if pid := p.slots[m.Number]; pid != nil {
			ctx.Send(pid, m)
		} else {
			ctx.Send(p.owner, m)
		}
	}
}

func (p *pool) configure(ctx actor.Context, m *SetPool) {
	p.local = m.LocalMatch
	cands := make([]numberpool.Candidate, 0, len(m.Numbers))
	for _, no := range m.Numbers {
		area, country := number.Home(no)
		c := numberpool.Candidate{Number: no, AreaKey: area, CountryKey: country, Available: true}
		for i := range p.cands {
			if p.cands[i].Number == no {
				c = p.cands[i]
			}
		}
		cands = append(cands, c)
		if p.slots[no] == nil {
			slot := func() actor.Actor { return &slotActor{p.owner} }
			pid, err := ctx.SpawnNamed(p.s.Props(slot), "slot-"+no.E164())
			if err == nil {
				p.slots[no] = pid
			}
		}
	}
	p.cands = cands
}

// changed discards a number's latest answer, because it predates an edit.
func (p *pool) changed(n engine.PhoneNumber) {
	delete(p.barred, n)
	for i := range p.cands {
		if c := &p.cands[i]; c.Number == n {
			c.Available, c.Refusal = true, numberpool.Refusal{}
		}
	}
}

func (p *pool) choose(ctx actor.Context, op *poolOp, i int) {
	w := op.req.Want[i]
	now := p.s.Clock.Now()
	cands := make([]numberpool.Candidate, 0, len(p.cands))
	for _, c := range p.cands {
		tried := false
		for _, no := range op.tried[w.Attempt] {
			tried = tried || no == c.Number
		}
		if !tried {
			// The copy may be stale: a refusal that may have ended is asked again.
			barred := c.Refusal.Cap == numberpool.CapState && now.Sub(p.barred[c.Number]) < askBarred
			c.Available = c.Available || c.Refusal.Cap == numberpool.CapState && !barred ||
				(!c.Refusal.NextAt.IsZero() && !now.Before(c.Refusal.NextAt)) ||
				c.Refusal.Cap == numberpool.CapConcurrent
			cands = append(cands, c)
		}
	}
	want := numberpool.Want{LocalMatch: p.local, Sticky: w.Sticky}
	if p.local {
		want.AreaKey, want.CountryKey = number.Home(w.To)
	}
	k, refusal := numberpool.Choose(cands, want)
	if k < 0 {
		op.got[i].Constraint, op.got[i].RetryAt = engine.ConstraintNumberPool, refusal.NextAt
		if refusal.Cap == numberpool.CapAway {
			op.got[i].Constraint = engine.ConstraintKeeperAway
		}
		p.resolved(ctx, op)
		return
	}
	no := cands[k].Number
	for j := range p.cands {
		if p.cands[j].Number == no {
			p.cands[j].UsedAt = now // spreads a batch over the pool
		}
	}
	op.tried[w.Attempt] = append(op.tried[w.Attempt], no)
	p.ops[w.Attempt] = op
	ctx.Send(p.slots[no], &leaseOne{Attempt: w.Attempt, Number: no, ReplyTo: ctx.Self()})
}

func (p *pool) leased(ctx actor.Context, m *leased) {
	for j := range p.cands {
		if p.cands[j].Number == m.Number {
			if m.C.AreaKey == "" { // of another node
				m.C.AreaKey, m.C.CountryKey = p.cands[j].AreaKey, p.cands[j].CountryKey
			}
			p.cands[j] = m.C
		}
	}
	if !m.OK && m.C.Refusal.Cap == numberpool.CapState {
		p.barred[m.Number] = p.s.Clock.Now()
	}
	op := p.ops[m.Attempt]
	if op == nil {
		if m.OK { // asked before a restart of the pool; no caller waits any more
			ctx.Send(p.owner, &call.ReleaseNumber{Attempt: m.Attempt, Number: m.Number,
				End: numberpool.End{NotDialled: true}})
		}
		return
	}
	delete(p.ops, m.Attempt)
	i := op.index[m.Attempt]
	if !m.OK {
		p.choose(ctx, op, i)
		return
	}
	op.got[i].From, op.got[i].UseBy = m.Number, m.UseBy
	p.resolved(ctx, op)
}

func (p *pool) resolved(ctx actor.Context, op *poolOp) {
	if op.left--; op.left == 0 {
		ctx.Send(op.req.ReplyTo, &core.NumbersReserved{Round: op.req.Round, Got: op.got})
	}
}

// slotActor is one number of a campaign's pool: for each attempt it leases the right to use the
// number from the number's owner.
type slotActor struct{ owner *actor.PID }

func (s *slotActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *leaseOne, *call.ReleaseNumber:
		ctx.Send(s.owner, m)
	}
}
