package http

import (
	"errors"

	"dialler/engine"
	"dialler/engine/number"
)

// phone reads a phone number in international format (spec: "International
// format with a leading plus").
func (f form) phone(field string, need bool) engine.PhoneNumber {
	v := f.find(field)
	if v == nil {
		if need {
			f.fail(field, "required", "is required")
		}
		return ""
	}
	if v.kind != jsonString {
		f.wrongType(field, jsonString, v.kind)
		return ""
	}
	return f.parsePhone(field, v.text)
}

// mayCall refuses a number to which this installation places no calls.
func (s *Server) mayCall(field string, n engine.PhoneNumber) error {
	err := s.Destinations.Destination(n)
	var e *engine.Error
	if errors.As(err, &e) {
		return engine.Invalid(e.Code, e.Detail, engine.FieldError{Field: field, Code: e.Code, Message: e.Detail})
	}
	return err
}

// parsePhone judges a number; what is wrong with it is put down to the field.
func (f form) parsePhone(field, text string) engine.PhoneNumber {
	n, err := number.Parse(text)
	if err == nil {
		return n
	}
	var e *engine.Error
	if errors.As(err, &e) {
		f.fail(field, e.Code, e.Detail)
	} else {
		f.fail(field, "invalid_number", "must be a phone number in international format with a leading plus")
	}
	return ""
}
