package call

import (
	"errors"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

func excludedRow(c *contact.Contact) { c.State, c.DueAt, c.Reason = contact.Excluded, nil, "asked" }

// --- coming up, resting ---------------------------------------------------------------

func TestAContactWithNothingToDoIsIdle(t *testing.T) {
	r := newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, nil)
	r.call = &r.contact.Call
	r.on(&Started{}, "up", "idle")
	r.on(&Stop{}, "stopped pending")
	r.on(&Exclude{Op: 4}, "write 1 contact.excluded +contact")
	r.on(&Stop{}, "not idle")
	r.on(&Durable{Step: 1}, "excluded 4 new", "idle")
	r.on(&Stop{}, "stopped excluded")
}

func TestWhatKeepsAContactBusy(t *testing.T) {
	for name, c := range map[string]func(*Contact){
		"loading":         func(c *Contact) { c.Loading = true },
		"waiting events":  func(c *Contact) { c.Stash = []any{&Rest{}} },
		"the hook":        func(c *Contact) { c.Asking = true },
		"lingering":       func(c *Contact) { c.Lingering = true },
		"a pending write": func(c *Contact) { c.Call.Pending = make([]Pending, 1) },
		"a watched leg":   func(c *Contact) { c.Call.Watching = 1 },
		"a result":        func(c *Contact) { c.Call.Fetching = 1 },
		"a call":          func(c *Contact) { c.Call.Machine.A = attempt.Attempt{ID: first, State: attempt.Ringing} },
		"media to close":  func(c *Contact) { c.Call.Closed = true },
		"legs":            func(c *Contact) { c.Call.Attaching = &Attaching{} },
	} {
		contact := NewContact(rowOf(nil), rulesOf(nil), limits, nil)
		if contact.Busy() {
			t.Fatal("a new contact is busy")
		}
		if c(contact); !contact.Busy() {
			t.Errorf("%s: not busy", name)
		}
	}
}

func TestAnEditOfMaxAttemptsIsWrittenOnce(t *testing.T) {
	r := newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(func(rl *Rules) { rl.Policy.MaxAttempts = 5 }), limits, nil)
	r.call = &r.contact.Call
	r.on(&Started{}, "up", "write 1 contact.changed +contact")
	if w := r.write(); w.Contacts[0].Max != 5 || w.Events[0].Data.Before.Max != 3 || w.Events[0].Data.After.Max != 5 {
		t.Errorf("%+v", w)
	}
	r.on(rulesOf(func(rl *Rules) { rl.Policy.MaxAttempts = 5 }))
	r.on(rulesOf(func(rl *Rules) { rl.Policy.MaxAttempts = 4 }), "write 2 contact.changed +contact")
	r.on(&Durable{Step: 2}, "idle")

	r = up(t, excludedRow, nil)
	r.on(rulesOf(func(rl *Rules) { rl.Policy.MaxAttempts = 5 }), "idle") // it is not open
}

func TestAReportSaysWhereTheContactStands(t *testing.T) {
	r := up(t, nil, nil)
	r.on(&Report{}, "reported - ", "idle")
	r.talking(first)
	r.on(&Report{}, "reported a served seated")

	// Writes that the run's crash may have lost are sent again.
	r = up(t, nil, nil)
	r.apply(dialOf(first))
	r.clear()
	r.on(&Report{}, "reported a dialling", "write 1 attempt.reserved +contact +intent")
	r.on(&Durable{Step: 1}, "open media", "count leg_placed", "place leg a.1")
}

func TestAReportOfATentativeAnswer(t *testing.T) {
	rules := func(rl *Rules) { rl.Attempt.AMD, rl.Attempt.Listen.Revise = engine.AMDParallel, 10*time.Second }
	r := up(t, nil, rules)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.apply(&SeatGranted{Attempt: first})
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictHuman }))
	if !r.has("line of a served tentative") {
		t.Fatalf("%v", r.log)
	}
	r.clear()
	r.on(&Report{}, "reported a served seated tentative", "write 3 attempt.connected +contact")
	if v := r.write().Events[0].Data.Verdict; v != engine.VerdictHuman {
		t.Errorf("verdict %q", v)
	}
	var revise *Arm
	for _, e := range r.all {
		if a, ok := e.(*Arm); ok && a.Fired.Timer == attempt.TimerRevise {
			revise = a
		}
	}
	r.on(&revise.Fired, "answer stands")
	r.on(&Report{}, "reported a served seated stands tentative", "write 3 attempt.connected +contact")
}

// A beep revokes a live answer: the history says which verdict then stands.
func TestARevisionTellsItsVerdict(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Attempt.AMD, rl.Attempt.Listen.Revise = engine.AMDParallel, 10*time.Second })
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.apply(&SeatGranted{Attempt: first})
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictHuman }))
	r.clear()
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictMachine }))
	if !r.has("line of a released machine") || !r.has("write 4 attempt.revised") {
		t.Fatalf("%v", r.log)
	}
	if d := r.write().Events[0].Data; d.Verdict != engine.VerdictMachine || d.Pass != 1 || d.Connected {
		t.Errorf("%+v", d)
	}
}

