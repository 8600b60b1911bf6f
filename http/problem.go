package http

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

// Kinds that only HTTP has.
const (
	kindBadRequest engine.Kind = "bad_request"
	kindMethod     engine.Kind = "method_not_allowed"
	kindTimeout    engine.Kind = "request_timeout"
	kindMediaType  engine.Kind = "unsupported_media_type"
	kindHeaders    engine.Kind = "headers_too_large"
	kindRange      engine.Kind = "range_not_satisfiable"
)

// statusOf maps a kind of error to its status (SEMANTICS §12).
func statusOf(kind engine.Kind) int {
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
	case kindBadRequest:
		return nethttp.StatusBadRequest
	case kindMethod:
		return nethttp.StatusMethodNotAllowed
	case kindTimeout:
		return nethttp.StatusRequestTimeout
	case kindMediaType:
		return nethttp.StatusUnsupportedMediaType
	case kindHeaders:
		return nethttp.StatusRequestHeaderFieldsTooLarge
	case kindRange:
		return nethttp.StatusRequestedRangeNotSatisfiable
	case engine.KindInternal:
		return nethttp.StatusInternalServerError
	}
	return nethttp.StatusInternalServerError
}

const (
	contentJSON    = "application/json"
	contentProblem = "application/problem+json"
)

// problem is the body of every error (RFC 9457).
type problem struct {
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

// errUnauthorized is the same for a missing, malformed, unknown, inactive and
// expired key or token, so that nobody learns which it was.
var errUnauthorized = &engine.Error{
	Kind: engine.KindUnauthenticated, Code: "unauthorized",
	Detail: "The credentials are missing or not valid.",
}

func forbidden(code, detail string) error {
	return &engine.Error{Kind: engine.KindForbidden, Code: code, Detail: detail}
}

// asError finds the error to show; anything that is not of our vocabulary is
// an internal error whose text stays here.
func asError(err error) *engine.Error {
	var e *engine.Error
	if errors.As(err, &e) {
		if statusOf(e.Kind) == nethttp.StatusInternalServerError {
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
		Detail: "Something went wrong inside the dialler; the request id finds it in the log.",
	}
	errDeadline = engine.Unavailable("deadline_exceeded",
		"The dialler could not finish the request in time; try again.", time.Second)
)

// problemBody renders an error as it goes on the wire.
func problemBody(e *engine.Error, instance, requestID string) (status int, body []byte) {
	status = statusOf(e.Kind)
	p := problem{
		Type: "urn:dialler:problem:" + e.Code, Title: nethttp.StatusText(status), Status: status,
		Detail: e.Detail, Instance: instance, Code: e.Code, Errors: e.Fields, RequestID: requestID,
		Current: e.Current,
	}
	body, err := json.Marshal(p)
	if err != nil { // Current could not be rendered: the rest matters more
		p.Current = nil
		body, _ = json.Marshal(p)
	}
	return status, body
}

// retryAfter is the value of the Retry-After header: whole seconds, at least 1.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(int(math.Max(1, math.Ceil(d.Seconds()))))
}

// fail answers with an error.
func (r *request) fail(err error) {
	e := asError(err)
	if e.Kind == engine.KindInternal {
		r.server.logFailure(r, err)
	}
	status, body := problemBody(e, r.instance(), r.id)
	r.failHeaders(e)
	if r.ofTwilio() {
		r.send(status, contentJSON, twilioBody(status, twilioCode(status), e.Detail))
		return
	}
	r.send(status, contentProblem, body)
}

func (r *request) failHeaders(e *engine.Error) {
	h := &r.rc.Response.Header
	switch e.Kind {
	case engine.KindUnavailable, engine.KindTooMany:
		h.Set("Retry-After", retryAfter(e.RetryAfter))
	case engine.KindUnauthenticated:
		h.Set("WWW-Authenticate", r.challenge())
	case engine.KindConflict:
		if e.RetryAfter > 0 {
			h.Set("Retry-After", retryAfter(e.RetryAfter))
		}
	default: // the body says it all
	}
}
