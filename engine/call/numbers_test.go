package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/journal"
)

const other = engine.PhoneNumber("+4915112345699")

func withOther(c *contact.Contact) {
	c.Alternates = contact.NewAlternates([]contact.Alternate{{Number: other}})
}

func TestAnAttemptCallsTheNumberThatIsChosen(t *testing.T) {
	r := up(t, func(c *contact.Contact) { withOther(c); c.Choice = 1 }, nil)
	d := dialOf(first)
	d.To = other
	r.apply(d)
	w := r.write()
	if w.Attempts[0].To != other || w.Intent.Number != other {
		t.Errorf("it calls %q, and holds %q", string(w.Attempts[0].To), string(w.Intent.Number))
	}
}

// The number that rings is suppressed by somebody else: the call ends, and the person is called at the
// other.
func TestANumberThatIsSuppressedWhileItRingsLeavesTheOther(t *testing.T) {
	r := up(t, withOther, nil)
	r.dialled(first)
	r.apply(&End{Reason: engine.CodeSuppressed, Number: r.contact.Machine.C.Number, Op: 3})
	if r.contact.Machine.C.NextNumber() != other || r.contact.Suppressed || r.call.Machine.A.Ending == nil {
		t.Fatalf("%+v", r.contact.Machine.C)
	}
	r.apply(&End{Reason: engine.CodeSuppressed, Number: other, Op: 4})
	if c := &r.contact.Machine.C; c.NextNumber() != other || r.contact.Suppressed {
		t.Errorf("%+v", c)
	}
}

// Whoever has talked to us is not rung again because the number of that call is suppressed meanwhile.
func TestANumberThatIsSuppressedDuringAConversationIsNoReasonToCallAnother(t *testing.T) {
	for _, result := range []bool{true, false} {
		r := up(t, withOther, nil)
		r.talking(first)
		r.apply(&End{Reason: engine.CodeSuppressed, Number: callee, Op: 3})
		if result {
			r.apply(resultOf(first))
			r.durable(r.call.Step)
		}
		r.now = r.now.Add(time.Minute)
		r.apply(r.leg(1, engine.LegHungUp))
		c := &r.contact.Machine.C
		want := contact.Connected // its result is awaited
		if result {
			want = contact.Completed
		}
		if c.State != want || c.DueAt != nil || c.NextNumber() != other {
			t.Errorf("result %v: %s, due %v, next %q", result, c.State, c.DueAt, string(c.NextNumber()))
		}
	}
	// Nor is whoever had a machine take the call: what a machine means the campaign says.
	r := up(t, withOther, func(rl *Rules) { rl.Attempt.AMD = engine.AMDSequential })
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(r.call.Step)
	r.apply(&End{Reason: engine.CodeSuppressed, Number: callee, Op: 3})
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictMachine }))
	r.apply(r.leg(1, engine.LegClosed, proven(engine.ProofBye)))
	if c := &r.contact.Machine.C; c.State != contact.MachineDetected || c.DueAt != nil {
		t.Errorf("a machine: %s, due %v", c.State, c.DueAt)
	}
}

// The last number at which the person might be called is suppressed while it rings: it ends with the call.
func TestThePersonEndsWhenTheirLastNumberIsSuppressedWhileItRings(t *testing.T) {
	r := up(t, withOther, func(rl *Rules) {
		rl.Policy.Redial.OnSystem = []engine.Outcome{engine.OutcomeCancelled}
	})
	r.apply(&End{Reason: engine.CodeSuppressed, Number: callee, Op: 3})
	d := dialOf(first)
	d.To = other
	r.apply(d)
	r.durable(r.call.Step)
	r.apply(r.leg(1, engine.LegSent))
	r.apply(&End{Reason: engine.CodeSuppressed, Number: other, Op: 4})
	r.apply(r.leg(1, engine.LegRefused, code(487)))
	if c := r.write().Contacts[0]; c.State != contact.Failed || c.Reason != engine.CodeSuppressed || c.DueAt != nil {
		t.Errorf("%+v", c)
	}
}

func TestWhoAskedAtOneNumberNotToBeCalledIsNotCalledAtAnother(t *testing.T) {
	r := up(t, func(c *contact.Contact) { withOther(c); c.Choice = contact.ChoiceStopped }, nil)
	r.apply(dialOf(first))
	if r.call.Has() {
		t.Error("it is called")
	}
	r.clear()
	r.apply(&Reopen{Trigger: &Trigger{Command: campaign.Trigger{Number: other}, Request: "q"}})
	if a := last[*Answer](r); engine.ErrorCode(a.Err) != journal.ErrSuppressed.Code {
		t.Errorf("a trigger: %v", a.Err)
	}
	sum := summary(&attempt.Attempt{ID: first, Outcome: engine.OutcomeAbandoned, Ending: &attempt.Ending{OptedOut: true}})
	if !sum.DoNotCall {
		t.Error("the opt-out key does not say so")
	}
}

