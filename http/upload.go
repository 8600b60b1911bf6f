package http

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
)

// Bodies come as streams, since one route takes files of any length and the
// server reads bodies the same way for all routes. The others have theirs read
// here, to the end and within their cap, before anything else happens; only a
// route that streams sees the request before its body.
//
// What fasthttp leaves to whoever reads a stream: the cap; telling a body that
// was cut off from one that has ended; and not taking the rest of a body that
// nobody read for the next request.

// bodyKeep is how large a buffer for bodies may be to be used again.
const bodyKeep = 64 << 10

// readBody takes the whole body in.
func (s *Server) readBody(r *request) error {
	rc := r.rc
	stream := rc.RequestBodyStream()
	if stream == nil {
		return nil
	}
	limit, length := s.bodyCap(&rc.Request.Header), rc.Request.Header.ContentLength()
	if length > limit {
		return fasthttp.ErrBodyTooLarge
	}
	b := r.bodyBuffer[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
			if n := cap(b); n > bodyKeep {
				if !s.gates.keep(n - r.kept) {
					return errOverloaded
				}
				r.kept = n
			}
		}
		n, err := stream.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if len(b) > limit {
			return fasthttp.ErrBodyTooLarge
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = whole(rc, stream, int64(len(b)))
		}
		if err != nil {
			return err
		}
		break
	}
	if cap(b) <= bodyKeep {
		r.bodyBuffer = b
	}
	rc.Request.SetBodyRaw(b)
	return nil
}

// whole says whether a body whose stream has ended is complete: a connection
// that is cut ends the stream in the same way.
func whole(rc *fasthttp.RequestCtx, stream io.Reader, got int64) error {
	if length := rc.Request.Header.ContentLength(); length >= 0 {
		if got < int64(length) {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	// Behind the last chunk a stream gives io.EOF without looking at the
	// connection; behind a cut it looks again, which this forbids.
	if err := rc.Conn().SetReadDeadline(time.Unix(1, 0)); err != nil {
		return err
	}
	var scrap [1]byte
	if n, err := stream.Read(scrap[:]); n > 0 || !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// upload is the body of a request as it comes in. Its Read bounds how long it
// waits for the client: for one look at most the server's ReadTimeout, and in
// all as long as a client may take that sends UploadRate bytes a second. The
// time that the reader itself takes in between does not count.
type upload struct {
	rc     *fasthttp.RequestCtx
	conn   net.Conn
	stream io.Reader
	server *Server
	limit  int64
	got    int64
	waited time.Duration
	err    error

	mu      sync.Mutex
	stopped bool
	unhook  func() bool
}

var (
	errUploadBroken = &engine.Error{Kind: kindBadRequest, Code: "upload_broken", Detail: "The upload ended before the file did; nothing was kept."}
	errUploadSlow   = &engine.Error{Kind: kindTimeout, Code: "request_timeout", Detail: "The file came too slowly; nothing was kept."}
	errFileTooLarge = &engine.Error{Kind: engine.KindTooLarge, Code: "body_too_large", Detail: "The file is larger than this route accepts; send it in parts."}
	errShuttingDown = engine.Unavailable("closing", "The dialler is being stopped; try again.", time.Second)
)

// upload begins to read the body of a route that streams.
func (r *request) upload(limit int64) (*upload, error) {
	u := &upload{rc: r.rc, conn: r.rc.Conn(), stream: r.rc.RequestBodyStream(), server: r.server, limit: limit}
	r.file = u
	if u.stream == nil {
		u.err = io.EOF
	}
	if length := r.rc.Request.Header.ContentLength(); int64(length) > limit {
		u.err = errFileTooLarge
		return nil, errFileTooLarge
	}
	u.unhook = context.AfterFunc(r.server.closing, u.stop)
	return u, nil
}

// stop ends a Read that waits: the server is shut down.
func (u *upload) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	_ = u.conn.SetReadDeadline(time.Unix(1, 0))
}

// arm sets the time until which the next Read may wait.
func (u *upload) arm() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return errShuttingDown
	}
	grace := u.server.ReadTimeout
	earned := time.Duration(float64(u.got) / float64(u.server.UploadRate) * float64(time.Second))
	wait := min(grace, grace+earned-u.waited)
	if wait <= 0 {
		return errUploadSlow
	}
	return u.conn.SetReadDeadline(time.Now().Add(wait))
}

// Read implements io.Reader; its errors but io.EOF are answers.
func (u *upload) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	if u.err = u.arm(); u.err != nil {
		return 0, u.err
	}
	began := time.Now()
	n, err := u.stream.Read(p)
	u.waited += time.Since(began)
	u.got += int64(n)
	switch {
	case u.got > u.limit:
		u.err = errFileTooLarge
	case errors.Is(err, io.EOF):
		if u.err = io.EOF; whole(u.rc, u.stream, u.got) != nil {
			u.err = errUploadBroken
		}
	case err != nil:
		u.err = u.failure(err)
	}
	if u.err != nil && u.err != io.EOF { //nolint:errorlint // our own value
		return 0, u.err
	}
	return n, u.err
}

func (u *upload) failure(err error) error {
	u.mu.Lock()
	stopped := u.stopped
	u.mu.Unlock()
	var timeout net.Error
	switch {
	case stopped:
		return errShuttingDown
	case errors.As(err, &timeout) && timeout.Timeout():
		return errUploadSlow
	}
	return errUploadBroken
}

// finish lets go of the body; what was not read of it keeps the connection from
// being used again.
func (r *request) finish() {
	u := r.file
	if u != nil && u.unhook != nil {
		u.unhook()
	}
	if u != nil && errors.Is(u.err, io.EOF) || u == nil && r.rc.RequestBodyStream() == nil {
		return
	}
	r.rc.SetConnectionClose()
	if c, ok := r.rc.Conn().(*conn); ok {
		c.linger.Store(true)
		return
	}
	drain(r.rc.Conn(), 2*r.server.ContactsBodyCap)
}
