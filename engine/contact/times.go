package contact

import (
	"strconv"
	"time"

	"dialler/engine"
)

// Times are what a request says about when its person may be called, and how soon among those who
// are due. Whatever is nil is not said.
type Times struct {
	NotBefore *time.Time `json:"not_before,omitempty"` // no INVITE leaves earlier
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // nor from then on
	Priority  *int       `json:"priority,omitempty"`   // 0 to PriorityCap, the highest is dialled first
}

// Limits of what a request may say.
const (
	DefaultPriority = 5
	PriorityCap     = 9
	TimesHorizon    = 90 * 24 * time.Hour
)

// timesPast is how far in the past not_before may be: forms have minute precision, and a request is
// under way for a while. Nobody is called earlier by it.
const timesPast = time.Minute

// None says that the request says nothing.
func (t Times) None() bool { return t == Times{} }

// Check says what is wrong with what a request says at a time, each with an example that is right.
func (t Times) Check(now time.Time) (wrong []engine.FieldError) {
	say := func(field, code, message string) {
		wrong = append(wrong, engine.FieldError{Field: field, Code: code, Message: message})
	}
	within := func(field string, at *time.Time, least time.Time) {
		switch {
		case at == nil:
		case at.Before(least):
			say(field, "in_the_past", "is in the past; a valid one is "+example(now, at))
		case at.After(now.Add(TimesHorizon)):
			say(field, "out_of_range", "must be within 90 days; a valid one is "+example(now, at))
		}
	}
	within("not_before", t.NotBefore, now.Add(-timesPast))
	within("expires_at", t.ExpiresAt, now)
	if len(wrong) == 0 && t.NotBefore != nil && t.ExpiresAt != nil && !t.NotBefore.Before(*t.ExpiresAt) {
		say("expires_at", "contradictory", "must be later than not_before; a valid one is "+
			example(*t.NotBefore, t.ExpiresAt))
	}
	if p := t.Priority; p != nil && (*p < 0 || *p > PriorityCap) {
		say("priority", "out_of_range", "must be a whole number from 0 to 9, of which 9 is dialled first, for example 7")
	}
	return wrong
}

// ParseTime reads a time with its offset, to the microsecond, as it is stored.
func ParseTime(field, text string, now time.Time) (*time.Time, *engine.FieldError) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, &engine.FieldError{Field: field, Code: "invalid_format",
			Message: "must be a date and time with its offset (RFC 3339), for example " + example(now, nil)}
	}
	t = t.Truncate(time.Microsecond)
	return &t, nil
}

// ParseTimes reads the columns of a file; an empty one says nothing.
func ParseTimes(notBefore, expiresAt, priority string, now time.Time) (t Times, wrong []engine.FieldError) {
	read := func(field, text string) *time.Time {
		if text == "" {
			return nil
		}
		at, err := ParseTime(field, text, now)
		if err != nil {
			wrong = append(wrong, *err)
		}
		return at
	}
	t.NotBefore, t.ExpiresAt = read("not_before", notBefore), read("expires_at", expiresAt)
	if priority != "" {
		p, err := strconv.Atoi(priority)
		if err != nil {
			p = -1
		}
		t.Priority = &p
	}
	return t, append(wrong, t.Check(now)...)
}

// example is the first full hour that is at least an hour after a time, in the offset of what was
// given.
func example(after time.Time, given *time.Time) string {
	zone := time.FixedZone("", 3600)
	if given != nil {
		zone = given.Location()
	}
	return after.Add(2 * time.Hour).Truncate(time.Hour).In(zone).Format(time.RFC3339)
}

// Precedence is how a priority is stored: the lower comes first.
func (t Times) Precedence() int {
	if t.Priority == nil {
		return 0
	}
	return DefaultPriority - *t.Priority
}