// The bot reports a machine too late to revoke a live answer that the abandon rate has counted: the
// call becomes a machine's, and the count stays.
func TestTheBotsWordChangesNothingThatWasCounted(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Attempt.AMD = engine.AMDParallel })
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.apply(&SeatGranted{Attempt: first})
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictHuman }))
	r.now = r.now.Add(time.Minute)
	r.clear()
	r.apply(r.mediaEvent(engine.MediaBotVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictMachine }))
	if !r.has("line of a released machine") || !r.has("write 4 attempt.revised") {
		t.Fatalf("%v", r.log)
	}
	if d := r.write().Events[0].Data; d.Verdict != engine.VerdictMachine || !d.Connected {
		t.Errorf("%+v", d)
	}
	r.apply(r.leg(1, engine.LegClosed))
	w := r.write()
	if d := w.Events[0].Data; d.Outcome != engine.OutcomeMachine || !d.Connected || d.AwaitsResult {
		t.Errorf("%+v", d)
	}
	if c := w.Contacts[0]; c.State != contact.MachineDetected {
		t.Errorf("the contact is %s", c.State)
	}
}

func TestASeatOfAnAttemptThatIsOverGoesBack(t *testing.T) {
	r := up(t, nil, nil)
	r.on(&SeatGranted{Attempt: second}, "line of b over", "idle")
}

// --- dials that do not begin ----------------------------------------------------------

func TestADialOfAContactThatWaitsForNoneGivesItsLeasesBack(t *testing.T) {
	r := up(t, excludedRow, nil)
	r.on(dialOf(first), "trunk trunk a.1 over", "release number of a not dialled", "line of a over", "idle")

	// Its trigger reopens the contact.
	d := dialOf(first)
	d.Trigger = &Trigger{Request: someone}
	r.on(d, "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"write 1 contact.triggered +contact")
	r.on(&Durable{Step: 1}, "stored "+string(callee), "answer someone queued", "idle")

	// Another call lives.
	r = up(t, nil, nil)
	r.dialled(first)
	r.on(dialOf(second), "trunk trunk b.1 over", "release number of b not dialled", "line of b over")
}

func TestADialThatWasWithdrawn(t *testing.T) {
	r := up(t, nil, nil)
	d := dialOf(first)
	d.Withdrawn, d.Eligible = true, true
	r.on(d, "trunk trunk a.1 over", "release number of a not dialled", "line of a over", "idle")
	d.Trigger = &Trigger{Request: someone}
	r.on(d, "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"write 1 contact.triggered +contact")
	if d := r.write().Events[0].Data; d.Before != nil || d.After == nil || d.Reason != string(engine.ConstraintPaused) {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 1}, "stored "+string(callee), "answer someone queued "+string(engine.ConstraintPaused), "idle")
}

func TestACallbackIsDialledForItsTime(t *testing.T) {
	at := start.Add(-time.Minute)
	for _, callback := range []bool{false, true} {
		r := up(t, func(c *contact.Contact) {
			if c.CallbackAt, c.Callback = &at, contact.CallbackPending; callback {
				c.DueClass = contact.DueCallback
			}
		}, nil)
		r.apply(dialOf(first))
		if a := r.write().Attempts[0]; a.Callback != callback || (a.CallbackAt != nil) != callback {
			t.Errorf("callback %v: %v %v", callback, a.Callback, a.CallbackAt)
		}
	}
}

func TestAfterThreeUnconsumedAttemptsTheNextOneCounts(t *testing.T) {
	for n := range contact.MaxUnconsumed + 1 {
		r := up(t, func(c *contact.Contact) { c.Unconsumed = n }, nil)
		r.apply(dialOf(first))
		if must := r.call.Machine.Config.MustConsume; must != (n == contact.MaxUnconsumed) {
			t.Errorf("after %d: must consume %v", n, must)
		}
	}
}

// --- the eligibility hook -------------------------------------------------------------

func TestTheHookIsAskedBeforeTheIntent(t *testing.T) {
	eligible := func(d eligibility.Decision) (*rig, *Dial) {
		r := up(t, nil, nil)
		r.p.eligible = true
		m := dialOf(first)
		r.on(m, "ask eligibility")
		q := last[*AskEligibility](r).Question
		if q.To != callee || q.Attempt != 1 || q.Contact != "contact" || q.Campaign != "cmp" || q.Run != 1 ||
			q.Variables["name"] != "Ann" {
			t.Errorf("%+v", q)
		}
		if r.apply(&Stop{}); !r.has("not idle") {
			t.Error("the contact stops while the hook is asked")
		}
		r.clear()
		r.apply(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: d, Until: start.Add(time.Hour),
			Code: engine.CodeNotEligible, Reason: "asked for peace"}})
		return r, m
	}
	back := []string{"trunk trunk a.1 over", "release number of a not dialled", "line of a over"}

	r, m := eligible(eligibility.Allow)
	r.want("may dial")
	m.Eligible = true
	r.on(m, "own a", "count attempt", "line of a dialling", "write 1 attempt.reserved +contact +intent")

	r, _ = eligible(eligibility.Defer)
	r.want(append(back, "write 1 contact.changed +contact")...)
	if c := r.write().Contacts[0]; c.DueAt == nil || !c.DueAt.Equal(start.Add(time.Hour)) {
		t.Errorf("%+v", c)
	}
	r.on(&Durable{Step: 1}, "idle")

	r, _ = eligible(eligibility.Exclude)
	r.want(append(back, "write 1 contact.excluded +contact")...)
	if c := r.write().Contacts[0]; c.State != contact.Excluded || c.Reason != "eligibility hook: asked for peace" {
		t.Errorf("%+v", c)
	}
}

