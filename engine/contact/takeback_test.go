package contact

import (
	"testing"
	"time"

	"dialler/engine"
)

func TestAContactGoesWithItsFileOnlyIfNothingHasHappenedToIt(t *testing.T) {
	at := time.Now()
	for _, x := range []struct {
		what   string
		change func(*Contact)
		named  bool
		want   Stay
	}{
		{"waits", func(*Contact) {}, false, Goes},
		{"was put off until its window opens", func(c *Contact) { c.DueAt, c.Version = &at, 7 }, false, Goes},
		{"has another Max Attempts", func(c *Contact) { c.Max = 9 }, false, Goes},
		{"is in a call", func(c *Contact) { c.Attempt, c.Used = "a", 1 }, true, StayInCall},
		{"was called", func(c *Contact) { c.State, c.Used = Waiting, 1 }, true, StayDialled},
		{"had a dial that came to nothing", func(c *Contact) { c.Unconsumed = 1 }, false, StayDialled},
		{"had a dial that was refused", func(c *Contact) { c.LastOutcome = engine.OutcomeBlocked }, false, StayDialled},
		{"was reopened after calls", func(c *Contact) { c.Tries = 1 }, false, StayDialled},
		{"is excluded", func(c *Contact) { c.State = Excluded }, true, StayExcluded},
		{"is to be excluded", func(c *Contact) { c.ExcludeAfterCall = true }, false, StayExcluded},
		{"asked not to be called", func(c *Contact) { c.Choice = ChoiceStopped }, false, StayExcluded},
		{"is to be called back", func(c *Contact) { c.Callback = CallbackPending }, true, StayCallBack},
		{"was to be called back", func(c *Contact) { c.CallbacksCancelled = 1 }, false, StayCallBack},
		{"was named", func(*Contact) {}, true, StayNamed},
		{"called us", func(c *Contact) { c.CallsBack = "a" }, false, StayNamed},
		{"expired", func(c *Contact) { c.State = Expired }, false, StayEnded},
		{"was stopped", func(c *Contact) { c.State = ManuallyStopped }, false, StayEnded},
	} {
		c := Contact{State: Pending, Source: SourceFile, Version: 1}
		x.change(&c)
		if got := c.Trace(x.named).Stay(); got != x.want {
			t.Errorf("a contact that %s: %q, want %q", x.what, got, x.want)
		}
	}
}
