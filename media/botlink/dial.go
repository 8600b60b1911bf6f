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
)

// readBuffer is the size of a socket's read buffer. Longer messages are read
// in pieces; a 20 ms frame has about 300 bytes.
const readBuffer = 1024

// writeBuffers are used by the library for its rare control frames only.
var writeBuffers sync.Pool

var errNoEndpoint = errors.New("the bot has no endpoint")

// open dials until an endpoint takes the session, then hands the socket to a
// fresh goroutine: the stack that TLS and HTTP needed is not kept for the
// length of a call.
func (l *Link) open() {
	ws, tcp, refused, err := l.dialAny()
	if err == nil {
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
			ws, tcp, status, e = l.dial(ctx, url, share)
			if e == nil {
				return ws, tcp, refused, nil
			}
			if ctx.Err() == nil || round+i == 0 {
				err = e // the last try may only say that time is up
			}
			refused = refused || status != 0
			if status == 0 || status == http.StatusTooManyRequests || status >= 500 {
				keep = append(keep, url)
			}
		}
		left = keep
	}
	return nil, nil, refused, err
}

// pause waits; false when ctx ended.
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

// dial makes one try. status is the HTTP status of a refusal, 0 when the
// endpoint was not reached. The endpoint's address is not part of the error:
// it may hold secrets.
func (l *Link) dial(ctx context.Context, url string, share time.Duration) (ws *websocket.Conn, tcp *conn, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	d := websocket.Dialer{
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			// Frames go out all the time: a dead peer is found by them.
			nd := net.Dialer{KeepAlive: -1}
			c, err := nd.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			t, ok := c.(*net.TCPConn)
			if !ok {
				_ = c.Close()
				return nil, errors.New("not a TCP connection")
			}
			if tcp, err = newConn(t, l.client.cfg.QueueCap); err != nil {
				_ = c.Close()
				return nil, err
			}
			return tcp, nil
		},
		TLSClientConfig: l.client.cfg.TLS, ReadBufferSize: readBuffer, WriteBufferSize: 256, WriteBufferPool: &writeBuffers,
	}
	header := http.Header{signatureHeader: {Sign(l.req.AuthToken, url)}}
	ws, resp, err := d.DialContext(ctx, url, header)
	if err == nil {
		return ws, tcp, 0, nil
	}
	if resp != nil {
		_ = resp.Body.Close()
		return nil, nil, resp.StatusCode, fmt.Errorf("the bot answered HTTP %d", resp.StatusCode)
	}
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return nil, nil, 0, errors.New("the bot did not answer in time")
	case errors.As(err, &op):
		return nil, nil, 0, fmt.Errorf("the bot is unreachable: %w", op.Err)
	}
	return nil, nil, 0, fmt.Errorf("the bot is unreachable: %w", err)
}