func TestTheHooksWordOnATrigger(t *testing.T) {
	for d, want := range map[eligibility.Decision][]string{
		eligibility.Defer: {"write 1 contact.triggered contact.changed +contact +reply", "stored " + string(callee),
			"answer someone queued not_eligible", "idle"},
		eligibility.Exclude: {"write 1 contact.triggered contact.excluded +contact", "stored " + string(callee),
			"answer someone  contact_excluded", "idle"},
	} {
		r := up(t, nil, nil)
		r.p.eligible = true
		m := dialOf(first)
		m.Trigger = &Trigger{Request: someone, Command: campaign.Trigger{Idempotency: idempotency("k")}}
		r.apply(m)
		r.apply(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: d, Until: start.Add(time.Hour),
			Code: engine.CodeNotEligible}})
		r.log = r.log[4:] // the question and the leases
		r.durable(1)
		r.want(want...)
		if e := r.write().Events[0]; e.Data.Before != nil || !e.Data.After.Open {
			t.Errorf("%s: %+v", d, e)
		}
		// The hook is asked about a final contact as it will be called, and its answer reopens the
		// contact.
		r = up(t, func(c *contact.Contact) { c.State, c.DueAt, c.Used = contact.Completed, nil, 2 }, nil)
		r.p.eligible = true
		m.Reopens, m.Trigger.Command.Variables = true, map[string]string{"a": "b"}
		r.apply(m)
		if q := last[*AskEligibility](r).Question; q.Attempt != 1 || q.Variables["a"] != "b" {
			t.Errorf("%+v", q)
		}
		r.apply(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: d, Until: start.Add(time.Hour),
			Code: engine.CodeNotEligible}})
		r.log = r.log[4:]
		r.durable(1)
		r.want(want...)
		if e := r.write().Events[0]; e.Data.Before == nil || !e.Data.After.Open {
			t.Errorf("%s: %+v", d, e)
		}
	}
	// A dial that is not stored is answered with the reason.
	r := up(t, nil, nil)
	r.p.eligible = true
	m := dialOf(first)
	m.Trigger = &Trigger{Request: someone}
	r.apply(m)
	r.apply(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: eligibility.Exclude}})
	if c := r.write().Contacts[0]; c.Reason != "eligibility hook" {
		t.Errorf("%q", c.Reason)
	}
	r.clear()
	r.on(&Durable{Step: 1, Err: journal.ErrSuppressed}, "answer someone  suppressed", "idle")
}

func TestAnAnswerOfTheHookThatComesTooLate(t *testing.T) {
	back := []string{"trunk trunk a.1 over", "release number of a not dialled", "line of a over"}
	r := up(t, nil, nil)
	m := dialOf(first)
	// from before a crash
	r.on(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: eligibility.Allow}}, append(back, "idle")...)

	r = up(t, nil, nil)
	r.p.eligible = true
	r.apply(m)
	r.apply(&Exclude{Op: 1})
	r.durable(1)
	r.clear()
	r.on(&EligibilityKnown{Dial: m, Verdict: eligibility.Verdict{Decision: eligibility.Allow}}, append(back, "idle")...)

	r = up(t, nil, nil)
	r.p.eligible = true
	r.apply(m)
	r.clear()
	r.on(&Report{}, "reported - ", "idle") // the run that was to be asked is gone
}

// --- triggers -------------------------------------------------------------------------

