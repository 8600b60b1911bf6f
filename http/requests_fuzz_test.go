package http

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/campaigns"
	"dialler/http/download"
	"dialler/http/wire"
)

// direct has the routes handle one raw request without a connection. ok is false if a server would
// not accept it as a request; streamed says that the response would have been written later.
func (b *bench) direct(raw []byte) (a answer, streamed, ok bool) {
	var req fasthttp.Request
	if req.Read(bufio.NewReaderSize(bytes.NewReader(raw), 32<<10)) != nil {
		return a, false, false
	}
	var rc fasthttp.RequestCtx
	rc.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, quiet{})
	b.server.router.Handler(&rc)
	a = answer{t: b.t, status: rc.Response.StatusCode(), header: nethttp.Header{}, body: rc.Response.Body()}
	for k, v := range rc.Response.Header.All() {
		a.header.Add(string(k), string(v))
	}
	if rc.Hijacked() { // its place is released once it has been written
		s := b.server
		s.files.Sheets.Store(0)
		s.files.Archives = wire.NewPlaces(download.ArchiveCap)
		s.calls.Listening.Store(0)
		s.campaigns.Running = campaigns.UnderWay{}
	}
	return a, rc.Hijacked(), true
}

// directly is do for fuzz targets that send a body a thousand times a second.
func (b *bench) directly(method, path, body string, fields ...string) answer {
	b.t.Helper()
	var raw bytes.Buffer
	req, err := nethttp.NewRequest(method, "http://api.test"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", wire.ContentJSON)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	if err := req.Write(&raw); err != nil {
		b.t.Fatal(err)
	}
	a, _, ok := b.direct(raw.Bytes())
	if !ok {
		b.t.Fatalf("not read: %q", raw.Bytes())
	}
	checkContract(b.t, b.server, req, body, a)
	b.ports.forget()
	b.log.forget()
	return a
}

func (l *logbook) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
}

