package call

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// Pending is a write that is not known to be in the database, and what follows once it is stored or
// refused.
type Pending struct {
	*Persist
	Then    Then
	Spooled bool // durable, but not in the database
}

// Then is what follows a write. Its parts are carried out in the order of the fields.
type Then struct {
	Answer   *Answer        // to a request, with the error of a refusal
	Trigger  *TriggerAnswer // likewise a trigger
	Tell     ToRun          // to the run, whatever the fate of the write
	Settled  engine.AttemptID
	Suppress *Suppress        // everybody is told, unless the write was refused: then only the request is answered
	Returned *Returned        // unless the write was refused
	Forget   engine.AttemptID // its legs are no longer needed
	Shown    []Answer         // requests for the state of the ended attempt
}

// TriggerAnswer answers a trigger.
type TriggerAnswer struct {
	Trigger *Trigger
	Reply   campaign.TriggerReply
	Err     error // why the trigger is refused although its contact is stored
}

// persist sends a write; then follows once it is durable or refused.
func (c *Call) persist(w *journal.Write, then Then) int {
	c.owner.stamp(w)
	c.Step++
	p := &Persist{Contact: c.owner.contact(), Step: c.Step, Write: w}
	c.Pending = append(c.Pending, Pending{Persist: p, Then: then})
	c.emit(p)
	return c.Step
}

// persistAgain repeats the writes that may have been lost on the way.
func (c *Call) persistAgain() {
	for _, p := range c.Pending {
		c.emit(p.Persist)
	}
}

// durable handles the fate of a write, and of those before it.
func (c *Call) durable(m *Durable) {
	if m.Spooled {
		// The row in the database is older: the owner stays until the database has the newer one.
		for i := range c.Pending {
			if c.Pending[i].Step == m.Step {
				c.Pending[i].Spooled = true
			}
		}
		c.settled(m.Step, nil, false)
		return
	}
	intent := false
	for len(c.Pending) > 0 && c.Pending[0].Step <= m.Step {
		p := c.Pending[0]
		c.Pending = slices.Delete(c.Pending, 0, 1)
		if m.Err != nil && p.Write.Intent != nil {
			// The history still contains it, with the end of the attempt.
			c.RefusedEvents = p.Write.Events
		}
		intent = p.Step == m.Step && p.Write.Intent != nil
		c.follow(&p.Then, m.Err)
	}
	c.settled(m.Step, m.Err, intent)
	if c.RefusedEvents != nil { // the attempt had been given up before
		w := &journal.Write{Events: c.RefusedEvents}
		c.RefusedEvents = nil
		c.persist(w, c.owner.refusedLate(w))
	}
}

// follow carries out what follows a write.
func (c *Call) follow(t *Then, err error) {
	if a := t.Answer; a != nil {
		c.answer(a.Request, a.Value, err)
	}
	if t.Trigger != nil {
		c.answerTrigger(t.Trigger, err)
	}
	if t.Tell != nil {
		c.tell(t.Tell, t.Settled)
	}
	if s := t.Suppress; s != nil {
		if err == nil {
			c.emit(s)
		} else {
			c.answer(s.Request, nil, err)
		}
	}
	if t.Returned != nil && err == nil {
		c.emit(t.Returned)
	}
	if t.Forget != "" {
		c.emit(&ForgetLegs{t.Forget})
	}
	for i := range t.Shown {
		c.emit(&t.Shown[i])
	}
}

// answerTrigger answers a trigger whose contact was written. If its intent was refused because of
// the number, the answer waits for the end of the attempt, whose write contains it.
func (c *Call) answerTrigger(t *TriggerAnswer, err error) {
	if err != nil && t.Err == nil {
		switch code := engine.ErrorCode(err); code {
		case engine.CodeNumberHeld, engine.CodeSuppressed, engine.CodeDestination, engine.CodeCalleeCap:
			if t.Trigger.Reason == "" {
				t.Trigger.Reason = code
			}
			c.owner.triggerRefused(t.Trigger)
			return
		}
	}
	if err == nil {
		c.emit(&Stored{Number: c.owner.number()})
		err = t.Err
	}
	c.answer(t.Trigger.Request, t.Reply, err)
}

// tell sends a message to the run; if the call is on another node, only once that node has carried
// out its instructions.
func (c *Call) tell(m ToRun, settled engine.AttemptID) {
	if settled != "" {
		c.say(&WhenSettled{Attempt: settled, Message: m})
		return
	}
	c.say(m)
}

// elsewhere is the current attempt if its legs are on another node.
func (c *Call) elsewhere() engine.AttemptID {
	if id := c.Machine.A.ID; id != "" && c.in.Process.Elsewhere(id) {
		return id
	}
	return ""
}

// whatType is the history's event for a step of an attempt.
var whatType = map[attempt.What]journal.Type{
	attempt.WhatReserved:  journal.AttemptReserved,
	attempt.WhatLeg:       journal.LegAdded,
	attempt.WhatRinging:   journal.AttemptRinging,
	attempt.WhatAnswered:  journal.AttemptAnswered,
	attempt.WhatConnected: journal.AttemptConnected,
	attempt.WhatRevised:   journal.AttemptRevised,
	attempt.WhatAbandoned: journal.AttemptAbandoned,
	attempt.WhatOptedOut:  journal.AttemptOptedOut,
	attempt.WhatResult:    journal.ResultStored,
}

