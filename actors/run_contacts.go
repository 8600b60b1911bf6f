package actors

import (
	"fmt"
	"strconv"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	corecall "dialler/engine/call"
	core "dialler/engine/run"
)

// spawnContact asks the contacts supervisor for a contact actor.
type spawnContact struct {
	Name string
	Seed *contactSeed
}

// roster asks for the actors of the contacts, each of which is asked to report.
type roster struct {
	life    int64
	ReplyTo *actor.PID
}

// contactsActor supervises the contact actors of one campaign: one that crashes is
// restarted alone.
type contactsActor struct {
	d *deps
}

func (c *contactsActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnContact:
		d, seed := c.d, m.Seed
		props := d.props(func() actor.Actor { return &contactActor{d: d, seed: seed} })
		name := m.Name
		for i := 2; ; i++ {
			if _, err := ctx.SpawnNamed(props, name); err == nil {
				return
			}
			// The contact's last life has not quite stopped yet.
			name = m.Name + "." + strconv.Itoa(i)
		}
	case *crash:
		panic("fault injected")
	case *roster:
		called := &core.RosterCalled{Life: m.life}
		for _, pid := range ctx.Children() {
			called.Actors = append(called.Actors, pid.Id)
			ctx.Send(again(pid), &report{ReplyTo: m.ReplyTo})
		}
		ctx.Send(m.ReplyTo, called)
	}
}

// decode gives a message as the core knows it, and who waits for an answer; nil: it
// is none of its.
func (r *run) decode(msg any, sender *actor.PID) (any, engine.Request) {
	switch m := msg.(type) {
	case *contactUp:
		r.contact(m.ID, m.PID)
		return &corecall.Up{Contact: m.ID}, ""
	case *contactReport:
		r.contact(m.Row.ID, m.PID)
		return &core.Reported{Actor: m.PID.Id, Reported: corecall.Reported{Row: m.Row, Attempt: m.Attempt, Phase: m.Phase, Seated: m.Seated,
			Tentative: m.Tentative, Stands: m.Stands}}, ""
	case *contactIdle:
		return &corecall.Idle{Contact: m.ID}, ""
	case *contactNotIdle:
		return &corecall.NotIdle{Contact: m.ID}, ""
	case *contactStopped:
		delete(r.up, m.Row.ID)
		return &corecall.Stopped{Row: m.Row}, ""
	case *lineMoved:
		return &corecall.LineMoved{Contact: m.Contact, Attempt: m.Attempt, Phase: m.Phase, Cause: m.Cause, Machine: m.Machine,
			Tentative: m.Tentative, At: m.At}, ""
	case *answerStands:
		return &corecall.AnswerStands{Contact: m.Contact, Attempt: m.Attempt}, ""
	case *inviteLeft:
		return &corecall.InviteLeft{At: m.At}, ""
	case *persistFor:
		r.contact(m.Contact, m.ReplyTo)
		return &corecall.Persist{Contact: m.Contact, Step: m.Step, Write: &m.Write}, ""
	case *mayDial:
		return &corecall.MayDial{Contact: m.contact, Dial: coreDial(m.dial)}, ""
	case *excludeDone:
		return &corecall.Excluded{Op: m.Op, Cancelled: m.Cancelled, InCall: m.InCall, Excluded: m.Excluded}, ""
	case *liftDone:
		return &corecall.Lifted{Op: m.Op, Readmitted: m.Readmitted}, ""
	case *contactStored:
		return &corecall.Stored{Number: m.number}, ""
	case *trunksReserved:
		e := &core.TrunksReserved{Round: m.Round, Legs: m.Legs, Trunks: m.Trunks, Media: m.Media, Constraint: m.Constraint, RetryAt: m.RetryAt}
		for _, u := range m.Use {
			e.Validity = append(e.Validity, corecall.Validity{From: u.from, By: u.by})
		}
		return e, ""
	case *legsGone:
		return &corecall.LegsGone{Contact: m.Contact, Attempt: m.Attempt}, ""
	case *liveAttempt:
		return &corecall.Show{Contact: m.Contact, Attempt: m.Attempt}, requestOf(sender)
	}
	return msg, requestOf(sender)
}

