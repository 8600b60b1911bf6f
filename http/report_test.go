package http

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

const reportPath = "/api/v1/campaigns/cmp_1/attempts.csv"

// reported is a call that went all the way.
func reported() campaign.ReportedAttempt {
	at := func(s int) *time.Time {
		t := testAt.Add(time.Duration(s)*time.Second + 123456*time.Microsecond)
		return &t
	}
	return campaign.ReportedAttempt{
		Attempt: attempt.Attempt{
			ID: theAttempt, Campaign: "cmp_1", Contact: "c1", Run: 2, Pass: 1, Number: 3, To: mobile, From: "+493023125000", Trunk: "t1",
			ReservedAt: at(0), InviteAt: at(1), TryingAt: at(2), RingingAt: at(3), AnsweredAt: at(10), VerdictAt: at(11), ServedAt: at(12),
			BotConnectedAt: at(12), BotFirstAudioAt: at(13), EndedAt: at(72), State: attempt.Ended, Consumed: true,
			Outcome: engine.OutcomeCompleted, SIPCode: 200, SIPReason: "OK", Q850: 16, Verdict: engine.VerdictHuman, AMDTook: 1234 * time.Millisecond,
			Session: "MZ1", HungUpBy: engine.PartyCallee, Result: &attempt.Result{Disposition: "interested", SubDisposition: "later, \"maybe\""},
		},
		ContactVariables: map[string]string{"plan": "gold", "first_name": "Ada \"x\"\n"},
	}
}

func records(t *testing.T, body []byte) [][]string {
	t.Helper()
	list, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTheAttemptReport(t *testing.T) {
	b := newBench(t)
	bare := campaign.ReportedAttempt{Attempt: attempt.Attempt{ID: theAttempt, Contact: "c2", Run: 1, Pass: 1, To: mobile, From: "+493023125000", Trunk: "t1", ReservedAt: &testAt}}
	evil := reported()
	evil.SIPReason, evil.Result = "=cmd()", &attempt.Result{Disposition: "+1", SubDisposition: "@x"}
	evil.Session, evil.Trunk, evil.ContactVariables = "-1", "\tt", map[string]string{"=a": "=b"}
	b.ports.attempts = []campaign.ReportedAttempt{reported(), bare, evil}
	a := b.byKey("GET", reportPath+"?run=2", "").is(200, "")
	if h := a.header; h.Get("Content-Type") != "text/csv; charset=utf-8" || h.Get("Content-Disposition") != `attachment; filename="attempts-cmp_1.csv"` ||
		h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", h)
	}
	q := b.ports.queries[0]
	if q.Campaign != "cmp_1" || q.Run != 2 || !q.Until.Equal(testAt) || q.Limit != reportPage || !q.After.ReservedAt.IsZero() || len(b.ports.queries) != 1 {
		t.Errorf("asked for %+v", b.ports.queries)
	}
	const at = "2030-03-01T12:00:"
	want := [][]string{
		strings.Split("run,pass,attempt_number,attempt_id,contact_id,phone_number,from_number,trunk,reserved_at,invite_at,trying_at,ringing_at,answered_at,"+
			"verdict_at,bot_connected_at,bot_first_audio_at,ended_at,outcome,sip_code,sip_reason,q850,amd_verdict,amd_ms,session_id,disposition,"+
			"sub_disposition,ring_s,talk_s,hung_up_by,variables", ","),
		{"2", "1", "3", string(theAttempt), "c1", mobile, "+493023125000", "t1", at + "00.123Z", at + "01.123Z", at + "02.123Z", at + "03.123Z", at + "10.123Z",
			at + "11.123Z", at + "12.123Z", at + "13.123Z", "2030-03-01T12:01:12.123Z", "completed", "200", "OK", "16", "human", "1234", "MZ1", "interested",
			"later, \"maybe\"", "9.000", "60.000", "callee", `{"first_name":"Ada \"x\"\n","plan":"gold"}`},
		{"1", "1", "", string(theAttempt), "c2", mobile, "+493023125000", "t1", at + "00.000Z", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "{}"},
	}
	got := records(t, a.body)
	for i := range want {
		if fmt.Sprintf("%q", got[i]) != fmt.Sprintf("%q", want[i]) {
			t.Errorf("row %d:\n got %q\nwant %q", i, got[i], want[i])
		}
	}
	cell := map[string]string{}
	for i, name := range got[0] {
		cell[name] = got[3][i]
	}
	for name, want := range map[string]string{"sip_reason": "'=cmd()", "disposition": "'+1", "sub_disposition": "'@x", "session_id": "'-1", "trunk": "'\tt",
		"variables": `{"=a":"=b"}`, "phone_number": mobile} {
		if cell[name] != want {
			t.Errorf("%s is %q, want %q", name, cell[name], want)
		}
	}
}

