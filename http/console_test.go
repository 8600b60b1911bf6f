package http

import (
	"bytes"
	"compress/gzip"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"testing/fstest"
)

// consoleBench is a server with a console of a few files; its client follows no redirects and does
// not decode responses.
func consoleBench(t *testing.T, files fstest.MapFS) *bench {
	t.Helper()
	b := newBench(t)
	c, err := readConsole(files)
	if err != nil {
		t.Fatal(err)
	}
	b.server.console = c
	b.client.CheckRedirect = func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }
	return b
}

const (
	consoleScript = "console.log('dialler')"
	consoleStyle  = "body { margin: 0 }"
	scriptName    = "index-Ab_3-x9Z.js"
)

func someConsole(t *testing.T) fstest.MapFS {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, consoleScript); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"index.html":                   {Data: []byte("<!doctype html><title>Dialler</title>")},
		"assets/" + scriptName:         {Data: []byte(consoleScript)},
		"assets/" + scriptName + ".gz": {Data: zipped.Bytes()},
		"assets/" + scriptName + ".br": {Data: []byte("brotli")},
		"assets/style.css":             {Data: []byte(consoleStyle)},
	}
}

// page requests a file of the console; fields are pairs of a header's name and value.
func (b *bench) page(method, path string, fields ...string) answer {
	b.t.Helper()
	req, err := nethttp.NewRequest(method, "http://api.test"+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // otherwise the client adds its own
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{t: b.t, status: resp.StatusCode, header: resp.Header, body: body}
}

func (a answer) has(name, want string) answer {
	a.t.Helper()
	if got := a.header.Get(name); got != want {
		a.t.Errorf("%s: %q, want %q", name, got, want)
	}
	return a
}

func TestTheBareAddressLeadsToTheCampaigns(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	for _, path := range []string{"/", "/dashboard/"} {
		b.page("GET", path).is(302, "").has("Location", "/dashboard/campaigns").has("Cache-Control", "no-store")
	}
}

func TestEveryAddressBelowDashboardIsThePage(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	for _, path := range []string{"/dashboard", "/dashboard/campaigns", "/dashboard/campaigns/cmp_1",
		"/dashboard/a/b.js"} {
		a := b.page("GET", path).is(200, "").has("Content-Type", "text/html; charset=utf-8").has("Cache-Control", "no-store").
			has("X-Content-Type-Options", "nosniff").has("Referrer-Policy", "same-origin").has("X-Frame-Options", "DENY")
		if !strings.Contains(string(a.body), "<title>Dialler</title>") {
			t.Errorf("%s: %s", path, a.body)
		}
		policy := a.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "script-src 'self';", "frame-ancestors 'none'",
			"img-src 'self' data:", "object-src 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q does not say %s", path, policy, want)
			}
		}
		if a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no X-Request-ID", path)
		}
		head := b.page("HEAD", path).is(200, "").has("Content-Type", "text/html; charset=utf-8")
		if len(head.body) > 0 || head.header.Get("Content-Length") != a.header.Get("Content-Length") {
			t.Errorf("HEAD %s: %d bytes, Content-Length %s", path, len(head.body), head.header.Get("Content-Length"))
		}
	}
}

func TestAssetsAreKeptForeverWhenTheirNameNamesTheirContent(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	a := b.page("GET", "/assets/"+scriptName).is(200, "").has("Content-Type", "text/javascript; charset=utf-8").
		has("Cache-Control", "public, max-age=31536000, immutable").has("Vary", "Accept-Encoding").has("Content-Encoding", "")
	if string(a.body) != consoleScript {
		t.Errorf("%s", a.body)
	}
	b.page("GET", "/assets/style.css").is(200, "").has("Content-Type", "text/css; charset=utf-8").has("Cache-Control",
		"no-cache")
	b.page("HEAD", "/assets/style.css").is(200, "")
}

func TestAssetsGoOutAsTheBuildCompressedThem(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	f := func(accept, encoding string) {
		t.Helper()
		b.page("GET", "/assets/"+scriptName, "Accept-Encoding", accept).is(200, "").has("Content-Encoding", encoding).
			has("Content-Type", "text/javascript; charset=utf-8")
	}
	f("gzip, deflate, br", "br")
	f("GZIP", "gzip")
	f("br;q=0, gzip;q=0.5", "gzip")
	f("br;q=0.0,gzip;q=0", "")
	f("brotli", "")
	f("", "")
	a := b.page("GET", "/assets/"+scriptName, "Accept-Encoding", "gzip")
	r, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(r); err != nil || string(body) != consoleScript {
		t.Errorf("%q, %v", body, err)
	}
	// Without a compressed form it is sent as it is.
	b.page("GET", "/assets/style.css", "Accept-Encoding", "br, gzip").is(200, "").has("Content-Encoding", "")
}

func TestAnAssetThatABrowserHasIsNotSentAgain(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	plain := b.page("GET", "/assets/"+scriptName).header.Get("ETag")
	zipped := b.page("GET", "/assets/"+scriptName, "Accept-Encoding", "gzip").header.Get("ETag")
	if plain == "" || plain == zipped {
		t.Fatalf("tags %q and %q must differ: the bytes do", plain, zipped)
	}
	for _, field := range []string{plain, "W/" + plain, `"other", ` + plain, "*"} {
		if a := b.page("GET", "/assets/"+scriptName, "If-None-Match", field).is(304, "").has("ETag", plain); len(a.body) > 0 {
			t.Errorf("304 with a body of %d bytes", len(a.body))
		}
	}
	b.page("GET", "/assets/"+scriptName, "If-None-Match", zipped).is(200, "")
}

func TestWhatTheConsoleDoesNotHaveIsAProblem(t *testing.T) {
	b := consoleBench(t, someConsole(t))
	for _, path := range []string{"/assets/", "/assets/none.js", "/assets/../index.html", "/assets/%2e%2e/index.html",
		"/assets/a/b", "/index.html", "/dashboards"} {
		b.page("GET", path).is(404, "route_not_found")
	}
	b.page("POST", "/dashboard/campaigns").is(405, "method_not_allowed").has("Allow", "GET, HEAD")
}

func TestABinaryWithoutTheConsoleSaysSo(t *testing.T) {
	b := consoleBench(t, fstest.MapFS{".gitignore": {}})
	b.page("GET", "/").is(302, "")
	a := b.page("GET", "/dashboard/campaigns").is(501, "").has("Content-Type",
		"text/html; charset=utf-8").has("Cache-Control", "no-store")
	if !strings.Contains(string(a.body), "make build") {
		t.Errorf("it does not say what to do: %s", a.body)
	}
}
