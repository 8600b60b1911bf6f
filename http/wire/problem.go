package wire

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	nethttp "net/http"
	"strconv"
	"time"

	"dialler/engine"
)

// This file is the one place where errors become statuses and bodies.

// Kinds that exist only in HTTP.
const (
	KindBadRequest engine.Kind = "bad_request"
	KindMethod     engine.Kind = "method_not_allowed"
	KindTimeout    engine.Kind = "request_timeout"
	KindMediaType  engine.Kind = "unsupported_media_type"
	KindHeaders    engine.Kind = "headers_too_large"
	KindRange      engine.Kind = "range_not_satisfiable"
)

// StatusOf maps a kind of error to its status (SEMANTICS §12).
func StatusOf(kind engine.Kind) int {
	switch kind {
	case engine.KindInvalid:
		return nethttp.StatusUnprocessableEntity
	case engine.KindUnauthenticated:
		return nethttp.StatusUnauthorized
	case engine.KindForbidden:
		return nethttp.StatusForbidden
	case engine.KindNotFound:
		return nethttp.StatusNotFound
	case engine.KindConflict:
		return nethttp.StatusConflict
	case engine.KindTooLarge:
		return nethttp.StatusRequestEntityTooLarge
	case engine.KindTooMany:
		return nethttp.StatusTooManyRequests
	case engine.KindUnavailable:
		return nethttp.StatusServiceUnavailable
	case KindBadRequest:
		return nethttp.StatusBadRequest
	case KindMethod:
		return nethttp.StatusMethodNotAllowed
	case KindTimeout:
		return nethttp.StatusRequestTimeout
	case KindMediaType:
		return nethttp.StatusUnsupportedMediaType
	case KindHeaders:
		return nethttp.StatusRequestHeaderFieldsTooLarge
	case KindRange:
		return nethttp.StatusRequestedRangeNotSatisfiable
	case engine.KindInternal:
		return nethttp.StatusInternalServerError
	}
	return nethttp.StatusInternalServerError
}

const (
	ContentJSON    = "application/json"
	ContentProblem = "application/problem+json"
	ContentWAV     = "audio/wav"
)

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string              `json:"type"`
	Title     string              `json:"title"`
	Status    int                 `json:"status"`
	Detail    string              `json:"detail"`
	Instance  string              `json:"instance,omitempty"`
	Code      string              `json:"code"`
	Errors    []engine.FieldError `json:"errors,omitempty"`
	RequestID string              `json:"request_id"`
	Current   any                 `json:"current,omitempty"`
}

// ErrUnauthorized is the same for a missing, malformed, unknown, inactive and
// expired key or token, so that nobody learns which it was.
var ErrUnauthorized = &engine.Error{
	Kind: engine.KindUnauthenticated, Code: "unauthorized",
	Detail: "The credentials are missing or not valid.",
}

// ErrKeyExpired is ErrUnauthorized to whoever reads the body. Only the challenge tells the owner of a key, who has
// proved to have it, that it has expired.
var ErrKeyExpired = func() *engine.Error { e := *ErrUnauthorized; return &e }()

// Forbidden refuses an authenticated client.
func Forbidden(code, detail string) error {
	return &engine.Error{Kind: engine.KindForbidden, Code: code, Detail: detail}
}

// AsError returns the error to show; any error that is not ours is an internal one whose text is
// not sent.
func AsError(err error) *engine.Error {
	var e *engine.Error
	if errors.As(err, &e) {
		if StatusOf(e.Kind) == nethttp.StatusInternalServerError {
			return errInternal
		}
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errDeadline
	}
	return errInternal
}

var (
	errInternal = &engine.Error{
		Kind: engine.KindInternal, Code: "internal",
		Detail: "Something went wrong inside the dialler; find it in the log by the request id.",
	}
	errDeadline = engine.Unavailable("deadline_exceeded",
		"", time.Second)
)

// ProblemBody renders an error for the wire.
func ProblemBody(e *engine.Error, instance, requestID string) (status int, body []byte) {
	status = StatusOf(e.Kind)
	title := nethttp.StatusText(status)
	if text, ok := engine.TextOf(e.Code); ok {
		title = text.Title
	}
	p := Problem{
		Type: "urn:dialler:problem:" + e.Code, Title: title, Status: status,
		Detail: e.Detail, Instance: instance, Code: e.Code, Errors: e.Fields, RequestID: requestID,
		Current: e.Current,
	}
	body, err := json.Marshal(p)
	if err != nil { // without Current: the rest matters more
		p.Current = nil
		body, _ = json.Marshal(p)
	}
	return status, body
}

// RetryAfter returns the value of the Retry-After header: whole seconds, at least 1.
func RetryAfter(d time.Duration) string {
	return strconv.Itoa(int(math.Max(1, math.Ceil(d.Seconds()))))
}

// Fail answers with an error.
func (r *Request) Fail(err error) {
	e := AsError(err)
	if e.Kind == engine.KindInternal {
		r.Host.LogFailure(r, err)
	}
	status, body := ProblemBody(e, r.Instance(), r.ID)
	r.FailHeaders(e)
	if r.ofTwilio() {
		r.Send(status, ContentJSON, TwilioBody(status, twilioCode(status), e.Detail))
		return
	}
	r.Send(status, ContentProblem, body)
}

// FailHeaders sets the header fields of an error.
func (r *Request) FailHeaders(e *engine.Error) {
	h := &r.HTTP.Response.Header
	switch e.Kind {
	case engine.KindUnavailable, engine.KindTooMany:
		h.Set("Retry-After", RetryAfter(e.RetryAfter))
	case engine.KindUnauthenticated:
		challenge := r.challenge()
		if e == ErrKeyExpired { // in the words of RFC 6750 §3.1
			challenge = `ApiKey realm="dialler", error="invalid_token", error_description="The key has expired"`
		}
		h.Set("WWW-Authenticate", challenge)
	case engine.KindConflict:
		if e.RetryAfter > 0 {
			h.Set("Retry-After", RetryAfter(e.RetryAfter))
		}
	default: // the body says everything
	}
}
