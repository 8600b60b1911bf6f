package call

import (
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
)

// This file handles the commands that a contact gets from its run, a bot or an operator.

// dial begins an attempt unless the contact was excluded or dialled meanwhile. If the eligibility
// hook must be asked first, the run is asked once more afterwards.
func (c *Contact) dial(m *Dial) {
	if m.Eligible {
		c.Asking = false
	} else if m.Reopens {
		c.Suppressed = false // requested since, and not on the list
		c.ReopensAt = c.Machine.C.Version
	}
	if !c.callable(m) {
		c.notDialled(m)
		return
	}
	if !m.Eligible && c.Call.in.Process.AsksEligibility(c.Rules.Hook) {
		c.ask(m)
		return
	}
	c.reopenFor(m)
	if m.Withdrawn {
		c.giveBack(m)
		c.storeQueued(m.Trigger, string(engine.ConstraintPaused))
		return
	}
	reserved := contact.Attempt{ID: m.Attempt, From: m.From}
	d, ok := c.change(contact.Event{Kind: contact.Reserved, Attempt: &reserved})
	if !ok {
		return
	}
	c.Reserving = d
	c.Trigger = m.Trigger
	row := &c.Machine.C
	at := attempt.Attempt{
		ID: m.Attempt, Campaign: row.Campaign, Contact: row.ID, Run: c.Rules.Run,
		Pass: row.Used + 1, Number: row.Used + 1, Bot: c.Rules.Bot.ID,
		To: m.To, From: m.From, Trunk: m.Trunk, Callback: row.CallingBack,
		Epoch: c.Rules.Epoch, Node: m.Carrier, State: attempt.Reserved,
		ResultToken: tokenHash(c.Call.in.Process.ResultToken(m.Attempt.Call())),
	}
	if at.Node == 0 {
		at.Node = c.Call.in.Process.Carrier(m.Trunk)
	}
	if row.CallingBack {
		at.CallbackAt = row.CallbackAt
	}
	c.rest()
	c.adopt(at)
	c.Call.begin(row.DialWithin(c.Call.in.Now, m.SendWithin), m.Validity, m.Media)
}

// callable says that the contact waits for a dial to this number, or that a trigger reopens it for it.
func (c *Contact) callable(m *Dial) bool {
	row := &c.Machine.C
	if row.AwaitsCallBack(c.Call.in.Now) {
		return false
	}
	if !m.Reopens {
		return row.Attempt == "" && row.DueAt != nil && !row.Choice.Stopped() && row.NextNumber() == m.To &&
			row.DialWithin(c.Call.in.Now, m.SendWithin) > 0
	}
	return !row.Open() && row.Attempt == "" && !(c.Rules.Sticky && row.State == contact.Excluded) &&
		row.Version == c.ReopensAt && !c.Suppressed &&
		!row.StopsWith(m.Trigger.Command.Alternates)
}

// notDialled handles a dial for a contact that has changed meanwhile. What came after its trigger
// and forbids calls stands.
func (c *Contact) notDialled(m *Dial) {
	c.giveBack(m)
	switch {
	case m.Trigger == nil:
	case m.Reopens && (c.Machine.C.State == contact.Excluded || c.Suppressed):
		c.Call.answer(m.Trigger.Request, nil, ErrContactExcluded)
	default:
		c.reopen(m.Trigger)
	}
}

// reopenFor reopens a final contact for the dial that its trigger requested. The caller's next
// write stores both.
func (c *Contact) reopenFor(m *Dial) {
	if m.Reopens {
		d, _ := c.change(triggeredBy(m.Trigger))
		c.Reopened = d.Before
	}
}

// TimesOf is what the history says of a trigger's times, nil for a trigger without any.
func TimesOf(cmd *campaign.Trigger) *contact.Times {
	if cmd.Times.None() {
		return nil
	}
	return &cmd.Times
}

// triggered is the event of a trigger; After is the contact as the trigger found or created it.
func (c *Contact) triggered(t *Trigger, d journal.Data) journal.Event {
	e := c.about(journal.ContactTriggered)
	e.Data = d
	e.Data.Times = TimesOf(&t.Command)
	if e.Data.Before == nil {
		e.Data.Before, c.Reopened = c.Reopened, nil
	}
	return e
}

