package contact

import (
	"time"

	"dialler/engine"
)

// An operator's actions on one contact: have it dialled now (Hastened), promise it a call at a time
// (CallbackSet). Refusal is asked beforehand whether an action is allowed; the table has no rows
// for refused actions.

// promisePast is how far in the past the time of a promised call may be: forms have minute
// precision, and clocks differ a little.
const promisePast = time.Minute

// Refusal says why an operator's action is refused in the contact's present state, nil if it is
// allowed.
func (m *Machine) Refusal(ev Event) error {
	c, p := &m.C, &ev.Policy
	switch {
	case c.State == Excluded || c.ExcludeAfterCall:
		return engine.Conflict("contact_excluded", "")
	case c.Choice.Stopped():
		return engine.Conflict(engine.CodeSuppressed, "")
	case c.Attempt != "":
		return engine.Conflict("call_in_progress", "")
	case c.Expired(ev.At):
		return engine.Conflict(CodeExpired, "")
	case ev.Kind == CallbackSet:
		return m.promiseRefusal(ev)
	case c.DueAt == nil && c.ResultDueAt != nil:
		return engine.Conflict("result_awaited", "")
	}
	at, _ := c.Earliest(ev.At)
	if _, ok := p.clip(at); !ok {
		return errNoWindow
	}
	return nil
}

// CodeExpired refuses to call a contact whose expires_at has passed.
const CodeExpired = "contact_expired"

var errNoWindow = engine.Conflict("outside_window", "its calling window does not open by then in this run")

func (m *Machine) promiseRefusal(ev Event) error {
	p := &ev.Policy
	wrong := func(code, message string) error {
		return engine.Invalid("validation_failed", "The time of the call cannot be promised.",
			engine.FieldError{Field: "at", Code: code, Message: message})
	}
	switch {
	case !p.Callbacks:
		return engine.Conflict("callbacks_off", "")
	case ev.Until.Before(ev.At.Add(-promisePast)):
		return wrong("in_the_past", "is in the past")
	case ev.Until.After(ev.At.Add(CallbackHorizon)):
		return wrong("out_of_range", "must be within 14 days")
	case m.C.Open() && m.C.Used > p.MaxAttempts:
		return engine.Conflict(ReasonExhausted, "all attempts are used, and so is the extra one for a callback")
	}
	if m.C.Expired(ev.Until) {
		return wrong("out_of_range", "must be before "+m.C.ExpiresAt.Format(time.RFC3339)+", when the contact expires")
	}
	_, granted := m.callbackTime(&ev, ev.Until)
	if _, opens := p.clip(ev.Until); !granted || !opens {
		return errNoWindow
	}
	return nil
}

// hasten has a waiting contact dialled next, before first attempts and retries; a contact that
// waits for its callback gets it now.
func (m *Machine) hasten(ev Event) {
	c := &m.C
	class := DueTrigger
	if c.Callback == CallbackPending {
		class = DueCallback
	}
	if waits(c.Reason) {
		c.Reason = ""
	}
	m.due(ev, class, ev.At)
	if class == DueCallback {
		at := *c.DueAt
		c.CallbackAt = &at
	}
}

// promise schedules a callback, which replaces an older one, and the wait for a result.
func (m *Machine) promise(ev Event) { m.callback(ev, "", ev.Until) }

func (m *Machine) promiseFinal(ev Event) {
	m.fresh(ev)
	m.callback(ev, "", ev.Until)
}

// promiseDropped returns the contact to its earlier wait.
func (m *Machine) promiseDropped(ev Event) {
	m.dropCallback(ev)
	class := DueRetry
	if m.C.Used == 0 {
		class = DueFirst
	}
	m.due(ev, class, ev.At)
}

func (m *Machine) promiseDroppedUsedUp(ev Event) {
	m.C.DueAt, m.C.Reason = nil, ReasonExhausted
	m.dropCallback(ev)
}
