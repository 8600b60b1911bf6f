package http

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/wire"
)

// served gives the address of the bench on a real socket.
func (b *bench) served() string {
	b.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	go func() { _ = b.server.Serve(ln) }() // ends with the bench
	return ln.Addr().String()
}

// connectTLS opens a connection to the bench behind TLS.
func (b *bench) connectTLS() net.Conn {
	b.t.Helper()
	lender := httptest.NewTLSServer(nil) // of a certificate
	lender.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	go func() { _ = b.server.Serve(tls.NewListener(ln, lender.TLS)) }() // ends with the bench
	c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

// overTCP connects the client through a real socket: one in memory does not notice a deadline
// during a read.
func (b *bench) overTCP() {
	addr := b.served()
	transport := &nethttp.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}}
	b.client.Transport = transport
	b.t.Cleanup(transport.CloseIdleConnections)
}

// connect opens a connection that is closed at the end of the test.
func (b *bench) connect() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.served())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// head returns the header of an upload; fields are whole header lines.
func (b *bench) head(path string, fields ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b.admin + "\r\nContent-Type: text/csv\r\n" +
		strings.Join(append(fields, "", ""), "\r\n")
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// response reads one response; last says that the server ends the connection.
func response(t testing.TB, r *bufio.Reader) (status int, p wire.Problem, last bool) {
	t.Helper()
	resp, err := nethttp.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{t: t, status: resp.StatusCode, header: resp.Header, body: body}
	if resp.StatusCode >= 400 {
		p = a.problem()
	}
	return resp.StatusCode, p, resp.Close
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	b := newBench(t)
	post := func(path string, fields ...string) answer {
		t.Helper()
		return b.byAdmin("POST", path, csvFile, fields...)
	}
	const csv = "text/csv"
	b.do("POST", importsPath, csvFile, "Content-Type", csv).is(401, "unauthorized")
	b.do("POST", importsPath, csvFile, "Content-Type", csv, "X-API-Key", b.key).is(403, "scope_missing")
	b.do("POST", importsPath, csvFile, "Content-Type", csv, "Authorization", "Bearer "+b.token("usr_view")).is(403,
		"role_too_low")
	post("/api/v1/campaigns/no%20name/imports", "Content-Type", csv).is(404, "campaign_not_found")
	post(importsPath, "Content-Type", "application/json").is(415, "unsupported_media_type")
	post(importsPath, "Content-Type", "text/csv; charset=utf-16").is(415, "unsupported_media_type")
	post(importsPath, "Content-Type", csv, "Content-Encoding", "gzip").is(415, "unsupported_media_type")
	post(importsPath+"?wait=maybe", "Content-Type", csv).is(422, "validation_failed", "wait unknown_value")
	post(importsPath+"?name=x", "Content-Type", csv).is(422, "validation_failed", "name unknown_field")
	post(importsPath+"?filename=a%00b", "Content-Type", csv).is(422, "validation_failed", "filename invalid_format")
	post(importsPath+"?filename="+strings.Repeat("x", 256), "Content-Type", csv).is(422, "validation_failed",
		"filename too_long")
	post(importsPath+"?dry_run=1", "Content-Type", csv).is(422, "validation_failed", "dry_run unknown_value")
	for _, mapping := range []string{"", "x", "[]", `{"a":1}`, `{"":"b"}`, `{"a":"b","a":"c"}`, `{"a":"\u0000"}`,
		`{"a":"` + strings.Repeat("x", 65) + `"}`,
		`{"` + strings.Repeat("x", 257) + `":"b"}`, "{" + strings.TrimSuffix(strings.Repeat(`"a":"",`, 129), ",") + "}"} {
		post(importsPath+"?mapping="+url.QueryEscape(mapping), "Content-Type", csv).is(422, "validation_failed", "mapping")
	}
	post(importsPath, "Content-Type", csv, "Idempotency-Key", "\"x").is(422, "idempotency_key_invalid")
	b.ports.fail = engine.Conflict("contacts_locked", "no")
	post(importsPath, "Content-Type", csv).is(409, "contacts_locked")
	b.ports.fail = engine.Unavailable("imports_busy", "later", time.Second)
	if a := post(importsPath, "Content-Type", csv).is(503, "imports_busy"); a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	b.ports.fail = errBoom
	post(importsPath, "Content-Type", csv).is(500, "internal")
	if len(b.ports.imports) != 0 {
		t.Errorf("%d files came through", len(b.ports.imports))
	}
	b.ports.fail = nil
	// An empty body contains no file.
	b.byAdmin("POST", importsPath, "", "Content-Type", csv).is(201, "")
	if b.ports.imports[0].text != "" || b.ports.imports[0].err != nil {
		t.Errorf("%+v", b.ports.imports[0])
	}
}

// A client in the middle of a large file can read the refusal, and the rest of what it sends is not
// taken for a request.
func TestARefusedUploadIsAnsweredAndItsRestIsNoRequest(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ImportBodyCap = 8 << 20 })
	trap := "POST " + triggerPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b.key +
		"\r\nContent-Type: application/json\r\nContent-Length: " +
		fmt.Sprint(len(triggerBody(""))) + "\r\n\r\n" + triggerBody("")
	f := func(name, head, body string, status int, code string) {
		t.Helper()
		c := b.connect()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(c, head+body) // until the server has read enough
		}()
		r := bufio.NewReader(c)
		got, p, last := response(t, r)
		if got != status || p.Code != code || !last {
			t.Errorf("%s: %d %+v, last %v", name, got, p, last)
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %q behind the answer, %v", name, rest, err)
		}
		_ = c.Close()
		<-sent
	}
	large := strings.Repeat(trap, 20_000) // some 5 MiB
	size := fmt.Sprintf("Content-Length: %d", len(large))
	f("nobody", strings.Replace(b.head(importsPath, size), b.admin, "x", 1), large, 401, "unauthorized")
	f("wrong type", strings.Replace(b.head(importsPath, size), "text/csv", "text/html", 1), large, 415,
		"unsupported_media_type")
	f("too large, and says so", b.head(importsPath, "Content-Length: 9000000"), large, 413, "body_too_large")
	f("too large, in chunks", b.head(importsPath, "Transfer-Encoding: chunked"), strings.Repeat(chunk(large[:1<<20]), 10),
		413, "body_too_large")
	f("chunks that are none", b.head(importsPath, "Transfer-Encoding: chunked"), chunk("phone_number\n")+"what?\r\n"+trap,
		400, "upload_broken")
	b.ports.fail = engine.Conflict("contacts_locked", "no")
	f("refused without a look", b.head(importsPath, size), large, 409, "contacts_locked")
	b.ports.onImport = func(_ context.Context, _ campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
		_, err := io.ReadFull(file, make([]byte, 100))
		return campaign.Import{}, errors.Join(err, engine.Invalid("missing_column", "no"))
	}
	f("refused behind the first line", b.head(importsPath, size), large, 422, "missing_column")
	b.ports.onImport = func(context.Context, campaign.ImportContacts, io.Reader) (campaign.Import, error) {
		panic("a fault")
	}
	f("a fault", b.head(importsPath, size), large, 500, "internal")
	if n := len(b.ports.triggers); n > 0 {
		t.Errorf("%d requests were read out of a file", n)
	}
}

