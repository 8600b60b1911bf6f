package http

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	nethttp "net/http"
	"path"
	"regexp"
	"strings"

	"dialler/engine"
	"dialler/http/wire"
)

// The console: pages that are built from console/src into console/dist and embedded in the binary.
// Its index.html answers every address below /dashboard; the console chooses the page in the
// browser. None of it is secret: only the API calls of the pages need a log-in.

//go:embed all:console/dist
var consoleDist embed.FS

//go:embed console_missing.html
var consoleMissing []byte

const (
	consoleHome = "/dashboard/campaigns"

	// consolePolicy restricts the pages to this server. Mantine sets styles from scripts, hence
	// 'unsafe-inline' for styles; there are no inline scripts.
	consolePolicy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// console is the built files, read once.
type console struct {
	index  []byte            // nil: not built
	assets map[string]*asset // by name below /assets/
}

// asset is one file with its encodings.
type asset struct {
	contentType string
	cache       string
	raw         variant
	br, gzip    variant // an empty body means there is none
}

type variant struct {
	body []byte
	etag string
}

// hashedName matches the build's file names with a content hash: such a file never changes.
var hashedName = regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)

// contentTypes are the types of a build's files; any other is sent as bytes.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".json": "application/json",
	".txt": "text/plain; charset=utf-8",
}

// readConsole reads a build. Without index.html there is none.
func readConsole(site fs.FS) (*console, error) {
	c := &console{assets: make(map[string]*asset)}
	index, err := fs.ReadFile(site, "index.html")
	if err != nil {
		return c, nil //nolint:nilerr // not built: a page says so
	}
	c.index = index
	names, err := fs.Glob(site, "assets/*")
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		body, err := fs.ReadFile(site, file)
		if err != nil {
			return nil, err
		}
		name := path.Base(file)
		sum := sha256.Sum256(body)
		v := variant{body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
		switch ext := path.Ext(name); ext {
		case ".br":
			c.asset(strings.TrimSuffix(name, ext)).br = v
		case ".gz":
			c.asset(strings.TrimSuffix(name, ext)).gzip = v
		default:
			c.asset(name).raw = v
		}
	}
	return c, nil
}

func (c *console) asset(name string) *asset {
	a := c.assets[name]
	if a == nil {
		a = &asset{contentType: contentTypes[path.Ext(name)], cache: "no-cache"}
		if a.contentType == "" {
			a.contentType = "application/octet-stream"
		}
		if hashedName.MatchString(name) {
			a.cache = "public, max-age=31536000, immutable"
		}
		c.assets[name] = a
	}
	return a
}

// pages are the routes of the console. They are for people and not part of the API, so they are not
// in openapi.yaml.
func (s *Server) pages() []*route {
	var routes []*route
	for _, method := range []string{nethttp.MethodGet, nethttp.MethodHead} {
		page := func(template string, h wire.Handler) {
			routes = append(routes, &route{method: method, path: template, access: wire.Access{Open: true}, handle: h})
		}
		page("/", s.toConsole)
		page("/dashboard", s.consolePage)
		page("/dashboard/{page:*}", s.consolePage)
		page("/assets/{name}", s.consoleAsset)
	}
	return routes
}

// nowhere answers requests without a route. The router's catch-all does not match an empty rest, so
// "/dashboard/" comes here.
func (s *Server) nowhere(r *wire.Request) error {
	if string(r.HTTP.Path()) == "/dashboard/" {
		return s.toConsole(r)
	}
	return engine.NotFound("route_not_found", "")
}

// toConsole redirects the bare address to the first page.
func (s *Server) toConsole(r *wire.Request) error {
	sendFile(r, "text/plain; charset=utf-8", "no-store", nil)
	r.HTTP.Response.SetStatusCode(nethttp.StatusFound)
	r.HTTP.Response.Header.Set("Location", consoleHome)
	return nil
}

func (s *Server) consolePage(r *wire.Request) error {
	if s.console.index == nil {
		sendFile(r, contentTypes[".html"], "no-store", consoleMissing)
		r.HTTP.Response.SetStatusCode(nethttp.StatusNotImplemented)
		return nil
	}
	sendFile(r, contentTypes[".html"], "no-store", s.console.index)
	return nil
}

func (s *Server) consoleAsset(r *wire.Request) error {
	a := s.console.assets[r.Param("name")]
	if a == nil || a.raw.body == nil {
		return s.nowhere(r)
	}
	v, encoding := a.raw, ""
	accepted := r.HTTP.Request.Header.Peek("Accept-Encoding")
	switch {
	case a.br.body != nil && accepts(accepted, "br"):
		v, encoding = a.br, "br"
	case a.gzip.body != nil && accepts(accepted, "gzip"):
		v, encoding = a.gzip, "gzip"
	}
	sendFile(r, a.contentType, a.cache, v.body)
	h := &r.HTTP.Response.Header
	h.Set("ETag", v.etag)
	h.Set("Vary", "Accept-Encoding")
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	if matches(r.HTTP.Request.Header.Peek("If-None-Match"), v.etag) {
		r.HTTP.Response.ResetBody()
		r.HTTP.Response.SetStatusCode(nethttp.StatusNotModified)
	}
	return nil
}

// sendFile answers 200 with a file and the security headers for browsers.
func sendFile(r *wire.Request, contentType, cache string, body []byte) {
	r.Send(nethttp.StatusOK, contentType, body)
	r.HTTP.Response.SkipBody = r.HTTP.IsHead()
	h := &r.HTTP.Response.Header
	h.Set("Cache-Control", cache)
	h.Set("Content-Security-Policy", consolePolicy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers without frame-ancestors
}

// accepts says whether an Accept-Encoding names a coding and does not refuse it
// with q=0 (RFC 9110 §12.5.3).
func accepts(field []byte, coding string) bool {
	for part := range strings.SplitSeq(string(field), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(weight), " ", ""), "q=")
		return !found || strings.Trim(q, "0.") != ""
	}
	return false
}

// matches says whether an If-None-Match has the tag (RFC 9110 §13.1.2, weak
// comparison).
func matches(field []byte, etag string) bool {
	for part := range strings.SplitSeq(string(field), ",") {
		tag := strings.TrimSpace(part)
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}
