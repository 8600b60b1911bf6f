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

// Error is the one error that crosses package borders on purpose: a stable
// code for machines, a sentence with the remedy for people.
type Error struct {
	Kind       Kind
	Code       string // stable, snake_case
	Detail     string // a sentence that says what is wrong and what to do
	Fields     []FieldError
	RetryAfter time.Duration // for KindUnavailable and KindTooMany
	Until      time.Time     // from when on the same would be accepted; zero when that is not known
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

// said is the detail, or that of the catalogue where there is none.
func said(code, detail string) string {
	if text, ok := TextOf(code); ok && detail == "" {
		return text.Text()
	}
	return detail
}

// Invalid is a request that failed validation; fields may be empty. As of the other kinds:
// without a detail it says what the catalogue says of its code.
func Invalid(code, detail string, fields ...FieldError) *Error {
	return &Error{Kind: KindInvalid, Code: code, Detail: said(code, detail), Fields: fields}
}

// NotFound says that what was named does not exist.
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

// ErrorCode gives the stable code of an error, "internal" when it has none.
func ErrorCode(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "internal"
}

// ErrorDetail gives the sentence of an error, "" when it has none.
func ErrorDetail(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return ""
}

// ErrorUntil tells from when on what was refused would be accepted, zero when
// that is not known.
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
	CodeBotLost    = "bot_lost" // a call that was cancelled because nobody could have taken its answer
	CodeNumberHeld = "number_held"
	// CodeDestination: the installation places no calls there.
	CodeDestination = "destination_not_allowed"
	// CodeCalleeCap: the number was called as often as the installation allows
	// within its period.
	CodeCalleeCap = "callee_cap"
	// CodeNotEligible: the eligibility hook wants the contact called later;
	// CodeEligibilityUnknown: it does not answer, and nobody is called then.
	CodeNotEligible        = "not_eligible"
	CodeEligibilityUnknown = "eligibility_unknown"
)
