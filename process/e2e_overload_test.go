package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
)

// More load than the dialler can take: it says so, nothing is half-done, and live calls go on.

// talks begins a conversation in a campaign and waits until both sides are heard.
func (w *world) talks(id engine.CampaignID) campaign.TriggerReply {
	w.t.Helper()
	rep := w.trigger(id, newNumber(), nil)
	w.session(rep.AttemptID.Call(), "begun", func(s bot.Session) bool { return s.FramesIn > 0 })
	return rep
}

// flood sends the requests of make over several connections until it returns no more, and counts
// the responses.
type flood struct {
	mu       sync.Mutex
	accepted int
	codes    map[string]int
	bad      []string
}

func (f *flood) send(w *world, connections int, next func(connection, i int) *nethttp.Request) {
	var all sync.WaitGroup
	for c := range connections {
		all.Go(func() {
			client := &nethttp.Client{Timeout: patience, Transport: &nethttp.Transport{MaxConnsPerHost: 1}}
			defer client.CloseIdleConnections()
			for i := 0; ; i++ {
				req := next(c, i)
				if req == nil {
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					f.note(answer{body: []byte(err.Error())})
					continue
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				f.note(answer{t: w.t, status: resp.StatusCode, header: resp.Header, body: body})
			}
		})
	}
	all.Wait()
}

func (f *flood) note(a answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.codes == nil {
		f.codes = map[string]int{}
	}
	switch {
	case a.status == 200:
		f.accepted++
	case (a.status == 429 || a.status == 503) && a.header.Get("Retry-After") != "" && a.header.Get("Retry-After") != "0":
		f.codes[a.code()]++
	default:
		f.bad = append(f.bad, a.String())
	}
}

func (f *flood) refused(code string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.codes[code]
}

// triggerRequest is a trigger of an unused number.
func (w *world) triggerRequest(id engine.CampaignID, key string) *nethttp.Request {
	body := fmt.Sprintf(`{"campaign_id":%q,"mobile":%q}`, id, newNumber())
	req, err := nethttp.NewRequestWithContext(context.Background(), "POST", w.p.URL()+"/api/v1/campaigns/trigger",
		strings.NewReader(body))
	if err != nil {
		panic(err) // of constants
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", key)
	return req
}

// labelled returns a value of /metrics with one label.
func (w *world) labelled(name, label, value string) float64 {
	w.t.Helper()
	return w.metric(fmt.Sprintf("%s{%s=%q}", name, label, value))
}

func TestAFloodOfTriggersIsRefusedWithoutHarm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.flags.IntakeCap, w.flags.KeyRate = 6, 40
	w.restart()
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	calls := w.running(map[string]any{"concurrency": 3})
	live := []campaign.TriggerReply{w.talks(calls), w.talks(calls), w.talks(calls)}
	flooded := w.running(nil)
	w.act(flooded, "pause").expect(200) // triggers are queued
	keys := make([]string, 32)
	for i := range keys {
		keys[i] = w.newKey(nil)
	}

	// The database accepts nothing for a while: requests in progress wait for it, and new ones are
	// refused.
	ctx := context.Background()
	db, err := pgx.Connect(ctx, w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(ctx) }()
	if _, err := db.Exec(ctx, "BEGIN; LOCK TABLE contacts IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var f flood
	const each = 40
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.send(w, 64, func(c, i int) *nethttp.Request {
			switch {
			case i == each:
				return nil
			case c < 32: // each with a key of its own
				return w.triggerRequest(flooded, keys[c])
			}
			return w.triggerRequest(flooded, w.key) // all with one
		})
	}()
	eventually(t, "most are refused", func() bool { return f.refused("overloaded") >= 200 })
	if _, err := db.Exec(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	<-over
	if len(f.bad) > 0 {
		t.Errorf("%d other answers, among them %s", len(f.bad), f.bad[0])
	}
	if f.accepted < 6 || f.codes["overloaded"] < 200 || f.codes["rate_limited"] < 1 ||
		f.accepted+f.codes["overloaded"]+f.codes["rate_limited"] != 64*each {
		t.Errorf("%d accepted, refused %v", f.accepted, f.codes)
	}
	// Accepted contacts are there, refused ones are not.
	if n := w.detail(flooded).Counters.Total; n != f.accepted ||
		w.rows(fmt.Sprintf("contacts WHERE campaign_id = '%s'", flooded)) != n {
		t.Errorf("%d contacts of %d accepted triggers", n, f.accepted)
	}
	if n := w.labelled("dialler_http_overloaded_total", "intake", "calls"); n != float64(f.codes["overloaded"]) {
		t.Errorf("%v refusals are counted, %d were sent", n, f.codes["overloaded"])
	}
	if n := w.metric("dialler_http_rate_limited_total"); n != float64(f.codes["rate_limited"]) {
		t.Errorf("%v refusals are counted, %d were sent", n, f.codes["rate_limited"])
	}
	for _, c := range live {
		w.flows(model, c.AttemptID.Call(), c.AttemptID.Leg(1))
		model.HangUp(string(c.AttemptID.Leg(1)))
		w.ended(c.AttemptID.Call(), engine.OutcomeCompleted)
	}
	if d := w.detail(calls); d.Counters.Abandoned != 0 || d.Counters.Completed != 3 {
		t.Errorf("the live calls: %+v", d.Counters)
	}
	w.trigger(flooded, newNumber(), nil) // there is room again
	w.act(flooded, "stop").expect(200)
	w.act(calls, "stop").expect(200)
	w.quiet()
}

// dialSmall connects with a small receive buffer.
func (w *world) dialSmall(request string) net.Conn {
	w.t.Helper()
	d := net.Dialer{Timeout: patience, Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	c, err := d.Dial("tcp", strings.TrimPrefix(w.p.URL(), "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, request); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// reads returns the response on a raw connection.
func (w *world) reads(c net.Conn) answer {
	w.t.Helper()
	resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{t: w.t, status: resp.StatusCode, header: resp.Header, body: body}
}

func TestSlowAndManyClientsHarmNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{streamPatience: time.Second}, 0)
	w.flags.HTTPConnections = 24
	w.restart()
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(map[string]any{"concurrency": 3})
	call := w.talks(id)

	// A console whose stream is never read is dropped once it accepts no more; another gets every
	// event.
	for i := range 40 {
		w.campaign(map[string]any{"name": fmt.Sprint(i, strings.Repeat(" long", 30))})
	}
	b := w.browser("watcher@example.org", "viewer")
	good := b.follow("/api/v1/live", "")
	for range 3 {
		w.dialSmall("GET /api/v1/live HTTP/1.1\r\nHost: x\r\nCookie: " + b.cookie + "\r\n\r\n")
	}
	eventually(t, "the streams that nobody reads are dropped",
		func() bool { return w.metric("dialler_http_streams_dropped_total") == 3 })
	if !good.next() { // the snapshot
		t.Fatal("the other stream has ended")
	}
	w.trigger(id, newNumber(), nil)
	if !good.next() {
		t.Fatal("the other stream has ended")
	}
	if n := w.metric("dialler_http_streams"); n != 1 {
		t.Errorf("%v streams are open", n)
	}

	// Too long bodies are refused by their header; of a long body nothing is read for an
	// unauthenticated client.
	trigger := "POST /api/v1/campaigns/trigger HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	if a := w.reads(w.dialSmall(trigger + "X-API-Key: " + w.key +
		"\r\nContent-Length: 10737418240\r\n\r\n{")); a.status != 413 || a.code() != "body_too_large" {
		t.Errorf("10 GiB: %s", a)
	}
	if a := w.reads(w.dialSmall(trigger + "X-API-Key: vx_unknown\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"1\r\n{\r\n")); a.status != 401 || a.code() != "unauthorized" {
		t.Errorf("of nobody: %s", a)
	}
	endless := w.dialSmall(trigger + "X-API-Key: " + w.key + "\r\nTransfer-Encoding: chunked\r\n\r\n")
	go func() {
		part := append(fmt.Appendf(nil, "%x\r\n", 64<<10), append(bytes.Repeat([]byte{' '}, 64<<10), "\r\n"...)...)
		for {
			if _, err := endless.Write(part); err != nil {
				return
			}
		}
	}()
	if a := w.reads(endless); a.status != 413 || a.code() != "body_too_large" {
		t.Errorf("an endless body: %s", a)
	}

	// Clients that send a byte now and then take every connection: a new client is told to retry,
	// and soon finds room.
	var refused answer
	var slow []net.Conn
	answered := make(chan answer, 1)
	eventually(t, "who comes to them is refused", func() bool {
		for i := range 10 { // so many at once, because the first would make room after a second
			request := "GET /healthz HTTP/1.1\r\nHo"
			if i%2 == 0 {
				request = trigger + "X-API-Key: " + w.key + "\r\nContent-Length: 100\r\n\r\n{\"mo"
			}
			c := w.dialSmall(request)
			slow = append(slow, c)
			go func() {
				resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					return // it made room, or the test is over
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				select {
				case answered <- answer{t: t, status: resp.StatusCode, header: resp.Header, body: body}:
				default:
				}
			}()
		}
		select {
		case refused = <-answered:
			return true
		default:
			return false
		}
	})
	if refused.status != 503 || refused.code() != "too_many_connections" || refused.header.Get("Retry-After") != "1" {
		t.Errorf("beyond the connections: %s", refused)
	}
	eventually(t, "the slowest make room for others", func() bool {
		c := w.dialSmall("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if w.reads(c).status != 200 {
			_ = c.Close()
			return false
		}
		slow = append(slow, c) // if it got a free place it keeps it
		// Read raw, because a Go client may report no response if it is refused before it has sent
		// its request.
		figures := w.reads(w.dialSmall("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
		return figures.status == 200 && !bytes.Contains(figures.body, []byte("dialler_http_connections_evicted_total 0"))
	})
	if open := w.p.api.Connections(); open > 24 {
		t.Errorf("%d are open", open)
	}
	for _, c := range slow {
		_ = c.Close()
	}
	eventually(t, "they are gone", func() bool { return w.p.api.Connections() < 12 })
	w.flows(model, call.AttemptID.Call(), call.AttemptID.Leg(1))
	model.HangUp(string(call.AttemptID.Leg(1)))
	w.ended(call.AttemptID.Call(), engine.OutcomeCompleted)
	w.act(id, "stop").expect(200)
	eventually(t, "the last call is over", func() bool {
		for _, c := range model.Ledger().Live() {
			model.HangUp(c.CallID)
		}
		return w.p.tree.LiveCalls() == 0
	})
	w.quiet()
}
