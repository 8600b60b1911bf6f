package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/callee"
	"dialler/engine/run"
)

// mediaPath is the audio of one call in this process: who answered is listened to, and
// the bot is connected. A contact that is restarted takes it over.
type mediaPath struct {
	p       *process
	attempt engine.AttemptID
	of      *campaignRecord
	sink    *contactActor
	events  []engine.MediaEvent
	chance  callee.Chance
	leg     *leg
	session int // counts the bot's sessions; events of an older one are dropped
	served  bool
}

// Draws of one dial beyond those of the callee model.
const (
	drawBotFails = iota + 20
	drawBotLate
	drawBotTime
	drawVerdictWrong
	drawVerdictNever
	drawVerdictTime
	drawVerdictKind
	drawHangsUp
	drawHangsUpTime
	drawEndsCall
	drawLasts
	drawResult
	drawResultTime
	drawResultTwice
	drawDisposition
	drawCallback
	drawCallbackTime
	drawDoNotCall
	drawCode
	drawProgress
	drawCross
	drawCross2
	drawNetwork
)

// Draws of what was added later; those above keep their places, so that a seed meets
// the same people.
const (
	drawNoMedia = iota + 5000
	drawRevised
	drawRevisedTime
	drawOptsOut
)

// openMedia opens the media path of a call, again for each leg.
func (p *process) openMedia(a *contactActor, e *call.OpenMedia) *call.MediaOpened {
	id := e.Open.Attempt
	m := p.media[id]
	if m == nil {
		m = &mediaPath{p: p, attempt: id, of: a.r.c, chance: callee.ChanceOf(p.w.seed, hashOf(e.Leg))}
		p.media[id] = m
	}
	m.sink = a
	if m.chance.At(drawNoMedia) < p.w.in.Bot.NoMedia {
		return &call.MediaOpened{Leg: e.Leg, Err: engine.Unavailable("no_port", "no port is free", time.Second)}
	}
	return &call.MediaOpened{Leg: e.Leg, Offer: []byte("v=0")}
}

// attachMedia gives a restarted contact its media path, and all that happened there.
func (p *process) attachMedia(id engine.AttemptID, a *contactActor) {
	if m := p.media[id]; m != nil {
		m.sink = a
		for i := range m.events {
			p.after(0, a, &m.events[i])
		}
	}
}

// happens lets something happen on the media path of the call.
func (m *mediaPath) happens(in time.Duration, e engine.MediaEvent) {
	if m == nil {
		return
	}
	p := m.p
	p.do(in, func() {
		if p.media[m.attempt] != m {
			return
		}
		e.Attempt, e.Seq, e.At = m.attempt, len(m.events)+1, p.w.wall()
		if e.Kind == engine.MediaBotConnected {
			m.served = true
		}
		m.events = append(m.events, e)
		p.after(0, m.sink, &m.events[len(m.events)-1])
	})
}

// inSession is happens for what ends with the bot's session.
func (m *mediaPath) inSession(in time.Duration, f func()) {
	n := m.session
	m.p.do(in, func() {
		if m.session == n && m.p.media[m.attempt] == m {
			f()
		}
	})
}

func (m *mediaPath) detach() {
	if m != nil {
		m.session++
		delete(m.p.w.check.runs[m.of.i].attached, m.attempt)
	}
}

// listen is answer classification.
func (m *mediaPath) listen(a *attempt.Attempt, cfg *attempt.Config) {
	if m == nil {
		return
	}
	w, b := m.p.w, &m.p.w.in.Bot
	m.leg = w.legs[a.Legs[len(a.Legs)-1].ID]
	if m.leg == nil { // its end is on its way
		return
	}
	m.chance = m.leg.chance
	if cfg.AMD == engine.AMDOff || m.chance.At(drawVerdictNever) < b.VerdictNever {
		return
	}
	machine := m.leg.people.Machine != (m.chance.At(drawVerdictWrong) < b.VerdictWrong)
	took := 600*time.Millisecond + time.Duration(m.chance.At(drawVerdictTime)*float64(3*time.Second))
	e := engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: engine.VerdictHuman, AMDTook: took,
		GreetingEnd: w.wall().Add(took - 300*time.Millisecond)}
	k := m.chance.At(drawVerdictKind)
	switch {
	case machine && k < 0.05:
		e.Verdict = engine.VerdictFax
	case machine && k < 0.1:
		e.Verdict = engine.VerdictSIT
	case machine:
		e.Verdict = engine.VerdictMachine
	case k < 0.1:
		e.Verdict, e.GreetingEnd = engine.VerdictSilence, time.Time{}
	}
	m.happens(took, e)
	if limit := cfg.Listen.Revise; !machine && limit > took &&
		m.chance.At(drawRevised) < b.Revised { // a beep after all
		beep := took + time.Duration(m.chance.At(drawRevisedTime)*float64(limit-took))
		m.happens(beep, engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: engine.VerdictMachine, AMDTook: beep})
	}
}

