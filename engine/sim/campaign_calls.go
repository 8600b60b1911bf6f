package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/promise"
)

// legSink hears of a leg.
type legSink interface {
	receiver
	in() *process
}

// callShell carries out the decisions of a call's core: that of a contact, or of a call that came in.
type callShell interface {
	legSink
	of() *campaignRecord // nil for a call that came in
	call() *call.Call
	apply(event any)
	owns(id engine.AttemptID)
}

// callCore decides what becomes of a call.
type callCore interface {
	Apply(in call.Input, dst []call.Effect) []call.Effect
}

// applyTo gives a core an event and carries out the effects in order. An effect may be answered at
// once: the answer is applied before the next effect.
func (p *process) applyTo(core callCore, event any, do func(call.Effect)) {
	from := len(p.effects)
	p.effects = core.Apply(call.Input{Now: p.w.wall(), Boot: p.w.bootTime(), Event: event, Process: p}, p.effects)
	for i := from; i < len(p.effects); i++ {
		end := len(p.effects)
		do(p.effects[i])
		p.effects = p.effects[:end]
	}
	clear(p.effects[from:])
	p.effects = p.effects[:from]
}

// ownedBy makes a shell the owner of an attempt; disowned ends that.
func (p *process) ownedBy(a callShell, owned *engine.AttemptID, id engine.AttemptID) {
	p.disowned(a, owned)
	*owned, p.owned[id] = id, a
}

func (p *process) disowned(a callShell, owned *engine.AttemptID) {
	if *owned != "" && p.owned[*owned] == a {
		delete(p.owned, *owned)
	}
	*owned = ""
}

// carryOut carries out the effects that all calls have; false means that it is none of them.
func (p *process) carryOut(a callShell, effect call.Effect) bool {
	w, m := p.w, &a.call().Machine
	at := &m.A
	switch e := effect.(type) {
	case *call.Answer:
		p.reply(e.Request, e.Value, e.Err)
	case *call.Owns:
		a.owns(e.Attempt)
	case *call.FetchAttempt:
		p.fetchAttempt(a, e)
	case *call.Suppress:
		w.suppress(e.Number, func() { p.reply(e.Request, nil, nil) })

	case *call.OpenMedia:
		a.apply(p.openMedia(a, e))
	case attempt.CloseMedia:
		p.media[at.ID].detach()
		delete(p.media, at.ID)
		a.apply(&call.MediaClosed{})
	case *call.AttachMedia:
		p.attachMedia(e.Attempt, a)
	case attempt.AnswerMedia:
		p.media[at.ID].listen(at, &m.Config)
	case *call.AttachBot:
		w.check.attach(a.of(), at.ID)
		p.media[at.ID].attachBot(at, e.Attach)
	case attempt.DetachBot:
		p.media[at.ID].detach()
	case attempt.PlayMessage:
		p.media[at.ID].playMessage()
	case attempt.LeaveVoicemail:
		p.media[at.ID].happens(8*time.Second, engine.MediaEvent{Kind: engine.MediaPlayed})

	case attempt.Confirm:
		if !w.in.Large { // their answers are dropped
			w.check.hear(promise.Acknowledged{Leg: e.Leg})
		}
	case attempt.Cancel:
		w.cancel(e.Leg)
	case attempt.HangUp:
		w.hangUp(e.Leg)
	case *call.AttachLegs:
		a.apply(&call.LegsAttached{Known: p.attachLegs(e.Attempt, a)})
	case *call.RecoverLeg:
		w.recoverLeg(a, &e.Leg)
	case *call.ForgetLegs:
		delete(p.port, e.Attempt)

	case *call.Arm:
		fired := e.Fired
		p.after(e.After, a, &fired)
	case *call.ToSelf:
		p.after(0, a, e.Event)
	case *call.SendDigits:
		p.reply(e.Request, nil, nil)
	case *call.Refused:
		w.check.broke(a.of(), "an event was refused by attempt %s of contact %s: %v", e.Attempt.Short(), e.Contact, e.Err)
	case call.Count, *call.Disarm, *call.BotSettled, *call.BotTried, attempt.HearDigit, attempt.HearEarly,
		attempt.Over:
		// Metrics; a late timer is ignored.
	default:
		return false
	}
	return true
}
