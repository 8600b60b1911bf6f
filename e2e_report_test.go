package main

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/persistence/private"
)

// spec: "exports a CSV with one row per dial (not per contact)".
func TestTheReportHasARowForEveryDialOfTheCarrier(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	quick := draw.Exactly(50 * time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond),
		{Kind: carrier.Refuse, Code: 486, Ring: quick, Weight: 1}, {Kind: carrier.Refuse, Code: 404, Ring: quick, Weight: 1}}})
	id := w.campaign(map[string]any{"concurrency": 5, "max_attempts": 1})
	var rows []any
	for range 30 {
		rows = append(rows, map[string]any{"mobile": newNumber(), "metadata": map[string]any{"first_name": "Ada", "plan": "=gold"}})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign ends", func() bool { d := w.detail(id); return d.Status == "completed" && !d.Draining })
	w.quiet()
	a := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv", nil).expect(200)
	records, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(records[0], name) }
	dialled, outcomes := map[string]int{}, map[string]int{}
	for _, r := range records[1:] {
		dialled[r[column("phone_number")]]++
		outcomes[r[column("outcome")]]++
		if r[column("invite_at")] == "" || r[column("ended_at")] == "" || r[column("from_number")] != ourNumber ||
			r[column("variables.first_name")] != "Ada" || r[column("variables.plan")] != "'=gold" {
			t.Errorf("row %v", r)
		}
		if connected := r[column("outcome")] == "completed"; connected != (r[column("disposition")] == "interested") || connected != (r[column("talk_s")] != "") {
			t.Errorf("row %v", r)
		}
	}
	carried := map[string]int{}
	for _, c := range model.Ledger().Calls() {
		carried[string(c.Number)]++
	}
	if !maps.Equal(dialled, carried) || len(records)-1 != int(w.metric("dialler_legs_sent_total")) {
		t.Errorf("%d rows %v, the carrier has %v", len(records)-1, outcomes, len(carried))
	}
	if outcomes["completed"] != w.detail(id).Counters.Completed {
		t.Errorf("outcomes %v, counters %+v", outcomes, w.detail(id).Counters)
	}
	for _, r := range records[1:] { // numbers, for the log's discretion
		w.hidden = append(w.hidden, r[column("phone_number")])
	}
}

// ownDatabase is a PostgreSQL of the test's own, which may be killed.
func ownDatabase(t *testing.T) *private.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "dialler-own-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // its own user passes through
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pg, err := private.Start(t.Context(), private.Config{Dir: dir, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop() })
	return pg
}

// killDatabase ends it at once, as a crash does, and waits until it is gone.
func killDatabase(t *testing.T, pg *private.Server) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(pg.Dir(), "*", "postmaster.pid"))
	if len(paths) != 1 {
		t.Fatalf("the server's process is not known: %v", paths)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil { // PostgreSQL: immediate shutdown
		t.Fatal(err)
	}
	eventually(t, "the database is dead", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
}

func TestAReportWhoseDatabaseDiesIsNoWholeFile(t *testing.T) {
	pg := ownDatabase(t)
	w := newWorldOn(t, pg.URL(), tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"always_on": true})
	number := newNumber()
	w.trigger(id, number, map[string]any{"first_name": "Ada"})
	eventually(t, "a call ends", func() bool { return w.detail(id).Counters.Completed == 1 })
	w.act(id, "stop").expect(200)
	w.quiet()
	const dials = 100_000
	w.exec(`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(),
		'reserved_at', a.reserved_at - n * interval '1 ms'))).* FROM attempts a, generate_series(1, ` + strconv.Itoa(dials) + `) n`)
	req, err := nethttp.NewRequestWithContext(context.Background(), "GET", w.p.URL()+"/api/v1/campaigns/"+string(id)+"/attempts.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.admin)
	resp, err := (&nethttp.Client{Transport: &nethttp.Transport{}}).Do(req) // no time-out but the test's
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.CopyN(io.Discard, resp.Body, 64<<10); err != nil || resp.StatusCode != 200 {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	killDatabase(t, pg)
	n, err := io.Copy(io.Discard, resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%d more bytes, then %v: the file looks complete", n, err)
	}
	// And a report that is asked for now is refused as a whole.
	again, err := nethttp.NewRequestWithContext(context.Background(), "GET", req.URL.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Header = req.Header
	resp, err = w.client.Do(again)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("status %d without a database", resp.StatusCode)
	}
}
