package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
)

// People who call us: those whom we called and missed, those whom we are calling, and strangers.

// Draws of one caller.
const (
	drawCalls = iota + 1
	drawWhen
	drawHow
	drawWho
	drawNumber
	drawPatience
	drawTalk
)

// crossesWithin is how long after an INVITE somebody may call us meanwhile.
const crossesWithin = 25 * time.Second

// mayCallBack decides, when an INVITE leaves, whether and when the person calls us.
func (w *campaignWorld) mayCallBack(x *leg) {
	u := callee.ChanceOf(w.seed^0xca11bac, hashOf(x.id))
	if u.At(drawCalls) >= w.in.CallsBack {
		return
	}
	part := func(of time.Duration) time.Duration { return time.Duration(u.At(drawWhen) * float64(of)) }
	retry := time.Duration(x.of.plan.Settings.RetryDelaySec) * time.Second
	var in time.Duration
	switch how := u.At(drawHow); {
	case how < 0.4: // both directions cross
		in = part(crossesWithin)
	case how < 0.7: // about when we call again
		in = retry + part(time.Minute)
	default:
		in = crossesWithin + part(time.Hour)
	}
	w.later(in, func() { w.callsUs(x, u) })
}

// callsUs has a person call one of our numbers.
func (w *campaignWorld) callsUs(missed *leg, u callee.Chance) {
	for _, x := range w.legs {
		if x.to == missed.to && x.answered { // they are on the phone
			return
		}
	}
	w.callers++
	id := engine.AttemptID(fmt.Sprintf("ca11%028x", w.callers))
	x := &leg{id: id.Leg(1), attempt: id, cameIn: true, trunk: missed.trunk, from: missed.from, to: missed.to,
		chance: callee.ChanceOf(uint64(u), 1)}
	x.people = callee.Fate{Answered: true, Talk: time.Second + time.Duration(u.At(drawTalk)*float64(2*time.Minute))}
	caller := string(x.to)
	switch who := u.At(drawWho); {
	case who < 0.1:
		caller = "" // withheld
	case who < 0.2:
		caller = string(numberOf(w.in.Prefixes, ownNumbers*9/5+w.callers)) // whom we never called
	}
	called := string(x.from)
	switch which := u.At(drawNumber); {
	case which < 0.1:
		called = string(w.in.Numbers[w.callers%len(w.in.Numbers)].Number)
	case which < 0.13:
		called = "+498999998888" // not ours
	}
	p := w.process
	if p == nil || w.down[x.trunk]+w.refuses[x.trunk] > 0 {
		return // the call does not reach us
	}
	w.legs[x.id] = x
	p.port[id] = append(p.port[id], x)
	w.check.note(nil, "%s calls us, leg %s", x.to.E164(), x.id)
	p.after(w.delay(40*time.Millisecond), p.callsIn, &engine.IncomingCall{Attempt: id, Leg: x.id,
		Trunk: w.in.Trunks[x.trunk].Settings.ID, To: []string{called}, From: caller, Dialog: accepted().Dialog,
		Offer: []byte("v=0"), At: w.wall()})
	w.later(2*time.Second+time.Duration(u.At(drawPatience)*float64(40*time.Second)), func() {
		if !x.answered {
			w.tells(x, engine.LegEvent{Kind: engine.LegHungUp})
		}
	})
}

// crashCallIn crashes the actor of a call that came in; its core outlives that.
func (w *campaignWorld) crashCallIn(n int) {
	if w.process == nil || w.process.callsIn == nil || len(w.process.callsIn.calls) == 0 {
		return
	}
	o := w.process.callsIn
	ids := slices.Sorted(maps.Keys(o.calls))
	a := o.calls[ids[n%len(ids)]]
	w.check.note(nil, "the actor of call %s crashes", a.core.Of.Short())
	a.falls = true
}
