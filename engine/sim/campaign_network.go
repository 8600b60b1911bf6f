package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/promise"
)

// leg is one call as the network sees it: it stays up when our process dies.
type leg struct {
	id       engine.LegID
	attempt  engine.AttemptID
	of       *campaignRecord // nil for a call that came in
	cameIn   bool            // the far side called
	stored   bool            // … and the call is durable
	trunk    int
	from, to engine.PhoneNumber
	events   []engine.LegEvent // to be replayed to the next owner of the leg
	before   int               // number of earlier events, known only to a previous process
	sink     legSink           // nil means that none of our actors knows it
	chance   callee.Chance
	people   callee.Fate
	placedAt time.Duration
	progress bool // a response came
	answered bool
	since    time.Duration // when it was
	over     bool
	overAt   time.Duration
	ending   bool // our CANCEL or BYE is in progress
}

// tells reports an event of a leg to the dialler.
func (w *campaignWorld) tells(x *leg, e engine.LegEvent) {
	if x.over {
		return
	}
	e.Attempt, e.Leg, e.Trunk = x.attempt, x.id, w.in.Trunks[x.trunk].Settings.ID
	e.Seq, e.At = x.before+len(x.events)+1, w.wall()
	switch e.Kind {
	case engine.LegProvisional:
		x.progress = true
	case engine.LegAnswered:
		x.answered = true
		w.check.note(x.of, "answered: leg %s", x.id)
	default: // the others say nothing about what may follow
	}
	if e.Kind.Final() {
		x.over, x.overAt = true, w.now
		delete(w.legs, x.id)
		w.check.hear(promise.Over{Leg: x.id})
	}
	x.events = append(x.events, e)
	x.deliver(w, len(x.events)-1)
}

// deliver sends an event to the owner of the leg.
func (x *leg) deliver(w *campaignWorld, i int) {
	if a := x.sink; a != nil && w.process != nil && a.in() == w.process {
		w.process.after(0, a, &x.events[i])
	}
}

// place sends an INVITE if it may still leave.
func (w *campaignWorld) place(a *contactActor, e *engine.PlaceLeg) {
	c, row := a.r.c, &a.core.Machine.C
	i := max(slices.IndexFunc(w.in.Trunks, func(t TrunkPlan) bool { return t.Settings.ID == e.Trunk }), 0)
	// Campaigns with different pacing meet the same people.
	thing := uint64(c.i)<<56 | uint64(row.Run&0xff)<<48 | uint64(row.Used&0xff)<<40 | //nolint:gosec // mixed anyway
		uint64(row.Unconsumed&0xf)<<36 | placeOf(e.To)&(1<<36-1)
	x := &leg{id: e.Leg, attempt: e.Attempt, of: c, trunk: i, from: e.From, to: e.To, sink: a,
		chance: callee.ChanceOf(w.seed, thing)}
	a.r.p.port[e.Attempt] = append(a.r.p.port[e.Attempt], x)
	switch {
	case w.bootTime() > e.SendBy:
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentExpired})
		return
	case w.refuses[i] > 0:
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentNoRoute})
		return
	}
	_, n, _ := e.Leg.Attempt()
	w.check.invite(a.r, x)
	w.legs[x.id] = x
	c.dials++
	if n == 1 {
		w.noteDial(e.From)
	}
	x.people = w.meet(x, n, row.Used > 0, e.RingTimeout+4*time.Second)
	w.mayCallBack(x)
	w.tells(x, engine.LegEvent{Kind: engine.LegSent})
	if w.down[i] > 0 {
		w.later(32*time.Second, func() {
			w.tells(x, engine.LegEvent{Kind: engine.LegSilent})
			w.later(32*time.Second, func() { w.tells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofWord}) })
		})
		return
	}
	w.later(40*time.Millisecond, func() { w.progress(x) })
}

