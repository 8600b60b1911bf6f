package sim

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// wire is a leg as the network sees it: it goes on when our process dies.
type wire struct {
	id       engine.LegID
	attempt  engine.AttemptID
	trunk    int
	from, to engine.PhoneNumber
	seq      int
	sink     func(engine.LegEvent) // nil: nobody of ours knows of it
	progress bool                  // a response came
	answered bool
	over     bool
	ending   bool // a cancel or a BYE of ours is under way
}

// tell lets the dialler know what happened to a leg.
func (w *office) wireTells(x *wire, e engine.LegEvent) {
	if x.over {
		return
	}
	x.seq++
	e.Attempt, e.Leg, e.Trunk, e.Seq, e.At = x.attempt, x.id, w.in.Trunks[x.trunk].Settings.ID, x.seq, w.mono()
	switch e.Kind {
	case engine.LegProvisional:
		x.progress = true
	case engine.LegAnswered:
		x.answered = true
	default: // the rest says nothing of what may still come
	}
	if e.Kind.Final() {
		x.over = true
		delete(w.wires, x.id)
		if w.byNumber[x.to] == x {
			delete(w.byNumber, x.to)
		}
	}
	if x.sink != nil {
		x.sink(e)
	}
}

// place sends an INVITE, if it may still leave.
func (w *office) place(c *phoneCall, e attempt.Dial) {
	a := &c.m.A
	i := 0
	for k := range w.in.Trunks {
		if w.in.Trunks[k].Settings.ID == e.Trunk {
			i = k
		}
	}
	x := &wire{id: e.Leg, attempt: a.ID, trunk: i, from: a.From, to: a.To}
	x.sink = func(e engine.LegEvent) { w.deliver(c, e) }
	switch {
	case w.now > c.sendBy:
		w.wireTells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentExpired})
		return
	case w.refuses[i] > 0:
		w.wireTells(x, engine.LegEvent{Kind: engine.LegNotSent, NotSent: engine.NotSentNoRoute})
		return
	}
	w.check.invite(c, x)
	w.wires[x.id], w.byNumber[x.to] = x, x
	c.r.d.dials++
	if len(a.Legs) == 1 {
		w.noteDial(a.From, a.ReservedAt.Sub(w.in.Start))
	}
	sc := w.in.People
	sc.Timeout = c.m.Config.RingTimeout + 4*time.Second
	people := newCallees(&sc, uint64(c.chance))
	c.people = people.dial(uint64(len(a.Legs)), w.now)
	w.wireTells(x, engine.LegEvent{Kind: engine.LegSent})
	if w.down[i] > 0 {
		w.later(32*time.Second, func() {
			w.wireTells(x, engine.LegEvent{Kind: engine.LegSilent})
			w.later(32*time.Second, func() { w.wireTells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofWord}) })
		})
		return
	}
	w.later(40*time.Millisecond, func() { w.progress(c, x, c.people) })
}

// deliver: leg events reach the call as messages.
func (w *office) deliver(c *phoneCall, e engine.LegEvent) {
	w.after(0, func() {
		c.legEvent(e)
	})
}

// noteDial keeps when our numbers dialled, for the caps that a restart must
// keep.
func (w *office) noteDial(from engine.PhoneNumber, at time.Duration) {
	i := slices.IndexFunc(w.in.Numbers, func(s engine.NumberSettings) bool { return s.Number == from })
	if i < 0 || w.in.Numbers[i].HourCap == 0 && w.in.Numbers[i].DayCap == 0 {
		return
	}
	list := append(w.calls[from], at)
	for len(list) > 0 && at-list[0] >= 24*time.Hour {
		list = list[1:]
	}
	w.calls[from] = list
	w.check.number(&w.in.Numbers[i], list, at)
}

// progress is the network's side of a leg that got through.
func (w *office) progress(c *phoneCall, x *wire, f fate) {
	if x.over {
		return
	}
	if x.ending {
		return // CANCEL was waiting for the first response
	}
	refuse := func(in time.Duration, e engine.LegEvent) {
		e.Kind = engine.LegRefused
		w.later(in, func() {
			if !x.answered {
				w.wireTells(x, e)
			}
		})
	}
	p := &w.in.Trunks[x.trunk]
	if p.CarrierCPS > 0 {
		list := w.carrier[x.trunk]
		for len(list) > 0 && w.now-list[0] >= time.Second {
			list = list[1:]
		}
		over := len(list) >= p.CarrierCPS
		if !over {
			list = append(list, w.now)
		}
		w.carrier[x.trunk] = list
		if over {
			refuse(0, engine.LegEvent{Code: 503, Reason: "CPS limit exceeded", LimitReached: true, RetryAfter: 2 * time.Second})
			return
		}
	}
	if c.chance.at(drawNetwork+uint64(x.seq)*7+uint64(len(x.id))) < p.Refuses { //nolint:gosec // a count
		refuse(300*time.Millisecond, engine.LegEvent{Code: 503, Reason: "Service Unavailable"})
		return
	}
	w.wireTells(x, engine.LegEvent{Kind: engine.LegProvisional, Code: 100})
	ends := max(f.rings-40*time.Millisecond, time.Millisecond)
	if !f.answered && f.rings < failMost+time.Millisecond {
		refuse(ends, refusalOf(c.chance.at(drawCode)))
		return
	}
	rings := min(time.Second, ends/2)
	w.later(rings, func() {
		if x.ending || x.over {
			return
		}
		w.wireTells(x, engine.LegEvent{Kind: engine.LegProvisional, Code: 180})
		w.later(ends-rings, func() {
			switch {
			case x.over || x.ending || x.answered:
			case f.answered:
				w.answer(c, x, f)
			default: // the network gives up a little after us
				w.wireTells(x, engine.LegEvent{Kind: engine.LegRefused, Code: 480, Reason: "Temporarily Unavailable"})
			}
		})
	})
}

