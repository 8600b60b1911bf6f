package http

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

const importsPath = "/api/v1/campaigns/cmp_1/imports"

const csvFile = "phone_number,name\n+4915112345678,Ada\n+4915112345679,Grace\n"

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

// connect opens a connection that is closed at the end of the test.
func (b *bench) connect() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.served())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// head begins an upload; fields are whole header lines.
func (b *bench) head(path string, fields ...string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + b.admin + "\r\nContent-Type: text/csv\r\n" + strings.Join(append(fields, "", ""), "\r\n")
}

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// response reads one answer; last says that the server ends the connection.
func response(t testing.TB, r *bufio.Reader) (status int, p problem, last bool) {
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

func TestAFileIsStreamedToTheCampaign(t *testing.T) {
	b := newBench(t)
	f := func(path, contentType string, status int, want campaign.ImportContacts) {
		t.Helper()
		a := b.byAdmin("POST", path, csvFile, "Content-Type", contentType).is(status, "")
		got := b.ports.imports[len(b.ports.imports)-1]
		want.Campaign, want.Who = "cmp_1", got.cmd.Who
		if !reflect.DeepEqual(got.cmd, want) || got.text != csvFile || got.err != nil || got.cmd.Who.Name != "admin@example.org" {
			t.Errorf("%s: %+v", path, got)
		}
		if at := a.header.Get("Location"); at != importsPath+"/"+string(theImport) {
			t.Errorf("Location %q", at)
		}
		if a.get("import_id") != string(theImport) || a.get("added") != 1.0 {
			t.Errorf("%s", a.body)
		}
	}
	wait := campaign.ImportContacts{Wait: true}
	f(importsPath, "text/csv", 201, wait)
	f(importsPath, "Text/CSV; header=present; charset=\"UTF-8\"", 201, wait)
	f(importsPath+"?wait=true&filename=autumn.csv", "text/csv", 201, campaign.ImportContacts{Wait: true, Filename: "autumn.csv"})
	f(importsPath+"?filename=C%3A%5Clists%5Cautumn.csv", "text/csv;charset=us-ascii", 201, campaign.ImportContacts{Wait: true, Filename: "autumn.csv"})
	f(importsPath+"?wait=false&filename=%C3%BCber.csv", "text/csv", 202, campaign.ImportContacts{Filename: "über.csv"})
	f(importsPath+"?dry_run=true&mapping=%7B%22Mobile%20no%22%3A%22phone_number%22%2C%22%C3%BC%22%3A%22%22%7D", "text/csv", 201,
		campaign.ImportContacts{Wait: true, DryRun: true, Mapping: map[string]string{"Mobile no": "phone_number", "ü": ""}})
}

func TestWhatIsNoUploadIsRefused(t *testing.T) {
	b := newBench(t)
	post := func(path string, fields ...string) answer {
		t.Helper()
		return b.byAdmin("POST", path, csvFile, fields...)
	}
	const csv = "text/csv"
	b.do("POST", importsPath, csvFile, "Content-Type", csv).is(401, "unauthorized")
	b.do("POST", importsPath, csvFile, "Content-Type", csv, "X-API-Key", b.key).is(401, "unauthorized")
	b.do("POST", importsPath, csvFile, "Content-Type", csv, "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	post("/api/v1/campaigns/no%20name/imports", "Content-Type", csv).is(404, "campaign_not_found")
	post(importsPath, "Content-Type", "application/json").is(415, "unsupported_media_type")
	post(importsPath, "Content-Type", "text/csv; charset=utf-16").is(415, "unsupported_media_type")
	post(importsPath, "Content-Type", csv, "Content-Encoding", "gzip").is(415, "unsupported_media_type")
	post(importsPath+"?wait=maybe", "Content-Type", csv).is(422, "validation_failed", "wait unknown_value")
	post(importsPath+"?name=x", "Content-Type", csv).is(422, "validation_failed", "name unknown_field")
	post(importsPath+"?filename=a%00b", "Content-Type", csv).is(422, "validation_failed", "filename invalid_format")
	post(importsPath+"?filename="+strings.Repeat("x", 256), "Content-Type", csv).is(422, "validation_failed", "filename too_long")
	post(importsPath+"?dry_run=1", "Content-Type", csv).is(422, "validation_failed", "dry_run unknown_value")
	for _, mapping := range []string{"", "x", "[]", `{"a":1}`, `{"":"b"}`, `{"a":"b","a":"c"}`, `{"a":"\u0000"}`, `{"a":"` + strings.Repeat("x", 65) + `"}`,
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
	// A body without an end is one without a file.
	b.byAdmin("POST", importsPath, "", "Content-Type", csv).is(201, "")
	if b.ports.imports[0].text != "" || b.ports.imports[0].err != nil {
		t.Errorf("%+v", b.ports.imports[0])
	}
}

// A refusal is read by a client that is in the middle of a large file, and what
// it still sends is not taken for a request.
func TestARefusedUploadIsAnsweredAndItsRestIsNoRequest(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ImportBodyCap = 8 << 20 })
	trap := "POST " + triggerPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b.key + "\r\nContent-Type: application/json\r\nContent-Length: " +
		fmt.Sprint(len(triggerBody(""))) + "\r\n\r\n" + triggerBody("")
	f := func(name, head, body string, status int, code string) {
		t.Helper()
		c := b.connect()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.WriteString(c, head+body) // until the server has had enough
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
	f("wrong type", strings.Replace(b.head(importsPath, size), "text/csv", "text/html", 1), large, 415, "unsupported_media_type")
	f("too large, and says so", b.head(importsPath, "Content-Length: 9000000"), large, 413, "body_too_large")
	f("too large, in chunks", b.head(importsPath, "Transfer-Encoding: chunked"), strings.Repeat(chunk(large[:1<<20]), 10), 413, "body_too_large")
	f("chunks that are none", b.head(importsPath, "Transfer-Encoding: chunked"), chunk("phone_number\n")+"what?\r\n"+trap, 400, "upload_broken")
	b.ports.fail = engine.Conflict("contacts_locked", "no")
	f("refused without a look", b.head(importsPath, size), large, 409, "contacts_locked")
	b.ports.onImport = func(_ context.Context, _ campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
		_, err := io.ReadFull(file, make([]byte, 100))
		return campaign.Import{}, errors.Join(err, engine.Invalid("missing_column", "no"))
	}
	f("refused behind the first line", b.head(importsPath, size), large, 422, "missing_column")
	b.ports.onImport = func(context.Context, campaign.ImportContacts, io.Reader) (campaign.Import, error) { panic("a fault") }
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

// However the connection ends, a file that is cut off does not look whole.
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
	b := newBench(t, func(c *Config) { c.ReadTimeout, c.UploadRate = 400*time.Millisecond, 10_000 })
	upload := func(pieces int, size int, pause time.Duration) (status int, code string, took time.Duration) {
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
		status, p, _ := response(t, bufio.NewReader(c))
		return status, p.Code, time.Since(began)
	}
	// Three times as long as one look may take, faster than it must be.
	if status, code, took := upload(24, 2000, 50*time.Millisecond); status != 201 || took < time.Second {
		t.Errorf("a steady upload: %d %s after %v", status, code, took)
	}
	if status, code, took := upload(1000, 10, 50*time.Millisecond); status != 408 || code != "request_timeout" || took > 5*time.Second {
		t.Errorf("a trickle: %d %s after %v", status, code, took)
	}
	if status, code, took := upload(2, 50_000, 10*time.Second); status != 408 || took > 5*time.Second {
		t.Errorf("a pause: %d %s after %v", status, code, took)
	}
	// The time that the reader takes is not the client's.
	b.ports.onImport = func(_ context.Context, c campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
		var one [1]byte
		if _, err := file.Read(one[:]); err != nil {
			return campaign.Import{}, err
		}
		busy := time.NewTimer(time.Second)
		<-busy.C
		_, err := io.ReadAll(file)
		return anImport(c), err
	}
	if status, code, _ := upload(10, 2000, 10*time.Millisecond); status != 201 {
		t.Errorf("a slow reader: %d %s", status, code)
	}
}

func TestShutdownEndsAnUpload(t *testing.T) {
	b := newBench(t)
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
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-came; engine.ErrorCode(err) != "closing" || time.Since(began) > 8*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if status, p, _ := response(t, bufio.NewReader(c)); status != 503 || p.Code != "closing" {
		t.Errorf("%d %+v", status, p)
	}
}

func TestImportsAndTheirRejectedRowsAreListed(t *testing.T) {
	b := newBench(t)
	view := []string{"Authorization", "Bearer " + b.token("usr_view")}
	a := b.do("GET", importsPath+"?page=2&page_size=20", "", view...).is(200, "")
	if a.get("total") != 2.0 || len(a.get("imports").([]any)) != 2 || b.ports.pages[0] != (campaign.Page{Number: 2, Size: 20}) {
		t.Errorf("%s, %+v", a.body, b.ports.pages)
	}
	b.do("GET", importsPath+"?status=active", "", view...).is(422, "validation_failed", "status unknown_field")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports", "", view...).is(200, "")
	b.do("GET", "/api/v1/campaigns/cmp_none/imports", "", view...).is(404, "campaign_not_found")
	b.do("GET", importsPath, "", "X-API-Key", b.key).is(401, "unauthorized")

	if a := b.do("GET", importsPath+"/"+string(theImport), "", view...).is(200, ""); a.get("state") != "active" {
		t.Errorf("%s", a.body)
	}
	b.do("GET", importsPath+"/nothing", "", view...).is(404, "import_not_found")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport), "", view...).is(404, "import_not_found")
	a = b.do("GET", importsPath+"/"+string(theImport)+"/rejected?page_size=200", "", view...).is(200, "")
	if a.get("total") != 2.0 || len(a.get("rows").([]any)) != 2 {
		t.Errorf("%s", a.body)
	}
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/rejected", "", view...).is(404, "import_not_found")
	b.do("GET", importsPath+"/"+string(theImport)+"/rejected?page_size=201", "", view...).is(422, "validation_failed")
}

