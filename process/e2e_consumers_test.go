package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/campaign"
)

// Clients that read a response one byte at a time or not at all, and a process without descriptors:
// with the shipped program, in a process of its own.

// apart continues the world's dialler in a process of its own, with one call in conversation.
func (w *world) apart(id engine.CampaignID) (r *running, call campaign.TriggerReply) {
	w.t.Helper()
	w.p.Close()
	w.flags.SIP = fmt.Sprintf("127.0.0.1:%d", ports.Of(w.t))
	w.tampered = true // there is nothing to audit here while another process runs
	r = w.another()
	w.t.Cleanup(func() {
		if r.cmd.ProcessState == nil {
			_ = r.cmd.Process.Kill()
			<-r.read
			_ = r.cmd.Wait()
		}
	})
	eventually(w.t, "its trunk and its bot are known to answer", func() bool {
		a := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": newNumber()})
		a.into(&call)
		return a.status == 200 && call.Status == "dialled"
	})
	w.session(call.AttemptID.Call(), "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	return r, call
}

func TestReadersOfReportsThatHardlyReadHarmNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	first := w.talks(id)
	model.HangUp(string(first.AttemptID.Leg(1)))
	w.ended(first.AttemptID.Call(), engine.OutcomeCompleted)
	const rows = 20_000 // 26 MB as a report, of which 1,000 rows at a time are in memory
	w.exec(fmt.Sprintf(`INSERT INTO attempts SELECT (jsonb_populate_record(a,
			jsonb_build_object('id', md5(n::text)::uuid, 'sip_reason', repeat('x', 1000)))).*
		FROM attempts a, generate_series(1, %d) n`, rows))
	r, call := w.apart(id)

	memory := w.metric("process_resident_memory_bytes")
	request := "GET /api/v1/campaigns/" + string(id) +
		"/attempts.csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer " + w.admin + "\r\n\r\n"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var stopped []net.Conn
	var all []net.Conn
	for range 18 { // there is room for sixteen
		all = append(all, w.dialSmall(request))
	}
	readers, refused := 0, 0
	for asked := 0; len(all) > 0 && asked < 100; asked++ {
		c := all[0]
		all = all[1:]
		status := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(c, status); err != nil {
			t.Fatal(err)
		}
		if string(status) != "HTTP/1.1 200" {
			rest, _ := io.ReadAll(c)
			// So many first parts at once may take a busy server too long.
			if bytes.Contains(rest, []byte(`"database_unavailable"`)) {
				all = append(all, w.dialSmall(request))
				continue
			}
			if !bytes.Contains(rest, []byte(`"too_many_reports"`)) || !bytes.Contains(rest, []byte("Retry-After: ")) {
				t.Errorf("refused with %s %s", status, rest)
			}
			refused++
			continue
		}
		if readers++; readers%2 == 0 {
			stopped = append(stopped, c)
			continue
		}
		go func() { // a byte a second
			b, second := make([]byte, 1), time.NewTicker(time.Second)
			defer second.Stop()
			for {
				if _, err := c.Read(b); err != nil {
					return
				}
				select {
				case <-ctx.Done():
					return
				case <-second.C:
				}
			}
		}()
	}
	if readers < 16 || refused == 0 {
		t.Errorf("%d reports were begun, %d refused", readers, refused)
	}
	for range 20 {
		w.trigger(id, newNumber(), nil)
		w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(200)
	}
	w.flows(model, call.AttemptID.Call(), call.AttemptID.Leg(1))
	limit := 200.0
	if raceEnabled { // its shadow memory
		limit = 350
	}
	if more := w.metric("process_resident_memory_bytes") - memory; more > limit*(1<<20) {
		t.Errorf("%.0f MiB more for %d readers of 26 MB each", more/(1<<20), readers)
	}
	eventually(t, "all are cut off",
		func() bool { return w.metric("dialler_http_reports_broken_off_total") == float64(readers) })
	for _, c := range stopped {
		rest, _ := io.ReadAll(c)
		if bytes.HasSuffix(rest, []byte("0\r\n\r\n")) {
			t.Errorf("a report that was cut off looks whole after %d bytes: %q", len(rest), rest[max(0, len(rest)-100):])
		}
	}
	whole := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv", nil).expect(200)
	if n := bytes.Count(whole.body, []byte("\n")); n < rows+2 {
		t.Errorf("the report of a reader who reads has %d lines of %d", n, rows+2)
	}
	w.act(id, "stop").expect(200)
	for _, c := range model.Ledger().Live() {
		model.HangUp(c.CallID)
	}
	r.terminate()
}

// descriptors counts the open descriptors of a process.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	open, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	if err != nil || len(open) == 0 {
		t.Fatalf("descriptors of %d: %v", pid, err)
	}
	return len(open)
}

func TestAWantOfDescriptorsNeitherSpinsNorEndsAnything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	r, call := w.apart(id)

	// look polls as long as there is an answer.
	client := &nethttp.Client{Timeout: patience, Transport: &nethttp.Transport{DisableKeepAlives: true}}
	look := func(path string) (int, string) {
		resp, err := client.Get(w.p.URL() + path)
		if err != nil {
			return 0, ""
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, ""
		}
		return resp.StatusCode, string(body)
	}
	pid := r.cmd.Process.Pid
	var was unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: uint64(descriptors(t, pid)) + 4, Max: was.Max}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	var clients []net.Conn
	for range 40 {
		clients = append(clients, w.dialSmall("GET /healthz HTTP/1.1\r\nHo"))
	}
	eventually(t, "it says so, to whom it can", func() bool {
		status, body := look("/readyz")
		return status == 503 && bytes.Contains([]byte(body), []byte("no descriptors left"))
	})
	w.flows(model, call.AttemptID.Call(), call.AttemptID.Leg(1))
	var figures string
	eventually(t, "it answers", func() bool {
		var status int
		status, figures = look("/metrics")
		return status == 200
	})
	if n, _ := figure(t, figures, "dialler_http_accept_errors_total"); n < 1 || n > 2000 {
		t.Errorf("%v connections could not be accepted: one that is tried without a pause would be tens of thousands", n)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		t.Fatal("the program has ended")
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients {
		_ = c.Close()
	}
	eventually(t, "it is ready again", func() bool { status, _ := look("/readyz"); return status == 200 })
	w.client.CloseIdleConnections() // the idle ones that made room
	w.talks(id)
	w.act(id, "stop").expect(200)
	for _, c := range model.Ledger().Live() {
		model.HangUp(c.CallID)
	}
	r.terminate()
}
