package actors

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
)

// own makes the call the contact's.
func (a *contactActor) own(c *call) {
	if a.call != nil {
		a.d.owners.remove(a.call.m.A.ID)
	}
	a.call = c
	a.d.owners.add(c.m.A.ID, owner{campaign: a.m.C.Campaign, contact: a.m.C.ID})
}

func (a *contactActor) dial(msg *dial) {
	if msg.Eligible {
		a.asking = false
	}
	if a.m.C.Attempt != "" || a.m.C.DueAt == nil {
		a.giveBack(msg) // excluded or dialled meanwhile
		if msg.Trigger != nil {
			a.triggered(&triggerContact{Trigger: msg.Trigger})
		}
		return
	}
	if !msg.Eligible && a.d.eligibility != nil && a.d.eligibility.Asks(a.rules.Hook) {
		a.ask(msg)
		return
	}
	if msg.Withdrawn {
		a.giveBack(msg)
		a.storeQueued(msg.Trigger, string(engine.ConstraintPaused))
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: msg.Attempt, From: msg.From}})
	if !ok {
		return
	}
	a.reserving = [2]*contact.Facts{before, after}
	c := &a.m.C
	a.trigger = msg.Trigger
	at := attempt.Attempt{
		ID: msg.Attempt, Campaign: c.Campaign, Contact: c.ID, Run: a.rules.Run, Pass: c.Used + 1, Number: c.Used + 1,
		Bot: a.rules.Bot.ID, To: c.Number, From: msg.From, Trunk: msg.Trunk, Callback: msg.Callback,
		Epoch: a.rules.Epoch, Node: a.d.carrier(msg.Trunk), State: attempt.Reserved, ResultToken: tokenHash(a.d.cfg.ResultToken(msg.Attempt.Call())),
	}
	if msg.Callback {
		at.CallbackAt = c.CallbackAt
	}
	a.rest()
	a.own(&call{d: a.d, self: a.self, owner: a, bot: a.rules.Bot, m: attempt.Machine{A: at, Config: a.rules.Attempt}, last: a.step, acked: a.step})
	a.call.m.Config.MustConsume = c.Unconsumed >= contact.MaxUnconsumed
	a.call.m.Config.BotURIs = a.rules.Bot.URIs()
	a.call.begin(a.now, msg.SendWithin, msg.Use, msg.Media)
}

// giveBack returns the leases of a dial unused.
func (a *contactActor) giveBack(msg *dial) {
	a.d.root.Send(a.d.trunks, &trunkEvent{Trunk: msg.Trunk, Leg: msg.Attempt.Leg(1), Over: true, At: a.now})
	a.d.root.Send(a.seed.pool, &releaseNumber{Attempt: msg.Attempt, Number: msg.From, End: numberpool.End{NotDialled: true}})
	a.lineOf(msg.Attempt, attempt.Line{Phase: attempt.PhaseOver}, a.now)
}

var whatType = map[attempt.What]journal.Type{
	attempt.WhatReserved: journal.AttemptReserved, attempt.WhatLeg: journal.LegAdded, attempt.WhatAnswered: journal.AttemptAnswered,
	attempt.WhatConnected: journal.AttemptConnected, attempt.WhatRevised: journal.AttemptRevised, attempt.WhatAbandoned: journal.AttemptAbandoned, attempt.WhatOptedOut: journal.AttemptOptedOut, attempt.WhatResult: journal.ResultStored,
}

func (a *contactActor) record(what attempt.What, now time.Time) int {
	at := a.call.snapshot()
	w := journal.Write{Attempts: []attempt.Attempt{at}}
	data := journal.Data{Trunk: at.Trunk, Number: at.Number, Pass: at.Pass}
	var then func(error)
	switch what {
	case attempt.WhatReserved:
		w.Intent = &journal.Intent{Attempt: at.ID, Number: at.To, Bound: at.HoldBound(&a.call.m.Config), Refused: a.d.destinations.judge(at.To, at.From), Cap: a.d.calleeCap(a.now)}
		w.Contacts = []contact.Contact{a.m.C}
		data.Before, data.After = a.reserving[0], a.reserving[1]
		if t := a.trigger; t != nil {
			a.trigger = nil
			then = t.attach(&w, a, "dialled", at.ID)
		}
	case attempt.WhatConnected:
		data.Before, data.After, _ = a.change(contact.Event{Kind: contact.Reached})
		data.Verdict = at.Verdict
		w.Contacts = []contact.Contact{a.m.C}
	case attempt.WhatRevised:
		data.Verdict = at.Verdict
	case attempt.WhatAbandoned:
		data.Cause = at.Ending.Cause
	case attempt.WhatOptedOut:
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByOptOut, CreatedAt: a.now}}
		then = a.d.optedOut(at.To)
	case attempt.WhatResult:
		// the contact's part is added by result()
		data.Connected = at.CountsResult()
		data.Disposition = at.Result.Disposition
	case attempt.WhatAnswered:
		data.RingMS = at.Ring().Milliseconds()
	case attempt.WhatLeg, attempt.WhatEnded:
	}
	if what == attempt.WhatResult {
		return a.recordResult(w, data)
	}
	w.Events = []journal.Event{a.event(whatType[what], data)}
	if what == attempt.WhatReserved && then != nil {
		w.Events = append([]journal.Event{a.event(journal.ContactTriggered, journal.Data{After: data.Before})}, w.Events...)
	}
	return a.persist(w, then)
}

