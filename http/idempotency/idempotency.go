package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	nethttp "net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/http/wire"
)

// This file makes a repeated request harmless (spec: "allows a safe retry without dialling the same
// contact twice"; SEMANTICS §11).
//
// A success is stored by the code that carries the command out, in the same transaction as its
// effects. A refusal changed nothing and is stored here. While a request runs, its key is claimed
// in memory; if two nodes run the same request, the database decides (journal.ErrReplyExists).

// claims are the keys of requests running here.
type claims struct {
	mu      sync.Mutex
	running map[claim]string // body hash
}

type claim struct {
	key          engine.KeyID
	route, token string
}

var (
	errIdempotencyKey = engine.Invalid("idempotency_key_invalid",
		"")
	errMismatch = engine.Invalid("idempotency_mismatch",
		"This Idempotency-Key was used with another body; use a new key for a new request.")
	errInProgress = engine.Conflict("idempotency_in_progress",
		"A request with this Idempotency-Key is still running; repeat it in a moment.")
)

// take claims the key for one request.
func (c *claims) take(id claim, bodyHash string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if hash, busy := c.running[id]; busy {
		if hash != bodyHash {
			return errMismatch
		}
		return errInProgress
	}
	c.running[id] = bodyHash
	return nil
}

// count returns how many requests with a key are running.
func (c *claims) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running)
}

func (c *claims) release(id claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// Replays answers repeated requests with the response to the first.
type Replays struct {
	replies Replies
	claims  claims
	count   prometheus.Counter
}

// New stores replies in a store; count counts replays.
func New(replies Replies, count prometheus.Counter) *Replays {
	return &Replays{replies: replies, claims: claims{running: make(map[claim]string)}, count: count}
}

// Running returns how many requests with a key are in progress.
func (s *Replays) Running() int { return s.claims.count() }

// MarkReplay marks the response as a replay.
func (s *Replays) MarkReplay(r *wire.Request) {
	s.count.Inc()
	r.HTTP.Response.Header.Set("Idempotent-Replayed", "true")
}

// Once runs a command under the request's Idempotency-Key, if it has one.
func (s *Replays) Once(r *wire.Request, route string, status int, run func(engine.Idempotency) (any, error)) error {
	return s.onceBy(r, route, status, false, run)
}

// OnceWritten is Once for a command that is refused with journal.ErrReplyExists, and changes
// nothing, if a reply is stored under its key: a reply is looked up only if the command is refused,
// for any reason.
func (s *Replays) OnceWritten(r *wire.Request, route string, status int,
	run func(engine.Idempotency) (any, error)) error {
	return s.onceBy(r, route, status, true, run)
}

// Success is a body whose status is another one than the route's.
type Success struct {
	Status int
	Body   any
}

func succeed(r *wire.Request, status int, v any) error {
	if x, ok := v.(Success); ok {
		status, v = x.Status, x.Body
	}
	return r.Reply(status, v)
}

func (s *Replays) onceBy(r *wire.Request, route string, status int, written bool,
	run func(engine.Idempotency) (any, error)) error {
	token, present, err := Key(r.HTTP.Request.Header.PeekAll("Idempotency-Key"))
	if err != nil {
		return err
	}
	if !present {
		v, err := run(engine.Idempotency{})
		if err != nil {
			return err
		}
		return succeed(r, status, v)
	}
	sum := sha256.Sum256(r.HTTP.PostBody())
	id := engine.Idempotency{Key: r.Sender(), Route: route, Token: token, BodyHash: hex.EncodeToString(sum[:])}
	cl := claim{key: id.Key, route: route, token: token}
	if err := s.claims.take(cl, id.BodyHash); err != nil {
		return err
	}
	defer s.claims.release(cl)

	if !written {
		if done, err := s.replay(r, id); done || err != nil {
			return err
		}
	}
	v, err := run(id)
	if err == nil {
		return succeed(r, status, v)
	}
	e := wire.AsError(err)
	// Not the first time, or another node was faster.
	answered := errors.Is(err, journal.ErrReplyExists)
	if answered || written {
		done, failed := s.replay(r, id)
		switch {
		case done, errors.Is(failed, errMismatch):
			return failed
		case failed != nil && kept(e): // the stored reply may be another one
			return failed
		case answered:
			return errInProgress
		}
	}
	if !kept(e) {
		return err
	}
	code, body := wire.ProblemBody(e, r.Instance(), r.ID)
	stored := s.replies.StoreReply(r.Ctx(), journal.Reply{Idempotency: id, Status: code, Body: body, At: r.Host.Now()})
	if stored != nil {
		if errors.Is(stored, journal.ErrReplyExists) {
			if done, err := s.replay(r, id); done || err != nil {
				return err
			}
		}
		// The refusal changed nothing, so it is safe to answer without storing it.
		r.Host.LogFailure(r, stored)
	}
	r.FailHeaders(e)
	r.Send(code, wire.ContentProblem, body)
	return nil
}

// kept says whether a refusal is final. SEMANTICS §11: "5xx are not stored"; nor are refusals that
// depend on the client or its rate.
func kept(e *engine.Error) bool {
	switch wire.StatusOf(e.Kind) {
	case nethttp.StatusNotFound, nethttp.StatusConflict, nethttp.StatusUnprocessableEntity:
		return true
	}
	return false
}

// replay answers with the stored reply of an earlier request, if there is one.
func (s *Replays) replay(r *wire.Request, id engine.Idempotency) (done bool, err error) {
	reply, ok, err := s.replies.FindReply(r.Ctx(), id)
	if err != nil || !ok {
		return false, err
	}
	if reply.BodyHash != id.BodyHash {
		return false, errMismatch
	}
	s.MarkReplay(r)
	contentType := wire.ContentJSON
	if reply.Status >= 400 {
		contentType = wire.ContentProblem
	}
	r.Send(reply.Status, contentType, reply.Body)
	return true, nil
}

// Key reads the header: bare or quoted, 1–255 printable characters.
func Key(given [][]byte) (token string, present bool, err error) {
	if len(given) == 0 {
		return "", false, nil
	}
	if len(given) > 1 {
		return "", true, errIdempotencyKey
	}
	raw := given[0]
	if len(raw) > 0 && raw[0] == '"' {
		// A string of RFC 9651: a backslash escapes a quote and itself.
		out := make([]byte, 0, len(raw))
		i := 1
		for ; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
				if i == len(raw) || raw[i] != '"' && raw[i] != '\\' {
					return "", true, errIdempotencyKey
				}
			}
			out = append(out, raw[i])
		}
		if i != len(raw)-1 { // no closing quote, or more text after it
			return "", true, errIdempotencyKey
		}
		raw = out
	}
	if len(raw) == 0 || len(raw) > 255 {
		return "", true, errIdempotencyKey
	}
	for _, c := range raw {
		if c < 0x20 || c > 0x7e {
			return "", true, errIdempotencyKey
		}
	}
	return string(raw), true, nil
}

// Replies stores the responses to requests with an Idempotency-Key for 24 h. Key, Route and Token
// of the Idempotency identify a reply.
type Replies interface {
	FindReply(ctx context.Context, id engine.Idempotency) (reply journal.Reply, ok bool, err error)
	// StoreReply returns journal.ErrReplyExists if there is one already.
	StoreReply(ctx context.Context, reply journal.Reply) error
}
