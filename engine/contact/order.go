package contact

import (
	"cmp"
	"time"
)

// Order is the order in which due contacts are dialled (SEMANTICS §3): due callbacks by time;
// contacts added by trigger in order of arrival; first attempts in list order; retries by attempt
// number, then by due time. Priority goes before time and place, never before the class or the
// attempt number. The store has the same order in SQL, and a test checks that they agree.
//
// First attempts precede every retry, even those of contacts added during the run: each added list
// makes a first pass of its own. In a campaign that never ends, where contacts may keep coming, a
// retry that is overdue by one Retry Delay takes the place of a trigger that came at that moment:
// before all newer ones, and before first attempts.
type Order struct {
	Now time.Time
	// Overdue is the Retry Delay of an always-on campaign, 0 in any other.
	Overdue time.Duration
}

// rank is a contact's sort key, compared field by field; lower goes first.
type rank struct {
	class      DueClass
	attempt    int
	precedence int
	at         time.Time
	position   int64
}

func (o Order) rank(c *Contact) rank {
	r := rank{class: c.DueClass, precedence: c.Precedence, position: c.Position}
	if c.DueClass != DueFirst && c.DueAt != nil {
		r.at = *c.DueAt
	}
	switch {
	case o.Promoted(c):
		r.class, r.at = DueTrigger, r.at.Add(o.Overdue)
	case c.DueClass == DueRetry:
		r.attempt = c.Used
	}
	return r
}

// Promoted says whether a retry is so overdue that it goes with the triggers.
func (o Order) Promoted(c *Contact) bool {
	return o.Overdue > 0 && c.DueClass == DueRetry && c.DueAt != nil && !c.DueAt.Add(o.Overdue).After(o.Now)
}

// Before says whether a is dialled before b when both are due.
func (o Order) Before(a, b *Contact) bool {
	x, y := o.rank(a), o.rank(b)
	return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(x.attempt, y.attempt),
		cmp.Compare(x.precedence, y.precedence), x.at.Compare(y.at), cmp.Compare(x.position, y.position)) < 0
}
