package wire

import (
	"errors"

	"dialler/engine"
	"dialler/engine/number"
)

// MayCall refuses a number that this installation does not call.
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
	// Destination returns Invalid "destination_not_allowed" for a number that is not called, in
	// campaigns or outside.
	Destination(to number.Callee) error
	// OnlyCountry is the country that is called when there is no other (ISO 3166), "" otherwise.
	OnlyCountry() string
}
