package sim

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/callee"
	"dialler/engine/run"
)

// mediaPath is the audio of one call in this process: it classifies the answer and connects the
// bot. A restarted contact takes it over.
type mediaPath struct {
	p       *process
	attempt engine.AttemptID
	of      *campaignRecord // nil for a call that came in
	sink    callShell
	events  []engine.MediaEvent
	chance  callee.Chance
	leg     *leg
	session int // counts the bot's sessions; events of an older one are dropped
	served  bool
}

// openMedia opens the media path of a call, again for each leg.
func (p *process) openMedia(a callShell, e *call.OpenMedia) *call.MediaOpened {
	id := e.Open.Attempt
	m := p.media[id]
	if m == nil {
		m = &mediaPath{p: p, attempt: id, of: a.of(), chance: callee.ChanceOf(p.w.seed, hashOf(e.Leg))}
		p.media[id] = m
	}
	m.sink = a
	if p.w.in.Bot.NoPath(m.chance) {
		return &call.MediaOpened{Leg: e.Leg, Err: engine.Unavailable("no_port", "no port is free", time.Second)}
	}
	return &call.MediaOpened{Leg: e.Leg, Offer: []byte("v=0")}
}

// attachMedia gives a restarted contact its media path, with all events so far.
func (p *process) attachMedia(id engine.AttemptID, a callShell) {
	if m := p.media[id]; m != nil {
		m.sink = a
		for i := range m.events {
			p.after(0, a, &m.events[i])
		}
	}
}

// happens schedules an event on the media path of the call.
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

// inSession is happens for events that the end of the bot's session cancels.
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
		m.p.w.check.detach(m.of, m.attempt)
	}
}

// listen simulates answer classification.
func (m *mediaPath) listen(a *attempt.Attempt, cfg *attempt.Config) {
	if m == nil {
		return
	}
	w := m.p.w
	m.leg = w.legs[a.Legs[len(a.Legs)-1].ID]
	if m.leg == nil { // its end is on its way
		return
	}
	m.chance = m.leg.chance
	if cfg.AMD == engine.AMDOff {
		return
	}
	v, took, revised := w.in.Bot.Verdict(&m.leg.people, m.chance, cfg.Listen.Revise)
	if v == "" {
		return
	}
	e := engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: v, AMDTook: took}
	if v != engine.VerdictSilence {
		e.GreetingEnd = w.wall().Add(max(took-300*time.Millisecond, 0))
	}
	m.happens(took, e)
	if revised > 0 { // a beep after all
		m.happens(revised, engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: engine.VerdictMachine, AMDTook: revised})
	}
}

// attachBot opens the bot's socket.
func (m *mediaPath) attachBot(a *attempt.Attempt, e engine.AttachBot) {
	if m == nil {
		return
	}
	w := m.p.w
	m.session++
	within := max(e.Deadline.Sub(w.wall()), 0)
	in, failure := w.in.Bot.Connects(m.chance, within)
	if m.p.takeSocket(e.Socket) {
		in, failure = 0, ""
	} else if w.botDown > 0 {
		in, failure = within, "away"
	}
	connected := func() {
		if failure != "" {
			m.happens(0, engine.MediaEvent{Kind: engine.MediaBotFailed, Error: failure})
			return
		}
		m.happens(0, engine.MediaEvent{Kind: engine.MediaBotConnected, Session: e.Session, Endpoint: e.Endpoints[0]})
		m.converse(a)
	}
	if in == 0 {
		connected()
		return
	}
	m.inSession(in, connected)
}

// playMessage plays the information message of an abandoned call.
func (m *mediaPath) playMessage() {
	if m == nil {
		return
	}
	if m.p.w.in.Bot.PressesKey(m.chance) {
		m.happens(2*time.Second, engine.MediaEvent{Kind: engine.MediaDigit, Digit: optOut})
	}
	m.happens(4*time.Second, engine.MediaEvent{Kind: engine.MediaPlayed})
}

// converse plays the conversation, its end and its results.
func (m *mediaPath) converse(a *attempt.Attempt) {
	w, x := m.p.w, m.leg
	if x == nil {
		return
	}
	if p := w.in.Measured; p != nil {
		if in, ok := p.Reports(m.chance, max(x.people.Talk-(w.now-x.since), 0)); ok {
			w.report(m, a.Contact, in, func() callee.Said { return p.Says(m.chance) })
		}
		return
	}
	b := &w.in.Bot
	c := b.Converse(m.chance, x.people.Talk, m.awaited())
	if c.Dies > 0 {
		m.inSession(c.Dies, func() { m.happens(0, engine.MediaEvent{Kind: engine.MediaBotClosed, Error: "lost"}) })
	}
	if c.BotEnds {
		m.inSession(c.Talk, func() { m.happens(0, engine.MediaEvent{Kind: engine.MediaBotClosed}) })
	} else {
		w.later(c.Talk, func() { w.farEnds(x) })
	}
	for n, in := range c.Results {
		w.report(m, a.Contact, in, func() callee.Said { return b.Says(m.chance, n) })
	}
}

// awaited is how long a result is waited for.
func (m *mediaPath) awaited() time.Duration {
	if m.of == nil {
		return time.Minute
	}
	return time.Duration(m.p.w.row(m.of).Settings.ResultTimeoutSec) * time.Second
}

// report makes a bot post a result, repeatedly until it is accepted.
func (w *campaignWorld) report(m *mediaPath, to engine.ContactID, in time.Duration, says func() callee.Said) {
	w.later(in, func() {
		said := says()
		x := attempt.Result{ReceivedAt: w.wall(), Disposition: said.Disposition, DoNotCall: said.DoNotCall}
		if said.Callback {
			x.Callback = &attempt.Callback{Requested: true}
			if said.CallbackIn > 0 {
				at := w.wall().Add(said.CallbackIn).Round(0)
				x.Callback.At = &at
			}
		}
		if m.of == nil {
			w.resultOfCallIn(m.attempt, x)
			return
		}
		w.ask(&request{c: m.of, what: "result",
			event: &run.SubmitResult{Contact: to, Result: call.StoreResult{Call: m.attempt.Call(), Result: x}}})
	})
}
