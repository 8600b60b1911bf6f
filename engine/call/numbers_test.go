package call

import (
	"testing"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

const other = engine.PhoneNumber("+4915112345699")

func withOther(c *contact.Contact) {
	c.Alternates = contact.NewAlternates([]contact.Alternate{{Number: other}})
}

func TestAnAttemptCallsTheNumberThatIsChosen(t *testing.T) {
	r := up(t, func(c *contact.Contact) { withOther(c); c.Choice = 1 }, nil)
	r.apply(dialOf(first))
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