// A file that came to its end is not read again; one that broke off is, and
// while one comes in there is no second.
func TestAFileIsSentAgainUnderItsKey(t *testing.T) {
	b := newBench(t)
	post := func(path string) answer {
		t.Helper()
		return b.byAdmin("POST", path, csvFile, "Content-Type", "text/csv", "Idempotency-Key", "autumn")
	}
	post(importsPath+"?filename=a.csv").is(201, "")
	begun := b.ports.imports[0].cmd
	imp := anImport(begun)
	imp.Idempotency = begun.Idempotency
	if begun.Idempotency.Token != "autumn" || begun.Idempotency.Key != "usr_admin" {
		t.Errorf("%+v", begun)
	}
	for state, want := range map[campaign.ImportState]struct {
		status int
		code   string
	}{campaign.ImportActive: {201, ""}, campaign.ImportChecked: {201, ""}, campaign.ImportStaging: {409, "idempotency_in_progress"}, campaign.ImportActivating: {409, "idempotency_in_progress"}} {
		imp.State = state
		b.ports.requested = []campaign.Import{imp}
		a := post(importsPath+"?filename=a.csv").is(want.status, want.code)
		if replayed := a.header.Get("Idempotent-Replayed"); (replayed == "true") != (want.status == 201) || len(b.ports.imports) != 1 {
			t.Errorf("%s: replayed %q, %d files were read", state, replayed, len(b.ports.imports))
		}
	}
	imp.State = campaign.ImportActivating
	b.ports.requested = []campaign.Import{imp}
	post(importsPath+"?filename=a.csv&wait=false").is(202, "") // its rows are taken
	post(importsPath+"?filename=b.csv").is(422, "idempotency_mismatch")
	post(importsPath+"?filename=a.csv&dry_run=true").is(422, "idempotency_mismatch")
	imp.State = campaign.ImportFailed
	b.ports.requested = []campaign.Import{imp}
	post(importsPath+"?filename=a.csv").is(201, "")
	if len(b.ports.imports) != 2 || b.ports.imports[1].text != csvFile || b.ports.imports[1].cmd.Idempotency != begun.Idempotency {
		t.Errorf("%+v", b.ports.imports)
	}
}

