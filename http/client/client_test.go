package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine/webhook"
)

// server answers requests one by one as a test says, and records them.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	got  []*http.Request
	body []string
}

func newServer(t *testing.T, answers ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.got)
		s.got, s.body = append(s.got, r), append(s.body, string(body))
		s.mu.Unlock()
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) client(t *testing.T, options ...Option) *Client {
	t.Helper()
	c, err := New(s.URL, append([]Option{WithAPIKey("vx_key"), WithHTTPClient(s.Client())}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ok(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func fails(status int, code string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"urn:dialler:problem:%s","title":"T","status":%d,"detail":"What to do.",
			"code":%q,"request_id":"r1",
			"errors":[{"field":"mobile","code":"invalid_format","message":"must be E.164"}]}`, code, status, code)
	}
}

// breaks sends half of the announced body.
func breaks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "half")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

const queued = `{"status":"queued","contact_id":"c1","campaign_id":"k1"}`

func TestAWriteIsRepeatedUnderItsKeyUntilItIsAnswered(t *testing.T) {
	s := newServer(t, fails(503, "overloaded", "Retry-After", "0"), fails(429, "rate_limited", "Retry-After", "0"), breaks,
		fails(409, "idempotency_in_progress"), ok(queued))
	got, err := s.client(t).Trigger(t.Context(), Trigger{CampaignID: "k1", Mobile: "+4915112345678"})
	if err != nil || got.ContactID != "c1" || got.Dialled() {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(s.got) != 5 {
		t.Fatalf("%d tries", len(s.got))
	}
	key := s.got[0].Header.Get("Idempotency-Key")
	for i, r := range s.got {
		if r.Header.Get("Idempotency-Key") != key || len(key) < 16 || s.body[i] != s.body[0] ||
			r.Header.Get("X-API-Key") != "vx_key" {
			t.Errorf("try %d: %v %s", i+1, r.Header, s.body[i])
		}
	}
	if _, err := s.client(t).Exclude(t.Context(), Exclude{CampaignID: "k1", Mobile: "+4915112345678",
		IdempotencyKey: "mine"}); err != nil {
		t.Fatal(err)
	}
	if k := s.got[5].Header.Get("Idempotency-Key"); k != "mine" {
		t.Errorf("the caller's key: %q", k)
	}
}

func TestWhatCouldBeDoneTwiceIsNotRepeated(t *testing.T) {
	f := func(answer http.HandlerFunc, want int, do func(*Client) error) {
		t.Helper()
		s := newServer(t, answer)
		if err := do(s.client(t, WithRetries(2, time.Second))); err == nil || len(s.got) != want {
			t.Errorf("%d requests, %v", len(s.got), err)
		}
	}
	start := func(c *Client) error { _, err := c.Start(t.Context(), "k1"); return err }
	show := func(c *Client) error { _, err := c.Campaign(t.Context(), "k1"); return err }
	trigger := func(c *Client) error { _, err := c.Trigger(t.Context(), Trigger{}); return err }
	f(fails(503, "overloaded"), 1, start)
	f(breaks, 1, start)
	f(fails(429, "rate_limited"), 3, start) // the request was not processed
	f(fails(503, "overloaded"), 3, show)
	f(breaks, 3, show)
	f(fails(422, "validation_failed"), 1, trigger)
	f(fails(500, "internal"), 1, trigger)
	f(fails(503, "overloaded", "Retry-After", "120"), 1, trigger) // longer than the client waits
}

func TestARefusalHasItsCodeItsFieldsAndItsWait(t *testing.T) {
	s := newServer(t, fails(422, "validation_failed", "Retry-After", "7"))
	_, err := s.client(t).Trigger(t.Context(), Trigger{})
	var e *Error
	if !errors.As(err, &e) || Code(err) != "validation_failed" || e.Status != 422 || e.Detail != "What to do." ||
		e.RequestID != "r1" ||
		e.RetryAfter != 7*time.Second || len(e.Fields) != 1 || e.Fields[0].Field != "mobile" ||
		!strings.Contains(err.Error(), "mobile must be E.164") {
		t.Fatalf("%#v", err)
	}
	// A proxy on the way answers with a page.
	s = newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"code":"of somebody else"}`)
	})
	_, err = s.client(t).Campaign(t.Context(), "k1")
	if !errors.As(err, &e) || e.Code != "" || e.Status != 502 || e.Title != "Bad Gateway" {
		t.Errorf("%#v", err)
	}
}

