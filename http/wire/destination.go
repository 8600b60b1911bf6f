package wire

import (
	"errors"

	"dialler/engine"
	"dialler/engine/number"
)

// MayCall refuses a number to which this installation places no calls.
func MayCall(known Destinations, field string, to number.Callee) error {
	err := known.Destination(to)
	var e *engine.Error
	if errors.As(err, &e) {
		return engine.Invalid(e.Code, e.Detail, engine.FieldError{Field: field, Code: e.Code, Message: e.Detail})
	}
	return err
}

// Destinations knows where this installation places calls.
type Destinations interface {
	// Destination: Invalid "destination_not_allowed" for a number that is not
	// called, in campaigns or outside.
	Destination(to number.Callee) error
}
