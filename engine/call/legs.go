package call

import (
	"strings"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// reattach gives a restarted owner its attempt back: it takes over the legs that are live in the
// telephony port, which LegsAttached counts. Without any the attempt is lost, for the reason gone.
func (c *Call) reattach(gone string) {
	c.MediaOpen, c.Replays = true, true
	c.SendBy = 0 // an INVITE that has not left by now never will
	c.Attaching = &Attaching{Gone: gone}
	c.emit(&AttachLegs{c.Machine.A.ID})
}

// attached resumes the call, or ends what may still ring.
func (c *Call) attached(known int) {
	if c.Attaching == nil {
		return
	}
	gone := c.Attaching.Gone
	c.Attaching = nil
	if known == 0 {
		c.lost(gone)
		return
	}
	a := &c.Machine.A
	for i := range a.Legs {
		if l := &a.Legs[i]; l.Dialog != nil && l.EndedAt == nil && a.Ending == nil {
			c.emit(attempt.Confirm{Leg: l.ID}) // harmless if already confirmed
		}
	}
	for i := range a.Peers {
		if p := &a.Peers[i]; p.State == attempt.PeerUp && a.Ending == nil {
			c.emit(attempt.Confirm{Leg: p.ID})
		}
	}
	from := len(c.steps)
	c.steps = c.Machine.Rearm(c.in.Now, c.steps)
	c.carryOut(from, c.in.Now)
	c.owner.adopted()
}

// lost ends an attempt whose legs nobody has, and watches them to their end.
func (c *Call) lost(why string) {
	c.recoverLegs()
	c.apply(attempt.Event{Kind: attempt.OwnerLost, At: c.in.Now, Err: why})
}

// legsGone handles the loss of the node that had the legs. The attempt is lost, or its legs are
// watched from here.
func (c *Call) legsGone(id engine.AttemptID) {
	switch {
	case !c.is(id):
	case c.Live():
		c.lost("")
	case c.Watching > 0:
		c.recoverLegs()
	}
}

// recoverLegs ends what an earlier owner's legs may have left at the carrier, and
// watches for their last events.
func (c *Call) recoverLegs() {
	a := &c.Machine.A
	if !a.Live() { // an earlier owner closed it
		c.NumberHeld = c.in.Process.Shared() && c.Machine.A.OpenCallee()
	}
	giveUp := c.Machine.Config.RingTimeout + c.Limits.RingGrace
	c.Watching = 0
	for i := range a.Legs {
		if l := &a.Legs[i]; l.EndedAt == nil {
			c.recoverLeg(engine.RecoveredLeg{Attempt: a.ID, Leg: l.ID, Node: a.Node, Trunk: l.Trunk, From: a.From,
				To: a.To, Dialog: l.Dialog, GiveUp: giveUp})
		}
	}
	for i := range a.Peers {
		p := &a.Peers[i]
		if p.EndedAt != nil {
			continue
		}
		r := engine.RecoveredLeg{Attempt: a.ID, Leg: p.ID, Node: a.Node, Trunk: p.Trunk, From: a.To, URI: p.URI,
			Dialog: p.Dialog, GiveUp: giveUp}
		if n, ok := numberOf(p.URI); ok {
			r.From, r.To, r.URI = a.From, n, ""
		}
		c.recoverLeg(r)
	}
}

func (c *Call) recoverLeg(r engine.RecoveredLeg) {
	c.Watching++
	c.emit(&RecoverLeg{r})
}

// watched follows the legs of an ended attempt: when the last one ends the number is free again, if
// that is proven.
func (c *Call) watched(e *engine.LegEvent) {
	if !e.Kind.Final() {
		return
	}
	c.Watching--
	c.Machine.Watched(e)
	if c.NumberHeld && !c.Machine.A.OpenCallee() {
		c.NumberHeld = false
		c.numberFree(false)
	}
	at := c.snapshot()
	ev := c.owner.event(journal.LegClosed)
	ev.Data = journal.Data{Leg: e.Leg, Proof: e.Proves()}
	w := &journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{ev}}
	if c.Watching == 0 && !c.Machine.Owed() && at.To != "" {
		w.Holds = []journal.HoldRelease{{Attempt: at.ID, Number: at.To}}
	}
	c.persist(w, Then{Forget: at.ID})
}

// keys carries out a request of a bot or an operator on a live call and answers it.
func (c *Call) keys(m *Keys) {
	a := &c.Machine.A
	switch {
	case !c.is(m.Attempt) || !c.Live():
		c.answer(m.Request, nil, ErrCallEnded)
	case m.Digits == "":
		c.apply(attempt.Event{Kind: attempt.HangUpRequested, At: c.in.Now})
		c.answer(m.Request, nil, nil)
	case a.AnsweredAt == nil || a.Ending != nil:
		c.answer(m.Request, nil, ErrNotAnswered)
	default:
		c.emit(&SendDigits{Attempt: a.ID, Leg: a.Legs[len(a.Legs)-1].ID, Digits: m.Digits, Request: m.Request})
	}
}

// transfer hands the call over, or answers why not.
func (c *Call) transfer(m *Transfer) {
	if !c.is(m.Attempt) || !c.Live() {
		c.answer(m.Request, nil, ErrCallEnded)
		return
	}
	err := c.Machine.JudgeTransfer(m.To)
	if err == nil && strings.HasPrefix(m.To, "+") {
		err = c.in.Process.Destination(engine.PhoneNumber(m.To), c.Machine.A.From)
	}
	if err == nil {
		c.apply(attempt.Event{Kind: attempt.TransferRequested, At: c.in.Now, To: m.To})
	}
	c.answer(m.Request, nil, err)
}

// scrub removes personal data from an ended attempt.
func scrub(a *attempt.Attempt, tombstone engine.PhoneNumber) {
	a.To, a.Variables, a.Transfer, a.SIPReason = tombstone, nil, nil, ""
	if r := a.Result; r != nil {
		kept := *r
		kept.Summary, kept.TranscriptURL, kept.RecordingURL, kept.Variables = "", "", "", nil
		if cb := kept.Callback; cb != nil {
			kept.Callback = &attempt.Callback{Requested: cb.Requested, At: cb.At}
		}
		a.Result = &kept
	}
}