func (w *office) answer(c *phoneCall, x *wire, f fate) {
	w.wireTells(x, engine.LegEvent{Kind: engine.LegAnswered, Code: 200, Reason: "OK",
		Dialog: &engine.DialogState{ToTag: "t", RemoteTarget: "sip:far@end", CSeq: 1}})
	if f.machine {
		w.later(time.Minute, func() { w.farEnds(x.id) }) // no machine records for ever
	} else {
		w.later(f.talk+30*time.Minute, func() { w.farEnds(x.id) }) // nor does anybody listen to silence
	}
	if c.chance.at(drawHangsUp) < w.in.Bot.HangsUpEarly {
		w.later(time.Duration(c.chance.at(drawHangsUpTime)*float64(2*time.Second)), func() { w.farEnds(x.id) })
	}
}

// farEnds: the callee hangs up.
func (w *office) farEnds(id engine.LegID) {
	if x := w.wires[id]; x != nil && x.answered {
		w.wireTells(x, engine.LegEvent{Kind: engine.LegHungUp})
	}
}

// refusalOf draws a final response of the far side.
func refusalOf(u float64) engine.LegEvent {
	for _, k := range []struct {
		upTo float64
		e    engine.LegEvent
	}{
		{0.45, engine.LegEvent{Code: 486, Reason: "Busy Here"}},
		{0.6, engine.LegEvent{Code: 480, Reason: "Temporarily Unavailable"}},
		{0.72, engine.LegEvent{Code: 404, Reason: "Not Found"}},
		{0.8, engine.LegEvent{Code: 603, Reason: "Decline"}},
		{0.86, engine.LegEvent{Code: 503, Reason: "Service Unavailable"}},
		{0.9, engine.LegEvent{Code: 500, Reason: "Server Internal Error"}},
		{0.93, engine.LegEvent{Code: 403, Reason: "Forbidden"}},
		{0.95, engine.LegEvent{Code: 408, Reason: "Request Timeout"}},
		{0.97, engine.LegEvent{Code: 488, Reason: "Not Acceptable Here"}},
	} {
		if u < k.upTo {
			return k.e
		}
	}
	return engine.LegEvent{Code: 603, Reason: "Declined", NetworkBlocked: true}
}

// cancel ends a leg that was not answered; the answer may cross it.
func (w *office) cancel(id engine.LegID) {
	x := w.wires[id]
	switch {
	case x == nil || x.ending:
		return
	case x.answered:
		return // it crossed: the 200 is on its way to whom asks
	}
	x.ending = true
	u := chanceOf(w.seed, mix(uint64(len(id)))+placeHash(id))
	if u.at(drawCross) < w.in.Bot.CrossedCancel {
		w.later(20*time.Millisecond, func() {
			w.wireTells(x, engine.LegEvent{Kind: engine.LegAnswered, Code: 200, Reason: "OK",
				Dialog: &engine.DialogState{ToTag: "t", RemoteTarget: "sip:far@end", CSeq: 1}})
			x.ending = false
			if u.at(drawCross2) < 0.5 { // our side ends it by itself, or waits to be told
				w.hangUp(id)
			} else {
				w.later(time.Second, func() { w.hangUp(id) })
			}
		})
		return
	}
	w.later(time.Duration(20+u.at(drawProgress)*300)*time.Millisecond, func() {
		switch {
		case x.over:
		case w.down[x.trunk] > 0 && !x.progress:
			w.later(32*time.Second, func() {
				w.wireTells(x, engine.LegEvent{Kind: engine.LegSilent})
				w.wireTells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofWord})
			})
		default:
			w.wireTells(x, engine.LegEvent{Kind: engine.LegRefused, Code: 487, Reason: "Request Terminated"})
		}
	})
}

func placeHash(id engine.LegID) uint64 {
	var h uint64
	for i := range len(id) {
		h = h*1099511628211 + uint64(id[i])
	}
	return mix(h)
}

// hangUp ends an answered leg with BYE.
func (w *office) hangUp(id engine.LegID) {
	x := w.wires[id]
	if x == nil || x.ending || !x.answered {
		return
	}
	x.ending = true
	w.later(60*time.Millisecond, func() { w.wireTells(x, engine.LegEvent{Kind: engine.LegClosed, Proof: engine.ProofBye}) })
}

// recoverLeg takes over a leg of an earlier process life and ends it.
func (w *office) recoverLeg(l *contactLine, id engine.LegID, giveUp time.Duration) {
	sink := func(e engine.LegEvent) { w.after(0, func() { l.call.legEvent(e) }) }
	x := w.wires[id]
	if x == nil { // it never left, or is over: 481, or no answer at all, which prove nothing
		at, _, _ := id.Attempt()
		gone := &wire{id: id, attempt: at, sink: sink, seq: 1000}
		in := 200 * time.Millisecond
		if placeHash(id)%3 == 0 {
			in = giveUp
		}
		w.after(in, func() { w.wireTells(gone, engine.LegEvent{Kind: engine.LegClosed}) })
		return
	}
	x.sink, x.ending = sink, false
	if x.answered {
		w.hangUp(id)
	} else {
		w.cancel(id)
	}
}

// options lets the keepalive find out how a trunk is.
func (w *office) options(i int) {
	w.after(time.Duration(1+mix(w.seed+uint64(w.now))%30)*time.Second, func() { //nolint:gosec // mixed anyway
		w.trunks[i].Options(w.down[i] == 0)
	})
}