// attachBot opens the bot's socket.
func (m *mediaPath) attachBot(a *attempt.Attempt, e engine.AttachBot) {
	if m == nil {
		return
	}
	b, w := &m.p.w.in.Bot, m.p.w
	m.session++
	within := max(e.Deadline.Sub(w.wall()), 0)
	failed := func(in time.Duration, why string) {
		m.inSession(in, func() { m.happens(0, engine.MediaEvent{Kind: engine.MediaBotFailed, Error: why}) })
	}
	took := time.Duration((0.5 + m.chance.At(drawBotTime)) * float64(b.Connect))
	switch {
	case m.chance.At(drawBotFails) < b.Fails:
		failed(min(within, 500*time.Millisecond), "refused")
	case m.chance.At(drawBotLate) < b.Late:
		failed(within+time.Millisecond, "deadline")
	case took >= within: // as the link does: all tries together end at the deadline
		failed(within, "deadline")
	default:
		m.inSession(took, func() {
			m.happens(0, engine.MediaEvent{Kind: engine.MediaBotConnected, Session: e.Session, Endpoint: e.Endpoints[0]})
			m.converse(a)
		})
	}
}

// playMessage plays the information message of an abandoned call.
func (m *mediaPath) playMessage() {
	if m == nil {
		return
	}
	if m.chance.At(drawOptsOut) < m.p.w.in.Bot.OptsOut {
		m.happens(2*time.Second, engine.MediaEvent{Kind: engine.MediaDigit, Digit: optOut})
	}
	m.happens(4*time.Second, engine.MediaEvent{Kind: engine.MediaPlayed})
}

// converse plays the conversation, its end and its result.
func (m *mediaPath) converse(a *attempt.Attempt) {
	b, w, x := &m.p.w.in.Bot, m.p.w, m.leg
	if x == nil {
		return
	}
	talk := max(x.people.Talk, 100*time.Millisecond)
	if m.chance.At(drawLasts) < b.LastsTooLong {
		talk = 100 * time.Hour
	}
	if m.chance.At(drawEndsCall) < b.EndsCall {
		m.inSession(talk, func() { m.happens(0, engine.MediaEvent{Kind: engine.MediaBotClosed}) })
	} else {
		w.later(talk, func() { w.farEnds(x) })
	}
	u := m.chance.At(drawResult)
	at := talk + time.Duration(m.chance.At(drawResultTime)*float64(20*time.Second))
	limit := time.Duration(w.row(m.of).Settings.ResultTimeoutSec) * time.Second
	switch {
	case u < b.ResultNever:
		return
	case u < b.ResultNever+b.ResultInCall:
		at = time.Duration(0.8 * float64(min(talk, time.Hour)))
	case u < b.ResultNever+b.ResultInCall+b.ResultLate:
		at = talk + limit + time.Duration(m.chance.At(drawResultTime)*float64(2*limit))
	}
	w.report(m.of, m.attempt, a.Contact, m.chance, at, 0)
	if m.chance.At(drawResultTwice) < b.ResultTwice {
		w.report(m.of, m.attempt, a.Contact, m.chance, at+time.Minute, 1)
	}
}

// report lets a bot post its result, again and again until somebody takes it.
func (w *campaignWorld) report(c *campaignRecord, id engine.AttemptID, to engine.ContactID, u callee.Chance,
	in time.Duration, again uint64) {
	b := &w.in.Bot
	w.later(in, func() {
		x := attempt.Result{ReceivedAt: w.wall()}
		n := len(b.Dispositions)
		x.Disposition = b.Dispositions[min(int((u.At(drawDisposition+100*again))*float64(n)), n-1)]
		x.DoNotCall = u.At(drawDoNotCall+100*again) < b.DoNotCall
		if u.At(drawCallback+100*again) < b.Callback {
			x.Callback = &attempt.Callback{Requested: true}
			if t := u.At(drawCallbackTime + 100*again); t < 0.8 {
				at := w.wall().Add(time.Duration(t * t * float64(6*time.Hour))).Round(0)
				x.Callback.At = &at
			}
		}
		w.ask(&request{c: c, what: "result",
			event: &run.SubmitResult{Contact: to, Result: call.StoreResult{Call: id.Call(), Result: x}}})
	})
}
