package http

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// A proxy in front of the dialler may parse such a request differently: it is refused, and nothing
// after it on the connection is read (RFC 9112 §6.3 and §11.2).
func TestARequestThatCanBeReadInTwoWaysIsRefusedAndEndsItsConnection(t *testing.T) {
	b := newBench(t)
	const trap = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	f := func(name, body string, fields ...string) {
		t.Helper()
		c := b.connect()
		defer func() { _ = c.Close() }()
		request := "POST " + triggerPath + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + b.key +
			"\r\nContent-Type: application/json\r\n" +
			strings.Join(append(fields, "", ""), "\r\n") + body + trap
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := io.ReadAll(c)
		if err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
		if !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) || bytes.Count(got, []byte("HTTP/1.1 ")) != 1 {
			t.Errorf("%s: %.200s", name, got)
		}
	}
	f("length and chunks", "0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked")
	f("chunks and length", "0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 5")
	f("two lengths", "{}", "Content-Length: 2", "Content-Length: 30")
	f("a list of lengths", "{}", "Content-Length: 2, 30")
	f("a signed length", "{}", "Content-Length: +2")
	f("a negative length", "{}", "Content-Length: -2")
	f("a hexadecimal length", "{}", "Content-Length: 0x2")
	f("a length that is none", "{}", "Content-Length: two")
	f("a length beyond all numbers", "{}", "Content-Length: 99999999999999999999999")
	f("an unknown encoding", "0\r\n\r\n", "Transfer-Encoding: xchunked")
	f("two encodings", "0\r\n\r\n", "Transfer-Encoding: gzip, chunked")
	f("an encoding twice", "0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: identity")
	f("a space before the colon", "{}", "Content-Length : 2")
	f("a folded line", "0\r\n\r\n", "Transfer-Encoding:\r\n chunked")
	f("a chunk that is too long", "fffffffffffffffffff\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
	f("a chunk that is none", "zz\r\n{}\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
	f("a name that is none", "{}", "Content-Length: 2", "X\x00Y: z")
	if len(b.ports.triggers) != 0 {
		t.Errorf("%d of them were carried out", len(b.ports.triggers))
	}
}

// No spelling of a path opens more than its plain form.
func TestNoWayToWriteAPathOpensMoreThanThePlainOne(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{
		"//api/v1/campaigns", "/api//v1/campaigns", "/api/v1/campaigns/", "/api/v1//campaigns", "/./api/v1/campaigns",
		"/api/v1/./campaigns", "/x/../api/v1/campaigns", "/api/docs/../v1/campaigns", "/healthz/../api/v1/campaigns",
		"/healthz/..%2fapi/v1/campaigns", "/%2e%2e/api/v1/campaigns",
		"/api/v1/%63ampaigns", "/api%2fv1%2fcampaigns", "/API/V1/CAMPAIGNS", "/api/v1/campaigns;x=1", "/api/v1/campaigns%00",
		"/api/v1/campaigns%20", "/api/v1/campaigns.json",
		`/api\v1\campaigns`, "/assets/../api/v1/campaigns", "/assets/..%2f..%2fapi/v1/campaigns",
		"/dashboard/../api/v1/campaigns",
		"/assets/..%2f..%2f..%2fetc%2fpasswd", "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
		"/api/v1/recordings/..%2f..%2fetc%2fpasswd",
		"/api/v1/session/../campaigns", "/api/v1/auth/token/../../campaigns", "http://x/api/v1/campaigns",
	} {
		c := b.connect()
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = c.Close()
		status, body, _ := strings.Cut(string(got), "\r\n\r\n")
		if strings.HasPrefix(status, "HTTP/1.1 2") && !strings.Contains(status, "text/html") ||
			strings.Contains(body, "campaign_id") || strings.Contains(body, "root:") {
			t.Errorf("%s: %.300s", path, got)
		}
	}
}
