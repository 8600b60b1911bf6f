package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// api speaks to the dialler as a console or a CRM does.
type api struct {
	base   string
	client *http.Client
	bearer string
	key    string
}

func newAPI(addr string) *api {
	return &api{base: "http://" + addr, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: excluders}}}
}

func (a *api) close() { a.client.CloseIdleConnections() }

// reply is an answer; status 0 when none came.
type reply struct {
	status   int
	body     []byte
	replayed bool
}

// code is the stable word of a problem answer.
func (r *reply) code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(r.body, &p)
	return p.Code
}

// send is one request. With a token it carries that Idempotency-Key and is
// made with the API key, else it is made as the administrator.
func (a *api) send(ctx context.Context, method, path, token string, body any) (reply, error) {
	var rd io.Reader = http.NoBody
	kind := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return reply{}, err
		}
		rd, kind = bytes.NewReader(b), "application/json"
	}
	return a.do(ctx, method, path, token, kind, rd)
}

// file sends a CSV file as the administrator.
func (a *api) file(ctx context.Context, path, text string) (reply, error) {
	long := *a // a file takes its time on a busy machine
	long.client = &http.Client{Timeout: 2 * time.Minute, Transport: a.client.Transport}
	return long.do(ctx, http.MethodPost, path, "", "text/csv", strings.NewReader(text))
}

func (a *api) do(ctx context.Context, method, path, token, kind string, body io.Reader) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, body)
	if err != nil {
		return reply{}, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	switch {
	case token != "":
		req.Header.Set("X-API-Key", a.key)
		req.Header.Set("Idempotency-Key", token)
	case a.bearer != "":
		req.Header.Set("Authorization", "Bearer "+a.bearer)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return reply{}, err
	}
	return reply{resp.StatusCode, b, resp.Header.Get("Idempotent-Replayed") == "true"}, nil
}

// decode reads a JSON answer.
func decode(body []byte, into any) error { return json.Unmarshal(body, into) }

// must is a request that is refused only by a fault.
func (a *api) must(ctx context.Context, method, path string, body, into any) error {
	r, err := a.send(ctx, method, path, "", body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if r.status/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, r.status, r.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(r.body, into)
}

// login takes a token; it holds over restarts of the dialler.
func (a *api) login(ctx context.Context, email, password string) error {
	var t struct {
		Token string `json:"token"`
	}
	err := a.must(ctx, http.MethodPost, "/api/v1/auth/token", map[string]any{"email": email, "password": password}, &t)
	a.bearer = t.Token
	return err
}

// figures reads /metrics; of a metric with labels the sum.
func (a *api) figures(ctx context.Context) (map[string]float64, error) {
	r, err := a.send(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	if r.status != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %d", r.status)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(r.body)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			continue
		}
		name, _, _ := strings.Cut(line[:i], "{")
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("/metrics: %w", err)
		}
		out[name] += v
	}
	return out, nil
}