// meet determines the fate of the nth leg of an attempt.
func (w *campaignWorld) meet(x *leg, n int, again bool, timeout time.Duration) callee.Fate {
	if m := w.in.Measured; m != nil {
		return m.Dial(callee.ChanceOf(uint64(x.chance), uint64(n)), again, timeout) //nolint:gosec // a count
	}
	sc := w.in.People
	sc.Timeout = timeout
	if w.in.Answers != nil {
		sc.Answer = callee.Always(w.in.Answers(x.to, w.wall()))
	}
	people := callee.New(&sc, uint64(x.chance))
	return people.Dial(uint64(n), w.now) //nolint:gosec // a count
}

// noteDial records when our numbers dialled, for caps that must survive a restart.
func (w *campaignWorld) noteDial(from engine.PhoneNumber) {
	i := slices.IndexFunc(w.in.Numbers, func(s engine.NumberSettings) bool { return s.Number == from })
	if i < 0 || w.in.Numbers[i].HourCap == 0 && w.in.Numbers[i].DayCap == 0 {
		return
	}
	w.calls[from] = append(within(24*time.Hour, w.calls[from], w.now), w.now)
}

// within keeps those times of a sorted list that are less than d ago.
func within(d time.Duration, list []time.Duration, now time.Duration) []time.Duration {
	for len(list) > 0 && now-list[0] >= d {
		list = list[1:]
	}
	return list
}

// drawNetwork is the index of the draw for refusals by the network, apart from those of the callee
// model.
const drawNetwork = 42

// progress is the network's side of a leg that got through.
func (w *campaignWorld) progress(x *leg) {
	if x.over || x.ending { // CANCEL was waiting for the first response
		return
	}
	f := x.people
	refuse := func(in time.Duration, e engine.LegEvent) {
		e.Kind = engine.LegRefused
		w.later(in, func() {
			if !x.answered {
				w.tells(x, e)
			}
		})
	}
	p := &w.in.Trunks[x.trunk]
	if p.CarrierCPS > 0 {
		if list := within(time.Second, w.carrier[x.trunk], w.now); len(list) < p.CarrierCPS {
			w.carrier[x.trunk] = append(list, w.now)
		} else {
			refuse(0, engine.LegEvent{Code: 503, Reason: "CPS limit exceeded", LimitReached: true, RetryAfter: 2 * time.Second})
			return
		}
	}
	if x.chance.At(drawNetwork+uint64(len(x.events))*7+uint64(len(x.id))) < p.Refuses {
		refuse(300*time.Millisecond, engine.LegEvent{Code: 503, Reason: "Service Unavailable"})
		return
	}
	w.tells(x, engine.LegEvent{Kind: engine.LegProvisional, Code: 100})
	ends := max(f.Ring-40*time.Millisecond, time.Millisecond)
	if f.Refused {
		k := f.Kind
		refuse(ends, engine.LegEvent{Code: k.Code, Reason: k.Reason, RetryAfter: k.RetryAfter,
			NetworkBlocked: k.Outcome == engine.OutcomeBlocked, LimitReached: k.Outcome == engine.OutcomeThrottled})
		return
	}
	if !f.Answered && f.Ring < callee.FastFailMost+time.Millisecond {
		code, reason, blocked := callee.Refusal(x.chance)
		refuse(ends, engine.LegEvent{Code: code, Reason: reason, NetworkBlocked: blocked})
		return
	}
	rings := min(time.Second, ends/2)
	w.later(rings, func() {
		if x.ending || x.over {
			return
		}
		w.tells(x, engine.LegEvent{Kind: engine.LegProvisional, Code: 180})
		w.later(ends-rings, func() {
			switch {
			case x.over || x.ending || x.answered:
			case f.Answered:
				w.answer(x)
			default: // the network gives up a little after us
				w.tells(x, engine.LegEvent{Kind: engine.LegRefused, Code: 480, Reason: "Temporarily Unavailable"})
			}
		})
	})
}

// accepted is the far side's 200.
func accepted() engine.LegEvent {
	return engine.LegEvent{Kind: engine.LegAnswered, Code: 200, Reason: "OK",
		Dialog: &engine.DialogState{ToTag: "t", RemoteTarget: "sip:far@end", CSeq: 1}}
}

