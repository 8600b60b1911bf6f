package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
)

// numberActor is a number's one owner: caps, rest, strikes.
type numberActor struct {
	d    *deps
	slot *numberpool.Slot
	no   engine.PhoneNumber

	strays       strays[engine.AttemptID]
	lost         quota.Strays[engine.AttemptID] // by the database, where several nodes use the number
	faulty       bool                           // by tests
	alarm        numberpool.Alarm               // as it was told last
	area, region string                         // of the number, for local match
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
		l := &numberLeased{Attempt: m.Attempt, Number: a.no, OK: ok, C: a.candidate(now)}
		if m.answer != nil {
			m.answer(l.bytes())
			return
		}
		ctx.Send(m.ReplyTo, l)
	case *slotCounted:
		a.counted(now, m)
	case *dropped:
		a.dropped()
	case *releaseNumber:
		if a.faulty {
			panic("fault injected")
		}
		if m.IfHeld && !a.slot.Has(m.Attempt) {
			return
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
		for _, id := range a.straying(now) {
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
		a.area, a.region = number.Home(a.no) // worked out once, it is slow
	}
	return a.slot.Candidate(now, a.area, a.region)
}
