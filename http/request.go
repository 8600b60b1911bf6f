package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/form"
)

// handler does a route's work; a returned error becomes the answer.
type handler func(r *request) error

// request is one request being handled. It and the RequestCtx are reused after
// the handler returns: nothing may keep them.
type request struct {
	rc      *fasthttp.RequestCtx
	server  *Server
	route   *route
	id      string
	start   time.Time
	context context.Context
	cancel  context.CancelFunc

	// Exactly one is set after authentication.
	key  *engine.APIKey
	user *engine.User

	// Of a user whose browser sent a session's cookie.
	session    *engine.UserSession
	token      string
	file       *upload // of a route that streams
	bodyBuffer []byte  // stays with the request when it is used again
	kept       int     // bytes of a long body that are counted
}

func (s *Server) acquire(rc *fasthttp.RequestCtx, rt *route) *request {
	r := s.requests.Get().(*request)
	*r = request{rc: rc, server: s, route: rt, start: s.Now(), bodyBuffer: r.bodyBuffer}
	r.id = requestID(rc.Request.Header.Peek("X-Request-ID"))
	return r
}

func (s *Server) release(r *request) {
	if r.cancel != nil {
		r.cancel()
	}
	s.gates.bodies.Add(int64(-r.kept))
	*r = request{bodyBuffer: r.bodyBuffer}
	s.requests.Put(r)
}

// serve makes a fasthttp handler of a route: identity, limits, the handler,
// errors, panics, figures and the log line.
func (s *Server) serve(rt *route) fasthttp.RequestHandler {
	return func(rc *fasthttp.RequestCtx) {
		r := s.acquire(rc, rt)
		s.metrics.inFlight.Inc()
		began := time.Now()
		defer func() {
			if p := recover(); p != nil {
				// The stack is for the log; a panic of one request must not
				// touch the connection or its neighbours.
				s.metrics.panics.Inc()
				rc.Response.Reset()
				r.fail(fmt.Errorf("panic: %v", p))
			}
			if rt.streams {
				r.finish()
			}
			took := time.Since(began)
			status := rc.Response.StatusCode()
			s.metrics.inFlight.Dec()
			s.metrics.answered(rt, status, took)
			s.logAnswer(r, status, took)
			s.release(r)
		}()
		if ambiguous(&rc.Request.Header) {
			r.fail(errAmbiguous)
			rc.SetConnectionClose()
			if rt.streams {
				return
			}
			r.finish()
			return
		}
		if s.Refuses != nil && rt.refusable() {
			if err := s.Refuses(); err != nil {
				r.fail(err)
				if !rt.streams {
					r.finish()
				}
				return
			}
		}
		early := !rt.streams && r.large() && r.rc.Request.Header.ContentLength() <= s.bodyCap(&rc.Request.Header)
		if early { // nobody fills the memory without a name
			if err := r.authenticate(); err != nil {
				r.fail(err)
				r.finish()
				return
			}
			r.forgetTime()
		}
		if !rt.streams {
			if err := s.readBody(r); err != nil {
				r.fail(s.whyUnreadable(rc, err))
				if rc.SetConnectionClose(); errors.Is(err, errOverloaded) {
					r.finish()
				}
				return
			}
			// What the client took to send it is not the request's time.
			r.start, began = s.Now(), time.Now()
		}
		if !early {
			if err := r.authenticate(); err != nil {
				r.fail(err)
				return
			}
		}
		if !r.handled() {
			r.fail(errTooManyConnections) // which nobody reads: nothing is done that nobody hears of
			rc.SetConnectionClose()
			return
		}
		if !s.gates.pass(rt.intake) {
			s.metrics.overloaded.WithLabelValues(rt.intake.String()).Inc()
			r.fail(errOverloaded)
			return
		}
		defer s.gates.leave(rt.intake)
		if err := rt.handle(r); err != nil {
			r.fail(err)
		}
	}
}

// refusable says whether a process that must not serve any more refuses a route:
// all of the API but its health.
func (rt *route) refusable() bool {
	return (strings.HasPrefix(rt.path, "/api/v1/") || strings.HasPrefix(rt.path, "/2010-04-01/")) && rt.path != "/api/v1/health"
}