func coreTrigger(t *triggerContext) *corecall.Trigger {
	if t == nil {
		return nil
	}
	return &corecall.Trigger{Command: t.cmd, Request: requestOf(t.replyTo), Reason: t.reason, NextAt: t.nextAt}
}

func (r *run) triggerContext(t *corecall.Trigger) *triggerContext {
	if t == nil {
		return nil
	}
	return &triggerContext{cmd: t.Command, replyTo: r.d.pidOf(t.Request), reason: t.Reason, nextAt: t.NextAt}
}

func coreDial(m *dial) *corecall.Dial {
	return &corecall.Dial{Attempt: m.Attempt, Trunk: m.Trunk, Media: m.Media, From: m.From, Callback: m.Callback, Trigger: coreTrigger(m.Trigger),
		SendWithin: m.SendWithin, Validity: corecall.Validity{From: m.Use.from, By: m.Use.by}, Eligible: m.Eligible, Withdrawn: m.Withdrawn}
}

// command gives a command of the core as the contact's actor takes it.
func (r *run) command(msg any) any {
	d := r.d
	switch m := msg.(type) {
	case *corecall.Rules:
		return m
	case *corecall.Dial:
		return &dial{Attempt: m.Attempt, Trunk: m.Trunk, Media: m.Media, From: m.From, Callback: m.Callback, Trigger: r.triggerContext(m.Trigger),
			SendWithin: m.SendWithin, Use: use{from: m.Validity.From, by: m.Validity.By}, Eligible: m.Eligible, Withdrawn: m.Withdrawn}
	case *corecall.SeatGranted:
		return &seatGranted{Attempt: m.Attempt}
	case *corecall.Exclude:
		return &excludeContact{Reason: m.Reason, Who: m.Who, ReplyTo: r.self, Op: m.Op}
	case *corecall.Reopen:
		return &triggerContact{Trigger: r.triggerContext(m.Trigger)}
	case *corecall.Operate:
		return &actOnContact{cmd: m.Command, ReplyTo: d.pidOf(m.Request)}
	case *corecall.StoreResult:
		return &storeResult{Call: m.Call, Result: m.Result, ReplyTo: d.pidOf(m.Request)}
	case *corecall.ResultTimeout:
		return &resultTimeout{}
	case *corecall.Rest:
		return &rest{}
	case *corecall.End:
		e := &endAttempt{HangUp: m.HangUp, Reason: m.Reason, Op: m.Op}
		if m.Op != 0 {
			e.ReplyTo = r.self
		}
		return e
	case *corecall.Keys:
		return &tellCall{Attempt: m.Attempt, Digits: m.Digits, ReplyTo: d.pidOf(m.Request)}
	case *corecall.Transfer:
		return &transferCall{Attempt: m.Attempt, To: m.To, ReplyTo: d.pidOf(m.Request)}
	case *corecall.Show:
		return &liveAttempt{Contact: m.Contact, Attempt: m.Attempt, ReplyTo: d.pidOf(m.Request)}
	case *corecall.LegsGone:
		return &legsGone{Contact: m.Contact, Attempt: m.Attempt}
	case *corecall.RunEnded:
		return &runEnded{m.Kind}
	case *corecall.Readmit:
		e := &readmitContact{Variables: m.Variables, Lifted: m.LiftedExclusion, Op: m.Op}
		if m.Op != 0 {
			e.ReplyTo = r.self
		}
		return e
	case *corecall.Forget:
		return &forgetPerson{m.Tombstone}
	case *corecall.Reattached:
		return &reattached{Attempt: m.Attempt, Seated: m.Seated}
	case *corecall.Stop:
		return &stopNow{}
	}
	panic(fmt.Sprintf("actors: no contact takes a %T", msg))
}
