package live

import (
	"context"
	"errors"
	"net"
	nethttp "net/http"
	"os"
	"time"

	"dialler/engine"
	"dialler/http/form"
	"dialler/http/wire"
)

// Server-sent events (WHATWG HTML, section 9.2) on a connection of their own: a stream takes its
// connection over from fasthttp, whose timeouts are those of a request. Only this way is a
// disconnected client noticed.

const (
	contentEvents = "text/event-stream"
	// streamRetry makes browsers reconnect after two seconds.
	streamRetry = "retry: 2000\n\n"
	streamBeat  = ": heartbeat\n\n"
	maxEventID  = 64
	// streamUnread is how many unread bytes a client may have before the stream waits for it.
	streamUnread  = 64 << 10
	lastEventName = "last_event_id"
)

// stream is one client that watches a feed.
type stream struct {
	feeds *Feeds
	feed  *Feed
	who   string
	head  []byte
	last  string // id of the last event that the client has
	// allowed returns nil while the credentials that opened the stream are valid.
	allowed func(context.Context) error
}

// watch sends the events of a feed until the client disconnects. allowed returns nil while the
// request's credentials are valid.
func (f *Feeds) watch(r *wire.Request, key string, list bool, ask look, allowed func(context.Context) error) error {
	last, err := lastEventID(r)
	if err != nil {
		return err
	}
	st := &stream{feeds: f, who: r.Subject(), last: last, allowed: allowed}
	if err := f.hold(st.who); err != nil {
		return err
	}
	st.feed = f.feed(key, list, ask)
	if err := st.feed.ready(r.Ctx()); err != nil {
		f.release(st.who)
		return err
	}
	st.begin(r, st.run)
	return nil
}

// begin answers with events, which run writes, on the request's connection.
func (st *stream) begin(r *wire.Request, run func(context.Context, net.Conn)) {
	r.Send(nethttp.StatusOK, contentEvents, nil)
	h := &r.HTTP.Response.Header
	h.Set("X-Accel-Buffering", "no") // proxies must not buffer events
	h.SetConnectionClose()           // the end of the connection ends the response
	st.head = h.AppendBytes(nil)
	if c, ok := r.HTTP.Conn().(interface{ NetConn() net.Conn }); ok {
		if tcp, ok := c.NetConn().(interface{ SetWriteBuffer(bytes int) error }); ok {
			_ = tcp.SetWriteBuffer(streamUnread) // otherwise the system buffers megabytes
		}
	}
	r.AtLeisure(func() { st.feeds.release(st.who) }, run)
}

// lastEventID returns the client's position: the header that browsers send, or the parameter.
func lastEventID(r *wire.Request) (string, error) {
	var errs form.Errors
	id := string(r.HTTP.Request.Header.Peek("Last-Event-ID"))
	for k, v := range r.HTTP.QueryArgs().All() {
		if string(k) != lastEventName {
			errs.UnknownParameter(string(k))
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

// whileRead returns a context that ends when the client disconnects, which only a read notices;
// stop ends the reading.
func (st *stream) whileRead(ctx context.Context, conn net.Conn) (reading context.Context, stop func()) {
	st.feeds.figures.Open.Inc()
	reading, cancel := context.WithCancel(ctx)
	unread := make(chan struct{})
	go func() {
		defer close(unread)
		var b [1]byte
		_, _ = conn.Read(b[:]) // a client that sends more is ignored
		cancel()
		_ = conn.SetDeadline(wire.Past) // ends a blocked write
	}()
	return reading, func() {
		cancel()
		_ = conn.SetReadDeadline(wire.Past)
		<-unread
		st.feeds.figures.Open.Dec()
	}
}

// run serves the client. fasthttp closes the connection afterwards, and reuses conn: nothing of
// ours may touch it then.
func (st *stream) run(ctx context.Context, conn net.Conn) {
	ctx, stopReading := st.whileRead(ctx, conn)
	defer stopReading()
	w := st.feed.watch(st.last)
	defer st.feed.leave(w)
	if st.write(ctx, conn, st.head, []byte(streamRetry)) != nil {
		return
	}
	silent := false
	beat, stop := st.feeds.After(st.feeds.Heartbeat)
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
			beat, stop = st.feeds.After(st.feeds.Heartbeat)
		}
	}
}

// revoked says that the credentials are no longer valid. If they cannot be checked just now, the
// stream goes on: that is when the operator needs it most.
func (st *stream) revoked(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := st.allowed(ctx)
	if err == nil {
		return false
	}
	kind := wire.AsError(err).Kind
	return kind == engine.KindUnauthenticated || kind == engine.KindForbidden
}

// write sends to a client within Patience.
func (st *stream) write(ctx context.Context, conn net.Conn, parts ...[]byte) error {
	if len(parts) == 0 {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(st.feeds.Patience)); err != nil {
		return err
	}
	if ctx.Err() != nil { // this may have overwritten its deadline
		return ctx.Err()
	}
	for _, p := range parts {
		if _, err := conn.Write(p); err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
				st.feeds.figures.Dropped.Inc()
			}
			return err
		}
	}
	return nil
}
