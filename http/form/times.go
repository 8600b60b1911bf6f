package form

import (
	"time"

	"dialler/engine/contact"
)

// Times reads when a person may be called, and the priority; what was not sent is not said.
func (f Form) Times(now time.Time) (t contact.Times) {
	read := func(field string) (*time.Time, bool) {
		if !f.Has(field) {
			return nil, true
		}
		v := f.Find(field)
		if v.Kind != String {
			f.WrongType(field, String, v.Kind)
			return nil, false
		}
		at, wrong := contact.ParseTime(field, v.Text, now)
		if wrong != nil {
			f.Fail(field, wrong.Code, wrong.Message)
		}
		return at, wrong == nil
	}
	var first, second bool
	t.NotBefore, first = read("not_before")
	t.ExpiresAt, second = read("expires_at")
	if f.Has("priority") {
		p := f.Whole("priority", contact.DefaultPriority)
		t.Priority = &p
	}
	if first && second {
		for _, wrong := range t.Check(now) {
			f.Fail(wrong.Field, wrong.Code, wrong.Message)
		}
	}
	return t
}