// The run decided for one number: its window, its seat, its caller ID, and what the hook was asked. A
// dial goes out to that number or not at all.
func TestADialGoesToTheNumberThatWasDecidedOn(t *testing.T) {
	for _, moves := range []any{
		&End{Reason: engine.CodeSuppressed, Number: callee, Op: 3},
		&Reopen{Trigger: &Trigger{Command: campaign.Trigger{Number: other}, Request: "q"}},
	} {
		for _, asked := range []bool{true, false} { // by the hook, or by the run after it
			r := up(t, withOther, nil)
			r.p.eligible = true
			d := dialOf(first)
			r.apply(d)
			if q := last[*AskEligibility](r).Question; q.To != callee {
				t.Fatalf("asked about %q", string(q.To))
			}
			allow := &EligibilityKnown{Dial: d, Verdict: eligibility.Verdict{Decision: eligibility.Allow}}
			if !asked {
				r.apply(allow)
			}
			r.apply(moves)
			r.clear()
			if asked {
				r.apply(allow)
			} else {
				agreed := *d
				agreed.Eligible = true
				r.apply(&agreed)
			}
			if r.call.Has() || r.has("may dial") || !r.has("release number of a not dialled") {
				t.Errorf("%T: %v", moves, r.log)
			}
			if c := &r.contact.Machine.C; c.NextNumber() != other || c.DueAt == nil {
				t.Errorf("%T: %+v", moves, c)
			}
		}
	}
}

func TestAFinalContactIsAskedAboutAndCalledAtTheNumberOfItsTrigger(t *testing.T) {
	r := up(t, func(c *contact.Contact) { withOther(c); c.State, c.DueAt, c.Used = contact.Completed, nil, 2 }, nil)
	r.p.eligible = true
	d := dialOf(first)
	d.To, d.Reopens = other, true
	d.Trigger = &Trigger{Command: campaign.Trigger{Number: other}, Request: "q"}
	r.apply(d)
	if q := last[*AskEligibility](r).Question; q.To != other {
		t.Fatalf("asked about %q", string(q.To))
	}
	r.apply(&EligibilityKnown{Dial: d, Verdict: eligibility.Verdict{Decision: eligibility.Allow}})
	d.Eligible = true
	r.apply(d)
	if w := r.write(); w.Attempts[0].To != other {
		t.Errorf("it calls %q", string(w.Attempts[0].To))
	}
}

// From what the person says in a call to the dial that a later trigger asks for.
func TestWhoAskedInACallNotToBeCalledIsNotDialledAgainAtAnyNumber(t *testing.T) {
	for what, say := range map[string]func(*rig){
		"a result": func(r *rig) {
			r.talking(first)
			r.apply(resultOf(first, doNotCall))
			r.durable(r.call.Step)
			r.apply(r.leg(1, engine.LegHungUp))
		},
		"a result after the call": func(r *rig) {
			r.talking(first)
			r.apply(r.leg(1, engine.LegHungUp))
			r.durable(r.call.Step)
			r.apply(resultOf(first, doNotCall))
		},
		"the opt-out key": func(r *rig) {
			r.dialled(first)
			r.apply(r.leg(1, engine.LegAnswered, answered))
			r.durable(r.call.Step)
			r.now = r.now.Add(attempt.BridgeBudget)
			r.apply(&last[*Arm](r).Fired)
			r.durable(r.call.Step)
			r.apply(r.mediaEvent(engine.MediaDigit, func(e *engine.MediaEvent) { e.Digit = '9' }))
			r.durable(r.call.Step)
			r.apply(r.leg(1, engine.LegClosed, proven(engine.ProofBye)))
		},
	} {
		r := up(t, withOther, func(rl *Rules) { rl.Attempt.OptOut = '9' })
		say(r)
		r.durable(r.call.Step)
		if c := &r.contact.Machine.C; r.call.Live() || !r.write().Contacts[0].Choice.Stopped() || c.Open() {
			t.Fatalf("%s: %+v", what, c)
		}
		r.clear()
		d := dialOf(second)
		d.To, d.Reopens = other, true
		d.Trigger = &Trigger{Command: campaign.Trigger{Number: other}, Request: "q"}
		r.apply(d)
		if a := last[*Answer](r); engine.ErrorCode(a.Err) != journal.ErrSuppressed.Code || a.Request != "q" ||
			!r.has("release number of b not dialled") || r.call.Live() {
			t.Errorf("%s: %v, %v", what, a.Err, r.log)
		}
	}
}