// giveBack returns the leases of a dial unused.
func (c *Contact) giveBack(m *Dial) {
	c.emit(&TrunkEvent{Trunk: m.Trunk, Leg: m.Attempt.Leg(1), Over: true, At: c.Call.in.Now})
	c.emit(&ReleaseNumber{Attempt: m.Attempt, Number: m.From, End: numberpool.End{NotDialled: true}})
	c.line(m.Attempt, attempt.Line{Phase: attempt.PhaseOver}, c.Call.in.Now)
}

// --- the eligibility hook ----------------------------------------------------------

// ask puts the question once the leases are held and before the intent, so that a slow hook delays
// only this dial. Then the run is asked whether it still dials.
func (c *Contact) ask(m *Dial) {
	c.Asking = true
	row := &c.Machine.C
	q := eligibility.Question{Own: c.Rules.Hook, Campaign: row.Campaign, Run: row.Run, Contact: row.ID,
		Attempt: row.Used + 1, To: m.To, Variables: row.Variables}
	if m.Reopens {
		q.Attempt, q.Variables = 1, contact.Merged(row.Variables, m.Trigger.Command.Variables)
	}
	c.emit(&AskEligibility{Question: q, Dial: m})
}

func (c *Contact) eligible(m *EligibilityKnown) {
	if !c.Asking { // the contact that asked was restarted, and counted as idle
		c.giveBack(m.Dial)
		return
	}
	c.Asking = false
	if !c.callable(m.Dial) {
		c.notDialled(m.Dial)
		return
	}
	switch v := m.Verdict; v.Decision {
	case eligibility.Defer:
		c.giveBack(m.Dial)
		c.reopenFor(m.Dial)
		c.putOff(contact.Event{Kind: contact.Deferred, Until: v.Until, Reason: v.Code}, m.Dial.Trigger)
	case eligibility.Exclude:
		c.giveBack(m.Dial)
		c.reopenFor(m.Dial)
		c.leaveAlone(v.Reason, m.Dial.Trigger)
	case eligibility.Allow:
		c.Asking = true // until the run has agreed too
		c.emit(&MayDial{Contact: c.Machine.C.ID, Dial: m.Dial})
	}
}

// putOff makes the contact wait.
func (c *Contact) putOff(ev contact.Event, t *Trigger) {
	d, ok := c.change(ev)
	if !ok {
		return
	}
	d.DueAt, d.Reason = c.Machine.C.DueAt, ev.Reason
	changed := c.about(journal.ContactChanged)
	changed.Data = d
	w := &journal.Write{Contacts: []contact.Contact{c.Machine.C}, Events: []journal.Event{changed}}
	if t == nil {
		c.Call.persist(w, Then{})
		return
	}
	// The trigger's new contact, or its reopening, is not stored yet.
	w.Events = []journal.Event{c.triggered(t, journal.Data{After: d.Before, Reason: ev.Reason}), changed}
	t.Reason, t.NextAt = ev.Reason, c.Machine.C.DueAt
	c.Call.persist(w, Then{Trigger: c.attach(t, w, "queued", "")})
}

// leaveAlone excludes the contact as the hook decided.
func (c *Contact) leaveAlone(reason string, t *Trigger) {
	note := "eligibility hook"
	if reason != "" {
		note += ": " + reason
	}
	d, ok := c.change(contact.Event{Kind: contact.ExcludedBy, Reason: note})
	if !ok {
		return
	}
	excluded := c.about(journal.ContactExcluded)
	excluded.Data = d
	w := &journal.Write{Contacts: []contact.Contact{c.Machine.C}, Events: []journal.Event{excluded}}
	if t == nil {
		c.Call.persist(w, Then{})
		return
	}
	w.Events = []journal.Event{c.triggered(t, journal.Data{After: d.Before}), excluded}
	c.Call.persist(w, Then{Trigger: &TriggerAnswer{Trigger: t, Err: ErrContactExcluded}})
}

// --- triggers ----------------------------------------------------------------------

