package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// left notes that a leg's INVITE has left.
func (c *call) left(leg engine.LegID, now time.Time) {
	var trunk engine.TrunkID
	for i := range c.m.A.Peers {
		if p := &c.m.A.Peers[i]; p.ID == leg {
			trunk = p.Trunk
		}
	}
	for i := range c.m.A.Legs {
		if l := &c.m.A.Legs[i]; l.ID == leg {
			trunk = l.Trunk
			c.d.stats.LegsSent.Add(1)
		}
	}
	if trunk != "" {
		c.d.root.Send(c.d.trunks, &trunkEvent{Trunk: trunk, Leg: leg, Sent: true, At: now})
	}
}

// reattach gives a restarted owner its attempt back: it takes over the legs
// that live in the telephony port. ok is false when none is known there: then
// what may still ring is ended, and the attempt is lost.
func (c *call) reattach(now time.Time) (ok bool) {
	a := &c.m.A
	c.opened = true
	c.sendBy = 0 // an INVITE that has not left by now never will
	known := c.d.phone.AttachLeg(a.ID, c.legSink())
	if len(known) > 0 {
		for i := range a.Legs {
			if l := &a.Legs[i]; l.Dialog != nil && l.EndedAt == nil && a.Ending == nil {
				c.d.phone.ConfirmLeg(l.ID) // harmless when it was confirmed
			}
		}
		for i := range a.Peers {
			if p := &a.Peers[i]; p.State == attempt.PeerUp && a.Ending == nil {
				c.d.phone.ConfirmLeg(p.ID)
			}
		}
		for _, e := range c.m.Rearm(now, nil) {
			c.do(e, now)
		}
		return true
	}
	return false
}

// recoverLegs ends what an earlier owner's legs may have left at the carrier;
// their last events come to the sink.
func (c *call) recoverLegs() (watched int) {
	a := &c.m.A
	if !a.Live() { // it was closed by an earlier owner
		c.numberHeld = c.d.keepers != nil && c.openAny()
		c.m.Watch()
	}
	for i := range a.Legs {
		l := &a.Legs[i]
		if l.EndedAt != nil {
			continue
		}
		c.d.phone.RecoverLeg(engine.RecoveredLeg{
			Attempt: a.ID, Leg: l.ID, Node: a.Node, Trunk: l.Trunk, From: a.From, To: a.To, Dialog: l.Dialog,
			GiveUp: c.m.Config.RingTimeout + c.d.cfg.RingGrace,
		}, c.legSink())
		watched++
	}
	for i := range a.Peers {
		p := &a.Peers[i]
		if p.EndedAt != nil {
			continue
		}
		r := engine.RecoveredLeg{
			Attempt: a.ID, Leg: p.ID, Node: a.Node, Trunk: p.Trunk, From: a.To, URI: p.URI, Dialog: p.Dialog,
			GiveUp: c.m.Config.RingTimeout + c.d.cfg.RingGrace,
		}
		if n, ok := numberOf(p.URI); ok {
			r.From, r.To, r.URI = a.From, n, ""
		}
		c.d.phone.RecoverLeg(r, c.legSink())
		watched++
	}
	return watched
}

// closed notes the end of a leg that is watched. With the last one to the callee
// the caller ID is free.
func (c *call) closed(e *engine.LegEvent) {
	defer func() {
		if c.numberHeld && !c.openAny() {
			c.numberHeld = false
			c.owner.numberFree(false)
		}
	}()
	c.m.Watched(e)
}

// hold is what becomes of the number with the attempt's end: free, or held until a
// proof or the bound, or while the bot's leg is being ended.
func (c *call) hold(watching bool, now time.Time) journal.HoldRelease {
	a := &c.m.A
	h := journal.HoldRelease{Attempt: a.ID, Number: a.To, Owed: c.m.Owed()}
	switch {
	case h.Owed:
		h.Until = a.HoldBound(&c.m.Config)
	case watching:
		h.Until = now.Add(c.m.Config.RingTimeout + c.d.cfg.RingGrace)
	}
	return h
}
