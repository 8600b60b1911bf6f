package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// phoneCall drives one attempt: its machine, its timers, and what waits until it is
// durable.
type phoneCall struct {
	l      *contactLine
	w      *office
	r      *desk
	m      attempt.Machine
	sendBy time.Duration
	gated  []gatedEffect
	last   int // newest recorded step
	acked  int // newest durable one
	chance chance
	people fate
	bot    int  // counts the bot's sessions; those of an older number are over
	asked  bool // a result is on its way
}

type gatedEffect struct {
	step int
	e    attempt.Effect
}

// snapshot copies the attempt for keeping.
func (c *phoneCall) snapshot() *attempt.Attempt {
	a := c.m.A
	a.Legs = slices.Clone(a.Legs)
	return &a
}

func (c *phoneCall) apply(ev attempt.Event) {
	effects, err := c.m.Apply(ev, nil)
	if err != nil {
		c.w.check.illegal(c.r.d, err)
		return
	}
	for _, e := range effects {
		if rec, ok := e.(attempt.Record); ok {
			c.last = c.l.record(rec.What)
			continue
		}
		if attempt.Gated(e) && c.last > c.acked {
			c.gated = append(c.gated, gatedEffect{c.last, e})
			continue
		}
		c.do(e)
	}
}

func (c *phoneCall) durable(step int, refused error) {
	c.acked = max(c.acked, step)
	if refused != nil && c.m.A.State == attempt.Reserved && len(c.m.A.Legs) == 1 {
		c.gated = nil
		c.apply(attempt.Event{Kind: attempt.IntentRefused, At: c.w.mono(), Err: engine.ErrorCode(refused), Until: engine.ErrorUntil(refused)})
		return
	}
	for len(c.gated) > 0 && c.gated[0].step <= c.acked {
		e := c.gated[0].e
		c.gated = c.gated[1:]
		c.do(e)
	}
}

func (c *phoneCall) do(e attempt.Effect) {
	w, a := c.w, &c.m.A
	switch e := e.(type) {
	case attempt.Dial:
		w.place(c, e)
	case attempt.Cancel:
		for i, g := range c.gated {
			if d, ok := g.e.(attempt.Dial); ok && d.Leg == e.Leg {
				c.gated = slices.Delete(slices.Clone(c.gated), i, i+1)
				c.notSent(e.Leg, engine.NotSentCancelled)
				return
			}
		}
		w.cancel(e.Leg)
	case attempt.HangUp:
		w.hangUp(e.Leg)
	case attempt.AttachBot:
		c.attachBot(e)
	case attempt.DetachBot, attempt.CloseMedia:
		c.bot++
	case attempt.PlayMessage:
		c.media(4*time.Second, engine.MediaEvent{Kind: engine.MediaPlayed})
	case attempt.Arm:
		w.after(e.At.Sub(w.mono()), func() { c.apply(e.Timer.Fired(w.mono(), e.Epoch)) })
	case attempt.TrunkEvent:
		w.trunkEvent(e, a.From, a.To)
	case attempt.NextTrunk:
		leg := a.ID.Leg(len(a.Legs) + 1)
		w.after(0, func() {
			i, refusal := w.reserveTrunk(leg, e.Tried)
			ev := attempt.Event{Kind: attempt.TrunkGranted, At: w.mono()}
			if i < 0 {
				ev.Kind, ev.Err, ev.Until = attempt.TrunkRefused, string(refusal.Constraint), refusal.RetryAt
			} else {
				ev.Trunk = w.in.Trunks[i].Settings.ID
			}
			c.apply(ev)
		})
	case attempt.Line:
		id, machine := a.ID, a.Verdict != "" && !a.Verdict.Live()
		w.after(0, func() { c.l.moved(id, e, machine) })
	case attempt.NumberFree:
		c.l.numberFree(e.Strike)
	case attempt.Over:
		c.l.over()
	case attempt.AnswerMedia:
		c.listen()
	case attempt.Confirm, attempt.Record:
	}
}