// attach adds the reply to the write, so that contact, intent, idempotency key and
// response commit together.
func (c *Contact) attach(t *Trigger, w *journal.Write, status string, id engine.AttemptID) *TriggerAnswer {
	r := campaign.TriggerReply{Status: status, ContactID: c.Machine.C.ID, CampaignID: c.Machine.C.Campaign,
		AttemptID: id}
	if place := c.Machine.C.PlaceOf(t.Command.Number); place > 0 {
		r.NumberPosition = place + 1
	}
	if status == "queued" {
		r.NextEligibleAt, r.Reason = t.NextAt, t.Reason
	}
	w.Status = journal.StatusOf(string(c.Machine.C.ID), t.Command.Status, c.Call.in.Now)
	if t.Command.Idempotency.Present() {
		w.Reply = journal.StoredReply(t.Command.Idempotency, 200, r, c.Call.in.Now)
	}
	return &TriggerAnswer{Trigger: t, Reply: r}
}

// reopen merges a trigger into an open contact or reopens a final one.
func (c *Contact) reopen(t *Trigger) {
	c.Suppressed = false // requested since, and not on the list
	if c.Rules.Sticky && (c.Machine.C.State == contact.Excluded || c.Machine.C.ExcludeAfterCall) {
		c.Call.answer(t.Request, nil, ErrContactExcluded)
		return
	}
	if c.Machine.C.StopsWith(t.Command.Alternates) {
		c.Call.answer(t.Request, nil, journal.ErrSuppressed)
		return
	}
	open := c.Machine.C.Open()
	d, ok := c.change(triggeredBy(t))
	if !ok {
		c.Call.answer(t.Request, nil, ErrContactExcluded)
		return
	}
	switch {
	case open:
		t.Reason = "merged"
	case c.Machine.C.Reason == contact.ReasonCallsBack:
		t.Reason = contact.ReasonCallsBack
	}
	t.NextAt = c.Machine.C.DueAt
	c.writeTriggered(t, d)
}

// triggeredBy is a trigger as the contact's event.
func triggeredBy(t *Trigger) contact.Event {
	cmd := &t.Command
	return contact.Event{Kind: contact.Triggered, Number: cmd.Number, Alternates: cmd.Alternates,
		Variables: cmd.Variables, Times: cmd.Times}
}

// storeQueued stores the contact of a trigger that is not dialled now.
func (c *Contact) storeQueued(t *Trigger, reason string) {
	if t == nil {
		return
	}
	facts := c.Machine.C.Facts()
	t.Reason, t.NextAt = reason, c.Machine.C.DueAt
	c.writeTriggered(t, journal.Data{After: &facts})
}

func (c *Contact) writeTriggered(t *Trigger, d journal.Data) {
	d.Reason = t.Reason
	w := &journal.Write{Contacts: []contact.Contact{c.Machine.C}, Events: []journal.Event{c.triggered(t, d)}}
	c.Call.persist(w, Then{Trigger: c.attach(t, w, "queued", "")})
}

// --- exclusion, suppression, and the end of a call -----------------------------------

func (c *Contact) exclude(m *Exclude) {
	done := &Excluded{Op: m.Op}
	live := c.Call.Live()
	done.InCall = live && c.Call.Machine.A.AnsweredAt != nil && c.Call.Machine.A.Ending == nil
	was, version := c.Machine.C.State == contact.Excluded || c.Machine.C.ExcludeAfterCall, c.Machine.C.Version
	d, ok := c.change(contact.Event{Kind: contact.ExcludedBy, Reason: m.Reason, InCall: done.InCall})
	settled := c.Call.elsewhere()
	changed := ok && c.Machine.C.Version != version
	done.Excluded = changed && !was
	if changed { // before the end of the call, which may follow at once and reports the contact's state then
		w := &journal.Write{Contacts: []contact.Contact{c.Machine.C}}
		// The reason is free text that may have to be erased one day, so it is stored in rows and
		// not in the history.
		if !was || *d.Before != *d.After {
			d.Who = m.Who
			e := c.about(journal.ContactExcluded)
			e.Data = d
			w.Events = []journal.Event{e}
		}
		c.Call.persist(w, Then{Tell: done, Settled: settled})
	}
	if live && !done.InCall {
		done.Cancelled = c.Call.Machine.A.Ending == nil
		// From here on the INVITE is known not to have left, or its CANCEL is on the way.
		c.Call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: c.Call.in.Now})
	}
	if !changed {
		c.Call.tell(done, settled)
	}
}

