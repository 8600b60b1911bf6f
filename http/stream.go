package http

import (
	"bytes"
	"context"
	"errors"
	"net"

	"dialler/http/form"

	nethttp "net/http"
	"os"
	"time"

	"dialler/engine"
)

// Server-sent events (WHATWG HTML, section 9.2) on a connection of their own:
// a stream takes its connection over from fasthttp, whose timeouts are those
// of a request. Only so is a client noticed that went away.

const (
	contentEvents = "text/event-stream"
	// streamRetry has browsers come back after two seconds.
	streamRetry = "retry: 2000\n\n"
	streamBeat  = ": heartbeat\n\n"
	maxEventID  = 64
	// streamUnread is how many bytes a client may leave unread before the stream
	// waits for it.
	streamUnread  = 64 << 10
	lastEventName = "last_event_id"
)

// stream is one client that watches a feed.
type stream struct {
	server *Server
	feed   *feed
	who    string
	head   []byte
	last   string // id of the last event that the client has
	// allowed is nil while the credentials that opened the stream hold.
	allowed func(context.Context) error
}

// stream answers with the events of a feed until the client goes.
func (r *request) stream(key string, list bool, ask look) error {
	s := r.server
	last, err := r.lastEventID()
	if err != nil {
		return err
	}
	st := &stream{server: s, who: r.subject(), last: last, allowed: r.stillAllowed()}
	if err := s.feeds.hold(st.who); err != nil {
		return err
	}
	st.feed = s.feeds.feed(key, list, ask)
	if err := st.feed.ready(r.ctx()); err != nil {
		s.feeds.release(st.who)
		return err
	}
	r.send(nethttp.StatusOK, contentEvents, nil)
	h := &r.rc.Response.Header
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	h.SetConnectionClose()           // the end of the connection is the end of the answer
	st.head = h.AppendBytes(nil)
	if c, ok := r.rc.Conn().(*conn); ok {
		if tcp, ok := c.Conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
			_ = tcp.SetWriteBuffer(streamUnread) // else the system keeps megabytes
		}
	}
	r.rc.HijackSetNoResponse(true)
	r.rc.Hijack(st.run)
	return nil
}

// lastEventID is where the client was: the header that browsers send, or the
// parameter.
func (r *request) lastEventID() (string, error) {
	var errs form.Errors
	id := string(r.rc.Request.Header.Peek("Last-Event-ID"))
	for k, v := range r.rc.QueryArgs().All() {
		if string(k) != lastEventName {
			errs.Add(form.ClipName(string(k)), "unknown_field", "is not a parameter of this request")
			continue
		}
		if id == "" {
			id = string(v)
		}
	}
	if len(id) > maxEventID {
		id = "" // none of ours
	}
	return id, errs.Err()
}

// subject is whose streams are counted together.
func (r *request) subject() string {
	if r.key != nil {
		return "key " + string(r.key.ID)
	}
	return "user " + string(r.user.ID)
}

// stillAllowed gives what asks later whether the credentials of this request
// still hold. An open stream does not prolong a session.
func (r *request) stillAllowed() func(context.Context) error {
	s, a, token := r.server, r.route.access, r.token
	switch {
	case r.key != nil:
		given := bytes.Clone(r.rc.Request.Header.Peek("X-Api-Key"))
		id := engine.CampaignID(r.param("campaign_id"))
		return func(ctx context.Context) error {
			key, err := s.keys.check(ctx, given)
			switch {
			case err != nil:
				return err
			case !inScope(key, a.scope, a.alsoScope):
				return errScope
			case !inCampaigns(key, id):
				return errCampaignForbidden
			}
			return nil
		}
	case r.session != nil:
		return func(ctx context.Context) error {
			u, err := s.sessions.check(ctx, token)
			if err != nil {
				return err
			}
			user, err := s.tokens.active(ctx, u.User)
			if err != nil {
				return err
			}
			return a.needRole(user)
		}
	}
	token, _ = r.bearer()
	return func(ctx context.Context) error {
		user, err := s.tokens.verify(ctx, token)
		if err != nil {
			return err
		}
		return a.needRole(user)
	}
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// run serves the client. fasthttp closes the connection afterwards, and uses
// conn for another: nothing of ours may touch it then.
func (st *stream) run(conn net.Conn) {
	s := st.server
	defer s.feeds.release(st.who)
	if !s.feeds.begin() {
		return
	}
	defer s.feeds.work.Done()
	defer func() {
		if p := recover(); p != nil {
			s.panicked(p)
		}
	}()
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()

	// Two things end a stream from outside: the server's end, which must break
	// a write that hangs, and the client's, which only a read notices.
	ctx, cancel := context.WithCancel(s.feeds.ctx)
	unblocked, unread := make(chan struct{}), make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(unblocked)
		_ = conn.SetDeadline(past)
	})
	go func() {
		defer close(unread)
		defer cancel()
		var b [1]byte
		_, _ = conn.Read(b[:]) // a client that goes on talking is none
	}()
	defer func() {
		cancel()
		<-unblocked
		<-unread
	}()

	w := st.feed.watch(st.last)
	defer st.feed.leave(w)
	if st.write(ctx, conn, st.head, []byte(streamRetry)) != nil {
		return
	}
	silent := false
	beat, stop := s.feeds.after(s.feeds.heartbeat)
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			events, last, err := w.next()
			if err != nil || st.write(ctx, conn, events...) != nil || last {
				return
			}
			silent = false
		case <-beat:
			if st.revoked(ctx) || silent && st.write(ctx, conn, []byte(streamBeat)) != nil {
				return
			}
			silent = true
			beat, stop = s.feeds.after(s.feeds.heartbeat)
		}
	}
}

// revoked says that the credentials do not hold any more. That they cannot be
// checked just now ends no stream: it is when the operator needs it most.
func (st *stream) revoked(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := st.allowed(ctx)
	if err == nil {
		return false
	}
	kind := asError(err).Kind
	return kind == engine.KindUnauthenticated || kind == engine.KindForbidden
}

// write sends to a client within its patience.
func (st *stream) write(ctx context.Context, conn net.Conn, parts ...[]byte) error {
	if len(parts) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(st.server.feeds.patience)); err != nil {
		return err
	}
	if ctx.Err() != nil { // the deadline that it set may just have been overwritten
		return ctx.Err()
	}
	for _, p := range parts {
		if _, err := conn.Write(p); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
				st.server.metrics.dropped.Inc()
			}
			return err
		}
	}
	return nil
}
