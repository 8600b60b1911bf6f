package http

import (
	"errors"

	"dialler/engine"
	"dialler/engine/number"
)

// phone reads a phone number, if there is one, in international format (spec: "International
// format with a leading plus").
func (f form) phone(field string) engine.PhoneNumber {
	if text, ok := f.phoneText(field, optional); ok {
		return f.parsePhone(field, text)
	}
	return ""
}

// callee is phone for a number that is to be called, which there has to be.
func (f form) callee(field string) number.Callee {
	text, ok := f.phoneText(field, required)
	if !ok {
		return number.Callee{}
	}
	to, err := number.ParseCallee(text)
	if err != nil {
		f.noPhone(field, err)
	}
	return to
}

func (f form) phoneText(field string, need bool) (text string, ok bool) {
	v := f.find(field)
	switch {
	case v == nil:
		if need {
			f.fail(field, "required", "is required")
		}
		return "", false
	case v.kind != jsonString:
		f.wrongType(field, jsonString, v.kind)
		return "", false
	}
	return v.text, true
}

// mayCall refuses a number to which this installation places no calls.
func (s *Server) mayCall(field string, to number.Callee) error {
	err := s.Destinations.Destination(to)
	var e *engine.Error
	if errors.As(err, &e) {
		return engine.Invalid(e.Code, e.Detail, engine.FieldError{Field: field, Code: e.Code, Message: e.Detail})
	}
	return err
}

// parsePhone judges a number; what is wrong with it is put down to the field.
func (f form) parsePhone(field, text string) engine.PhoneNumber {
	n, err := number.Parse(text)
	if err != nil {
		f.noPhone(field, err)
	}
	return n
}

func (f form) noPhone(field string, err error) {
	var e *engine.Error
	if errors.As(err, &e) {
		f.fail(field, e.Code, e.Detail)
	} else {
		f.fail(field, "invalid_number", "must be a phone number in international format with a leading plus")
	}
}