func TestATriggerIsAnsweredWithItsIntent(t *testing.T) {
	trigger := func() (*rig, *Dial) {
		r := up(t, nil, nil)
		d := dialOf(first)
		d.Trigger = &Trigger{Request: someone, Command: campaign.Trigger{Idempotency: idempotency("k")}}
		r.apply(d)
		return r, d
	}
	r, _ := trigger()
	r.want("own a", "count attempt", "line of a dialling",
		"write 1 contact.triggered attempt.reserved +contact +intent +reply")
	if w := r.write(); w.Events[0].Data.After != w.Events[1].Data.Before || w.Events[0].Attempt != first {
		t.Errorf("%+v", w.Events)
	}
	r.on(&Durable{Step: 1}, "stored "+string(callee), "answer someone dialled", "open media", "count leg_placed",
		"place leg a.1")
	if a := last[*Answer](r).Value.(campaign.TriggerReply); a.AttemptID != first || a.ContactID != "contact" ||
		a.CampaignID != "cmp" {
		t.Errorf("%+v", a)
	}

	// A refusal because of the number queues the trigger, with the contact.
	for _, err := range []error{journal.ErrNumberHeld, journal.ErrSuppressed, engine.Conflict(engine.CodeDestination,
		""), engine.Conflict(engine.CodeCalleeCap, "")} {
		r, _ = trigger()
		r.clear()
		r.apply(&Durable{Step: 1, Err: err})
		if !r.has("write 2 contact.triggered attempt.reserved attempt.ended +contact +free +reply") || r.has("answer") {
			t.Errorf("%s: %v", engine.ErrorCode(err), r.log)
		}
		r.clear()
		r.apply(&Durable{Step: 2})
		if !r.has("answer someone queued "+engine.ErrorCode(err)) || r.has("forget") {
			t.Errorf("%v", r.log)
		}
	}

	// So does a refusal after the attempt was given up.
	r, _ = trigger()
	r.apply(&End{})
	r.clear()
	r.on(&Durable{Step: 1, Err: journal.ErrNumberHeld}, "write 3 contact.triggered attempt.reserved +reply")
	r.on(&Durable{Step: 3}, "forget legs of a", "stored "+string(callee), "answer someone queued number_held", "idle")

	// Any other refusal is reported.
	r, _ = trigger()
	r.clear()
	r.apply(&Durable{Step: 1, Err: journal.ErrReplyExists})
	if r.log[0] != "answer someone dialled idempotency_in_progress" {
		t.Errorf("%v", r.log)
	}
}

func TestATriggerThatTheCapRefusesSaysWhenItIsDue(t *testing.T) {
	r := up(t, nil, nil)
	d := dialOf(first)
	d.Trigger = &Trigger{Request: someone}
	r.apply(d)
	until := start.Add(2 * time.Hour)
	r.apply(&Durable{Step: 1, Err: &engine.Error{Code: engine.CodeCalleeCap, Until: until}})
	r.apply(&Durable{Step: 2})
	if a := last[*Answer](r).Value.(campaign.TriggerReply); a.NextEligibleAt == nil || !a.NextEligibleAt.Equal(until) {
		t.Errorf("%+v", a)
	}
}

func TestATriggerOfAFinalContactReopensAndDialsItInOneWrite(t *testing.T) {
	final := func(c *contact.Contact) { c.State, c.DueAt, c.Used = contact.Completed, nil, 2 }
	dial := func() *Dial {
		d := dialOf(first)
		d.Trigger, d.Reopens = &Trigger{Request: someone}, true
		d.Trigger.Command.Variables = map[string]string{"a": "b"}
		return d
	}
	r := up(t, final, nil)
	r.apply(dial())
	w := r.write()
	if len(w.Events) != 2 || w.Events[0].Type != journal.ContactTriggered || w.Events[1].Type != journal.AttemptReserved ||
		w.Events[0].Data.Before == nil || w.Events[0].Data.Before.State != contact.Completed ||
		*w.Events[0].Data.After != *w.Events[1].Data.Before ||
		w.Attempts[0].Number != 1 ||
		w.Contacts[0].Variables["a"] != "b" {
		t.Fatalf("%+v", w)
	}
	r.apply(&Durable{Step: 1})
	if a := last[*Answer](r).Value.(campaign.TriggerReply); a.Status != "dialled" || a.AttemptID != first {
		t.Errorf("%+v", a)
	}

	// Whatever came while the hook was asked, and forbids calls, is newer than the trigger.
	for _, newer := range []any{&Exclude{Op: 7}, &End{Op: 7, Reason: engine.CodeSuppressed}} {
		r = up(t, final, nil)
		r.p.eligible = true
		d := dial()
		r.apply(d)
		r.apply(newer)
		r.clear()
		r.apply(&EligibilityKnown{Dial: d, Verdict: eligibility.Verdict{Decision: eligibility.Allow}})
		if !r.has("answer someone contact_excluded") || !r.has("release number of a not dialled") || r.has("may dial") {
			t.Errorf("%T: %v", newer, r.log)
		}
	}

	// The contact is open by now, or excluded for good: nothing is dialled for this trigger.
	r = up(t, nil, nil)
	r.on(dial(), "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"write 1 contact.triggered +contact")
	r = up(t, excludedRow, func(rl *Rules) { rl.Sticky = true })
	r.on(dial(), "trunk trunk a.1 over", "release number of a not dialled", "line of a over",
		"answer someone contact_excluded", "idle")
}

// A trigger that finds a contact being dialled may be refused, as one that came twice with its key; the dial goes on.
func TestTheRefusalOfATriggerIsNotThatOfTheIntentBeforeIt(t *testing.T) {
	r := up(t, nil, nil)
	r.apply(dialOf(first))
	r.apply(&Reopen{Trigger: &Trigger{Request: someone, Command: campaign.Trigger{Idempotency: idempotency("k")}}})
	intent, merged := r.call.Step-1, r.call.Step
	r.durable(intent)
	r.clear()
	refused := engine.Conflict("idempotency_in_progress", "")
	r.apply(&Durable{Step: merged, Err: refused})
	if !r.call.Live() || r.has("line of a over") {
		t.Errorf("the attempt is %s: %v", r.call.Machine.A.State, r.log)
	}
	if a := last[*Answer](r); a.Request != someone || !errors.Is(a.Err, refused) {
		t.Errorf("%+v", a)
	}
}

// Nothing that happens to a contact is told of an attempt that has ended, though a leg of it is still watched.
func TestATriggerIsToldOfTheAttemptOnlyWhileThatLives(t *testing.T) {
	merged := &Reopen{Trigger: &Trigger{Request: someone}}
	r := up(t, nil, nil)
	r.talking(first)
	r.apply(merged)
	if e := r.write().Events[0]; e.Type != journal.ContactTriggered || e.Attempt != first {
		t.Errorf("in the call: %s of %q", e.Type, e.Attempt)
	}
	at := ended(t, first)
	at.Legs[0].EndedAt = nil
	r = newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, nil)
	r.call = &r.contact.Call
	r.apply(&Started{Lost: &at})
	r.apply(merged)
	if e := r.write().Events[0]; e.Type != journal.ContactTriggered || e.Attempt != "" {
		t.Errorf("after the call: %s of %q", e.Type, e.Attempt)
	}
}

