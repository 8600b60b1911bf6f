package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine/campaign"
	"dialler/persistence/private"
)

// server is a PostgreSQL server for the test.
type server struct {
	t   *testing.T
	dir string
	pg  *private.Server
}

func newServer(t *testing.T) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-e2e-") // the server's user can reach it too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir}
	s.start()
	t.Cleanup(func() {
		if s.pg == nil {
			return
		}
		if err := s.pg.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *server) start() {
	s.t.Helper()
	var err error
	if s.pg, err = private.Start(context.Background(), private.Config{Dir: s.dir, Name: "one",
		Log: zerolog.Nop()}); err != nil {
		s.t.Fatalf("this test needs a PostgreSQL server: %v", err)
	}
}

// kill kills it and the processes that it started.
func (s *server) kill() {
	s.t.Helper()
	of := []int{s.pg.Pid()}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range processes {
		id, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state parent …"; the name may contain anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(s.pg.Pid()) {
			of = append(of, id)
		}
	}
	for i, id := range of {
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil && (i == 0 || !errors.Is(err, syscall.ESRCH)) {
			s.t.Fatal(err)
		}
	}
}

func TestAPostgreSQLThatDiesInTheMiddleOfAnImport(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := newWorldOn(t, s.pg.URL(), tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	id := w.campaign(map[string]any{"concurrency": 1})
	file, _ := contactFile(6000)
	ready := func() bool { return w.send("GET", "/readyz", nil).status == 200 }

	// During the upload.
	u := w.slowUpload(id)
	half := strings.LastIndexByte(file[:len(file)/2], '\n') + 1
	u.piece(file[:half])
	eventually(t, "rows are staged", func() bool { return w.rows("import_rows") > 0 })
	s.kill()
	go func() { // the response may come before everything is sent
		_, _ = fmt.Fprintf(u.c, "%x\r\n%s\r\n0\r\n\r\n", len(file)-half, file[half:])
	}()
	if r := u.answer().expect(503); r.header.Get("Retry-After") == "" {
		t.Errorf("%s %v", r, r.header)
	}
	w.upload(id, file).expect(503)
	s.start()
	eventually(t, "the database is back", ready)
	eventually(t, "the import has failed", func() bool { return w.imports(id)[0].State == campaign.ImportFailed })
	w.nothingOf(id, 0)

	// While its rows become contacts, or right after that.
	for range 2 {
		big, _ := contactFile(12_000)
		answered := make(chan answer, 1)
		go func() {
			req, err := nethttp.NewRequestWithContext(context.Background(), "POST", w.p.URL()+importsOf(id),
				strings.NewReader(big))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+w.admin)
			req.Header.Set("Content-Type", "text/csv")
			client := nethttp.Client{Timeout: 3 * patience}
			defer client.CloseIdleConnections()
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				close(answered)
				return
			}
			defer func() { _ = resp.Body.Close() }()
			body, _ := io.ReadAll(resp.Body)
			answered <- answer{t: t, status: resp.StatusCode, header: resp.Header, body: body}
		}()
		before, active := w.rows("contacts"), w.rows("imports WHERE state = 'active'")
		deadline := time.After(3 * patience)
		for w.rows("imports WHERE state IN ('activating', 'active')") == active {
			select {
			case <-deadline:
				t.Fatal("the import is never activated")
			default:
			}
		}
		s.kill()
		a := <-answered
		s.start()
		// The server may be back before its loss was noticed: then a query finds that the
		// connections are broken.
		eventually(t, "the database is back", func() bool {
			return w.operator("GET", importsOf(id), nil).status == 200 && ready()
		})
		eventually(t, "the import is settled", func() bool { imp := w.imports(id)[0]; return !imp.Open() })
		imp := w.imports(id)[0]
		switch {
		case a.status == 503 && imp.State == campaign.ImportFailed && imp.Added == 0:
			w.nothingOf(id, before)
		case imp.State == campaign.ImportActive && imp.Added == 12_000 &&
			(a.status == 201 || a.status == 503 && a.code() == "import_unsettled"):
			w.nothingOf(id, before+12_000)
		default:
			t.Errorf("answered %s, stored %+v", a, imp)
		}
	}
	var imp campaign.Import
	before := w.rows("contacts")
	w.upload(id, file).expect(201).into(&imp)
	if imp.Added != 6000 {
		t.Errorf("the next file: %+v", imp)
	}
	w.nothingOf(id, before+6000)
}

func TestAPostgreSQLThatDiesInTheMiddleOfAReport(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := newWorldOn(t, s.pg.URL(), tuning{}, 300*time.Millisecond)
	w.client.Timeout = 3 * patience // long enough for a report of 30 MB
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.campaign(nil)
	file, _ := contactFile(1)
	w.upload(id, file).expect(201)
	w.act(id, "start").expect(200)
	eventually(t, "it completes", func() bool { return w.detail(id).Status == "completed" })
	w.sameLedgers(model, id, 1)
	// Many more of the same: more than the socket buffers between the two hold, even compressed.
	w.tampered = true
	const attempts = 12_000
	var n int
	w.query(fmt.Sprintf(`WITH more AS (INSERT INTO attempts SELECT (r).* FROM (
		SELECT jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(),
			'reserved_at', a.reserved_at + n * interval '1 microsecond',
			'sip_reason', (SELECT string_agg(md5((n * 100 + k)::text), '') FROM generate_series(1, 78) k))) AS r
		FROM attempts a, generate_series(1, %d) n) x RETURNING 1) SELECT count(*) FROM more`, attempts-1), &n)
	if rows := w.report(id, ""); len(rows) != attempts {
		t.Fatalf("%d rows", len(rows))
	}
	for _, encoding := range []string{"identity", "gzip"} {
		req, err := nethttp.NewRequestWithContext(context.Background(), "GET",
			w.p.URL()+"/api/v1/campaigns/"+string(id)+"/attempts.csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", w.key)
		req.Header.Set("Accept-Encoding", encoding)
		resp, err := w.client.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		s.kill()
		if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d bytes more, and then %v", encoding, n, err)
		}
		if got := resp.Trailer.Get("X-Report-Cursor"); got != "" {
			t.Errorf("%s: the cursor of a whole report: %s", encoding, got)
		}
		_ = resp.Body.Close()
		w.crm("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv", nil).expect(503)
		s.start()
		eventually(t, "the database is back", func() bool { return w.send("GET", "/readyz", nil).status == 200 })
	}
	rows := w.report(id, "")
	if len(rows) != attempts {
		t.Errorf("%d rows", len(rows))
	}
	a := w.crm("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv?after="+rows[attempts-8]["attempt_id"],
		nil).expect(200)
	if n := strings.Count(string(a.body), "\n"); n != 7 {
		t.Errorf("%d rows behind the eighth from the end", n)
	}
}