func TestAConnectionServesOnBehindAWholeFile(t *testing.T) {
	b := newBench(t)
	c := b.connect()
	r := bufio.NewReader(c)
	for _, body := range []string{
		b.head(importsPath, fmt.Sprintf("Content-Length: %d", len(csvFile))) + csvFile,
		b.head(importsPath, "Transfer-Encoding: chunked") + chunk(csvFile[:10]) + chunk(csvFile[10:]) + "0\r\n\r\n",
		b.head(importsPath, "Content-Length: 0"),
		b.head(importsPath, fmt.Sprintf("Content-Length: %d", len(csvFile)), "Expect: 100-continue") + csvFile,
	} {
		if _, err := io.WriteString(c, body+"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, "100-continue") {
			if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, "100") {
				t.Fatalf("%q %v", line, err)
			}
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{201, 200} {
			if status, p, _ := response(t, r); status != want {
				t.Fatalf("%d %+v, want %d", status, p, want)
			}
		}
	}
	for i, f := range b.ports.imports {
		if want := csvFile; i != 2 && (f.text != want || f.err != nil) {
			t.Errorf("file %d: %+v", i, f)
		}
	}
}

// However the connection ends, a truncated file is not taken for a complete one.
func TestAFileThatIsCutOffIsNotTakenForAWholeOne(t *testing.T) {
	for name, f := range map[string]struct{ field, body string }{
		"a known length":           {"Content-Length: 1000", csvFile},
		"no more than the headers": {"Content-Length: 1000", "p"},
		"between two chunks":       {"Transfer-Encoding: chunked", chunk(csvFile)},
		"in a chunk":               {"Transfer-Encoding: chunked", chunk(csvFile) + "10\r\n+49"},
		"before the first chunk":   {"Transfer-Encoding: chunked", ""},
	} {
		for _, half := range []bool{true, false} {
			b := newBench(t)
			came := make(chan error, 1)
			b.ports.onImport = func(_ context.Context, c campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
				_, err := io.ReadAll(file)
				came <- err
				return anImport(c), err
			}
			c := b.connect()
			if _, err := io.WriteString(c, b.head(importsPath, f.field)+f.body); err != nil {
				t.Fatal(err)
			}
			if half { // the client waits for an answer
				if err := c.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				if status, p, _ := response(t, bufio.NewReader(c)); status != 400 || p.Code != "upload_broken" {
					t.Errorf("%s: %d %+v", name, status, p)
				}
			} else if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-came; engine.ErrorCode(err) != "upload_broken" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestASlowUploadIsEndedAndASteadyOneIsNot(t *testing.T) {
	const timeout = 2 * time.Second // how long a client may pause
	limits := func(c *Config) { c.ReadTimeout, c.UploadRate = timeout, 10_000 }
	type end struct {
		name, code string
		status     int
		took       time.Duration
	}
	ends := make(chan end)
	upload := func(name string, b *bench, pieces int, size int, pause time.Duration) {
		t.Helper()
		c := b.connect()
		began := time.Now()
		go func() {
			if _, err := io.WriteString(c, b.head(importsPath, "Transfer-Encoding: chunked")); err != nil {
				return
			}
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for range pieces {
				<-tick.C
				if _, err := io.WriteString(c, chunk(strings.Repeat("x", size))); err != nil {
					return
				}
			}
			_, _ = io.WriteString(c, "0\r\n\r\n")
		}()
		go func() {
			var out struct{ Code string }
			e := end{name: name}
			if resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil); err == nil {
				_ = json.NewDecoder(resp.Body).Decode(&out)
				_ = resp.Body.Close()
				e.status, e.code = resp.StatusCode, out.Code
			}
			e.took = time.Since(began)
			ends <- e
		}()
	}
	b, slow := newBench(t, limits), newBench(t, limits)
	// The reader's own time does not count against the client.
	slow.ports.onImport = func(_ context.Context, c campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
		var one [1]byte
		if _, err := file.Read(one[:]); err != nil {
			return campaign.Import{}, err
		}
		busy := time.NewTimer(timeout + timeout/4)
		<-busy.C
		_, err := io.ReadAll(file)
		return anImport(c), err
	}
	upload("a steady upload", b, 60, 2000,
		50*time.Millisecond) // for longer than one look may take, faster than it must be
	upload("a trickle", b, 1000, 10, 50*time.Millisecond)
	upload("a pause", b, 2, 50_000, 10*time.Second)
	upload("a slow reader", slow, 10, 2000, 10*time.Millisecond)
	for range 4 {
		switch e := <-ends; e.name {
		case "a steady upload", "a slow reader":
			if e.status != 201 || e.took < timeout {
				t.Errorf("%s: %d %s after %v", e.name, e.status, e.code, e.took)
			}
		default:
			if e.status != 408 || e.code != "request_timeout" {
				t.Errorf("%s: %d %s after %v", e.name, e.status, e.code, e.took)
			}
		}
	}
}

func TestShutdownEndsAnUpload(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ReadTimeout = time.Hour }) // which it does not wait for
	reading, came := make(chan struct{}), make(chan error, 1)
	b.ports.onImport = func(ctx context.Context, _ campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
		close(reading)
		_, err := io.ReadAll(file)
		if ctx.Err() == nil {
			t.Error("the context goes on")
		}
		came <- err
		return campaign.Import{}, err
	}
	c := b.connect()
	if _, err := io.WriteString(c, b.head(importsPath, "Content-Length: 1000")+csvFile); err != nil {
		t.Fatal(err)
	}
	<-reading
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := b.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-came; engine.ErrorCode(err) != "closing" {
		t.Error(err)
	}
	if status, p, _ := response(t, bufio.NewReader(c)); status != 503 || p.Code != "closing" {
		t.Errorf("%d %+v", status, p)
	}
}

