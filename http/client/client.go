package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Client talks to one dialler. Its methods are safe for concurrent use.
type Client struct {
	base    string
	http    *http.Client
	key     string
	token   atomic.Pointer[string]
	retries int
	patient time.Duration
}

// Option configures a client in New.
type Option func(*Client)

// WithAPIKey sends an API key with every request (X-API-Key).
func WithAPIKey(key string) Option { return func(c *Client) { c.key = key } }

// WithToken sends a user's token with every request; see LogIn.
func WithToken(token string) Option { return func(c *Client) { c.token.Store(&token) } }

// WithHTTPClient uses the transport and time-out of another HTTP client: a time-out there also
// bounds whole uploads and reports.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		c.http = &own
	}
}

// WithRetries sets the maximum number of retries of a request, and the maximum wait before one; the
// defaults are 4 and 10 s.
func WithRetries(most int, wait time.Duration) Option {
	return func(c *Client) { c.retries, c.patient = max(0, most), wait }
}

// New makes a client of the dialler at an address such as
// https://dialler.example.
func New(address string, options ...Option) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return nil, errors.New("the address of a dialler is http:// or https://, a host, and no query")
	}
	c := &Client{base: strings.TrimRight(u.String(), "/"), http: &http.Client{}, retries: 4, patient: 10 * time.Second}
	for _, o := range options {
		o(c)
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// LogIn gets a token for a user and sends it with every later request.
func (c *Client) LogIn(ctx context.Context, email, password string) (expires time.Time, err error) {
	var got struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	err = c.do(ctx, request{method: http.MethodPost, path: "/api/v1/auth/token",
		body: map[string]string{"email": email, "password": password}}, &got)
	if err == nil {
		c.token.Store(&got.Token)
	}
	return got.ExpiresAt, err
}

// request is one request with all its tries.
type request struct {
	method string
	path   string
	query  url.Values
	body   any    // sent as JSON, unless nil
	key    string // Idempotency-Key
	etag   string // If-Match
	// harmless means that doing it twice has no further effect.
	harmless bool
}

// again says whether the request may be sent twice.
func (r *request) again() bool { return r.method == http.MethodGet || r.key != "" || r.harmless }

const (
	answerCap = 64 << 20 // bytes of a response that is read as a whole
	firstWait = 200 * time.Millisecond
)

// do sends a request until it has a final answer, and decodes the answer's JSON.
func (c *Client) do(ctx context.Context, r request, into any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		answer, err := c.once(ctx, &r, body)
		if err == nil {
			if into == nil || len(answer) == 0 {
				return nil
			}
			if err := json.Unmarshal(answer, into); err != nil {
				return fmt.Errorf("unexpected answer from the dialler to %s %s: %w", r.method, r.path, err)
			}
			return nil
		}
		wait, ok := c.worth(&r, err, try)
		if !ok || !pause(ctx, wait) {
			return err
		}
	}
}

// worth says whether a request is retried after an error, and when.
func (c *Client) worth(r *request, err error, try int) (time.Duration, bool) {
	if try >= c.retries {
		return 0, false
	}
	wait := firstWait << min(try, 10)
	wait = wait/2 + mathrand.N(wait/2) //nolint:gosec // jitter, no secret
	var e *Error
	switch {
	case !errors.As(err, &e): // no answer
		return min(wait, c.patient), r.again()
	case e.Status == http.StatusTooManyRequests,
		e.Status == http.StatusServiceUnavailable && r.again(),
		e.Code == "idempotency_in_progress": // the first try is still in progress
		wait = max(wait, e.RetryAfter)
		return wait, wait <= c.patient
	}
	return 0, false
}

// pause waits; it returns false if ctx ended.
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

func (c *Client) once(ctx context.Context, r *request, body []byte) ([]byte, error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := c.request(ctx, r, in)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	var answer json.RawMessage
	err = c.read(req, &answer)
	return answer, err
}

func (c *Client) request(ctx context.Context, r *request, body io.Reader) (*http.Request, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/problem+json, text/csv")
	if c.key != "" {
		req.Header.Set("X-API-Key", c.key)
	} else if t := c.token.Load(); t != nil {
		req.Header.Set("Authorization", "Bearer "+*t)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.etag != "" {
		req.Header.Set("If-Match", r.etag)
	}
	return req, nil
}

// keyed returns the caller's Idempotency-Key, or a fresh one.
func keyed(own string) string {
	if own != "" {
		return own
	}
	return rand.Text()
}

// read sends a request once and decodes the answer's JSON.
func (c *Client) read(req *http.Request, into any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerCap+1))
	switch {
	case err != nil:
		return err
	case len(answer) > answerCap:
		return fmt.Errorf("the answer is longer than %d bytes", answerCap)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return refusal(resp, answer, time.Now())
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = answer
		return nil
	}
	return json.Unmarshal(answer, into)
}

// begun sends a request, with retries, until an answer begins, and leaves its body to the caller.
func (c *Client) begun(ctx context.Context, r *request) (*http.Response, error) {
	for try := 0; ; try++ {
		resp, err := c.stream(ctx, r)
		if err == nil {
			return resp, nil
		}
		wait, ok := c.worth(r, err, try)
		if !ok || !pause(ctx, wait) {
			return nil, err
		}
	}
}

// stream sends a request once and leaves the answer to the caller.
func (c *Client) stream(ctx context.Context, r *request) (*http.Response, error) {
	req, err := c.request(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerCap))
	if err != nil {
		return nil, err
	}
	return nil, refusal(resp, answer, time.Now())
}
