package outgoing

import (
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dialler/engine/webhook"
)

// answerPatience bounds the wait for a test server.
const answerPatience = 30 * time.Second

func TestATryToDeliverTakesNoLongerAndReadsNoMoreThanItMay(t *testing.T) {
	mux := nethttp.NewServeMux()
	srv := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does a server notice that its client disconnected
		mux.ServeHTTP(w, r)
	}))
	defer srv.Close()
	followed := false
	mux.HandleFunc("/ok", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Method != nethttp.MethodPost || r.Header.Get(webhook.HeaderID) != "msg_1" ||
			r.Header.Get(webhook.HeaderTimestamp) != "1000" ||
			r.Header.Get(webhook.HeaderSignature) == "" {
			w.WriteHeader(400)
		}
	})
	mux.HandleFunc("/busy", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(429)
	})
	mux.HandleFunc("/moved", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		nethttp.Redirect(w, r, "/followed", nethttp.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/followed", func(nethttp.ResponseWriter, *nethttp.Request) { followed = true })
	mux.HandleFunc("/long", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		for r.Context().Err() == nil { // until it is cancelled
			if _, err := w.Write([]byte(strings.Repeat("x", 64<<10))); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/slow", func(_ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() })
	mux.HandleFunc(
		"/trickle",
		func(w nethttp.ResponseWriter, r *nethttp.Request) { // a status, and a body that never comes
			w.WriteHeader(200)
			w.(nethttp.Flusher).Flush()
			<-r.Context().Done()
		},
	)
	within := func(long time.Duration, url string, check func(webhook.Answer) bool) {
		t.Helper()
		p := NewDeliveries(true, long, time.Now)
		defer p.client.CloseIdleConnections()
		a := p.Deliver(t.Context(), webhook.NewRequest(url, "msg_1", []byte("{}"), time.Unix(1000, 0), []byte("secret")))
		if !check(a) || a.Took <= 0 {
			t.Errorf("%s: %+v", url, a)
		}
	}
	f := func(url string, check func(webhook.Answer) bool) {
		t.Helper()
		within(answerPatience, url, check)
	}
	f(srv.URL+"/ok", func(a webhook.Answer) bool { return a.Status == 200 && a.Body == "" && a.Problem == "" })
	f(srv.URL+"/busy", func(a webhook.Answer) bool { return a.Status == 429 && a.RetryAfter == 90*time.Second })
	f(srv.URL+"/moved", func(a webhook.Answer) bool { return a.Status == 307 })
	f(srv.URL+"/long", func(a webhook.Answer) bool { return a.Status == 200 && len(a.Body) == webhook.ExcerptCap })
	within(
		300*time.Millisecond,
		srv.URL+"/slow",
		func(a webhook.Answer) bool { return a.Status == 0 && a.Problem == "timeout" },
	)
	within(2*time.Second, srv.URL+"/trickle", func(a webhook.Answer) bool { return a.Status == 200 && a.Body == "" })
	f("https://%zz", func(a webhook.Answer) bool { return a.Problem == "url" })
	if followed {
		t.Error("a redirect was followed")
	}
}
