package form

import (
	"errors"
	"strconv"

	"dialler/engine"
	"dialler/engine/number"
)

// Phone reads an optional phone number in international format (spec: "International format with a
// leading plus").
func (f Form) Phone(field string) engine.PhoneNumber {
	if text, ok := f.phoneText(field, Optional); ok {
		return f.ParsePhone(field, text)
	}
	return ""
}

// Callee is phone for a required number that is to be called.
func (f Form) Callee(field string) number.Callee {
	text, ok := f.phoneText(field, Required)
	if !ok {
		return number.Callee{}
	}
	to, err := number.ParseCallee(text)
	if err != nil {
		f.noPhone(field, err)
	}
	return to
}

// CalleeAsWritten is Callee for a number as people write it, with separators; without a country code
// it is one of country ("": none is known, and such a number is refused).
func (f Form) CalleeAsWritten(field, country string) number.Callee {
	text, ok := f.phoneText(field, Required)
	if !ok {
		return number.Callee{}
	}
	to, err := number.ParseLoose(text, country)
	if err != nil {
		f.noPhone(field, err)
		return number.Callee{}
	}
	return number.CalleeOf(to)
}

func (f Form) phoneText(field string, need bool) (text string, ok bool) {
	v := f.Find(field)
	switch {
	case v == nil:
		if need {
			f.Fail(field, "required", "is required")
		}
		return "", false
	case v.Kind != String:
		f.WrongType(field, String, v.Kind)
		return "", false
	}
	return v.Text, true
}

// ParsePhone parses a number; errors are recorded for the field.
func (f Form) ParsePhone(field, text string) engine.PhoneNumber {
	n, err := number.Parse(text)
	if err != nil {
		f.noPhone(field, err)
	}
	return n
}

func (f Form) noPhone(field string, err error) {
	var e *engine.Error
	if errors.As(err, &e) {
		f.Fail(field, e.Code, e.Detail)
	} else {
		f.Fail(field, "invalid_number", "must be a phone number in international format with a leading plus")
	}
}

// Phones reads a list of numbers.
func (f Form) Phones(field string, limit int) []engine.PhoneNumber {
	v := f.Find(field)
	switch {
	case v == nil:
		return nil
	case v.Kind != Array:
		f.WrongType(field, Array, v.Kind)
		return nil
	case len(v.Items) == 0:
		f.Fail(field, "required", "must have at least one entry")
		return nil
	case len(v.Items) > limit:
		f.Fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" entries; send the rest in another request")
		return nil
	}
	out := make([]engine.PhoneNumber, 0, len(v.Items))
	for i := range v.Items {
		at := field + "[" + strconv.Itoa(i) + "]"
		if v.Items[i].Kind != String {
			f.WrongType(at, String, v.Items[i].Kind)
			continue
		}
		out = append(out, f.ParsePhone(at, v.Items[i].Text))
	}
	return out
}
