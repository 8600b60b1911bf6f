package number

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/actors/cluster/link"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/call"
	leases "dialler/engine/lease"
	"dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
)

// numberActor is a number's only owner: caps, rest, strikes.
type numberActor struct {
	d    *Deps
	slot *numberpool.Slot
	no   engine.PhoneNumber

	strays       leases.Strays[engine.AttemptID]
	lost         quota.Strays[engine.AttemptID] // per the database, if several nodes use the number
	alarm        numberpool.Alarm               // as last reported
	area, region string                         // of the number, for local match
}

func (a *numberActor) Receive(ctx actor.Context) {
	now := a.d.Clock.Now()
	switch m := ctx.Message().(type) {
	case *actor.Started:
		a.d.After(a.d.Reconcile, ctx.Self(), &expire{})
	case *leaseOne:
		before := a.slot.Held()
		_, ok := a.slot.Acquire(now, m.Attempt, lease.TTL)
		a.d.Stats.Leases.Add(int64(a.slot.Held() - before))
		l := &leased{Attempt: m.Attempt, Number: a.no, OK: ok, C: a.candidate(now)}
		if m.answer != nil {
			m.answer(link.Pack(l.fields))
			return
		}
		ctx.Send(m.ReplyTo, l)
	case *slotCounted:
		a.counted(now, m)
	case *lease.Dropped:
		a.dropped()
	case *call.ReleaseNumber:
		if m.IfHeld && !a.slot.Has(m.Attempt) {
			return
		}
		before := a.slot.Held()
		if a.slot.Release(now, m.Attempt, m.End) {
			ctx.Send(ctx.Parent(), &barred{a.no})
			a.d.Log.Warn().Stringer("number", a.no).
				Msg("outbound number quarantined: its caller ID was refused too often")
			a.store(ctx.Self())
		}
		a.d.Stats.Leases.Add(int64(a.slot.Held() - before))
		a.watch()
	case *quarantine:
		if a.slot.State(now) == numberpool.Quarantined {
			a.store(ctx.Self())
		}
	case *Status:
		a.d.Reply(ctx.Sender(), a.slot.Status(now), nil)
	case *engine.NumberSettings:
		a.slot.Configure(*m)
		a.watch()
	case *expire:
		before := a.slot.Held()
		a.slot.Expire(now)
		for _, id := range a.straying(now) {
			a.slot.Forget(id)
			a.d.Log.Warn().Stringer("number", a.no).Str("attempt_id", string(id)).
				Msg("reclaimed an outbound number that was not released")
		}
		a.d.Stats.Leases.Add(int64(a.slot.Held() - before))
		a.d.After(a.d.Reconcile, ctx.Self(), m)
	}
}

// watch reports when the number's answer rate raises the alarm, and when the alarm ends.
func (a *numberActor) watch() {
	before := a.alarm
	if a.alarm = a.slot.Alarm(); a.alarm == before {
		return
	}
	answered, of := a.slot.AnswerRate()
	if a.alarm == numberpool.AlarmNone {
		a.d.Log.Info().Stringer("number", a.no).Int("answered", answered).Int("calls", of).
			Msg("outbound number: its answer rate is back to normal")
		return
	}
	a.d.Log.Warn().Stringer("number", a.no).Str("alarm", string(a.alarm)).Int("answered", answered).Int("calls", of).
		Msg("outbound number: so few calls are answered that it may be labelled as spam; check, rest or replace it")
}

// store makes a quarantine durable, so that it outlives the process.
func (a *numberActor) store(self *actor.PID) {
	d, no := a.d, a.no
	go func() {
		c, cancel := context.WithTimeout(d.Ctx, d.Timeout)
		defer cancel()
		if err := d.Store.QuarantineNumber(c, no); err != nil {
			d.After(time.Second, self, &quarantine{})
		}
	}()
}

func (a *numberActor) candidate(now time.Time) numberpool.Candidate {
	if a.area == "" {
		a.area, a.region = number.Home(a.no) // computed once, because it is slow
	}
	return a.slot.Candidate(now, a.area, a.region)
}

// expire triggers the lease check.
type expire struct{}
