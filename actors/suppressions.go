package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/journal"
)

// A number that was put on the suppression list is refused by the database from
// then on. What was under way to it is told here: a dial that waits or rings is
// cancelled, a conversation is left alone. What becomes of the contact is
// decided by its next dial, which is refused.

// numbersSuppressed is news for every run and for the calls outside campaigns.
type numbersSuppressed struct {
	numbers map[engine.PhoneNumber]struct{}
}

// Suppressed tells the tree of numbers that are on the suppression list now.
func (t *Tree) Suppressed(numbers []engine.PhoneNumber) {
	m := &numbersSuppressed{make(map[engine.PhoneNumber]struct{}, len(numbers))}
	for _, n := range numbers {
		m.numbers[n] = struct{}{}
	}
	t.d.root.Send(t.d.campaigns, &everyRun{m})
	t.d.root.Send(t.d.dialout, m)
}

func (r *run) suppressed(m *numbersSuppressed) {
	for _, l := range r.lines {
		if _, ok := m.numbers[l.number]; ok {
			r.send(l, &endAttempt{Reason: engine.CodeSuppressed})
		}
	}
}

// calleeCap is what bounds how often a number is called, for an intent of now;
// nil when nothing does.
func (d *deps) calleeCap(now time.Time) *journal.CalleeCap {
	r := d.callee.Load()
	if r.attempts <= 0 {
		return nil
	}
	return &journal.CalleeCap{Attempts: r.attempts, Period: r.period, Now: now}
}

// calleeLimit is how often one number may be called within a time.
type calleeLimit struct {
	attempts int
	period   time.Duration
}

// SetRules changes where calls may go, how often one number may be called within
// a time, as Config has them. It counts for the next intent to dial.
func (t *Tree) SetRules(countries []string, calleeCap int, calleePeriod time.Duration) {
	t.d.destinations.allow(countries)
	t.d.callee.Store(&calleeLimit{calleeCap, calleePeriod})
}