func TestTheKeyGoesNowhereElse(t *testing.T) {
	other := newServer(t, ok(queued))
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	if _, err := s.client(t).Trigger(t.Context(), Trigger{}); err == nil || len(other.got) != 0 {
		t.Errorf("%d requests went on, %v", len(other.got), err)
	}
	f := func(address string) {
		t.Helper()
		if _, err := New(address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
	f("")
	f("dialler.example")
	f("ftp://dialler.example")
	f("https://user:secret@dialler.example")
	f("https://dialler.example/?a=b")
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	s := newServer(t, fails(503, "overloaded", "Retry-After", "3600"))
	ctx, cancel := context.WithCancel(t.Context())
	c := s.client(t, WithRetries(9, 2*time.Hour))
	go func() {
		for {
			s.mu.Lock()
			n := len(s.got)
			s.mu.Unlock()
			if n > 0 || ctx.Err() != nil {
				cancel()
				return
			}
		}
	}()
	if _, err := c.Trigger(ctx, Trigger{}); err == nil || len(s.got) != 1 {
		t.Errorf("%d tries, %v", len(s.got), err)
	}
}

func TestAListIsGoneThroughPageByPage(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		n := map[string]int{"1": 200, "2": 3}[r.URL.Query().Get("page")]
		list := make([]Contact, n)
		_ = json.NewEncoder(w).Encode(map[string]any{"contacts": list, "total": 203})
	})
	n := 0
	for _, err := range s.client(t).Contacts(t.Context(), "k/1", ContactFilter{Status: "pending", Number: "+49151"}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 203 || len(s.got) != 2 || s.got[1].URL.RawQuery != "number=%2B49151&page=2&page_size=200&status=pending" ||
		s.got[0].URL.EscapedPath() != "/api/v1/campaigns/k%2F1/contacts" {
		t.Errorf("%d contacts by %d requests, the last %s", n, len(s.got), s.got[len(s.got)-1].URL)
	}
	for _, err := range s.client(t).Contacts(t.Context(), "k1", ContactFilter{}) {
		if err != nil {
			t.Error(err)
		}
		break // no further page is requested
	}
	if len(s.got) != 3 {
		t.Errorf("%d requests", len(s.got))
	}
	s = newServer(t, fails(404, "campaign_not_found"))
	for _, err := range s.client(t).Contacts(t.Context(), "k1", ContactFilter{}) {
		if Code(err) != "campaign_not_found" {
			t.Error(err)
		}
	}
}

func TestAReportThatIsBrokenOffIsAnError(t *testing.T) {
	s := newServer(t, breaks)
	body, err := s.client(t).AttemptReport(t.Context(), "k1", ReportPart{Run: 2})
	if err != nil || s.got[0].URL.RawQuery != "run=2" {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if _, err := io.ReadAll(body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

// An interrupted report is resumed: each row is in the file once, and whole.
func TestAReportIsWrittenWholeThoughItIsBrokenOff(t *testing.T) {
	const header = "run,pass,attempt_number,attempt_id,sip_reason\r\n"
	part := func(whole bool, rows string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Report-Cursor")
			w.Header().Set("X-Report-Columns", "00000000000000aa")
			_, _ = io.WriteString(w, rows)
			_ = http.NewResponseController(w).Flush()
			if !whole {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("X-Report-Cursor", "a3")
		}
	}
	s := newServer(t, part(false, header), part(false, header+"1,1,1,a1,\"two\r\nlines\"\r\n1,1,1,a2,\"bro"),
		fails(503, "overloaded", "Retry-After", "0"), part(false, "1,1,1,a2,whole\r\n1,1,"), part(true, "1,1,2,a3,\r\n"))
	var file strings.Builder
	d, err := s.client(t).WriteReport(t.Context(), "k1", ReportPart{Run: 1}, &file)
	if err != nil || d.Rows != 3 || d.Part != (ReportPart{Run: 1, After: "a3", Columns: "00000000000000aa"}) {
		t.Errorf("%+v, %v", d, err)
	}
	if want := header + "1,1,1,a1,\"two\r\nlines\"\r\n1,1,1,a2,whole\r\n1,1,2,a3,\r\n"; file.String() != want {
		t.Errorf("the file is %q", file.String())
	}
	var asked []string
	for _, r := range s.got {
		asked = append(asked, r.URL.RawQuery)
	}
	if got := strings.Join(asked, " "); got != "run=1 columns=00000000000000aa&run=1 "+
		"after=a1&columns=00000000000000aa&run=1 after=a1&columns=00000000000000aa&run=1 "+
		"after=a2&columns=00000000000000aa&run=1" {
		t.Errorf("asked for %s", got)
	}
	report, err := s.client(t).AttemptReport(t.Context(), "k1", ReportPart{After: "a2"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = report.Close() }()
	if _, err := io.ReadAll(report); err != nil || report.Cursor() != "a3" || report.Columns != d.Part.Columns {
		t.Errorf("cursor %q, %v", report.Cursor(), err)
	}

	s = newServer(t, part(false, header+"1,1,1,a1,\r\n"), fails(409, "columns_changed"))
	if d, err := s.client(t).WriteReport(t.Context(), "k1", ReportPart{}, io.Discard); Code(err) != "columns_changed" ||
		d.Rows != 1 || d.Part.After != "a1" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestCallsAreGoneThroughByTheirCursor(t *testing.T) {
	s := newServer(t, ok(`{"calls":[{"call_id":"CA2"}],"next_cursor":"c1"}`), ok(`{"calls":[],"next_cursor":"c2"}`),
		ok(`{"calls":[{"call_id":"CA1"}],"next_cursor":null}`))
	var got []string
	for call, err := range s.client(t).Calls(t.Context(),
		CallFilter{State: "ended", From: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, call.CallID)
	}
	if strings.Join(got, " ") != "CA2 CA1" || len(s.got) != 3 ||
		s.got[2].URL.RawQuery != "cursor=c2&from=2030-01-02T03%3A04%3A05Z&page_size=200&state=ended" {
		t.Errorf("%v by %d requests, the last %s", got, len(s.got), s.got[len(s.got)-1].URL)
	}
}

func TestABatchIsRepeatedUnderItsKey(t *testing.T) {
	s := newServer(t, breaks, ok(`{"added":1,"invalid":1,"results":[{"status":"added","contact_id":"c1"},
		{"status":"invalid","problem":{"code":"validation_failed","errors":[{"field":"mobile"}]}}]}`))
	got, err := s.client(t).AddBatch(t.Context(), "k1",
		Batch{Contacts: []NewContact{{Mobile: "+4915112345678"}, {Mobile: "12"}}})
	if err != nil || got.Added != 1 || len(got.Results) != 2 || got.Results[0].ContactID != "c1" ||
		got.Results[1].Problem.Errors[0].Field != "mobile" {
		t.Errorf("%+v, %v", got, err)
	}
	if len(s.got) != 2 || s.got[0].Header.Get("Idempotency-Key") == "" ||
		s.got[0].Header.Get("Idempotency-Key") != s.got[1].Header.Get("Idempotency-Key") ||
		s.got[1].URL.Path != "/api/v1/campaigns/k1/contacts:batch" {
		t.Errorf("%d requests", len(s.got))
	}
}

func TestOnlyDeliveriesOfTheDiallerAreVerified(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	old, young := make([]byte, 32), []byte(strings.Repeat("k", 32))
	body := []byte(`{"type":"contact.completed","timestamp":"2030-01-02T03:04:05Z","data":{"contact_id":"c1"}}`)
	f := func(good bool, change func(http.Header), at time.Time, secrets ...string) {
		t.Helper()
		h := http.Header{}
		h.Set(webhook.HeaderID, "msg_1")
		h.Set(webhook.HeaderTimestamp, webhook.Timestamp(at))
		h.Set(webhook.HeaderSignature, webhook.Sign("msg_1", at, body, old, young))
		if change != nil {
			change(h)
		}
		e, err := verify(h, body, now, secrets)
		if good != (err == nil) {
			t.Errorf("%v", err)
		}
		if good && (e.ID != "msg_1" || e.Type != "contact.completed" || !e.At.Equal(now) ||
			string(e.Data) != `{"contact_id":"c1"}`) {
			t.Errorf("%+v", e)
		}
	}
	mine, other := webhook.WriteSecret(young), webhook.WriteSecret([]byte(strings.Repeat("x", 32)))
	f(true, nil, now, mine)
	f(true, nil, now, other, mine)
	f(true, nil, now.Add(-4*time.Minute), webhook.WriteSecret(old))
	f(false, nil, now, other)
	f(false, nil, now)
	f(false, nil, now.Add(-6*time.Minute), mine)
	f(false, nil, now.Add(6*time.Minute), mine)
	f(false, nil, now, "not a secret")
	f(false, func(h http.Header) { h.Set(webhook.HeaderID, "msg_2") }, now, mine)
	f(false, func(h http.Header) { h.Del(webhook.HeaderID) }, now, mine)
	f(false, func(h http.Header) { h.Set(webhook.HeaderTimestamp, "soon") }, now, mine)
	f(false, func(h http.Header) { h.Set(webhook.HeaderSignature, "v1,") }, now, mine)
	f(false, func(h http.Header) { h.Del(webhook.HeaderSignature) }, now, mine)
}