// forget empties everything that grows with each request.
func (p *ports) forget() {
	defer p.lock()()
	fresh := newPorts()
	p.keys = p.keys[:min(len(p.keys), 2)]
	p.bots, p.trunks, p.numbers, p.replies, p.used, p.sessions =
		fresh.bots, fresh.trunks, fresh.numbers, fresh.replies, fresh.used, fresh.sessions
	p.excludes, p.dialouts, p.creates, p.adds, p.clones, p.pages, p.kinds, p.results =
		nil, nil, nil, nil, nil, nil, nil, nil
	p.hungUp, p.digits, p.transfers, p.forced, p.erasures, p.suppressed, p.suppressors, p.imports, p.deleted, p.logins =
		nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// FuzzRequest checks that any path, query and header is carried out or refused according to the
// contract, that no response exceeds what the key (or its absence) allows, and that no number gets
// into the log.
func FuzzRequest(f *testing.F) {
	b := newBench(f, manyStreams)
	elsewhere := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_other"} })
	b.ports.owner = "cmp_1"
	headers := []string{"Authorization", "Cookie", "X-API-Key", "If-Match", "Last-Event-ID", "Idempotency-Key",
		"X-Request-ID", "Range", "Accept", "If-None-Match", "Accept-Encoding", "Content-Type", "X-CSRF-Token", "Origin",
		"X-Other"}
	at := func(name string) uint8 {
		for i, h := range headers {
			if h == name {
				return uint8(i)
			}
		}
		f.Fatal(name)
		return 0
	}
	routes := b.server.routes
	for i, rt := range routes {
		id := "cmp_1"
		switch {
		case strings.Contains(rt.path, "{call_id}"):
			id = string(theCall)
		case strings.Contains(rt.path, "{attempt_id}"):
			id = string(theAttempt)
		case strings.Contains(rt.path, "{number}"):
			id = "%2B4915112345678"
		case strings.Contains(rt.path, "{bot_id}"):
			id = "bot_1"
		case strings.Contains(rt.path, "{key_id}"):
			id = "%00"
		}
		f.Add(uint8(i), id, "", at("Accept"), "text/plain")
	}
	for n, s := range []struct{ query, header, value string }{
		{"reason=%00", "Content-Type", "text/csv;charset=\"utf-8\""}, {"wait=false&filename=a%2Fb.csv", "Content-Type",
			"text/csv"}, {"all=true", "Authorization", "Basic QUM6eA=="},
		{"kinds=start,pause,,", "Cookie", "dialler_session" + "=x; a=\"b"}, {"run=1", "X-Request-ID", "a b"},
		{"number=%2B49&callback=pending", "Range", "bytes=-0"},
		{"last_event_id=a-1", "Last-Event-ID", "x-18446744073709551615"}, {"suppress=T", "If-Match", "W/\"3\""},
		{"force=true", "Range", "bytes=5-3"},
		{"status=running", "Range", "bytes=9223372036854775807-"}, {"a=b&a=c", "Idempotency-Key", `"a\"`},
		{"%zz&=&&", "If-None-Match", "*"}, {"", "Accept-Encoding", "br;q=0"},
	} {
		f.Add(uint8(5*n), "cmp_1", s.query, at(s.header), s.value)
	}
	for i, rt := range routes {
		if strings.HasSuffix(rt.path, "{attempt_id}") && rt.method == "GET" {
			f.Add(uint8(i), string(theAttempt), "", at("Range"), "bytes=-0")
			f.Add(uint8(i), string(theAttempt), "", at("Range"), "bytes=7-9")
		}
	}
	audio := bytes.Repeat([]byte{1, 2}, 50)
	f.Fuzz(func(t *testing.T, which uint8, segment, query string, header uint8, value string) {
		if len(segment)+len(query)+len(value) > 4096 || strings.ContainsAny(segment+query, " \t\r\n#") ||
			strings.Contains(segment, "?") {
			return // another request
		}
		if strings.ContainsAny(value, "\r\n") || strings.Contains(value, b.admin) {
			return
		}
		b.t = t
		rt, name := routes[int(which)%len(routes)], headers[int(header)%len(headers)]
		var path []string
		for part := range strings.SplitSeq(rt.path, "/") {
			if open, end := strings.IndexByte(part, '{'), strings.IndexByte(part, '}'); open >= 0 {
				part = part[:open] + segment + part[end+1:]
			}
			path = append(path, part)
		}
		target := strings.Join(path, "/")
		if query != "" {
			target += "?" + query
		}
		head, body := rt.method+" "+target+" HTTP/1.1\r\nHost: api.test\r\n"+name+": "+value+"\r\n", ""
		if rt.method == "POST" || rt.method == "PUT" || rt.method == "PATCH" {
			if body = "{}"; name != "Content-Type" {
				head += "Content-Type: application/json\r\n"
			}
			head += "Content-Length: 2\r\n"
		}
		id, err := url.PathUnescape(segment)
		plain := err == nil && !strings.ContainsAny(id, "/") && id != "" && id != "." && id != ".."
		elses := strings.Contains(rt.path, "{attempt_id}") || strings.Contains(rt.path, "{call_id}") ||
			strings.Contains(rt.path, "{campaign_id}") && id != "cmp_other"
		for as, credentials := range []string{"", "X-API-Key: " + elsewhere, "X-API-Key: " + b.key,
			"Authorization: Bearer " + b.admin} {
			own, _, _ := strings.Cut(credentials, ":")
			if own == name || own == "Authorization" && name == "Cookie" {
				continue
			}
			if credentials != "" {
				credentials += "\r\n"
			}
			b.ports.audio = audio
			a, streamed, ok := b.direct([]byte(head + credentials + "\r\n" + body))
			if !ok {
				return
			}
			log := b.log.String()
			b.ports.acts, b.ports.triggers = nil, nil
			b.ports.forget()
			b.log.forget()
			if a.status < 200 || a.status >= 500 {
				t.Fatalf("%s %q %s %q: %d %s", rt.method, target, name, value, a.status, a.body)
			}
			for _, h := range a.header {
				if strings.ContainsAny(strings.Join(h, ""), "\r\n") {
					t.Fatalf("%s %q: header %q", rt.method, target, h)
				}
			}
			if strings.Contains(log, "4915112345678") || strings.Contains(log, "bot-secret") || strings.Contains(log, b.key) {
				t.Fatalf("%s %q: the log says %q", rt.method, target, log)
			}
			if a.status < 300 && as == 0 && !rt.access.Open {
				t.Fatalf("%s %q is open: %d %s", rt.method, target, a.status, a.body)
			}
			if a.status < 300 && as == 1 && plain && elses {
				t.Fatalf("%s %q is open to a key of other campaigns: %d %s", rt.method, target, a.status, a.body)
			}
			if where := a.header.Get("Content-Range"); a.status == 206 {
				var first, last, size int
				if n, err := fmt.Sscanf(where, "bytes %d-%d/%d", &first, &last, &size); n != 3 || err != nil || first > last ||
					last >= size || size != len(audio) {
					t.Fatalf("%s %q %s %q: Content-Range %q", rt.method, target, name, value, where)
				}
			}
			if streamed || !plain && strings.Contains(rt.path, "{") || rt.path == "/metrics" {
				continue
			}
			if req, err := nethttp.NewRequest(rt.method, "http://api.test"+target, strings.NewReader(body)); err == nil {
				checkContract(t, b.server, req, body, a)
			}
		}
	})
}

// manyStreams allows any number of streams, because those without a connection never release their
// places.
func manyStreams(c *Config) { c.StreamCap, c.StreamCapEach = 1<<30, 1<<30 }