func TestAnImportIsCancelledUntilItHasComeToItsEnd(t *testing.T) {
	b := newBench(t)
	path := importsPath + "/" + string(theImport)
	open := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
	open.State, open.FinishedAt = campaign.ImportStaging, nil
	failed := open
	failed.State, failed.Problem, failed.FinishedAt = campaign.ImportFailed, &campaign.CancelledImport, &testAt
	b.ports.theImport, b.ports.cancelledAs = func() campaign.Import { return open }, failed
	if a := b.byAdmin("DELETE", path, "").is(200, ""); a.get("state") != "failed" || len(b.ports.cancelled) != 1 {
		t.Errorf("%s", a.body)
	}
	b.ports.cancelledAs.State = campaign.ImportActive // it was faster
	b.byAdmin("DELETE", path, "").is(409, "import_finished")
	b.ports.theImport = func() campaign.Import { return failed }
	b.byAdmin("DELETE", path, "").is(200, "")
	b.ports.theImport = nil // active
	b.byAdmin("DELETE", path, "").is(409, "import_finished")
	b.byAdmin("DELETE", importsPath+"/nothing", "").is(404, "import_not_found")
	if len(b.ports.cancelled) != 2 {
		t.Errorf("%d were cancelled", len(b.ports.cancelled))
	}
}