// The other routes read their bodies as before, with either transfer encoding.
func TestBodiesInChunksAreReadWholeOrNotAtAll(t *testing.T) {
	b := newBench(t)
	headOf := func(b *bench) string {
		return "POST " + triggerPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b.key +
			"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	}
	head, body := headOf(b), triggerBody("")
	c := b.connect()
	r := bufio.NewReader(c)
	for range 2 { // twice on one connection
		if _, err := io.WriteString(c, head+chunk(body[:5])+chunk(body[5:])+"0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if status, p, _ := response(t, r); status != 200 {
			t.Fatalf("%d %+v", status, p)
		}
	}
	done := len(b.ports.triggers)
	for name, rest := range map[string]struct {
		body   string
		status int
	}{
		"cut between two chunks": {chunk(body), 400},
		"cut in a chunk":         {chunk(body) + "5\r\n ", 400},
		"too long":               {chunk(body) + strings.Repeat(chunk(strings.Repeat(" ", 1<<18)), 5) + "0\r\n\r\n", 413},
	} {
		c := b.connect()
		go func() {
			_, _ = io.WriteString(c, head+rest.body)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		if status, p, last := response(t, bufio.NewReader(c)); status != rest.status || !last {
			t.Errorf("%s: %d %+v", name, status, p)
		}
	}
	brief := newBench(t, func(c *Config) { c.ReadTimeout = 500 * time.Millisecond })
	slow := brief.connect()
	if _, err := io.WriteString(slow, headOf(brief)+chunk(body)); err != nil {
		t.Fatal(err)
	}
	if status, p, _ := response(t, bufio.NewReader(slow)); status != 408 {
		t.Errorf("without an end: %d %+v", status, p)
	}
	if len(b.ports.triggers) != done || len(brief.ports.triggers) > 0 {
		t.Error("a request was carried out that had not come to its end")
	}
}