func TestATriggerOfAContactThatThereIs(t *testing.T) {
	reopen := func(key string) *Reopen {
		return &Reopen{Trigger: &Trigger{Request: someone,
			Command: campaign.Trigger{Variables: map[string]string{"a": "b"}, Idempotency: idempotency(key)}}}
	}
	r := up(t, nil, nil)
	r.on(reopen("k"), "write 1 contact.triggered +contact +reply")
	if w := r.write(); w.Contacts[0].Variables["a"] != "b" || w.Contacts[0].Variables["name"] != "Ann" {
		t.Errorf("%+v", w.Contacts[0].Variables)
	}
	r.on(&Durable{Step: 1}, "stored "+string(callee), "answer someone queued merged", "idle")

	r = up(t, func(c *contact.Contact) { c.State, c.DueAt = contact.Completed, nil }, nil)
	r.on(reopen(""), "write 1 contact.triggered +contact")
	r.on(&Durable{Step: 1}, "stored "+string(callee), "answer someone queued", "idle")

	for _, after := range []bool{false, true} {
		row := excludedRow
		if after {
			row = func(c *contact.Contact) { c.ExcludeAfterCall = true }
		}
		r = up(t, row, func(rl *Rules) { rl.Sticky = true })
		r.on(reopen(""), "answer someone contact_excluded", "idle")
	}
}

// --- exclusion ------------------------------------------------------------------------

// The exclusion is durable before the end of the call, which reports the contact's state then; the
// confirmation that no INVITE leaves follows.
func TestAnExclusionIsWrittenBeforeTheEndOfTheCall(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	who := &engine.Who{User: "u"}
	r.on(&Exclude{Op: 4, Reason: "his words", Who: who}, "write 2 contact.excluded +contact", "line of a released",
		"cancel a.1")
	if d := r.write().Events[0].Data; d.Reason != "" || d.Who != who || r.write().Contacts[0].Reason != "his words" {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 2}, "excluded 4 cancelled new")
	r.on(&Exclude{Op: 5}, "excluded 5")
	r.on(r.leg(1, engine.LegRefused, code(487)), "trunk trunk a.1 over", "closemedia", "release number of a",
		"line of a over", "over",
		"write 3 attempt.ended +contact +free")
	r.on(&Durable{Step: 3}, "forget legs of a", "idle")
}

func TestAnExclusionOfACallThatWaitsForItsIntent(t *testing.T) {
	r := up(t, nil, nil)
	r.apply(dialOf(first))
	r.clear()
	r.on(&Exclude{Op: 4}, "write 2 contact.excluded +contact", "line of a released", "trunk trunk a.1 over",
		"release number of a not dialled", "line of a over", "over",
		"write 3 attempt.ended +contact +free")
	r.on(&Durable{Step: 1})
	r.on(&Durable{Step: 2}, "excluded 4 cancelled new")
	r.on(&Durable{Step: 3}, "forget legs of a", "idle")
}

func TestAnExclusionLeavesAConversationAlone(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(&Exclude{Op: 4}, "write 4 contact.excluded +contact")
	r.on(&Durable{Step: 4}, "excluded 4 in call new")
	r.on(&Exclude{Op: 5, Reason: "another"}, "write 5 +contact") // a different reason, and no history entry
	r.on(&Durable{Step: 5}, "excluded 5 in call")
	r.on(&Exclude{Op: 6, Reason: "another"}, "excluded 6 in call")
}

