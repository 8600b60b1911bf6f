package call

import (
	"errors"

	"dialler/engine"
)

// Why a command is refused.
var (
	ErrCallEnded       = engine.NotFound("call_ended", "the call is over")
	ErrCallNotFound    = engine.NotFound("call_not_found", "no call has this identifier")
	ErrNotAnswered     = engine.Conflict("call_not_answered", "keys can be sent to an answered call only; wait until the call is answered")
	ErrPersonErased    = engine.NotFound("person_erased", "the person of this call was erased; its result is not kept")
	ErrContactNotFound = engine.NotFound("contact_not_found", "The campaign has no such contact.")
	// ErrContactExcluded refuses to add somebody who was excluded.
	ErrContactExcluded = engine.Conflict("contact_excluded", "the contact is excluded from this campaign")
)

var errUnknownEvent = errors.New("call: unknown event")