func (c *phoneCall) notSent(leg engine.LegID, why engine.NotSentReason) {
	c.apply(attempt.Event{Kind: attempt.LegNotSent, At: c.w.mono(), Leg: &engine.LegEvent{
		Attempt: c.m.A.ID, Leg: leg, Seq: 1, At: c.w.mono(), Kind: engine.LegNotSent, NotSent: why}})
}

// recoverLegs ends the legs of an earlier process life.
func (c *phoneCall) recoverLegs() (watched int) {
	if !c.m.A.Live() {
		c.m.Watch()
	}
	for i := range c.m.A.Legs {
		if l := &c.m.A.Legs[i]; l.EndedAt == nil {
			c.w.recoverLeg(c.l, l.ID, c.m.Config.RingTimeout+ringGrace)
			watched++
		}
	}
	return watched
}

func (w *office) trunkEvent(e attempt.TrunkEvent, from, to engine.PhoneNumber) {
	for i, t := range w.trunks {
		if w.in.Trunks[i].Settings.ID != e.Trunk {
			continue
		}
		if e.Class != nil || !e.Over {
			t.Report(w.mono(), e.Leg, from, to, e.Class)
		}
		if e.Over {
			t.Release(w.mono(), e.Leg)
		}
	}
}

// legEvent is what the phone tells.
func (c *phoneCall) legEvent(e engine.LegEvent) {
	if c.l.watching > 0 && !c.m.A.Live() {
		c.l.watched(e)
		return
	}
	if e.Kind == engine.LegSent {
		c.w.sent(e.Leg)
	}
	if ev, ok := attempt.FromLeg(e); ok {
		c.apply(ev)
	}
}

// sent tells every trunk: a leg is one's.
func (w *office) sent(leg engine.LegID) {
	for _, t := range w.trunks {
		t.Sent(w.mono(), leg)
	}
}

// --- the bot, and who listens --------------------------------------------------------

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

// media lets something happen on the media path of the present session.
func (c *phoneCall) media(in time.Duration, e engine.MediaEvent) {
	w, a := c.w, c.m.A.ID
	e.Attempt = a
	w.after(in, func() {
		e.At = w.mono()
		if c.m.A.Live() && c.m.A.ID == a {
			if ev, ok := attempt.FromMedia(e); ok {
				c.apply(ev)
			}
		}
	})
}

// session is media that ends with the bot's session.
func (c *phoneCall) session(in time.Duration, e engine.MediaEvent) {
	n := c.bot
	w := c.w
	e.Attempt = c.m.A.ID
	w.after(in, func() {
		e.At = w.mono()
		if c.bot == n {
			if ev, ok := attempt.FromMedia(e); ok {
				c.apply(ev)
			}
		}
	})
}

// listen is answer classification.
func (c *phoneCall) listen() {
	if c.m.Config.AMD == engine.AMDOff || c.chance.at(drawVerdictNever) < c.w.in.Bot.VerdictNever {
		return
	}
	machine := c.people.machine != (c.chance.at(drawVerdictWrong) < c.w.in.Bot.VerdictWrong)
	took := 600*time.Millisecond + time.Duration(c.chance.at(drawVerdictTime)*float64(3*time.Second))
	e := engine.MediaEvent{Kind: engine.MediaVerdict, Verdict: engine.VerdictHuman, AMDTook: took, GreetingEnd: c.w.mono().Add(took - 300*time.Millisecond)}
	k := c.chance.at(drawVerdictKind)
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
	c.media(took, e)
}