// errAmbiguous: what stands before the dialler may have read another request.
var errAmbiguous = &engine.Error{Kind: kindBadRequest, Code: "bad_request",
	Detail: "The request has both Content-Length and Transfer-Encoding, or a header field that goes on in the next line; send one length, and each field in a line."}

// ambiguous says whether a body's length is told in two ways (RFC 9112 §6.3), or a
// field is folded (§5.2).
func ambiguous(h *fasthttp.RequestHeader) bool {
	raw := h.RawHeaders()
	return bytes.Contains(raw, []byte("\n ")) || bytes.Contains(raw, []byte("\n\t")) ||
		h.ContentLength() == -1 && bytes.Contains(bytes.ToLower(raw), []byte("content-length"))
}

// ctx ends with the command timeout.
func (r *request) ctx() context.Context {
	if r.context == nil {
		r.context, r.cancel = context.WithTimeout(r.server.base, r.server.CommandTimeout)
	}
	return r.context
}

// forgetTime has the command timeout begin anew.
func (r *request) forgetTime() {
	if r.cancel != nil {
		r.cancel()
		r.context, r.cancel = nil, nil
	}
}

// deadline is when the work must be done: a command that is older is dropped
// unexecuted.
func (r *request) deadline() time.Time { return r.start.Add(r.server.CommandTimeout) }

// reply answers with JSON.
func (r *request) reply(status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r.send(status, contentJSON, body)
	return nil
}

// send answers with bytes that nobody else will change.
func (r *request) send(status int, contentType string, body []byte) {
	resp := &r.rc.Response
	resp.SetStatusCode(status)
	resp.Header.SetContentType(contentType)
	resp.Header.Set("X-Request-ID", r.id)
	resp.Header.Set("X-Content-Type-Options", "nosniff")
	resp.Header.Set("Cache-Control", "no-store")
	resp.SetBodyRaw(body)
}

// param is a decoded part of the path. What no name can have, a control
// character or bytes that are not UTF-8, is U+FFFD in it: such a name is one that
// does not exist, and none that PostgreSQL refuses to compare.
func (r *request) param(name string) string {
	raw, _ := r.rc.UserValue(name).(string)
	if s, err := url.PathUnescape(raw); err == nil {
		raw = s
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return utf8.RuneError
		}
		return c
	}, strings.Clone(raw))
}

// instance names the request that the problem is about: its path, as sent.
func (r *request) instance() string {
	return form.ClipName(string(r.rc.URI().PathOriginal()))
}

// from is the remote address.
func (r *request) from() string { return r.rc.RemoteIP().String() }

// who is the origin of the request's command.
func (r *request) who() engine.Who {
	switch {
	case r.key != nil:
		return engine.Who{Key: r.key.ID, Name: r.key.Name, From: r.from()}
	case r.user != nil:
		return engine.Who{User: r.user.ID, Name: r.user.Email, From: r.from()}
	}
	return engine.Who{Name: "anonymous", From: r.from()}
}

// body reads the request's JSON object. The returned form's errors are what
// the parser found so far; the caller ends with done and err.
func (r *request) body() (form.Form, error) {
	var errs form.Errors
	raw := r.rc.PostBody()
	// An empty body has no content type; what is wrong with it is that it is
	// empty (spec: "422 Body failed validation").
	if len(raw) > 0 && !isJSON(r.rc.Request.Header.ContentType()) {
		return form.Form{}, &engine.Error{Kind: kindMediaType, Code: "unsupported_media_type",
			Detail: "Send the body as application/json."}
	}
	v, e := form.Parse(raw, &errs)
	if e != nil {
		return form.Form{}, e
	}
	if v.Kind != form.Object {
		return form.Form{}, engine.Invalid("validation_failed", "The body must be a JSON object, not "+v.Kind.String()+".")
	}
	return form.Form{Value: &v, Errs: &errs}, nil
}

func isJSON(contentType []byte) bool {
	const want = "application/json"
	if len(contentType) < len(want) || !strings.EqualFold(string(contentType[:len(want)]), want) {
		return false
	}
	rest := strings.TrimLeft(string(contentType[len(want):]), " \t")
	return rest == "" || rest[0] == ';'
}