func TestANodeElsewhereConfirmsAnExclusion(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	r.p.away = true
	r.apply(&Exclude{Op: 4})
	r.clear()
	r.on(&Durable{Step: 2}, "when settled: excluded 4 cancelled new")
	r.on(&Exclude{Op: 5}, "when settled: excluded 5")
	r.on(&End{Op: 6}, "when settled: excluded 6")
}

func TestAnExclusionIsLifted(t *testing.T) {
	for _, c := range []struct {
		row            func(*contact.Contact)
		sticky, lifted bool
		op             int
		want           []string
	}{
		{excludedRow, false, false, 0, []string{"write 1 contact.changed +contact"}},
		{excludedRow, true, false, 0, []string{"idle"}},
		{excludedRow, true, true, 3, []string{"write 1 contact.changed +contact"}},
		{nil, false, true, 3, []string{"lifted 3", "idle"}},
		{func(c *contact.Contact) { c.ExcludeAfterCall = true }, true, true, 3,
			[]string{"write 1 contact.changed +contact"}},
		{func(c *contact.Contact) { c.ExcludeAfterCall = true }, false, false, 3, []string{"lifted 3", "idle"}},
	} {
		r := up(t, c.row, func(rl *Rules) { rl.Sticky = c.sticky })
		r.on(&Readmit{LiftedExclusion: c.lifted, Op: c.op, Variables: map[string]string{"a": "b"}}, c.want...)
		if len(r.call.Pending) == 0 {
			continue
		}
		want := map[bool]string{false: "readmitted", true: "lifted"}[c.lifted]
		if d := r.write().Events[0].Data; d.Reason != want {
			t.Errorf("%+v", d)
		}
		done := []string{"idle"}
		if c.op != 0 {
			done = []string{"lifted 3 readmitted", "idle"}
		}
		r.on(&Durable{Step: 1}, done...)
	}
}

// --- the end of a call and of a run ---------------------------------------------------

func TestAStopCancelsAndAHangUpEndsAConversation(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(&End{Op: 3}, "excluded 3")
	r.apply(&End{HangUp: true})
	if !r.has("line of a released") || !r.has("hang up a.1") {
		t.Errorf("%v", r.log)
	}
	if by := r.call.Machine.A.Ending.HungUpBy; by != engine.PartySystem {
		t.Errorf("hung up by %s", by)
	}
	r = up(t, nil, nil)
	r.on(&End{Op: 3}, "excluded 3", "idle")
	r.on(&End{}, "idle")
}

// Otherwise the Stop option would break the abandon cap.
func TestAStopThatEndsConversationsAbandonsNobodyWhoHasJustPickedUp(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.apply(&End{HangUp: true})
	if a := &r.call.Machine.A; a.Ending != nil || r.has("hang up a.1") {
		t.Errorf("%+v, %v", a.Ending, r.log)
	}
}

func TestASuppressedNumberIsDialledNoMore(t *testing.T) {
	r := up(t, nil, nil)
	r.on(&End{Reason: engine.CodeSuppressed, Op: 3}, "excluded 3", "write 1 contact.changed +contact")
	if w := r.write(); w.Contacts[0].State != contact.Failed || w.Events[0].Data.Reason != engine.CodeSuppressed {
		t.Errorf("%+v", w.Contacts[0])
	}
	r.on(&Durable{Step: 1}, "idle")
	// The contact is requested again: the number is no longer on the list.
	r.apply(&Reopen{Trigger: &Trigger{}})
	r.clear()
	r.on(&Durable{Step: 2}, "stored "+string(callee), "idle")

	// A ringing call is cancelled, and the contact becomes final with that reason.
	r = up(t, nil, nil)
	r.dialled(first)
	r.on(&End{Reason: engine.CodeSuppressed}, "line of a released", "cancel a.1")
	r.apply(r.leg(1, engine.LegRefused, code(487)))
	if c := r.write().Contacts[0]; c.State != contact.Failed || c.Reason != engine.CodeSuppressed ||
		r.write().Events[0].Data.Reason != engine.CodeSuppressed {
		t.Errorf("%+v", c)
	}
}

func TestTheEndOfARunClosesWhoWaits(t *testing.T) {
	r := up(t, nil, nil)
	r.on(&RunEnded{Kind: contact.RunStopped}, "write 1 contact.changed +contact")
	if w := r.write(); w.Contacts[0].State != contact.ManuallyStopped ||
		w.Events[0].Data.Reason != string(contact.RunStopped) {
		t.Errorf("%+v", w)
	}
	r.on(&Durable{Step: 1}, "idle")
	r.on(&RunEnded{Kind: contact.RunStopped}, "idle")
}

