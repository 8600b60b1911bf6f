package botlink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

// trusting trusts the bot's certificate.
func trusting(b *bot) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(b.server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestAQuestionOpensNoSessionUnlessItIsToDoSo(t *testing.T) {
	for _, secure := range []bool{false, true} {
		b := newBot(t, secure)
		cfg := Config{}
		if secure {
			cfg.TLS = trusting(b)
		}
		c := client(t, cfg)
		if err := c.Ask(context.Background(), engine.AskBot{Endpoint: b.url(), Probe: engine.ProbeConnection}); err != nil {
			t.Fatal(err)
		}
		q := engine.AskBot{Endpoint: b.url(), Probe: engine.ProbeSession, AuthToken: "token",
			Headers: []engine.HTTPHeader{{Name: "Authorization", Value: "Bearer key"}}}
		if err := c.Ask(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		got := <-b.headers // the first request
		if got.Get("X-Twilio-Signature") != Sign("token", b.url()) || got.Get("Authorization") != "Bearer key" ||
			got.Get("User-Agent") != "dialler" {
			t.Fatalf("asked with %v", got)
		}
		p := b.conn()
		if _, m, err := p.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Fatalf("it heard %q and %v", m, err)
		}
		if s := c.Stats(); s.Asked.Load() != 2 || s.Connected.Load()+s.Failed.Load() != 0 || s.Open.Load() != 0 ||
			len(b.headers) != 0 {
			t.Fatalf("asked %d, connected %d", s.Asked.Load(), s.Connected.Load())
		}
	}
}

func TestTheHealthURLOfABotIsAskedWithItsHeaders(t *testing.T) {
	status := http.StatusNoContent
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Xi-Api-Key") != "key" || r.Header.Get(signatureHeader) != "" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		http.Redirect(w, r, "/secret", status)
	}))
	t.Cleanup(s.Close)
	c := client(t, Config{})
	f := func(answer int, want string) {
		t.Helper()
		status = answer
		err := c.Ask(context.Background(), engine.AskBot{Endpoint: "ws://127.0.0.1:9", HealthURL: s.URL + "/up?secret",
			AuthToken: "token", Headers: []engine.HTTPHeader{{Name: "xi-api-key", Value: "key"}}})
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%d: %q, want %q", answer, got, want)
			}
		} else if want != "" {
			t.Errorf("%d is taken for an answer", answer)
		}
	}
	f(204, "")
	f(302, "the bot's health_url answered HTTP 302")
	f(503, "the bot's health_url answered HTTP 503")
}

func TestAQuestionThatIsNotTakenSaysWhyWithoutTheAddress(t *testing.T) {
	c := client(t, Config{})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	sick, foreign := newBot(t, false), newBot(t, true)
	sick.status = 503
	f := func(q engine.AskBot, want string, limit time.Duration) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := c.Ask(ctx, q); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	session := func(url string) engine.AskBot { return engine.AskBot{Endpoint: url, Probe: engine.ProbeSession} }
	f(session("ws://"+silent.Addr().String()+"/?secret"), "in time", 300*time.Millisecond)
	f(session("ws://"+closed.Addr().String()+"/?secret"), "connection refused", patience)
	f(session(sick.url()+"&secret"), "HTTP 503", patience)
	f(engine.AskBot{Endpoint: "ws://" + closed.Addr().String() + "/?secret"}, "connection refused", patience)
	f(engine.AskBot{Endpoint: "wss://" + silent.Addr().String() + "/?secret"}, "in time", 300*time.Millisecond)
	f(engine.AskBot{Endpoint: foreign.url() + "&secret"}, "certificate", patience)
	f(engine.AskBot{HealthURL: "http://" + closed.Addr().String() + "/?secret"}, "connection refused", patience)
	f(engine.AskBot{HealthURL: "http://" + silent.Addr().String() + "/?secret"}, "in time", 300*time.Millisecond)
}

func TestABotsOwnHeadersAreOnEveryUpgrade(t *testing.T) {
	b := newBot(t, false)
	c, h := client(t, Config{}), listen(t)
	own := []engine.HTTPHeader{{Name: "Authorization", Value: "Bearer key"}, {Name: "User-Agent", Value: "theirs"}}
	check := func(of string) {
		t.Helper()
		if got := <-b.headers; got.Get("Authorization") != "Bearer key" || got.Get("User-Agent") != "theirs" ||
			got.Get(signatureHeader) != Sign("token", b.url()) {
			t.Errorf("%s: %v", of, got)
		}
	}
	r := request(b.url())
	r.Headers = own
	l := c.Connect(r, h)
	check("of a call")
	h.next("connected")
	l.Stop()
	wait(t, l.Done())
	stands := make(chan engine.SocketEvent, 2)
	c.OpenAhead(engine.OpenSocket{Socket: "c/1", Endpoints: []string{b.url()}, AuthToken: "token", Headers: own,
		Timeout: patience, Limit: patience}, func(e engine.SocketEvent) { stands <- e })
	check("ahead of a call")
	if e := <-stands; !e.Stands {
		t.Errorf("%+v", e)
	}
	c.CloseAhead("c/1")
}