// record sends a step of the attempt to be made durable and returns the step to wait for.
func (c *Call) record(what attempt.What) int {
	at := c.snapshot()
	if what == attempt.WhatResult {
		return c.recordResult(at)
	}
	e := c.owner.event(whatType[what])
	e.Data.Trunk, e.Data.Number = at.Trunk, at.Number
	w := &journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{e}}
	d := &w.Events[0].Data
	switch what {
	case attempt.WhatReserved:
		w.Intent = &journal.Intent{Attempt: at.ID, Number: at.To, Bound: at.HoldBound(&c.Machine.Config),
			Refused: c.in.Process.Destination(at.To, at.From), Cap: c.in.Process.CalleeCap(at.To, c.in.Now)}
		if at.Inbound {
			w.Intent.Incoming, w.Intent.Refused, w.Intent.Cap = true, nil, nil
		}
		if w.Intent.Refused == nil && c.in.Process.Calling(at.To) {
			w.Intent.Refused = journal.ErrNumberHeld
		}
		if at.To == "" { // a caller without a number holds none
			w.Intent = nil
		}
	case attempt.WhatConnected:
		d.Verdict = at.Verdict
	case attempt.WhatRevised:
		d.Verdict, d.Connected = at.Verdict, at.WasConnected()
	case attempt.WhatAbandoned:
		d.Inbound = at.Inbound
		d.Cause = at.Ending.Cause
	case attempt.WhatOptedOut:
		w.Suppressions = c.suppression(&at, journal.SuppressedByOptOut)
	case attempt.WhatAnswered:
		d.RingMS = at.Ring().Milliseconds()
	case attempt.WhatLeg, attempt.WhatRinging, attempt.WhatEnded, attempt.WhatResult:
	}
	then := c.owner.recorded(what, w)
	if what == attempt.WhatConnected && at.CountsResult() {
		// The result was answered when it came. One write contains both events: with two, the row
		// would have a conversation's result before the history has it, and after a crash forever.
		x := c.resultWrite(at)
		w.Events, w.Suppressions = append(w.Events, x.Events...), x.Suppressions
		if x.Contacts != nil {
			w.Contacts = x.Contacts
		}
	}
	if what == attempt.WhatOptedOut && w.Suppressions != nil {
		then.Suppress = &Suppress{Number: at.To}
	}
	return c.persist(w, then)
}

// suppression puts the person's number on the suppression list, unless they withheld it.
func (c *Call) suppression(at *attempt.Attempt, reason string) []journal.Suppression {
	if at.To == "" {
		return nil
	}
	return []journal.Suppression{{Number: at.To, Reason: reason, CreatedAt: c.in.Now}}
}

// over writes the end of the attempt.
func (c *Call) over(now time.Time) {
	at := c.snapshot()
	e := c.owner.event(journal.AttemptEnded)
	e.Data = endedData(&at)
	w := &journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{e}}
	then := c.owner.ended(w)
	if c.Watching == 0 {
		c.Watching = at.OpenPeers() // the bot's leg, which is being ended
	}
	if at.To != "" {
		w.Holds = []journal.HoldRelease{c.hold(now)}
	}
	if c.RefusedEvents != nil {
		w.Events = append(slices.Clip(c.RefusedEvents), w.Events...)
		c.RefusedEvents = nil
	}
	if c.Watching == 0 && then.Trigger == nil {
		then.Forget = at.ID
	}
	c.persist(w, then)
}

// hold is the state of the number after the attempt's end: free, or held until a proof, until its
// bound or the end of the session, or while the bot's leg is being ended.
func (c *Call) hold(now time.Time) journal.HoldRelease {
	a := &c.Machine.A
	h := journal.HoldRelease{Attempt: a.ID, Number: a.To, Owed: c.Machine.Owed()}
	switch {
	case h.Owed:
		h.Until, h.SessionEnd = a.HoldBound(&c.Machine.Config), c.Machine.SessionEnd(now)
	case c.Watching > 0:
		h.Until = now.Add(c.Machine.Config.RingTimeout + c.Limits.RingGrace)
	}
	return h
}

// show answers with the current state of the attempt. Its end is not reported before it is durable,
// in the database or in the spool.
func (c *Call) show(to engine.Request) {
	at := c.snapshot()
	at.AwaitsResult = c.owner.awaitsResult(at.ID)
	n := len(c.Pending)
	if at.State != attempt.Ended || n == 0 || c.Pending[n-1].Spooled {
		c.answer(to, at, nil)
		return
	}
	t := &c.Pending[n-1].Then
	t.Shown = append(t.Shown, Answer{Request: to, Value: at})
}

// endedData is the history's record of the attempt's end.
func endedData(a *attempt.Attempt) journal.Data {
	d := journal.Data{
		Outcome: a.Outcome, Cause: a.Cause, Consumed: a.Consumed, Pass: a.Pass, Number: a.Number, Trunk: a.Trunk,
		Answered: a.AnsweredAt != nil, Connected: a.WasConnected(), SIPCode: a.SIPCode, Verdict: a.Verdict,
		Inbound: a.Inbound,
	}
	if a.WasConnected() {
		d.TalkMS = a.TalkMS()
	}
	d.ReservedAt = a.ReservedAt
	if ms, ok := a.CallbackDelayMS(); ok {
		d.CallbackDelayMS = &ms
	}
	if a.RingingAt != nil || a.AnsweredAt != nil {
		d.RingMS = a.Ring().Milliseconds()
	}
	return d
}