func TestWhatAnOperatorWants(t *testing.T) {
	later := start.Add(time.Hour)
	r := up(t, func(c *contact.Contact) { c.DueAt = &later }, nil)
	act := func(a campaign.ContactAction, at time.Time) *Operate {
		return &Operate{Command: campaign.ActOnContact{Action: a, At: at, Who: engine.Who{User: "u"}}, Request: someone}
	}
	r.contact.Suppressed = true
	r.on(act(campaign.RetryNow, time.Time{}), "write 1 contact.retried +contact")
	if d := r.write().Events[0].Data; d.Who == nil || d.Who.User != "u" || d.DueAt == nil || r.contact.Suppressed {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 1}, "answer someone", "idle")
	r.on(act(campaign.CallBack, later), "write 2 contact.call_back_set +contact")
	r.on(&Durable{Step: 2, Err: journal.ErrStaleEpoch}, "answer someone stale_epoch", "idle")
	r = up(t, excludedRow, nil)
	r.on(act(campaign.RetryNow, time.Time{}), "answer someone contact_excluded", "idle")
}

func TestKeysAndTransfers(t *testing.T) {
	r := up(t, nil, nil)
	keys := &Keys{Attempt: first, Digits: "12", Request: someone}
	r.on(keys, "answer someone call_ended", "idle")
	r.dialled(first)
	r.on(keys, "answer someone call_not_answered")
	r.on(&Keys{Attempt: second, Digits: "12", Request: someone}, "answer someone call_ended")
	r.conversation()
	r.on(keys, "send digits 12")
	if e := last[*SendDigits](r); e.Leg != first.Leg(1) || e.Attempt != first || e.Request != someone {
		t.Errorf("%+v", e)
	}
	r.on(&Transfer{Attempt: second, To: "+4930", Request: someone}, "answer someone call_ended")
	r.apply(&Transfer{Attempt: first, To: "+4930999", Request: someone})
	if a := last[*Answer](r); a.Err == nil {
		t.Error("transfers are off")
	}
	r.clear()
	r.apply(&Keys{Attempt: first, Request: someone})
	if !r.has("hang up a.1") || r.log[len(r.log)-1] != "answer someone" {
		t.Errorf("%v", r.log)
	}
	r.clear()
	r.on(keys, "answer someone call_not_answered") // it is being ended
}

func TestATransferGoesWhereCallsMayGo(t *testing.T) {
	r := up(t, nil, func(rl *Rules) {
		rl.Attempt.Transfers = attempt.TransferRules{Allowed: []string{"+49*"},
			Limit: 1}
	})
	r.talking(first)
	const target = "+4930999999"
	r.p.barred = map[engine.PhoneNumber]error{target: engine.Conflict(engine.CodeDestination, "")}
	r.apply(&Transfer{Attempt: first, To: target, Request: someone})
	if a := last[*Answer](r); engine.ErrorCode(a.Err) != engine.CodeDestination &&
		engine.ErrorCode(a.Err) == "internal" {
		t.Errorf("%v", a.Err)
	}
}

// The end is not reported before it is durable.
func TestHowAnAttemptStands(t *testing.T) {
	r := up(t, nil, nil)
	show := &Show{Attempt: first, Request: someone}
	r.on(show, "answer someone call_not_found", "idle")
	r.talking(first)
	r.on(show, "answer someone connected")
	r.on(&Show{Attempt: second, Request: someone}, "answer someone call_not_found")
	r.apply(r.leg(1, engine.LegHungUp))
	r.clear()
	r.on(show)
	r.on(&Durable{Step: 4}, "forget legs of a", "answer someone ended")
	r.on(show, "answer someone ended")

	r = up(t, nil, nil)
	r.talking(first)
	r.apply(r.leg(1, engine.LegHungUp))
	r.apply(&Durable{Step: 4, Spooled: true})
	r.clear()
	r.on(show, "answer someone ended")
}

func TestAnOptOutSuppressesTheNumber(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Attempt.OptOut = '9' })
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.now = r.now.Add(attempt.BridgeBudget)
	bridge := last[*Arm](r)
	r.clear()
	r.apply(&bridge.Fired)
	if !r.has("line of a abandoned no_seat") || !r.has("write 3 attempt.abandoned") || !r.has("playmessage") {
		t.Fatalf("%v", r.log)
	}
	if c := r.write().Events[0].Data.Cause; c != engine.AbandonNoSeat {
		t.Errorf("cause %s", c)
	}
	r.durable(3)
	r.clear()
	r.apply(r.mediaEvent(engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = '9' }))
	if !r.has("write 4 attempt.opted_out +opt_out") {
		t.Fatalf("%v", r.log)
	}
	r.clear()
	r.on(&Durable{Step: 4}, "suppress "+string(callee))
}