func (a *contactActor) line(l attempt.Line, now time.Time) { a.lineOf(a.call.m.A.ID, l, now) }

func (a *contactActor) lineOf(id engine.AttemptID, l attempt.Line, now time.Time) {
	m := &lineMoved{Contact: a.m.C.ID, Attempt: id, Phase: l.Phase, Cause: l.Cause, Tentative: l.Tentative, At: now}
	if c := a.call; c != nil && c.m.A.ID == id {
		m.Machine = c.m.A.Verdict != "" && !c.m.A.Verdict.Live()
	}
	a.d.root.Send(a.seed.run, m)
}

func (a *contactActor) stands() {
	a.d.root.Send(a.seed.run, &answerStands{Contact: a.m.C.ID, Attempt: a.call.m.A.ID})
}

func (a *contactActor) dialled(at time.Time) { a.d.root.Send(a.seed.run, &inviteLeft{At: at}) }

func (a *contactActor) numberFree(strike bool) {
	at := &a.call.m.A
	a.d.root.Send(a.seed.pool, &releaseNumber{Attempt: at.ID, Number: at.From,
		End: numberpool.End{NotDialled: at.InviteAt == nil, Strike: strike, Answered: at.AnsweredAt != nil}})
}

func (a *contactActor) parameters() map[string]string {
	p := maps.Clone(a.m.C.Variables)
	if p == nil {
		p = map[string]string{}
	}
	p["campaign_id"], p["contact_id"] = string(a.m.C.Campaign), string(a.m.C.ID)
	p["run"] = strconv.Itoa(a.rules.Run)
	return p
}

// over: the attempt has ended; the contact decides what that means.
func (a *contactActor) over(now time.Time) {
	at := a.call.snapshot()
	sum := summary(&at)
	sum.Refusal = a.call.m.Refusal
	before, after, ok := a.change(contact.Event{Kind: contact.Attempted, Attempt: sum})
	data := endedData(&at)
	if ok {
		data.Before, data.After, data.DueAt = before, after, a.m.C.DueAt
		if a.m.C.State == contact.Failed {
			data.Reason = a.m.C.Reason
		}
	}
	if a.watching == 0 {
		a.watching = at.OpenPeers() // the bot's leg, which is being ended
	}
	hold := a.call.hold(a.watching > 0, now)
	w := journal.Write{
		Attempts: []attempt.Attempt{at}, Contacts: []contact.Contact{a.m.C},
		Holds: []journal.HoldRelease{hold}, Events: []journal.Event{a.event(journal.AttemptEnded, data)},
	}
	if a.refused != nil {
		w.Events = append(slices.Clip(a.refused), w.Events...)
		a.refused = nil
	}
	watching := a.watching > 0
	if a.m.C.ResultDueAt != nil {
		linger := a.d.cfg.ResultLinger
		if due := a.m.C.DueAt; due != nil { // a short conversation: the run dials contacts at rest
			linger = min(linger, due.Sub(a.now))
		}
		a.lingering = true
		a.stopLinger = a.d.after(linger, a.self, &rest{})
	}
	// An intent that the database refused was never held: nothing to release.
	if t := a.trigger; t != nil {
		a.trigger = nil
		if sum.Refusal == engine.CodeCalleeCap {
			t.nextAt = a.m.C.DueAt
		}
		then := t.attach(&w, a, "queued", "")
		a.persist(w, then)
		return
	}
	a.persist(w, func(error) {
		if !watching {
			a.d.phone.ForgetLegs(at.ID)
		}
	})
}

// summary is what the contact's machine needs to know of an attempt.
func summary(at *attempt.Attempt) *contact.Attempt {
	s := &contact.Attempt{
		ID: at.ID, Run: at.Run, Outcome: at.Outcome, Consumed: at.Consumed, Connected: at.WasConnected(), Rang: at.RangUnanswered(),
		Talk: at.Talk(), RetryAfter: at.RetryAfter,
	}
	if at.EndedAt != nil {
		s.EndedAt = *at.EndedAt
	}
	if r := at.Result; r != nil {
		s.HasResult, s.Disposition, s.DoNotCall = true, r.Disposition, r.DoNotCall
		if r.Callback != nil && r.Callback.Requested {
			s.Callback = &contact.CallbackWish{At: r.Callback.At}
		}
	}
	return s
}

// pause ends the wait for another trunk: no INVITE leaves while the campaign is
// paused. What the first trunks said decides.
func (a *contactActor) pause() {
	if a.rules.Paused && a.call != nil && a.call.m.A.State == attempt.Dialling {
		a.call.apply(attempt.Event{Kind: attempt.TrunkRefused, At: a.now})
	}
}

func (a *contactActor) endAttempt(msg *endAttempt) {
	if msg.ReplyTo != nil {
		defer a.settled(msg.ReplyTo, &excludeDone{Op: msg.Op})()
	}
	a.suppressed = a.suppressed || msg.Reason == engine.CodeSuppressed
	if a.call == nil || !a.call.m.A.Live() {
		return
	}
	kind := attempt.CancelRequested
	if msg.HangUp {
		kind = attempt.HangUpRequested
	}
	a.call.m.Refusal = msg.Reason
	a.call.apply(attempt.Event{Kind: kind, At: a.now, By: engine.PartySystem})
}

func (a *contactActor) tell(msg *tellCall) { a.d.carryOut(a.call, msg, a.now) }