// requestID takes over the caller's id when it is fit to be logged and echoed.
func requestID(given []byte) string {
	if len(given) > 0 && len(given) <= 128 {
		fit := true
		for _, c := range given {
			fit = fit && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
				c == '-' || c == '_' || c == '.' || c == ':' || c == '/')
		}
		if fit {
			return string(given)
		}
	}
	const hex = "0123456789abcdef"
	var b [20]byte
	hi, lo := rand.Uint64(), rand.Uint64() //nolint:gosec // names a request, no secret
	for i := range b {
		if i < 16 {
			b[i], hi = hex[hi&15], hi>>4
			continue
		}
		b[i], lo = hex[lo&15], lo>>4
	}
	return string(b[:])
}

// longDigits finds what could be a phone number; digits inside an identifier
// (hex, next to letters) are left alone.
var longDigits = regexp.MustCompile(`\+[0-9]{5,}|\b[0-9]{7,}\b`)

// logAnswer writes one line an answered request: the template of the route,
// never the path, the query or a body.
func (s *Server) logAnswer(r *request, status int, took time.Duration) {
	level := zerolog.DebugLevel
	if status >= 400 {
		level = zerolog.InfoLevel
	}
	e := s.Log.WithLevel(level)
	if s.Log.GetLevel() > level || zerolog.GlobalLevel() > level {
		return
	}
	e = e.Str("method", r.route.method).Str("route", r.route.path).Int("status", status).
		Dur("took", took).Str("request_id", r.id)
	if r.key != nil {
		e = e.Str("key_id", string(r.key.ID))
	}
	if r.user != nil {
		e = e.Str("user_id", string(r.user.ID))
	}
	e.Msg("answered")
}

// logFailure writes what an internal error was; digits that could be a phone
// number are masked, since errors of the database quote values.
func (s *Server) logFailure(r *request, err error) {
	s.Log.Error().Str("route", r.route.path).Str("request_id", r.id).
		Str("error", longDigits.ReplaceAllString(err.Error(), "***")).Msg("request failed")
}

// panicked takes note of a panic beside a request: the calls must not end with
// a stream.
func (s *Server) panicked(p any) {
	s.metrics.panics.Inc()
	s.Log.Error().Str("error", longDigits.ReplaceAllString(fmt.Sprintf("panic: %v", p), "***")).Msg("stream failed")
}

// page reads page, page_size and status from the query; anything else there is
// a mistake.
func (r *request) page(filters []string) (number, size int, filter string, err error) {
	return r.pageOf(filters, nil)
}

// pageOf is page for a list with parameters of its own, which others takes.
func (r *request) pageOf(filters []string, others func(key, val string, errs *form.Errors) (known bool)) (number, size int, filter string, err error) {
	number, size = 1, defaultPageSize
	var errs form.Errors
	for k, v := range r.rc.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "page":
			n, e := strconv.Atoi(val)
			if e != nil || n < 1 || n > 1_000_000 {
				errs.Add("page", "out_of_range", "must be a whole number from 1")
				continue
			}
			number = n
		case "page_size":
			n, e := strconv.Atoi(val)
			if e != nil || n < 1 || n > maxPageSize {
				errs.Add("page_size", "out_of_range", "must be a whole number from 1 to "+strconv.Itoa(maxPageSize))
				continue
			}
			size = n
		case "status":
			if len(filters) == 0 {
				errs.Add("status", "unknown_field", "is not a parameter of this request")
				continue
			}
			known := false
			for _, f := range filters {
				known = known || f == val
			}
			if !known {
				errs.Add("status", "unknown_value", "must be one of "+strings.Join(filters, ", "))
				continue
			}
			filter = val
		default:
			if others == nil || !others(key, val, &errs) {
				errs.Add(form.ClipName(key), "unknown_field", "is not a parameter of this request")
			}
		}
	}
	return number, size, filter, errs.Err()
}

// INTERFACES §6: page lists have page_size ≤ 200; spec: 50 contacts per page.
const (
	maxPageSize     = 200
	defaultPageSize = 50
)