func (w *campaignWorld) answer(x *leg) {
	w.tells(x, accepted())
	x.since = w.now
	switch f := &x.people; {
	case f.Machine:
		w.later(time.Minute, func() { w.farEnds(x) }) // no machine records forever
	case f.Kind != nil:
		w.later(f.Talk, func() { w.farEnds(x) })
	default:
		w.later(f.Talk+30*time.Minute, func() { w.farEnds(x) }) // nor does anybody listen to silence
	}
	if in, early := w.in.Bot.Gone(x.chance); early {
		w.later(in, func() { w.farEnds(x) })
	}
}

// farEnds makes the callee hang up.
func (w *campaignWorld) farEnds(x *leg) {
	if !x.over && x.answered {
		w.tells(x, engine.LegEvent{Kind: engine.LegHungUp})
	}
}

// cancel ends a leg that was not answered; the answer may cross the CANCEL.
func (w *campaignWorld) cancel(id engine.LegID) {
	x := w.legs[id]
	if x == nil || x.ending || x.answered { // answered means that they crossed: the 200 is on its way
		return
	}
	if x.cameIn {
		w.tells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentCancelled})
		return
	}
	x.ending = true
	u := callee.ChanceOf(w.seed, callee.Mix(uint64(len(id)))+hashOf(id))
	if crosses, waits := w.in.Bot.Crosses(u); crosses {
		w.later(20*time.Millisecond, func() {
			w.tells(x, accepted())
			x.ending = false
			if waits { // wait for the contact; otherwise our side ends it by itself
				w.later(time.Second, func() { w.hangUp(id) })
			} else {
				w.hangUp(id)
			}
		})
		return
	}
	w.later(callee.Cancelled(u), func() {
		switch {
		case x.over:
		case w.down[x.trunk] > 0 && !x.progress:
			w.later(32*time.Second, func() {
				w.tells(x, engine.LegEvent{Kind: engine.LegSilent})
				w.tells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofWord})
			})
		default:
			w.tells(x, engine.LegEvent{Kind: engine.LegRefused, Code: 487, Reason: "Request Terminated"})
		}
	})
}

func hashOf(id engine.LegID) uint64 {
	var h uint64
	for i := range len(id) {
		h = h*1099511628211 + uint64(id[i])
	}
	return callee.Mix(h)
}

// hangUp ends an answered leg with BYE.
func (w *campaignWorld) hangUp(id engine.LegID) {
	x := w.legs[id]
	if x == nil || x.ending || !x.answered {
		return
	}
	x.ending = true
	w.later(60*time.Millisecond, func() { w.tells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofBye}) })
}

// attachLegs gives a contact the legs of its attempt that this process knows, with all their
// events, and returns their number.
func (p *process) attachLegs(id engine.AttemptID, a legSink) int {
	for _, x := range p.port[id] {
		x.sink = a
		for i := range x.events {
			x.deliver(p.w, i)
		}
	}
	return len(p.port[id])
}

// recoverLeg takes over a leg of an earlier process and ends it.
func (w *campaignWorld) recoverLeg(a callShell, e *engine.RecoveredLeg) {
	x := w.legs[e.Leg]
	if x == nil { // it never left, or is over: 481, or no answer at all, which proves nothing
		gone := &leg{id: e.Leg, attempt: e.Attempt, sink: a, before: 1000}
		in := 200 * time.Millisecond
		if hashOf(e.Leg)%3 == 0 {
			in = e.GiveUp
		}
		a.in().do(in, func() { w.tells(gone, engine.LegEvent{Kind: engine.LegClosed}) })
		return
	}
	x.sink, x.ending = a, false
	if x.cameIn && !x.answered { // there is no dialog for our BYE: 481
		w.later(60*time.Millisecond, func() { w.tells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofBye}) })
		return
	}
	if x.answered {
		w.hangUp(x.id)
	} else {
		w.cancel(x.id)
	}
}
