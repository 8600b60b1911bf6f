package carrier

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/bench/draw"
)

func TestConfigInJSON(t *testing.T) {
	text := `{"listen":"127.0.0.1:0","seed":7,"mix":{"answer_rate":0.3,"ring":"3s..18s","talk":"exp(1m0s)"},
		"script":{"+4915100000001":[{"kind":"refuse","code":486,"q850":17},{"kind":"human","ring":"2s","talk":"1m0s"}]},
		"credentials":{"username":"u","password":"p"},"cps":50,"retry_after":"2s","t1":"100ms","media":true,
		"stop_after":"1h0m0s"}`
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: "127.0.0.1:0", Seed: 7, CPS: 50, Media: true,
		Mix: &Mix{
			AnswerRate: 0.3, Ring: draw.Between(3*time.Second, 18*time.Second), Talk: draw.Exponential(time.Minute),
		},
		Script: script(number, Busy(), Behaviour{
			Kind: Human, Ring: draw.Exactly(2 * time.Second), Talk: draw.Exactly(time.Minute),
		}),
		Credentials: &Credentials{Username: "u", Password: "p"},
		RetryAfter:  2 * time.Second, T1: 100 * time.Millisecond, StopAfter: time.Hour,
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Fatalf("got %+v\nwant %+v", cfg, want)
	}
	b, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(again, want) {
		t.Fatalf("%v, %s", err, b)
	}
}

func TestConfigThatCannotWorkIsRefused(t *testing.T) {
	f := func(want string, cfg Config) {
		t.Helper()
		c, err := Start(cfg)
		if err == nil {
			_ = c.Close()
			t.Fatalf("started, want %q", want)
		}
		if !strings.Contains(err.Error(), want) {
			t.Fatalf("%q does not say %q", err, want)
		}
	}
	f("not loopback", Config{Listen: "192.0.2.1:5060"})
	f("literal IP", Config{Listen: "localhost:5060"})
	f("callers can reach", Config{Listen: "0.0.0.0:0", AllowRemote: true})
	f("codec", Config{Codecs: []string{"G729"}})
	f("kind", Config{Profile: []Behaviour{{Kind: "ghost"}}})
	f("not a final refusal", Config{Profile: []Behaviour{{Kind: Refuse, Code: 200}}})
	f("progress", Config{Profile: []Behaviour{{Kind: Human, Progress: "loud"}}})
	f("digits", Config{Profile: []Behaviour{{Kind: Human, Digits: "12x"}}})
	f("digits", Config{Profile: []Behaviour{{Kind: Human, Digits: "1\u0130"}}}) // its low byte is a 0
	f("recording", Config{Profile: []Behaviour{{Kind: Human, Recording: "/nowhere.wav"}}})
	f("dtmf", Config{Profile: []Behaviour{{Kind: Human, DTMF: "tones"}}})
	f("early", Config{Profile: []Behaviour{{Kind: Refuse, Code: 480, Early: "/nowhere.wav"}}})
	f("only a callee that answers", Config{Profile: []Behaviour{{Kind: NoAnswer, Recording: "/nowhere.wav"}}})
	f("script of", Config{Script: script(number)})
	f("kind", Config{Script: script(number, Behaviour{})})
	f("between 0 and 1", Config{Mix: &Mix{AnswerRate: 30}})
	f("more than 1", Config{Mix: &Mix{AnswerRate: 0.8, Busy: 0.3}})
	f("a share below 1", Config{Loss: 1})
	f("username", Config{Credentials: &Credentials{}})
	f("algorithm", Config{Credentials: &Credentials{Username: "u", Password: "p", Algorithms: []string{"ROT13"}}})
	f("not loopback", Config{HTTP: "192.0.2.1:80"})
	f("ledger file", Config{LedgerFile: "/nowhere/at/all"})
}

