package botlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

// readBuffer is the size of a socket's read buffer. Longer messages are read
// in pieces; a 20 ms frame has about 300 bytes.
const readBuffer = 1024

// writeBuffers are only used by the library for its rare control frames.
var writeBuffers sync.Pool

var errNoEndpoint = errors.New("the bot has no endpoint")

// open dials until an endpoint accepts the session, then hands the socket to a new goroutine: the
// large stack needed for TLS and HTTP is not kept for the length of a call.
func (l *Link) open() {
	ws, tcp, refused, err := l.dialAny()
	if err == nil {
		l.handleControl(ws)
		err = l.begin(ws, tcp)
	}
	if err != nil {
		if tcp != nil {
			_ = tcp.Close()
		}
		l.mu.Lock()
		silent := l.state == linkStopped
		l.state = linkStopped
		l.mu.Unlock()
		if !silent {
			l.client.stats.Failed.Add(1)
			l.handler.BotFailed(l, time.Now(), err.Error(), refused)
		}
		l.client.forget(l)
		return
	}
	l.client.stats.Open.Add(1)
	go l.read()
}

// dialAny tries the endpoints in order, round after round.
func (l *Link) dialAny() (ws *websocket.Conn, tcp *conn, refused bool, err error) {
	ctx, cancel := context.WithDeadline(l.ctx, l.req.Deadline)
	defer cancel()
	left := append([]string(nil), l.req.Endpoints...)
	err = errNoEndpoint
	for round := 0; len(left) > 0; round++ {
		if round > 0 && !pause(ctx, l.client.cfg.RetryPause) {
			break
		}
		keep := left[:0:len(left)]
		for i, url := range left {
			if ctx.Err() != nil {
				return nil, nil, refused, err
			}
			if round+i > 0 {
				l.client.stats.Retries.Add(1)
			}
			share := time.Until(l.req.Deadline) / time.Duration(len(left)-i)
			var status int
			var e error
			try, cancel := context.WithTimeout(ctx, share)
			ws, tcp, status, e = l.client.dial(try, url, l.req.AuthToken, l.req.Headers)
			cancel()
			if e == nil {
				l.took(url)
				return ws, tcp, refused, nil
			}
			if ctx.Err() == nil || round+i == 0 {
				err = e // the last attempt may only report the timeout
			}
			l.miss(url, e.Error(), ctx.Err() == nil)
			refused = refused || status != 0
			if status == 0 || status == http.StatusTooManyRequests || status >= 500 {
				keep = append(keep, url)
			}
		}
		left = keep
	}
	return nil, nil, refused, err
}

// took and miss record which endpoint accepted the session, and which did not and why: of each, the
// last attempt that had time for an answer.
func (l *Link) took(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endpoint = url
}

func (l *Link) miss(url, reason string, certain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.missed {
		if l.missed[i].Endpoint == url {
			if certain {
				l.missed[i].Reason = reason
			}
			return
		}
	}
	l.missed = append(l.missed, engine.EndpointMiss{Endpoint: url, Reason: reason})
}

// Tried returns the endpoint that accepted the session, "" when none did, and those that did not.
func (l *Link) Tried() (endpoint string, missed []engine.EndpointMiss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.endpoint, l.missed
}

// pause waits; it returns false when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// dial makes one attempt. status is the HTTP status of a refusal, 0 when the endpoint was not
// reached. The error leaves out the endpoint's address, which may contain secrets.
func (c *Client) dial(ctx context.Context, url, token string, own []engine.HTTPHeader) (ws *websocket.Conn, tcp *conn,
	status int, err error) {
	// While it waits for the bot's answer, the library heeds the deadline of a context, but not that it was cancelled.
	uninterrupted := func() bool { return true }
	d := websocket.Dialer{
		NetDialContext: func(limited context.Context, network, addr string) (net.Conn, error) {
			// Frames are sent continuously: they reveal a dead peer.
			nd := net.Dialer{KeepAlive: -1}
			nc, err := nd.DialContext(limited, network, addr)
			if err != nil {
				return nil, err
			}
			t, ok := nc.(*net.TCPConn)
			if !ok {
				_ = nc.Close()
				return nil, errors.New("not a TCP connection")
			}
			if tcp, err = newConn(t, c.cfg.QueueCap); err != nil {
				_ = nc.Close()
				return nil, err
			}
			uninterrupted = context.AfterFunc(ctx, func() { _ = t.SetDeadline(time.Now()) })
			return tcp, nil
		},
		TLSClientConfig: c.cfg.TLS, ReadBufferSize: readBuffer, WriteBufferSize: 256, WriteBufferPool: &writeBuffers,
	}
	header := requestHeader(own)
	header.Set(signatureHeader, Sign(token, url))
	ws, resp, err := d.DialContext(ctx, url, header)
	if on := uninterrupted(); err == nil && !on {
		_ = ws.Close()
		return nil, nil, 0, unreachable(ctx, ctx.Err())
	}
	if err == nil {
		return ws, tcp, 0, nil
	}
	if resp != nil {
		_ = resp.Body.Close()
		return nil, nil, resp.StatusCode, fmt.Errorf("the bot answered HTTP %d", resp.StatusCode)
	}
	return nil, nil, 0, unreachable(ctx, err)
}
