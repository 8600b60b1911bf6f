package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// client uses the engine's API as an operator.
type client struct {
	base   string
	http   *http.Client
	bearer string
}

// newClient requests uncompressed answers: metrics are read twice a second, and compressing them
// would be a fiftieth of the engine's work.
func newClient(addr string) *client {
	return &client{base: "http://" + addr, http: &http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{DisableCompression: true}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// do sends a request that must succeed; into may be nil.
func (c *client) do(ctx context.Context, method, path string, body, into any) error {
	var rd io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		rd = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, rd)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("load: %s %s: %d %s", method, path, resp.StatusCode, b)
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = b
		return nil
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(b, into)
}

func (c *client) login(ctx context.Context, email, password string) error {
	var t struct {
		Token string `json:"token"`
	}
	err := c.do(ctx, http.MethodPost, "/api/v1/auth/token", map[string]any{"email": email, "password": password}, &t)
	c.bearer = t.Token
	return err
}

// profile saves a profile of Go's pprof.
func (c *client) profile(ctx context.Context, addr, name, query, dir string) error {
	p := &client{base: "http://" + addr, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}
	defer p.close()
	var b []byte
	if err := p.do(ctx, http.MethodGet, "/debug/pprof/"+name+query, nil, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".pprof"), b, 0o600)
}
