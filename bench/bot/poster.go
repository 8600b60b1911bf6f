package bot

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// postTimeout bounds one try to post a result, including the connection.
	postTimeout = 5 * time.Second
	// idlePosts is how many connections for results stay open: an engine that commits in groups
	// answers many posts at once, and a connection closed then must be reopened a moment later.
	idlePosts = 512
	// maxAnswer is how much of a response is read to reuse its connection.
	maxAnswer = 1 << 16
)

// poster posts results over reused connections. Results are part of every call: http.Client, with
// two goroutines and a timer for each, took a fifth of a session's cost.
type poster struct {
	mu   sync.Mutex
	idle map[string][]*postConn // by scheme and host, last used last
	busy map[*postConn]struct{} // nil once closed
	kept int                    // all of idle
}

type postConn struct {
	net.Conn
	r    *bufio.Reader
	used bool // it has served an earlier post
}

func newPoster() *poster {
	return &poster{idle: map[string][]*postConn{}, busy: map[*postConn]struct{}{}}
}

// post makes one try and returns the status of the response, 0 with an error. It does not follow
// redirects, because a redirected result would reveal its token to a third party.
func (p *poster) post(to, token string, body []byte) (int, error) {
	u, err := url.Parse(to)
	if err != nil {
		return 0, err
	}
	if strings.ContainsAny(token, "\r\n") {
		return 0, errors.New("result_token: a line break cannot be sent")
	}
	msg := make([]byte, 0, 512+len(to)+len(token)+len(body))
	msg = append(msg, "POST "+u.RequestURI()+" HTTP/1.1\r\nHost: "+u.Host+
		"\r\nUser-Agent: model-bot\r\nAuthorization: Bearer "+token+
		"\r\nContent-Type: application/json\r\nContent-Length: "...)
	msg = strconv.AppendInt(msg, int64(len(body)), 10)
	msg = append(append(msg, "\r\n\r\n"...), body...)
	for {
		c, err := p.take(u)
		if err != nil {
			return 0, err
		}
		status, keep, err := c.exchange(msg)
		p.put(u, c, keep)
		if err != nil && c.used && !errors.Is(err, errAnswered) && !isTimeout(err) {
			continue // closed by the server meanwhile; a result may be posted twice
		}
		return status, err
	}
}

// errAnswered means that the server has begun to respond, so the connection was good.
var errAnswered = errors.New("the answer is not HTTP")

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// exchange sends a request and reads its response; keep says that the connection can be reused.
func (c *postConn) exchange(msg []byte) (status int, keep bool, err error) {
	_ = c.SetDeadline(time.Now().Add(postTimeout))
	if _, err := c.Write(msg); err != nil {
		return 0, false, err
	}
	if _, err := c.r.Peek(1); err != nil {
		return 0, false, err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return 0, false, errors.Join(errAnswered, err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	return resp.StatusCode, err == nil && n < maxAnswer && !resp.Close, nil
}

// take gives an idle connection, or a new one.
func (p *poster) take(u *url.URL) (*postConn, error) {
	key := u.Scheme + "://" + u.Host
	p.mu.Lock()
	if p.busy == nil {
		p.mu.Unlock()
		return nil, net.ErrClosed
	}
	if list := p.idle[key]; len(list) > 0 {
		c := list[len(list)-1]
		p.idle[key], p.kept = list[:len(list)-1], p.kept-1
		p.busy[c] = struct{}{}
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	conn, err := open(u)
	if err != nil {
		return nil, err
	}
	c := &postConn{Conn: conn, r: bufio.NewReaderSize(conn, 2048)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == nil {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	p.busy[c] = struct{}{}
	return c, nil
}

func open(u *url.URL) (net.Conn, error) {
	d := net.Dialer{Timeout: postTimeout}
	host, port := u.Hostname(), u.Port()
	switch u.Scheme {
	case "http":
		if port == "" {
			port = "80"
		}
		return d.Dial("tcp", net.JoinHostPort(host, port))
	case "https":
		if port == "" {
			port = "443"
		}
		return tls.DialWithDialer(&d, "tcp", net.JoinHostPort(host, port), nil)
	}
	return nil, errors.New("result_url must begin with http:// or https://")
}

// put returns a connection to the pool.
func (p *poster) put(u *url.URL, c *postConn, keep bool) {
	key := u.Scheme + "://" + u.Host
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy == nil {
		return // closed already
	}
	delete(p.busy, c)
	if !keep || p.kept >= idlePosts {
		_ = c.Close()
		return
	}
	c.used = true
	p.idle[key], p.kept = append(p.idle[key], c), p.kept+1
}

// close breaks every connection, and with it every post in progress.
func (p *poster) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.busy {
		_ = c.Close()
	}
	for _, list := range p.idle {
		for _, c := range list {
			_ = c.Close()
		}
	}
	p.busy, p.idle = nil, nil
}
