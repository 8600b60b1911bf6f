package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// API is a client of the dialler, like a console or a CRM; it addresses the nodes of a cluster in
// turn.
type API struct {
	Bearer string // for requests without an Idempotency-Key
	Key    string // API key for those with one

	at     []string // host:port
	next   *atomic.Uint64
	client *http.Client
}

// NewAPI returns a client of a dialler at its addresses, host:port. It keeps that many connections
// to each.
func NewAPI(connections int, at ...string) *API {
	return &API{at: at, next: new(atomic.Uint64), client: &http.Client{Timeout: 12 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: connections}}}
}

// Close closes the idle connections.
func (a *API) Close() { a.client.CloseIdleConnections() }

// Reply is an answer; Status is 0 if there was none.
type Reply struct {
	Status   int
	Body     []byte
	Replayed bool // a stored answer to the same Idempotency-Key
}

// Code is the stable code of a problem answer.
func (r *Reply) Code() string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(r.Body, &p)
	return p.Code
}

// Send sends one request. With a token it has that Idempotency-Key and uses the API key, otherwise
// it is sent as the administrator.
func (a *API) Send(ctx context.Context, method, path, token string, body any) (Reply, error) {
	var rd io.Reader = http.NoBody
	kind := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return Reply{}, err
		}
		rd, kind = bytes.NewReader(b), "application/json"
	}
	return a.do(ctx, method, path, token, kind, rd)
}

// File sends a CSV file as the administrator.
func (a *API) File(ctx context.Context, path, text string) (Reply, error) {
	long := *a // a file takes its time on a busy machine
	long.client = &http.Client{Timeout: 2 * time.Minute, Transport: a.client.Transport}
	return long.do(ctx, http.MethodPost, path, "", "text/csv", strings.NewReader(text))
}

func (a *API) do(ctx context.Context, method, path, token, kind string, body io.Reader) (Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.at[a.next.Add(1)%uint64(len(a.at))]+path, body)
	if err != nil {
		return Reply{}, err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	switch {
	case token != "":
		req.Header.Set("X-API-Key", a.Key)
		req.Header.Set("Idempotency-Key", token)
	case a.Bearer != "":
		req.Header.Set("Authorization", "Bearer "+a.Bearer)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return Reply{}, err
	}
	return Reply{resp.StatusCode, b, resp.Header.Get("Idempotent-Replayed") == "true"}, nil
}

// Must sends a request that only a fault can make fail.
func (a *API) Must(ctx context.Context, method, path string, body, into any) error {
	r, err := a.Send(ctx, method, path, "", body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if r.Status/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, r.Status, r.Body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(r.Body, into)
}

// Login gets a token; it stays valid over restarts of the dialler.
func (a *API) Login(ctx context.Context, email, password string) error {
	var t struct {
		Token string `json:"token"`
	}
	err := a.Must(ctx, http.MethodPost, "/api/v1/auth/token", map[string]any{"email": email, "password": password}, &t)
	a.Bearer = t.Token
	return err
}

// Figures reads /metrics; for a metric with labels it returns the sum.
func (a *API) Figures(ctx context.Context) (map[string]float64, error) {
	r, err := a.Send(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	if r.Status != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %d", r.Status)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(r.Body)) {
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