func (c *phoneCall) attachBot(e attempt.AttachBot) {
	b, w := &c.w.in.Bot, c.w
	c.bot++
	within := max(e.Deadline.Sub(w.mono()), 0)
	switch {
	case c.chance.at(drawBotFails) < b.Fails:
		c.session(min(within, 500*time.Millisecond), engine.MediaEvent{Kind: engine.MediaBotFailed, Error: "refused"})
		return
	case c.chance.at(drawBotLate) < b.Late:
		c.session(within+time.Millisecond, engine.MediaEvent{Kind: engine.MediaBotFailed, Error: "deadline"})
		return
	}
	took := time.Duration((0.5 + c.chance.at(drawBotTime)) * float64(b.Connect))
	if took >= within { // as the link does: all tries together end at the deadline
		c.session(within, engine.MediaEvent{Kind: engine.MediaBotFailed, Error: "deadline"})
		return
	}
	c.session(took, engine.MediaEvent{Kind: engine.MediaBotConnected, Session: engine.SessionID("MZ" + c.m.A.ID)})
	c.converse(took)
}

// converse plays the conversation, its end and its result.
func (c *phoneCall) converse(connects time.Duration) {
	b, w := &c.w.in.Bot, c.w
	talk := max(c.people.talk, 100*time.Millisecond)
	if c.chance.at(drawLasts) < b.LastsTooLong {
		talk = 100 * time.Hour
	}
	end := connects + talk
	leg := c.m.A.Legs[len(c.m.A.Legs)-1].ID
	if c.chance.at(drawEndsCall) < b.EndsCall {
		c.session(end, engine.MediaEvent{Kind: engine.MediaBotClosed})
	} else {
		w.later(end, func() { w.farEnds(leg) })
	}
	if c.asked {
		return
	}
	c.asked = true
	u := c.chance.at(drawResult)
	at := end + time.Duration(c.chance.at(drawResultTime)*float64(20*time.Second))
	limit := time.Duration(c.r.m.C.Settings.ResultTimeoutSec) * time.Second
	switch {
	case u < b.ResultNever:
		return
	case u < b.ResultNever+b.ResultInCall:
		at = connects + time.Duration(0.8*float64(min(talk, time.Hour)))
	case u < b.ResultNever+b.ResultInCall+b.ResultLate:
		at = end + limit + time.Duration(c.chance.at(drawResultTime)*float64(2*limit))
	}
	w.report(c.r.d, c.l.i, c.m.A.ID, c.chance, at, 0)
	if c.chance.at(drawResultTwice) < b.ResultTwice {
		w.report(c.r.d, c.l.i, c.m.A.ID, c.chance, at+time.Minute, 1)
	}
}

// report lets a bot post its result; it is repeated until somebody takes it.
func (w *office) report(d *dossier, i int32, id engine.AttemptID, u chance, in time.Duration, again uint64) {
	d.reports[id]++
	w.later(in, func() {
		if d.reports[id]--; d.reports[id] == 0 {
			delete(d.reports, id)
		}
		if w.life == 0 || w.dbAway > 0 || w.runs[d.i].resting {
			w.report(d, i, id, u, 5*time.Second, again)
			return
		}
		b := &w.in.Bot
		x := attempt.Result{ReceivedAt: w.wall()}
		n := len(b.Dispositions)
		x.Disposition = b.Dispositions[min(int((u.at(drawDisposition+100*again))*float64(n)), n-1)]
		x.DoNotCall = u.at(drawDoNotCall+100*again) < b.DoNotCall
		if u.at(drawCallback+100*again) < b.Callback {
			x.Callback = &attempt.Callback{Requested: true}
			if t := u.at(drawCallbackTime + 100*again); t < 0.8 {
				at := w.wall().Add(time.Duration(t * t * float64(6*time.Hour)))
				x.Callback.At = &at
			}
		}
		r := w.runs[d.i]
		if d.live[id] == nil && d.kept[id] == nil && !(r.lines[i] != nil && r.lines[i].call != nil && r.lines[i].call.m.A.ID == id) {
			return // the attempt never became durable, or its run was removed
		}
		l := r.line(i)
		l.result(id, x)
		l.rest()
		if w.in.Large && d.reports[id] == 0 {
			delete(d.kept, id)
		}
	})
}
