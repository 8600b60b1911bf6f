package botlink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

// askLinger bounds the wait for a probe's close frame.
const askLinger = 200 * time.Millisecond

// Ask probes whether an endpoint would take a call: by its health URL, or by a connection, or by a
// session that is closed again without a message. The error says why not, without addresses; ctx
// bounds the time.
func (c *Client) Ask(ctx context.Context, q engine.AskBot) error {
	var err error
	switch {
	case q.HealthURL != "":
		err = c.health(ctx, &q)
	case q.Probe == engine.ProbeSession:
		err = c.knock(ctx, &q)
	default:
		err = c.touch(ctx, q.Endpoint)
	}
	if err == nil {
		c.stats.Asked.Add(1)
	}
	return err
}

// health asks the bot's health URL. A redirect is no answer: it may be a log-in page.
func (c *Client) health(ctx context.Context, q *engine.AskBot) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, q.HealthURL, nil)
	if err != nil {
		return errors.New("the bot's health_url is not an address")
	}
	r.Header = requestHeader(q.Headers)
	t := &http.Transport{TLSClientConfig: c.cfg.TLS, DisableKeepAlives: true}
	asker := http.Client{Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := asker.Do(r)
	if err != nil {
		var wrapped *url.Error // names the address
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return unreachable(ctx, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the bot's health_url answered HTTP %d", resp.StatusCode)
	}
	return nil
}

// touch connects to the endpoint, by TLS to a wss:// one, and hangs up again.
func (c *Client) touch(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return errors.New("the endpoint is not an address")
	}
	dial, port := (&net.Dialer{}).DialContext, "80"
	if u.Scheme == "wss" {
		dial, port = (&tls.Dialer{Config: c.cfg.TLS}).DialContext, "443"
	}
	if u.Port() != "" {
		port = u.Port()
	}
	nc, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return unreachable(ctx, err)
	}
	_ = nc.Close()
	return nil
}

// knock makes the upgrade and closes the socket again.
func (c *Client) knock(ctx context.Context, q *engine.AskBot) error {
	ws, tcp, _, err := c.dial(ctx, q.Endpoint, q.AuthToken, q.Headers)
	if err != nil {
		if tcp != nil {
			_ = tcp.Close()
		}
		return err
	}
	now := time.Now()
	_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""),
		now.Add(askLinger))
	_ = tcp.SetReadDeadline(now.Add(askLinger))
	_, _, _ = ws.NextReader() // its close frame, which is optional
	_ = tcp.Close()
	return nil
}

// unreachable says why a bot could not be reached, without its address.
func unreachable(ctx context.Context, err error) error {
	var op *net.OpError
	switch {
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the bot did not answer in time")
	case errors.As(err, &op):
		return fmt.Errorf("the bot is unreachable: %w", op.Err)
	}
	return fmt.Errorf("the bot is unreachable: %w", err)
}

// requestHeader are the headers of a request to a bot, its own among them.
func requestHeader(own []engine.HTTPHeader) http.Header {
	h := http.Header{"User-Agent": {"dialler"}}
	for _, o := range own {
		h.Set(o.Name, o.Value)
	}
	return h
}