// The result of a call of an earlier run says so too: the person is called at no other number in this one.
func TestWhoAskedInAnEarlierRunNotToBeCalledIsCalledAtNoNumber(t *testing.T) {
	at := ended(t, first)
	next := func(c *contact.Contact) { withOther(c); c.Run = 2 }
	for _, calling := range []bool{false, true} {
		r := up(t, next, func(rl *Rules) { rl.Run = 2 })
		if calling {
			d := dialOf(second)
			d.To = r.contact.Machine.C.NextNumber()
			r.apply(d)
			r.durable(r.call.Step)
		}
		m := resultOf(first, doNotCall)
		r.apply(m)
		r.apply(fetched(m, &at, nil))
		c := &r.contact.Machine.C
		if !c.Choice.Stopped() || c.HasResult || !r.write().Contacts[0].Choice.Stopped() {
			t.Fatalf("calling %v: %+v", calling, c)
		}
		r.durable(r.call.Step)
		if calling {
			if !r.has("to self") {
				t.Errorf("the call to the person goes on: %v", r.log)
			}
			continue
		}
		r.apply(&End{Number: callee, Reason: engine.CodeSuppressed})
		if c := r.write().Contacts[0]; c.State != contact.Failed || c.Reason != engine.CodeSuppressed {
			t.Errorf("%s, %s, %v", c.State, c.Reason, r.log)
		}
	}
}

// A run for the unreached carries a contact over as it ended; a result of its call still decides what that was,
// whatever else it asks for.
func TestALateResultOfWhoAskedNotToBeCalledIsStored(t *testing.T) {
	at := ended(t, first)
	for _, row := range []func(*contact.Contact){func(*contact.Contact) {}, withOther} {
		r := up(t, func(c *contact.Contact) {
			row(c)
			c.Run, c.State, c.DueAt, c.DuePass, c.ConnectedOnce = 2, contact.Failed, nil, 0, true
			c.Reason = string(engine.OutcomeConnectedNoResult)
		}, func(rl *Rules) { rl.Run = 2 })
		m := resultOf(first, doNotCall)
		r.apply(m)
		r.apply(fetched(m, &at, nil))
		c := &r.contact.Machine.C
		if c.State != contact.Completed || !c.HasResult || c.LastDisposition != m.Result.Disposition ||
			c.Choice.Stopped() != (c.Alternates != "") {
			t.Errorf("%s (%q), result %v, choice %b", c.State, c.Reason, c.HasResult, c.Choice)
		}
	}
}

// A request gives other numbers to somebody who asked at the only one not to be called: it is refused,
// and so is one that finds the contact final.
func TestATriggerWithMoreNumbersDoesNotUndoWhatAPersonAsked(t *testing.T) {
	more := contact.NewAlternates([]contact.Alternate{{Number: other}})
	r := up(t, nil, nil)
	r.talking(first)
	r.apply(resultOf(first, doNotCall))
	r.durable(r.call.Step)
	r.apply(r.leg(1, engine.LegHungUp))
	r.durable(r.call.Step)
	for _, c := range []struct {
		others contact.Alternates
		code   string
	}{{more, journal.ErrSuppressed.Code}, {"", ""}} {
		r.clear()
		r.apply(&Reopen{Trigger: &Trigger{Command: campaign.Trigger{Number: callee, Alternates: c.others}, Request: "q"}})
		var got string
		if c.code != "" {
			got = engine.ErrorCode(last[*Answer](r).Err)
		}
		if row := r.contact.Machine.C; got != c.code || row.Alternates != "" || row.Open() != (c.code == "") {
			t.Errorf("%q: answered %q, %+v", string(c.others), got, row)
		}
	}
}

// Whoever calls back says so with the number that they call from, which may be one that a newer list
// leaves out.
func TestWhoAsksInACallBackFromANumberThatIsLeftOutIsCalledAtNoNumber(t *testing.T) {
	r := up(t, nil, nil)
	m := resultOf(second, doNotCall)
	m.CalledBack = &campaign.CalledBack{Attempt: second, From: other, Talk: 0}
	if r.apply(m); !r.contact.Machine.C.Choice.Stopped() || r.contact.Machine.C.DueAt != nil {
		t.Errorf("%+v", r.contact.Machine.C)
	}
}