func TestAdminInterface(t *testing.T) {
	c := start(t, Config{HTTP: "127.0.0.1:0", Script: script(number, Behaviour{Kind: Human})})
	base := "http://" + c.HTTPAddr()
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	do := func(method, path, body string, status int, into any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, b, err)
		}
		if into != nil {
			if err := json.Unmarshal(b, into); err != nil {
				t.Fatalf("%s: %v in %s", path, err, b)
			}
		}
	}
	u := newUAC(t, c)
	l := u.leg(number).established()
	again := u.leg(number).established()
	var rows Rows
	do("GET", "/ledger", "", 200, &rows)
	if len(rows) != 2 || len(rows.Overlaps()) != 1 {
		t.Fatalf("rows: %+v", rows)
	}
	do("GET", "/ledger?number=%2B4915100000001&call_id="+l.id, "", 200, &rows)
	if len(rows) != 1 || rows[0].CallID != l.id {
		t.Fatalf("rows: %+v", rows)
	}
	do("GET", "/live", "", 200, &rows)
	if len(rows) != 2 {
		t.Fatalf("live: %+v", rows)
	}
	var overlaps []Overlap
	do("GET", "/overlaps", "", 200, &overlaps)
	var duplicates []Duplicate
	do("GET", "/duplicates", "", 200, &duplicates)
	var s Summary
	do("GET", "/summary", "", 200, &s)
	if len(overlaps) != 1 || len(duplicates) != 0 || s.Answered != 2 || s.Overlaps != 1 {
		t.Fatalf("%v %v %+v", overlaps, duplicates, s)
	}
	do("POST", "/hangup?call_id="+l.id, "", 204, nil)
	l.ok(u.skipTo("BYE", func(r *reply) bool { return r.method == "BYE" }), "")
	do("POST", "/hangup?call_id="+l.id, "", 404, nil)
	do("POST", "/config", `{"script":{"`+number+`":[{"kind":"refuse","code":603}]}}`, 204, nil)
	do("POST", "/config", `{"script":{"`+number+`":[{"kind":"ghost"}]}}`, 422, nil)
	do("POST", "/config", `{"t1":"long"}`, 422, nil)
	again.bye()
	again.expect(200)
	l = u.leg(number).invite()
	l.expect(100)
	l.expect(603)
	l.ack()
}

func TestRunEndsWithItsContextAndByItself(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Config{}) }()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ledger")
	if err := Run(t.Context(), Config{StopAfter: time.Millisecond, LedgerFile: file}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
}

func TestUnwritableLedgerIsReported(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Fatal("this test needs /dev/full")
	}
	c, err := Start(Config{LedgerFile: "/dev/full", Script: script(number, Busy())})
	if err != nil {
		t.Fatal(err)
	}
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "ledger file") {
		t.Fatalf("Close: %v", err)
	}
}

func TestTCPStreamIsCutIntoMessages(t *testing.T) {
	c := start(t, Config{Script: script(number, Behaviour{Kind: NoAnswer})})
	u := newUAC(t, c)
	conn, err := net.Dial("tcp", c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	l := u.leg(number)
	options := strings.ReplaceAll(l.request("OPTIONS", "z9hG4bKo", "<sip:x@y>", "", "", 1), "/UDP", "/TCP")
	invite := strings.ReplaceAll(l.request("INVITE", l.branch, l.to, "", l.sdp, 1), "/UDP", "/TCP")
	// A keep-alive, two and a half messages in one segment, then the rest.
	all := "\r\n\r\n" + options + invite
	_ = conn.SetDeadline(time.Now().Add(patience))
	for _, part := range []string{all[:len(all)-7], all[len(all)-7:]} {
		if _, err := fmt.Fprint(conn, part); err != nil {
			t.Fatal(err)
		}
	}
	got := ""
	buf := make([]byte, 4096)
	for !strings.Contains(got, "SIP/2.0 180") {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, got)
		}
		got += string(buf[:n])
	}
	if !strings.HasPrefix(got, "\r\nSIP/2.0 200 OK") || !strings.Contains(got, "SIP/2.0 100") {
		t.Fatalf("got %q", got)
	}
	if row := l.row(); row.Transport != "tcp" {
		t.Fatalf("row: %+v", row)
	}
}