// readmit handles a contact that was added again on purpose, or whose exclusion was lifted.
func (c *Contact) readmit(m *Readmit) {
	var then Then
	done := &Lifted{Op: m.Op}
	if m.Op != 0 {
		then.Tell = done
	}
	excluded := c.Machine.C.State == contact.Excluded || m.LiftedExclusion && c.Machine.C.ExcludeAfterCall
	if excluded && (!c.Rules.Sticky || m.LiftedExclusion) {
		if d, ok := c.change(contact.Event{Kind: contact.Readmitted, Number: m.Number,
			Alternates: m.Alternates, Variables: m.Variables, Times: m.Times}); ok {
			done.Readmitted = true
			d.DueAt, d.Reason = c.Machine.C.DueAt, "readmitted"
			if m.LiftedExclusion {
				d.Reason = "lifted"
			}
			c.write(journal.ContactChanged, d, then)
			return
		}
	}
	c.Call.follow(&then, nil)
}

// end cancels a call that is not answered, or ends a conversation too.
func (c *Contact) end(m *End) {
	if m.Reason == engine.CodeBotLost && c.Call.Machine.A.AnsweredAt != nil {
		return // somebody picked up before: the bot is still tried
	}
	settled := c.Call.elsewhere()
	if m.Number != "" && c.Machine.C.Alternates != "" {
		c.barNumber(m.Number)
	} else {
		c.Suppressed = c.Suppressed || m.Reason == engine.CodeSuppressed
	}
	if c.Call.Live() && (m.Number == "" || c.Call.Machine.A.To == m.Number) {
		kind := attempt.CancelRequested
		if m.HangUp {
			kind = attempt.HangUpRequested
		}
		if c.Call.Machine.A.AnsweredAt == nil { // somebody who was reached is not called elsewhere instead
			c.Call.Machine.Refusal = m.Reason
		}
		c.Call.apply(attempt.Event{Kind: kind, At: c.Call.in.Now, By: engine.PartySystem})
	}
	if m.Op != 0 {
		c.Call.tell(&Excluded{Op: m.Op}, settled)
	}
}

// barNumber handles the suppression of one of the person's numbers.
func (c *Contact) barNumber(n engine.PhoneNumber) {
	version := c.Machine.C.Version
	d, ok := c.change(contact.Event{Kind: contact.Suppressed, Number: n})
	if ok && c.Machine.C.Version != version {
		d.Reason = engine.CodeSuppressed
		c.write(journal.ContactChanged, d, Then{})
	}
}

// --- operators -----------------------------------------------------------------------

// operatorKind is the contact's event and the activity log's entry for an operator's action.
var operatorKind = map[campaign.ContactAction]struct {
	kind  contact.Kind
	entry journal.Type
}{
	campaign.RetryNow: {contact.Hastened, journal.ContactRetried},
	campaign.CallBack: {contact.CallbackSet, journal.ContactCallBackSet},
}

// operate has the contact dialled at an operator's request, now or at a given time.
func (c *Contact) operate(m *Operate) {
	c.Suppressed = false // requested since, and not on the list
	does := operatorKind[m.Command.Action]
	ev := contact.Event{Kind: does.kind, At: c.Call.in.Now, Policy: c.policy(), Until: m.Command.At}
	if err := c.Machine.Refusal(ev); err != nil {
		c.Call.answer(m.Request, nil, err)
		return
	}
	d, ok := c.change(ev)
	if !ok {
		c.Call.answer(m.Request, nil, ErrContactNotFound)
		return
	}
	who := m.Command.Who
	d.DueAt, d.Who = c.Machine.C.DueAt, &who
	c.write(does.entry, d, Then{Answer: &Answer{Request: m.Request}})
}
