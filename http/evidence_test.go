package http

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"dialler/engine"
	"dialler/http/download"
)

func TestTheRecordOfARunIsForAdmins(t *testing.T) {
	b := newBench(t)
	const path = "/api/v1/campaigns/cmp_1/runs/2/evidence"
	b.ports.audio = bytes.Repeat([]byte("PK a zip file "), 5000)
	got := b.byAdmin("GET", path, "").is(200, "").has("Content-Type", "application/zip").has("Cache-Control", "no-store").
		has("Content-Disposition", `attachment; filename="evidence-cmp_1-2.zip"`)
	if !bytes.Equal(got.body, b.ports.audio) || b.ports.suppressors[0].User != "usr_admin" {
		t.Fatalf("%d bytes came", len(got.body))
	}
	b.closedFiles(t)
	b.do("GET", path, "").is(401, "unauthorized")
	for _, user := range []engine.UserID{"usr_oper", "usr_view"} {
		b.do("GET", path, "", "Authorization", "Bearer "+b.token(user)).is(403, "role_too_low")
	}
	b.do("GET", path, "", "X-API-Key", b.key).is(403, "scope_missing")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_9/runs/1/evidence", "").is(404, "campaign_not_found")
	for _, run := range []string{"3", "0", "-1", "x", "99999999999999999999"} {
		b.byAdmin("GET", "/api/v1/campaigns/cmp_1/runs/"+run+"/evidence", "").is(404, "run_not_found")
	}
}

func TestOnlySoManyRecordsAreMadeAtATime(t *testing.T) {
	b := newBench(t)
	for range download.ArchiveCap {
		b.server.files.Archives <- struct{}{}
	}
	b.byAdmin("GET", "/api/v1/campaigns/cmp_1/runs/1/evidence", "").is(503, "too_many_reports").has("Retry-After", "10")
	if n := len(b.server.files.Archives); n != download.ArchiveCap {
		t.Errorf("%d are under way", n)
	}
	// A request that comes as another ends gets its place.
	waiting := make(chan answer, 1)
	go func() { waiting <- b.byAdmin("GET", "/api/v1/campaigns/cmp_1/runs/1/evidence", "") }()
	eventually(t, "the request is being handled", func() bool { return b.figure("dialler_http_requests_in_flight") == 1 })
	b.server.files.Archives.Leave()
	(<-waiting).is(200, "")
	eventually(t, "its place is free", func() bool { return len(b.server.files.Archives) == download.ArchiveCap-1 })
	b.server.files.Archives.Leave()
	// An archive that cannot be made sends no response body, and releases its place.
	b.ports.fail = errors.New("disk full")
	c := b.connect()
	if _, err := io.WriteString(c, "GET /api/v1/campaigns/cmp_1/runs/1/evidence HTTP/1.1\r\nHost: x\r\nAuthorization: "+
		"Bearer "+b.admin+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || len(got) > 0 {
		t.Errorf("an answer came: %s %v", got, err)
	}
	eventually(t, "the place is free", func() bool { return len(b.server.files.Archives) == 0 })
}