func TestAnErasedPersonIsForgotten(t *testing.T) {
	const tombstone = engine.PhoneNumber(engine.ErasedPrefix + "1")
	r := up(t, excludedRow, nil)
	r.on(&Forget{Tombstone: tombstone}, "idle")
	if c := r.contact.Machine.C; c.Number != tombstone || c.Variables != nil || c.Reason != "" {
		t.Errorf("%+v", c)
	}
	r.on(&StoreResult{Call: first.Call(), Request: someone}, "answer someone person_erased", "idle")

	r = up(t, nil, nil)
	r.talking(first)
	r.apply(&StoreResult{Call: first.Call(), Result: attempt.Result{Summary: "he said", TranscriptURL: "t",
		RecordingURL: "r", Variables: map[string]string{"a": "b"},
		Callback: &attempt.Callback{Requested: true, Reason: "mother"}}})
	r.contact.Call.Results = map[engine.AttemptID]attempt.Attempt{second: {ID: second, To: callee}}
	r.apply(&Forget{Tombstone: tombstone})
	if r.call.Machine.A.To != callee {
		t.Error("a call that lives is forgotten")
	}
	r.apply(r.leg(1, engine.LegHungUp))
	r.clear()
	r.apply(&Forget{Tombstone: tombstone})
	a := r.call.Machine.A
	if a.To != tombstone || a.Result.Summary != "" || a.Result.TranscriptURL != "" || a.Result.RecordingURL != "" ||
		a.Result.Variables != nil ||
		a.Result.Callback.Reason != "" || !a.Result.Callback.Requested || r.call.Results[second].To != tombstone {
		t.Errorf("%+v", a)
	}
}

func TestTheWaitForAResultEnds(t *testing.T) {
	ended := func() *rig {
		r := up(t, nil, nil)
		r.talking(first)
		r.apply(r.leg(1, engine.LegHungUp))
		r.apply(&Durable{Step: 4})
		r.clear()
		return r
	}
	r := ended()
	r.on(&TimerFired{Timer: TimerLinger}) // an older one
	r.on(&TimerFired{Timer: TimerLinger, Epoch: 1}, "idle")
	r = ended()
	r.on(&Rest{}, "disarm linger", "idle")
	r.on(&Rest{}, "idle")
	r.on(&ResultTimeout{}, "idle") // not yet due
	r.now = *r.contact.Machine.C.ResultDueAt
	r.on(&ResultTimeout{}, "write 5 contact.changed +contact")
	if d := r.write().Events[0].Data; d.Reason != "result_timeout" || d.NoResult != first {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 5}, "idle")
	r.on(&ResultTimeout{}, "idle")
}

// The end of each conversation says whether its outcome is final; whatever makes it final names the
// conversation: the result, or the end of the wait.
func TestWhoeverEndsTheWaitForAResultNamesItsAttempt(t *testing.T) {
	ended := func(set func(*Rules)) *rig {
		r := up(t, nil, set)
		r.talking(first)
		r.apply(r.leg(1, engine.LegHungUp))
		if d := r.write().Events[0].Data; !d.AwaitsResult || d.NoResult != "" {
			t.Errorf("its end: %+v", d)
		}
		shown := func() bool {
			r.apply(&Show{Attempt: first, Request: someone})
			return last[*Answer](r).Value.(attempt.Attempt).AwaitsResult
		}
		r.apply(&Durable{Step: 4})
		if !shown() {
			t.Error("what is shown of it says that its outcome is final")
		}
		r.clear()
		return r
	}
	none := func(what string, r *rig) {
		t.Helper()
		if d := r.write().Events[0].Data; d.NoResult != first || d.AwaitsResult {
			t.Errorf("%s: %+v", what, d)
		}
	}
	r := ended(nil)
	r.apply(&StoreResult{Call: first.Call(), Result: attempt.Result{Disposition: "sold"}})
	if d := r.write().Events[0].Data; d.NoResult != "" || d.Outcome != engine.OutcomeCompleted {
		t.Errorf("its result: %+v", d)
	}
	r = ended(nil)
	r.apply(&Exclude{Reason: "asked"})
	none("an exclusion", r)
	short := func(rl *Rules) { rl.Policy.Redial.OnlyUnder, rl.Policy.Redial.Delay = time.Minute, time.Second }
	r = ended(short)
	r.now = *r.contact.Machine.C.DueAt
	r.apply(dialOf(second))
	none("a redial", r)
	// The end of the run cancels the redial; the result is still awaited.
	r = ended(short)
	r.apply(&RunEnded{Kind: contact.RunStopped})
	if d := r.write().Events[0].Data; d.NoResult != "" || r.contact.Machine.C.DueAt != nil ||
		!r.contact.Machine.C.AwaitsResult(first) {
		t.Errorf("the end of the run: %+v", d)
	}
}

// The run dials contacts at rest, so a contact that is due soon stops waiting.
func TestAContactThatIsDueSoonWaitsNoLonger(t *testing.T) {
	r := up(t, nil, func(rl *Rules) { rl.Policy.Redial.OnlyUnder, rl.Policy.Redial.Delay = time.Minute, time.Second })
	r.talking(first)
	r.apply(r.leg(1, engine.LegHungUp))
	if due, linger := r.contact.Machine.C.DueAt, last[*Arm](r); due != nil && linger.After != min(3*time.Second,
		due.Sub(r.now)) {
		t.Errorf("due in %s, lingers for %s", due.Sub(r.now), linger.After)
	}
}
