package contact

import (
	"time"

	"dialler/engine"
)

// A person who calls us back is not dialled meanwhile, at whichever number. The contact hears of such a call
// that it begins, that it is over, and its result: in any order, and perhaps twice. CallsBack is the latest
// of those calls, CallsBackUntil until when nobody is dialled because of it, nil once that is settled.
//
// All rules decide as if nobody called back. Only then does a dial that would come too early wait, with the
// reason ReasonCallsBack; DueOtherwise is when it is due without the call.

// Back is what a contact hears of a call back.
type Back string

const (
	BackBegins Back = "begins" // it may last until Event.Until
	BackOwes   Back = "owes"   // it is over, and its result may come until Event.Until
	BackOver   Back = "over"   // it is over, and no result is to come
)

// AwaitsCallBack says whether a call of the person to us keeps the contact from being dialled.
func (c *Contact) AwaitsCallBack(now time.Time) bool {
	return c.CallsBackUntil != nil && now.Before(*c.CallsBackUntil)
}

// KnowsCallBack says whether what became of a call back is known to the contact; it knows so of the latest, and
// takes it for granted of earlier ones.
func (c *Contact) KnowsCallBack(id engine.AttemptID) bool {
	return id < c.CallsBack || id == c.CallsBack && c.CallsBackUntil == nil
}

// HeardOf says whether nothing is left to tell the contact of a call back that is over. Who asked in it not to be
// called is known by the mark of that alone: a later call takes it for granted no more than anybody else does.
func (c *Contact) HeardOf(id engine.AttemptID, asked bool) bool {
	return c.KnowsCallBack(id) && (!asked || id >= c.CallsBack || c.Choice.Asked())
}

// judgeCallBack ignores what is no news. Of two calls at once the later one counts.
func (m *Machine) judgeCallBack(ev Event) fate {
	c, id := &m.C, ev.Attempt.ID
	switch {
	case c.KnowsCallBack(id), id == c.CallsBack && ev.Back == BackBegins,
		id > c.CallsBack && ev.Back != BackBegins && c.AwaitsCallBack(ev.At):
		return fateKnown
	}
	return fateNone
}

func (m *Machine) callsBack(ev Event) {
	m.C.CallsBack, m.C.CallsBackUntil = ev.Attempt.ID, nil
	if ev.Back != BackOver {
		until := ev.Until
		m.C.CallsBackUntil = &until
	}
}

// backHeard notes that a call back has its result.
func (m *Machine) backHeard(ev Event) {
	if c, id := &m.C, ev.Attempt.ID; ev.Attempt.CalledBack && (id >= c.CallsBack || !c.AwaitsCallBack(ev.At)) {
		c.CallsBack, c.CallsBackUntil = max(c.CallsBack, id), nil
	}
}

// setCallBackAside makes the contact due as it is without a call back, or once that is settled as it is with it.
func (m *Machine) setCallBackAside(now time.Time) {
	c := &m.C
	if c.DueOtherwise == nil {
		return
	}
	if c.DueAt != nil && c.AwaitsCallBack(now) {
		c.dueFor(c.DueOtherwise)
	}
	if c.DueOtherwise = nil; c.Reason == ReasonCallsBack {
		c.Reason = ""
	}
}

// awaitCallBack puts the dial off that would come before a call back is settled.
func (m *Machine) awaitCallBack(ev Event) {
	c := &m.C
	if c.DueAt == nil || !c.AwaitsCallBack(ev.At) || !c.DueAt.Before(*c.CallsBackUntil) {
		return
	}
	otherwise, at := c.DueAt, m.callable(ev, c.DueClass, *c.CallsBackUntil)
	c.dueFor(&at)
	if c.DueOtherwise = otherwise; c.Reason == "" {
		c.Reason = ReasonCallsBack
	}
}

// dueFor moves a dial, and the time of the callback that it is for.
func (c *Contact) dueFor(at *time.Time) {
	if c.Callback == CallbackPending && c.DueClass == DueCallback && c.CallbackAt != nil {
		t := *at
		c.CallbackAt = &t
	}
	c.DueAt = at
}
