package outgoing

import (
	"context"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestAConfigURLIsFetchedWithinItsLimits(t *testing.T) {
	mux := nethttp.NewServeMux()
	srv := httptest.NewServer(mux)
	defer srv.Close()
	say := func(path string, status int, body string) {
		mux.HandleFunc(path, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		})
	}
	hop := func(from, to string) {
		mux.HandleFunc(
			from,
			func(w nethttp.ResponseWriter, r *nethttp.Request) { nethttp.Redirect(w, r, to, nethttp.StatusFound) },
		)
	}
	say("/good", 200, ` {"concurrency": 3} `)
	say("/gone", 404, `{}`)
	say("/list", 200, `[1]`)
	say("/broken", 200, `{"a":`)
	say("/empty", 200, ``)
	say("/large", 200, `{"a":"`+strings.Repeat("x", campaign.DocumentCap)+`"}`)
	hop("/1", "/2")
	hop("/2", "/3")
	hop("/3", "/good")
	hop("/4", "/1")
	hop("/file", "file:///etc/passwd")
	_, err := NewConfigs(false).FetchConfig(context.Background(), srv.URL+"/good")
	if engine.ErrorCode(err) != "config_url_unreachable" ||
		!strings.Contains(err.Error(), "--config-allow-private") {
		t.Errorf("a server on this machine: %v", err)
	}
	f := NewConfigs(true)
	for path, code := range map[string]string{
		"/good": "", "/1": "", "/4": "config_url_unreachable", "/gone": "config_url_unreachable",
		"/list": "config_url_invalid", "/file": "config_url_unreachable",
		"/broken": "config_url_invalid", "/empty": "config_url_invalid", "/large": "config_url_invalid",
	} {
		d, err := f.FetchConfig(context.Background(), srv.URL+path+"?token=secret")
		switch {
		case code == "" && (err != nil || string(d.Body) != ` {"concurrency": 3} ` || len(d.Hash) != 64 ||
			d.FetchedAt.IsZero() || d.URL == ""):
			t.Errorf("%s: %+v %v", path, d, err)
		case code != "" && engine.ErrorCode(err) != code:
			t.Errorf("%s: %v, want %s", path, err, code)
		case err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), srv.URL)):
			t.Errorf("%s: the error names the address: %v", path, err)
		}
	}
	srv.Close()
	if _, err := f.FetchConfig(context.Background(), srv.URL+"/good"); engine.ErrorCode(err) != "config_url_unreachable" {
		t.Error(err)
	}
	for _, address := range []string{"", "ftp://x/y", "http://", "::"} {
		if _, err := f.FetchConfig(context.Background(), address); engine.ErrorCode(err) != "config_url_unreachable" {
			t.Errorf("%q: %v", address, err)
		}
	}
}
