package http

import (
	"bufio"
	"context"
	"fmt"
	"net"
	nethttp "net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp/fasthttputil"
	"go.uber.org/goleak"

	"dialler/engine/campaign"
	"dialler/http/wire"
)

func TestUnknownRoutesAndMethods(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/index.html", "/api", "/api/v1/", "/api/v1/campaigns/trigger/", "/API/v1/campaigns",
		"/api/v2/campaigns", "/api//v1/campaigns", "/healthz/"} {
		b.do("GET", path, "").is(404, "route_not_found")
	}
	f := func(method, path, allow string) {
		t.Helper()
		a := b.do(method, path, "").is(405, "method_not_allowed")
		if got := a.header.Get("Allow"); got != allow {
			t.Errorf("%s %s: Allow %q, want %q", method, path, got, allow)
		}
	}
	f("GET", "/api/v1/contacts/exclude", "POST")
	f("PUT", "/api/v1/campaigns", "GET, POST")
	f("OPTIONS", "/api/v1/campaigns/cmp_1", "DELETE, GET, PATCH")
	f("POST", "/healthz", "GET")
	f("PATCH", "/api/v1/sip/dialout", "POST")
}

func TestRequestIDsComeBack(t *testing.T) {
	b := newBench(t)
	f := func(given string, kept bool) {
		t.Helper()
		a := b.do("GET", "/healthz", "", "X-Request-ID", given)
		got := a.header.Get("X-Request-ID")
		if kept != (got == given) || got == "" {
			t.Errorf("%q became %q", given, got)
		}
	}
	f("550e8400-e29b-41d4-a716-446655440000", true)
	f("a/b:c.d_e", true)
	f(strings.Repeat("x", 128), true)
	f(strings.Repeat("x", 129), false)
	f("a b", false)
	f(`"><script>`, false)
	one, two := b.do("GET", "/healthz", "").header.Get("X-Request-ID"), b.do("GET", "/healthz",
		"").header.Get("X-Request-ID")
	if one == two || !regexp.MustCompile(`^[0-9a-f]{20}$`).MatchString(one) {
		t.Errorf("%q, %q", one, two)
	}
	if p := b.do("GET", "/x", "", "X-Request-ID", "abc").is(404, "route_not_found").problem(); p.RequestID != "abc" ||
		p.Status != 404 || p.Instance != "/x" {
		t.Errorf("problem %+v", p)
	}
}

func TestAnswersAreNotCachedOrSniffed(t *testing.T) {
	b := newBench(t)
	h := b.byKey("POST", triggerPath, triggerBody("")).header
	if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Server") != "" {
		t.Errorf("headers %v", h)
	}
}

// raw sends bytes and returns the status of the response.
func raw(t *testing.T, b *bench, bytes string) *nethttp.Response {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = b.server.Serve(ln) }() // ends with the bench
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.Write([]byte(bytes)) }()
	resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

func TestWhatIsNotHTTPIsAnsweredWithAProblem(t *testing.T) {
	f := func(b *bench, bytes string, status int) {
		t.Helper()
		resp := raw(t, b, bytes)
		if resp.StatusCode != status || resp.Header.Get("Content-Type") != wire.ContentProblem {
			t.Errorf("%.40q: %d %v", bytes, resp.StatusCode, resp.Header)
		}
	}
	b := newBench(t)
	f(b, "rubbish\r\n\r\n", 400)
	f(b, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("y", 20<<10)+"\r\n\r\n", 431)
	f(b, "POST "+triggerPath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n{", 413)
	// A client that never finishes is told so and its connection ends.
	b = newBench(t, func(c *Config) { c.ReadTimeout = 50 * time.Millisecond })
	f(b, "POST "+triggerPath+" HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{", 408)
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	b := newBench(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	b.ports.onTrigger = func(ctx context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
		close(entered)
		<-leave
		return campaign.TriggerReply{Status: "queued", ContactID: "c", CampaignID: c.Campaign}, ctx.Err()
	}
	answered := make(chan answer, 1)
	go func() { answered <- b.byKey("POST", triggerPath, triggerBody("")) }()
	<-entered
	down := make(chan error, 1)
	go func() { down <- b.server.Shutdown(context.Background()) }()
	close(leave)
	(<-answered).is(200, "")
	if err := <-down; err != nil {
		t.Error(err)
	}
	if len(b.ports.used) != 1 {
		t.Error("the last use of the key was not written down")
	}
	// Serve returns at once after that.
	if err := b.server.Serve(fasthttputil.NewInmemoryListener()); err != nil {
		t.Error(err)
	}
}

func TestARealListener(t *testing.T) {
	defer endsAll(t, goleak.IgnoreCurrent())
	p := newPorts()
	s, err := New(Config{JWTSecret: secret, Registry: prometheus.NewRegistry()}, Deps{
		Campaigns: p, Calls: p, Keys: p, Users: p, Sessions: p, Replies: p, Bots: p, Trunks: p, Numbers: p, Health: p})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	client := &nethttp.Client{Transport: &nethttp.Transport{}}
	resp, err := client.Get(fmt.Sprintf("http://%s/healthz", ln.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	// A body over the limit: the client reads the response, and the connection is not reset.
	resp, err = client.Post(fmt.Sprintf("http://%s%s", ln.Addr(), triggerPath), "application/json",
		strings.NewReader(strings.Repeat(" ", 3<<20)))
	if err != nil || resp.StatusCode != 413 {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
	client.CloseIdleConnections()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
