package http

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/wire"
)

func (s *Server) acquire(rc *fasthttp.RequestCtx, rt *route) *wire.Request {
	r := s.requests.Get().(*wire.Request)
	r.Begin(s.host, rc, rt.path, rt.access)
	return r
}

func (s *Server) release(r *wire.Request) {
	s.gates.bodies.Add(int64(-r.End()))
	s.requests.Put(r)
}

// serve makes a fasthttp handler of a route: identity, limits, the handler, errors, panics, metrics
// and the log line.
func (s *Server) serve(rt *route) fasthttp.RequestHandler {
	return func(rc *fasthttp.RequestCtx) {
		r := s.acquire(rc, rt)
		s.metrics.inFlight.Inc()
		began := time.Now()
		defer func() {
			if p := recover(); p != nil {
				// The stack is for the log; a panic in one request must not affect the connection
				// or other requests.
				s.metrics.panics.Inc()
				rc.Response.Reset()
				r.Fail(fmt.Errorf("panic: %v", p))
			}
			if rt.streams {
				r.Finish()
			}
			took := time.Since(began)
			status := rc.Response.StatusCode()
			s.metrics.inFlight.Dec()
			s.metrics.answered(rt, status, took)
			s.logAnswer(rt, r, status, took)
			s.release(r)
		}()
		if ambiguous(&rc.Request.Header) {
			r.Fail(errAmbiguous)
			rc.SetConnectionClose()
			if rt.streams {
				return
			}
			r.Finish()
			return
		}
		if s.Refuses != nil && rt.refusable() {
			if err := s.Refuses(); err != nil {
				r.Fail(err)
				if !rt.streams {
					r.Finish()
				}
				return
			}
		}
		early := !rt.streams && large(r) && r.HTTP.Request.Header.ContentLength() <= s.bodyCap(&rc.Request.Header)
		if early { // unauthenticated clients must not fill the memory
			if err := s.gate.Authenticate(r); err != nil {
				r.Fail(err)
				r.Finish()
				return
			}
		}
		if !rt.streams {
			if err := r.ReadBody(s.bodyCap(&rc.Request.Header), s.gates.keep); err != nil {
				r.Fail(s.whyUnreadable(rc, err))
				if rc.SetConnectionClose(); errors.Is(err, errOverloaded) {
					r.Finish()
				}
				return
			}
			// The time that the client took to send it does not count as the request's.
			r.Restart()
			began = time.Now()
		}
		if !early {
			if err := s.gate.Authenticate(r); err != nil {
				r.Fail(err)
				return
			}
		}
		if !handled(rc.Conn()) {
			r.Fail(errTooManyConnections) // nobody reads this; nothing must be done unheard
			rc.SetConnectionClose()
			return
		}
		if !s.gates.pass(rt.intake) {
			s.metrics.overloaded.WithLabelValues(rt.intake.String()).Inc()
			r.Fail(errOverloaded)
			return
		}
		defer s.gates.leave(rt.intake)
		if err := rt.handle(r); err != nil {
			r.Fail(err)
		}
	}
}

// refusable says whether a process that must not serve refuses a route: all of the API except
// health.
func (rt *route) refusable() bool {
	return (strings.HasPrefix(rt.path, "/api/v1/") || strings.HasPrefix(rt.path, "/2010-04-01/")) &&
		rt.path != "/api/v1/health"
}

// errAmbiguous means that a proxy in front of the dialler may have parsed the request differently.
var errAmbiguous = &engine.Error{Kind: wire.KindBadRequest, Code: "bad_request",
	Detail: "The request has both Content-Length and Transfer-Encoding, or a header field that continues on the next " +
		"line; send one length, and each field on one line."}

// ambiguous says whether a body's length is given in two ways (RFC 9112 §6.3), or a field is folded
// (§5.2).
func ambiguous(h *fasthttp.RequestHeader) bool {
	raw := h.RawHeaders()
	return bytes.Contains(raw, []byte("\n ")) || bytes.Contains(raw, []byte("\n\t")) ||
		h.ContentLength() == -1 && bytes.Contains(bytes.ToLower(raw), []byte("content-length"))
}

// logAnswer logs one line per answered request: the template of the route, never the path, the
// query or a body.
func (s *Server) logAnswer(rt *route, r *wire.Request, status int, took time.Duration) {
	level := zerolog.DebugLevel
	if status >= 400 {
		level = zerolog.InfoLevel
	}
	e := s.Log.WithLevel(level)
	if s.Log.GetLevel() > level || zerolog.GlobalLevel() > level {
		return
	}
	e = e.Str("method", rt.method).Str("route", rt.path).Int("status", status).
		Dur("took_ms", took).Str("request_id", r.ID)
	if r.Key != nil {
		e = e.Str("key_id", string(r.Key.ID))
	}
	if r.User != nil {
		e = e.Str("user_id", string(r.User.ID))
	}
	e.Msg("answered")
}
