package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is a refusal by the API: problem details (RFC 9457) with a stable code.
type Error struct {
	Status    int             `json:"status"`
	Code      string          `json:"code"` // stable, snake_case; "" if the response is not a dialler's
	Title     string          `json:"title"`
	Detail    string          `json:"detail"` // a sentence that says what to do
	Instance  string          `json:"instance"`
	RequestID string          `json:"request_id"` // identifies the request in the dialler's log
	Fields    []FieldError    `json:"errors"`
	Current   json.RawMessage `json:"current"` // the current state, on a version conflict
	// RetryAfter is the wait that the server asked for, 0 if none.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is an error in one field of the body or the query.
type FieldError struct {
	Field   string `json:"field"` // as in contacts[3].mobile
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error; it quotes none of the values sent.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the dialler answered %d", e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " %s: %s", e.Code, e.Detail)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " %s %s.", f.Field, f.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Code returns the code of a refusal, "" for any other error and for nil.
func Code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// refusal converts an unsuccessful response to an error.
func refusal(resp *http.Response, body []byte, now time.Time) *Error {
	e := &Error{}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "application/problem+json" && json.Unmarshal(body, e) != nil {
		*e = Error{}
	}
	e.Status = resp.StatusCode
	if e.Title == "" {
		e.Title = http.StatusText(resp.StatusCode)
	}
	if e.RequestID == "" {
		e.RequestID = resp.Header.Get("X-Request-ID")
	}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	return e
}

// retryAfter parses that header (RFC 9110 §10.2.3): seconds or a date.
func retryAfter(v string, now time.Time) time.Duration {
	const most = 24 * time.Hour
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return time.Duration(max(0, min(n, int64(most/time.Second)))) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), most)
	}
	return 0
}
