package site

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newNode is a ready node that answers with its name and the request it received.
func newNode(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, name+" "+string(b))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestTheDoorLeadsToWhoeverIsThere(t *testing.T) {
	t.Parallel()
	a, b := newNode(t, "a"), newNode(t, "b")
	d, err := OpenDoor([]string{strings.TrimPrefix(a.URL, "http://"), strings.TrimPrefix(b.URL, "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	ask := func(method, body string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var sent io.Reader = http.NoBody
		if body != "" {
			sent = bytes.NewReader([]byte(body))
		}
		req, err := http.NewRequestWithContext(ctx, method, "http://"+d.Address+"/x", sent)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", resp.StatusCode, text, err)
		}
		return string(text)
	}
	seen := map[string]bool{}
	for end := time.Now().Add(30 * time.Second); !seen["a "] || !seen["b "]; { // in turns, once both are known to be ready
		if time.Now().After(end) {
			t.Fatalf("asked were %v", seen)
		}
		seen[ask("GET", "")] = true
	}
	a.Close()
	for range 4 {
		if got := ask("POST", "something"); got != "b something" {
			t.Errorf("%q answers", got)
		}
	}
}