func TestTheAttemptReportIsReadPartByPart(t *testing.T) {
	b := newBench(t)
	const attempts = 2*reportPage + 7
	b.ports.onPage = func(q campaign.AttemptsQuery) (list []campaign.ReportedAttempt, err error) {
		for i := range attempts {
			r := reported()
			at := testAt.Add(time.Duration(i) * time.Second)
			r.ReservedAt, r.ID = &at, engine.AttemptID(fmt.Sprintf("%032x", i))
			if at.After(q.After.ReservedAt) && len(list) < q.Limit {
				list = append(list, r)
			}
		}
		return list, nil
	}
	got := records(t, b.byAdmin("GET", reportPath, "").is(200, "").body)
	if len(got) != attempts+1 || len(b.ports.queries) != 3 || b.ports.queries[1].After.ID != engine.AttemptID(fmt.Sprintf("%032x", reportPage-1)) {
		t.Fatalf("%d rows, asked %d times", len(got), len(b.ports.queries))
	}
	for i, row := range got[1:] {
		if row[3] != fmt.Sprintf("%032x", i) {
			t.Fatalf("row %d is of %s", i, row[3])
		}
	}
}

func TestAReportThatIsRefused(t *testing.T) {
	b := newBench(t)
	b.do("GET", reportPath, "").is(401, "unauthorized")
	narrow := b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })
	b.do("GET", reportPath, "", "X-API-Key", narrow).is(403, "scope_missing")
	other := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("GET", reportPath, "", "X-API-Key", other).is(403, "campaign_not_allowed")
	b.byKey("GET", reportPath+"?run=0", "").is(422, "validation_failed", "run out_of_range")
	b.byKey("GET", reportPath+"?run=x", "").is(422, "validation_failed", "run out_of_range")
	b.byKey("GET", reportPath+"?from=x", "").is(422, "validation_failed", "from unknown_field")
	b.ports.fail = errNoCampaign
	b.byKey("GET", reportPath, "").is(404, "campaign_not_found")
	b.ports.fail = engine.Unavailable("database_unavailable", "away", time.Second)
	b.byKey("GET", reportPath, "").is(503, "database_unavailable")
}

// full gives full parts for ever.
func full(q campaign.AttemptsQuery) []campaign.ReportedAttempt {
	list := make([]campaign.ReportedAttempt, q.Limit)
	for i := range list {
		list[i] = reported()
	}
	return list
}

func TestAReportThatBreaksOffEndsWithoutItsLastChunk(t *testing.T) {
	b := newBench(t)
	var asked atomic.Int32
	b.ports.onPage = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		if asked.Add(1) == 3 {
			return nil, errBoom
		}
		return full(q), nil
	}
	for _, client := range []string{"a library", "the wire"} {
		asked.Store(0)
		c := b.connect()
		if _, err := io.WriteString(c, "GET "+reportPath+" HTTP/1.1\r\nHost: x\r\nX-API-Key: "+b.key+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if client == "the wire" {
			all, err := io.ReadAll(c)
			if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200") || strings.Contains(string(all[len(all)-16:]), "0\r\n\r\n") || len(all) < 2*reportPage*100 {
				t.Errorf("%d bytes, %v, ending in %q", len(all), err, all[max(0, len(all)-40):])
			}
			continue
		}
		resp, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the client sees %v", err)
		}
	}
	if !strings.Contains(b.log.String(), "report broken off") || strings.Contains(b.log.String(), "15112345678") {
		t.Errorf("log %s", b.log)
	}
	if !strings.Contains(string(b.do("GET", "/metrics", "").body), "dialler_http_reports_broken_off_total 2") {
		t.Error("not counted")
	}
}

// A client that does not take its report does not keep it for ever.
func TestAReportThatNobodyTakesIsGivenUp(t *testing.T) {
	b := newBench(t, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	var asked atomic.Int32
	b.ports.onPage = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		asked.Add(1)
		return full(q), nil
	}
	c := b.connect()
	if _, err := io.WriteString(c, "GET "+reportPath+" HTTP/1.1\r\nHost: x\r\nX-API-Key: "+b.key+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	last, since := int32(-1), time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for time.Since(since) < 2*time.Second {
		<-tick.C
		if n := asked.Load(); n != last {
			last, since = n, time.Now()
		}
		if last > 5000 {
			t.Fatal("the report goes on without anybody who takes it")
		}
	}
	if last < 1 {
		t.Error("nothing was asked for")
	}
	// The server is done with it: what is left in the buffers ends.
	if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}
