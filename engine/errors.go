package engine

import (
	"errors"
	"time"
)

// Kind groups errors by what a caller can do about them. HTTP maps a kind to
// a status in one place.
type Kind string

const (
	KindInvalid         Kind = "invalid"         // 422
	KindUnauthenticated Kind = "unauthenticated" // 401
	KindForbidden       Kind = "forbidden"       // 403
	KindNotFound        Kind = "not_found"       // 404
	KindConflict        Kind = "conflict"        // 409
	KindTooLarge        Kind = "too_large"       // 413
	KindTooMany         Kind = "too_many"        // 429
	KindUnavailable     Kind = "unavailable"     // 503, with Retry-After
	KindInternal        Kind = "internal"        // 500
)

// Error is the only error type that deliberately crosses package borders: a stable code for
// machines, a sentence with the remedy for people.
type Error struct {
	Kind       Kind
	Code       string // stable, snake_case
	Detail     string // a sentence that says what is wrong and what to do
	Fields     []FieldError
	RetryAfter time.Duration // for KindUnavailable and KindTooMany
	Until      time.Time     // when the same request would be accepted; zero if unknown
	Current    any           // the present state, for version conflicts; nil otherwise
}

// FieldError says what is wrong with one field of a request.
type FieldError struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Detail }

// Is makes errors.Is compare by code.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}

// said is the detail, or the catalogue's text if there is none.
func said(code, detail string) string {
	if text, ok := TextOf(code); ok && detail == "" {
		return text.Text()
	}
	return detail
}

// Invalid is a request that failed validation; fields may be empty. As with the other kinds, an
// empty detail stands for the catalogue's text of the code.
func Invalid(code, detail string, fields ...FieldError) *Error {
	return &Error{Kind: KindInvalid, Code: code, Detail: said(code, detail), Fields: fields}
}

// NotFound says that the named thing does not exist.
func NotFound(code, detail string) *Error {
	return &Error{Kind: KindNotFound, Code: code, Detail: said(code, detail)}
}

// Conflict says that the present state forbids the command.
func Conflict(code, detail string) *Error {
	return &Error{Kind: KindConflict, Code: code, Detail: said(code, detail)}
}

// TemporaryConflict is a Conflict that ends by itself.
func TemporaryConflict(code, detail string, retryAfter time.Duration) *Error {
	return &Error{Kind: KindConflict, Code: code, Detail: said(code, detail), RetryAfter: retryAfter}
}

// Unavailable says that the same request may succeed after a while.
func Unavailable(code, detail string, retryAfter time.Duration) *Error {
	return &Error{Kind: KindUnavailable, Code: code, Detail: said(code, detail), RetryAfter: retryAfter}
}

// ErrorCode returns the stable code of an error, "internal" if it has none.
func ErrorCode(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "internal"
}

// ErrorDetail returns the sentence of an error, "" if it has none.
func ErrorDetail(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return ""
}

// ErrorUntil says when a refused request would be accepted, zero if unknown.
func ErrorUntil(err error) time.Time {
	var e *Error
	if errors.As(err, &e) {
		return e.Until
	}
	return time.Time{}
}

// Codes that more than one package must know.
const (
	CodeSuppressed = "suppressed"
	CodeBotLost    = "bot_lost" // a call cancelled because nobody could have taken its answer
	CodeNumberHeld = "number_held"
	// CodeDestination says that the installation places no calls there.
	CodeDestination = "destination_not_allowed"
	// CodeCalleeCap says that the number was called as often as the installation allows within its
	// period.
	CodeCalleeCap = "callee_cap"
	// CodeDialoutPlaced says that a dialout does not wait for its time any more.
	CodeDialoutPlaced = "dialout_placed"
	// CodeNotEligible says that the eligibility hook wants the contact called later;
	// CodeEligibilityUnknown, that it does not answer, in which case nobody is called.
	CodeNotEligible        = "not_eligible"
	CodeEligibilityUnknown = "eligibility_unknown"
)