// Within is how much of a duration is left until ExpiresAt, from now on; at most 0 once it has passed.
func (t Times) Within(now time.Time, most time.Duration) time.Duration {
	if t.ExpiresAt != nil {
		most = min(most, t.ExpiresAt.Sub(now))
	}
	return most
}

// Priority is the contact's priority.
func (c *Contact) Priority() int { return DefaultPriority - c.Precedence }

// Take gives the contact what a newer request says. An earlier time that contradicts it gives way.
func (c *Contact) Take(t Times) {
	if t.Priority != nil {
		c.Precedence = t.Precedence()
	}
	if t.NotBefore != nil {
		c.NotBefore = t.NotBefore
	}
	if t.ExpiresAt != nil {
		c.ExpiresAt = t.ExpiresAt
	}
	switch {
	case c.NotBefore == nil || c.ExpiresAt == nil || c.NotBefore.Before(*c.ExpiresAt):
	case t.ExpiresAt == nil:
		c.ExpiresAt = nil
	case t.NotBefore == nil:
		c.NotBefore = nil
	}
}

// TakeAnew is Take for a contact that is reopened. What has expired says nothing about fresh attempts
// that somebody asked for since.
func (c *Contact) TakeAnew(now time.Time, t Times) {
	if c.Expired(now) {
		c.NotBefore, c.ExpiresAt = nil, nil
	}
	c.Take(t)
}

// Expired says whether the contact may no longer be dialled.
func (c *Contact) Expired(now time.Time) bool { return c.ExpiresAt != nil && !now.Before(*c.ExpiresAt) }

// NotYet says whether the contact may not be dialled before a later time.
func (c *Contact) NotYet(now time.Time) bool { return c.NotBefore != nil && now.Before(*c.NotBefore) }

// Earliest is the first moment from t on at which its times let the contact be dialled; ok is false
// when there is none.
func (c *Contact) Earliest(t time.Time) (at time.Time, ok bool) {
	if c.NotYet(t) {
		t = *c.NotBefore
	}
	return t, !c.Expired(t)
}

// DialWithin is how much of a duration is left until the contact expires; 0 when its times do not
// let it be dialled now.
func (c *Contact) DialWithin(now time.Time, most time.Duration) time.Duration {
	if c.NotYet(now) || c.Expired(now) {
		return 0
	}
	return Times{ExpiresAt: c.ExpiresAt}.Within(now, most)
}

// judgeExpiry ends the wait for a dial of a contact that has expired, as the suppression of its
// number does. A conversation that was held decides what becomes of it.
func (m *Machine) judgeExpiry(ev Event) fate {
	switch f := m.judgeSuppression(); {
	case m.C.Attempt != "" || m.C.DueAt == nil || !m.C.Expired(ev.At):
		return fateNone
	case f == fateWaiting && m.C.ConnectedOnce:
		return fateReached
	default:
		return f
	}
}

func (m *Machine) expire(ev Event) {
	m.C.DueAt, m.C.Reason = nil, ""
	if m.fate == fateReached {
		m.C.Reason = string(engine.OutcomeConnectedNoResult)
	}
	m.dropCallback(ev)
}

// retime gives an open contact the newest times. One that waits for its first call is due as they
// say; a retry is not brought forward beyond what would follow if its last attempt ended now, nor a
// promised call before its time.
func (m *Machine) retime(ev Event) {
	c := &m.C
	held := c.NotBefore != nil
	c.Take(ev.Times)
	if c.DueAt == nil || ev.Times.NotBefore == nil {
		return
	}
	t := *c.DueAt
	switch {
	case !held || c.DueClass == DueCallback:
	case c.DueClass != DueRetry:
		t = ev.At
	default:
		if next := m.next(ev, c.LastOutcome, &Attempt{EndedAt: ev.At}); t.After(next) {
			t = next
		}
	}
	m.due(ev, c.DueClass, t)
	if c.DueClass == DueCallback {
		at := *c.DueAt
		c.CallbackAt = &at
	}
}
