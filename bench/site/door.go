package site

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Door is one address for the API of all nodes, like a load balancer: a request goes to the next
// node that is ready. Bots post results to it, since the node of a call may be gone.
type Door struct {
	Address string // host:port

	nodes  []string
	ready  []atomic.Bool
	next   atomic.Uint64
	server *http.Server
	client *http.Client
	cancel context.CancelFunc
	done   chan struct{}
}

const (
	// doorBody is how much of a request is buffered for a retry, in bytes.
	doorBody = 1 << 20
	// lookEvery is how often nodes are polled for readiness.
	lookEvery = 250 * time.Millisecond
	// doorLimit is how long a node may take to start its answer.
	doorLimit = 15 * time.Second
)

var errNobody = errors.New("site: no node is ready")

// OpenDoor listens in front of nodes, each given as host:port.
func OpenDoor(nodes []string) (*Door, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &Door{Address: l.Addr().String(), nodes: nodes, ready: make([]atomic.Bool, len(nodes)), cancel: cancel,
		done:   make(chan struct{}),
		client: &http.Client{Timeout: time.Second}}
	through := http.DefaultTransport.(*http.Transport).Clone()
	// A kept-alive connection does not show whether the node is up.
	through.ResponseHeaderTimeout, through.DisableKeepAlives = doorLimit, true
	d.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: nodes[0]})
			r.Out.Host = r.In.Host
		},
		Transport:     &turns{d, through},
		FlushInterval: -1, // for the console's streams
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}}
	go func() { _ = d.server.Serve(l) }()
	go d.look(ctx)
	return d, nil
}

// Close ends it.
func (d *Door) Close() error {
	d.cancel()
	<-d.done
	return d.server.Close()
}

func (d *Door) look(ctx context.Context) {
	defer close(d.done)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for i, at := range d.nodes {
			d.ready[i].Store(d.asks(ctx, at))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// asks polls whether a node is ready.
func (d *Door) asks(ctx context.Context, at string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// order is the order in which nodes are tried, the ready ones first: one that is not ready (without
// a trunk, say) may still answer.
func (d *Door) order() (all []int) {
	first, others := d.next.Add(1), []int(nil)
	for i := range d.nodes {
		n := int((first + uint64(i)) % uint64(len(d.nodes))) //nolint:gosec // few
		if d.ready[n].Load() {
			all = append(all, n)
		} else {
			others = append(others, n)
		}
	}
	return append(all, others...)
}

// turns offers a request to one node after another until one accepts it.
type turns struct {
	d       *Door
	through http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *turns) RoundTrip(r *http.Request) (*http.Response, error) {
	rest, last := r.Body, errNobody
	if rest == nil {
		rest = http.NoBody
	}
	kept, err := io.ReadAll(io.LimitReader(rest, doorBody))
	if err != nil {
		return nil, err
	}
	for _, n := range t.d.order() {
		once := r.Clone(r.Context())
		once.URL.Host = t.d.nodes[n]
		once.Body = http.NoBody
		if len(kept) > 0 {
			once.Body = io.NopCloser(io.MultiReader(bytes.NewReader(kept), rest)) // the proxy closes it
		}
		resp, err := t.through.RoundTrip(once)
		var op *net.OpError
		if err == nil || !errors.As(err, &op) || op.Op != "dial" { // it may have been carried out
			return resp, err
		}
		last = err
	}
	return nil, last
}