func TestTheProgressOfAnImportIsStreamedToItsEnd(t *testing.T) {
	b := newBench(t)
	b.server.feeds.interval = time.Millisecond
	looks := 0
	b.ports.theImport = func() campaign.Import { // called with the lock
		looks++
		imp := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
		imp.State, imp.FinishedAt, imp.Rows = campaign.ImportStaging, nil, looks/3*1000
		if looks > 8 {
			imp.State, imp.FinishedAt = campaign.ImportActive, &testAt
		}
		return imp
	}
	a := b.do("GET", importsPath+"/"+string(theImport)+"/live", "", "Authorization", "Bearer "+b.token("usr_view")).is(200, "")
	var seen []string
	for event := range strings.SplitSeq(string(a.body), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		switch name {
		case "event: import":
			var imp campaign.Import
			if err := json.Unmarshal([]byte(data), &imp); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, fmt.Sprint(imp.State, " ", imp.Rows))
		case "event: end":
			seen = append(seen, "end")
		}
	}
	if want := []string{"staging 0", "staging 1000", "staging 2000", "active 3000", "end"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	b.byAdmin("GET", importsPath+"/"+string(theImport)+"/live?x=1", "").is(422, "validation_failed", "x unknown_field")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/live", "").is(404, "import_not_found")
	b.server.feeds.mu.Lock()
	defer b.server.feeds.mu.Unlock()
	if b.server.feeds.held != 0 {
		t.Errorf("%d streams are still counted", b.server.feeds.held)
	}
}

func TestRejectedRowsAreDownloadedAsAFile(t *testing.T) {
	b := newBench(t)
	list := make([]campaign.RejectedRow, 2*rejectedPart+3)
	for i := range list {
		list[i] = campaign.RejectedRow{Line: i + 2, Number: "+4915112345678", Reason: "duplicate", Message: "the number stands on an earlier line"}
	}
	list[0].Number, list[1].Number, list[1].Message = "=HYPERLINK(1)", "+49 (x)", "-"
	b.ports.onRejected = func(page campaign.Page) ([]campaign.RejectedRow, int, error) {
		from := (page.Number - 1) * page.Size
		return list[min(from, len(list)):min(from+page.Size, len(list))], len(list), nil
	}
	view := []string{"Authorization", "Bearer " + b.token("usr_view")}
	path := importsPath + "/" + string(theImport) + "/rejected.csv"
	a := b.do("GET", path, "", view...).is(200, "")
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil || len(rows) != len(list)+1 {
		t.Fatalf("%d rows of %d, %v", len(rows), len(list)+1, err)
	}
	for i, want := range [][]string{rejectedColumns, {"2", "'=HYPERLINK(1)", "duplicate", list[0].Message}, {"3", "'+49 (x)", "duplicate", "'-"},
		{"4", "+4915112345678", "duplicate", list[2].Message}} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d: %q", i, rows[i])
		}
	}
	list = nil
	if a := b.do("GET", path, "", view...).is(200, ""); string(a.body) != strings.Join(rejectedColumns, ",")+"\n" {
		t.Errorf("of none: %q", a.body)
	}
	b.do("GET", path+"?page=2", "", view...).is(422, "validation_failed", "page unknown_field")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/rejected.csv", "", view...).is(404, "import_not_found")
	b.ports.onRejected = func(campaign.Page) ([]campaign.RejectedRow, int, error) {
		return nil, 0, engine.Unavailable("database_unavailable", "no", time.Second)
	}
	b.do("GET", path, "", view...).is(503, "database_unavailable")
	if n := b.server.reports.Load(); n != 0 {
		t.Errorf("%d reports are still counted", n)
	}
}

// The other routes read their bodies as before, whichever way they come.
func TestBodiesInChunksAreReadWholeOrNotAtAll(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ReadTimeout = 500 * time.Millisecond })
	head := "POST " + triggerPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b.key + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	body := triggerBody("")
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
	slow := b.connect()
	if _, err := io.WriteString(slow, head+chunk(body)); err != nil {
		t.Fatal(err)
	}
	if status, p, _ := response(t, bufio.NewReader(slow)); status != 408 {
		t.Errorf("without an end: %d %+v", status, p)
	}
	if len(b.ports.triggers) != done {
		t.Error("a request was carried out that had not come to its end")
	}
}
