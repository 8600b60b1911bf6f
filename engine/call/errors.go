package call

import (
	"errors"
	"time"

	"dialler/engine"
)

// Reasons why a command is refused.
var (
	ErrCallEnded    = engine.NotFound("call_ended", "")
	ErrCallNotFound = engine.NotFound("call_not_found", "")
	// ErrBeingClosed refuses for now what concerns a call that a lost node may still have.
	ErrBeingClosed = engine.Unavailable("call_being_closed", "", 2*time.Second)
	ErrNotAnswered = engine.Conflict("call_not_answered",
		"keys can be sent to an answered call only; wait until the call is answered")
	ErrPersonErased    = engine.NotFound("person_erased", "")
	ErrContactNotFound = engine.NotFound("contact_not_found", "")
	// ErrContactExcluded refuses to add a contact that was excluded.
	ErrContactExcluded = engine.Conflict("contact_excluded", "")
)

var errUnknownEvent = errors.New("call: unknown event")
