package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
)

// Bodies come as streams, because one route accepts files of any length and the server reads bodies
// in the same way for all routes. For the other routes the body is read here, completely and up to
// their limit, before anything else happens; only a streaming route sees the request before its
// body.
//
// fasthttp leaves to the reader of a stream: the limit; distinguishing a truncated body from a
// complete one; and not taking the rest of an unread body for the next request.

// BodyKeep is the largest body buffer that is kept for reuse.
const BodyKeep = 64 << 10

// ReadBody reads the whole body, of at most limit bytes. keep counts bytes of a body longer than
// BodyKeep, or refuses them.
func (r *Request) ReadBody(limit int, keep func(bytes int) error) error {
	rc := r.HTTP
	stream := rc.RequestBodyStream()
	if stream == nil {
		return nil
	}
	length := rc.Request.Header.ContentLength()
	if length > limit {
		return fasthttp.ErrBodyTooLarge
	}
	b := r.bodyBuffer[:0]
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
			if n := cap(b); n > BodyKeep {
				if err := keep(n - r.kept); err != nil {
					return err
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
	if cap(b) <= BodyKeep {
		r.bodyBuffer = b
	}
	rc.Request.SetBodyRaw(b)
	return nil
}

// whole says whether a body whose stream has ended is complete: a broken connection ends the stream
// in the same way.
func whole(rc *fasthttp.RequestCtx, stream io.Reader, got int64) error {
	if length := rc.Request.Header.ContentLength(); length >= 0 {
		if got < int64(length) {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	// After the last chunk a stream returns io.EOF without reading the connection; after a break it
	// reads again, which this prevents.
	if err := rc.Conn().SetReadDeadline(time.Unix(1, 0)); err != nil {
		return err
	}
	var scrap [1]byte
	if n, err := stream.Read(scrap[:]); n > 0 || !errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// upload is the body of a request as it comes in. Its Read limits the wait for the client: for one
// read to the server's ReadTimeout, and in all to the time of a client that sends UploadRate bytes
// a second. The reader's own time in between does not count.
type upload struct {
	HTTP   *fasthttp.RequestCtx
	conn   net.Conn
	stream io.Reader
	host   *Host
	limit  int64
	got    int64
	waited time.Duration
	err    error

	mu      sync.Mutex
	stopped bool
	unhook  func() bool
}

var (
	errUploadBroken = &engine.Error{Kind: KindBadRequest, Code: "upload_broken",
		Detail: "The upload ended before the file did; nothing was kept."}
	errUploadSlow = &engine.Error{Kind: KindTimeout, Code: "request_timeout",
		Detail: "The file arrived too slowly; nothing was kept."}
	errFileTooLarge = &engine.Error{Kind: engine.KindTooLarge, Code: "body_too_large",
		Detail: "The file is larger than this route accepts; send it in parts."}
	errShuttingDown = engine.Unavailable("closing", "", time.Second)
)

// Upload begins to read the body of a streaming route.
func (r *Request) Upload(limit int64) (*upload, error) {
	u := &upload{HTTP: r.HTTP, conn: r.HTTP.Conn(), stream: r.HTTP.RequestBodyStream(), host: r.Host, limit: limit}
	r.file = u
	if u.stream == nil {
		u.err = io.EOF
	}
	if length := r.HTTP.Request.Header.ContentLength(); int64(length) > limit {
		u.err = errFileTooLarge
		return nil, errFileTooLarge
	}
	u.unhook = context.AfterFunc(r.Host.Closing, u.stop)
	return u, nil
}

// stop ends a waiting Read, because the server is shutting down.
func (u *upload) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	_ = u.conn.SetReadDeadline(time.Unix(1, 0))
}

// arm sets the deadline of the next Read.
func (u *upload) arm() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.stopped {
		return errShuttingDown
	}
	grace := u.host.ReadTimeout
	earned := time.Duration(float64(u.got) / float64(u.host.UploadRate) * float64(time.Second))
	wait := min(grace, grace+earned-u.waited)
	if wait <= 0 {
		return errUploadSlow
	}
	return u.conn.SetReadDeadline(time.Now().Add(wait))
}

// Read implements io.Reader; its errors except io.EOF are API errors.
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
		if u.err = io.EOF; whole(u.HTTP, u.stream, u.got) != nil {
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

// Finish releases the body; unread data prevents reuse of the connection.
func (r *Request) Finish() {
	u := r.file
	if u != nil && u.unhook != nil {
		u.unhook()
	}
	if u != nil && errors.Is(u.err, io.EOF) || u == nil && r.HTTP.RequestBodyStream() == nil {
		return
	}
	r.HTTP.SetConnectionClose()
	if c, ok := r.HTTP.Conn().(interface{ Linger() }); ok {
		c.Linger()
		return
	}
	Drain(r.HTTP.Conn(), r.Host.DrainCap)
}

// Drain reads what a client is still sending before the connection is closed: otherwise the close
// would reset the connection, and the client would never read the response. It ends when the client
// pauses, at the limit, or after three seconds. A pause that is noticed late is this process's, not
// the client's.
func Drain(c net.Conn, limit int) {
	if c == nil {
		return
	}
	const idle, all = time.Second, 3 * time.Second
	end := time.Now().Add(all)
	var scrap [16 << 10]byte
	for left := limit; left > 0 && time.Now().Before(end); {
		began := time.Now()
		if c.SetReadDeadline(began.Add(idle)) != nil {
			return
		}
		n, err := c.Read(scrap[:])
		left -= n
		var timeout interface{ Timeout() bool }
		if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout() || time.Since(began) < idle+idle/10) {
			return
		}
	}
}

// WantCSV accepts only text/csv in UTF-8.
func (r *Request) WantCSV() error {
	h := &r.HTTP.Request.Header
	kind, params, _ := strings.Cut(string(h.ContentType()), ";")
	ok := strings.EqualFold(strings.TrimSpace(kind), ContentCSV) && len(h.ContentEncoding()) == 0
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			ok = ok && (strings.EqualFold(value, "utf-8") || strings.EqualFold(value, "us-ascii"))
		}
	}
	if !ok {
		return &engine.Error{Kind: KindMediaType, Code: "unsupported_media_type",
			Detail: "Send the file as text/csv in UTF-8, not compressed."}
	}
	return nil
}

const ContentCSV = "text/csv"
