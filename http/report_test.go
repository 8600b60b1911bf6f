package http

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/http/download"
)

// dials makes n attempts, a second apart.
func dials(n int) []campaign.ReportedAttempt {
	list := make([]campaign.ReportedAttempt, n)
	for i := range list {
		at := testAt.Add(-time.Hour + time.Duration(i)*time.Second)
		a := &list[i].Attempt
		a.ID, a.Campaign, a.Contact = engine.AttemptID(fmt.Sprintf("%032x",
			i+1)), "cmp_1", engine.ContactID(fmt.Sprintf("%032x", 1000+i))
		a.Run, a.Pass, a.Number, a.Consumed, a.State = 1, 1, 1, true, attempt.Ended
		a.To, a.From, a.Trunk = mobile, "+493012345601", "carrier"
		a.ReservedAt, a.InviteAt, a.EndedAt = &at, &at, &at
		a.Outcome = engine.OutcomeNoAnswer
		list[i].ContactVariables = map[string]string{"city": "Bonn"}
	}
	return list
}

// parts returns the list in parts, as the store does.
func parts(list []campaign.ReportedAttempt) func(campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
	return func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		from := 0
		if q.After.ID != "" {
			from = slices.IndexFunc(list, func(a campaign.ReportedAttempt) bool { return a.ID == q.After.ID }) + 1
		}
		return list[from:min(from+q.Limit, len(list))], nil
	}
}

const reportPath = "/api/v1/campaigns/cmp_1/attempts.csv"

// perPart is how many attempts are read at a time.
const perPart = 1000

// columnsBefore are the columns before the variables.
const columnsBefore = "run,pass,attempt_number,attempt_id,contact_id,phone_number,from_number,trunk," +
	"reserved_at,invite_at,trying_at,ringing_at,answered_at,verdict_at,bot_connected_at,bot_first_audio_at,ended_at," +
	"outcome,sip_code,sip_reason,q850,amd_verdict,amd_ms,session_id,disposition,sub_disposition," +
	"ring_s,talk_s,hung_up_by,attestation"

func TestTheAttemptReportHasOneRowADial(t *testing.T) {
	b := newBench(t)
	list := dials(2*perPart + 7)
	// An intent that was never sent is not a dial; a dial that does not count is one.
	list[3].InviteAt, list[3].Consumed = nil, false
	list[4].Consumed = false
	served, verdict := testAt, &list[5].Attempt
	verdict.AnsweredAt, verdict.ServedAt, verdict.BotConnectedAt = &served, &served, &served
	end := served.Add(1500 * time.Millisecond)
	verdict.EndedAt, verdict.Verdict, verdict.AMDTook, verdict.SIPCode, verdict.HungUpBy =
		&end, engine.VerdictHuman, 740*time.Millisecond, 200, engine.PartyBot
	verdict.Attestation = "=A" // from a carrier with its own values
	verdict.Result = &attempt.Result{Disposition: "=HYPERLINK(1)", SubDisposition: "fine"}
	list[5].ContactVariables = map[string]string{"city": "Köln, \"Süd\"", "note": "-1", "unknown": "x"}
	b.ports.onPart = parts(list)

	a := b.byAdmin("GET", reportPath, "").is(200, "")
	if d := a.header.Get("Content-Disposition"); d != `attachment; filename="attempts-cmp_1.csv"` {
		t.Errorf("Content-Disposition %q", d)
	}
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := len(list) - 1 + 1; len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	cell := func(row int, name string) string { return rows[row][column(name)] }
	if got := strings.Join(rows[0], ","); got != columnsBefore+",variables.city,variables.note" {
		t.Errorf("header %s", got)
	}
	if cell(4, "attempt_id") != string(list[4].ID) || cell(4, "attempt_number") != "" {
		t.Errorf("a dial that does not count: %v", rows[4])
	}
	for name, want := range map[string]string{
		"run": "1", "pass": "1", "attempt_number": "1", "phone_number": mobile, "from_number": "+493012345601",
		"trunk": "carrier", "answered_at": "2030-03-01T12:00:00.000Z", "ended_at": "2030-03-01T12:00:01.500Z",
		"sip_code": "200", "amd_verdict": "human",
		"amd_ms": "740", "talk_s": "1.500", "hung_up_by": "bot", "attestation": "'=A", "disposition": "'=HYPERLINK(1)",
		"sub_disposition": "fine",
		"variables.city":  "Köln, \"Süd\"", "variables.note": "'-1",
	} {
		if got := cell(5, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if last := rows[len(rows)-1]; last[column("attempt_id")] != string(list[len(list)-1].ID) {
		t.Errorf("the last row is %v", last)
	}
}

// raw requests a report as it is on the wire; gzip says whether to accept gzip.
func (b *bench) raw(path string, gzip bool) *nethttp.Response {
	b.t.Helper()
	req, err := nethttp.NewRequest("GET", "http://api.test"+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.admin)
	req.Header.Set("Accept-Encoding", "identity")
	if gzip {
		req.Header.Set("Accept-Encoding", "br;q=1, gzip;q=0.5")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	if got := resp.Header.Get("Content-Encoding"); (got == "gzip") != gzip ||
		resp.Header.Get("Vary") != "Accept-Encoding" {
		b.t.Errorf("Content-Encoding %q, Vary %q", got, resp.Header.Get("Vary"))
	}
	return resp
}

// unpacked reads a report to its end or to the interruption.
func unpacked(resp *nethttp.Response) ([]byte, error) {
	if resp.Header.Get("Content-Encoding") == "" {
		return io.ReadAll(resp.Body)
	}
	zip, err := gzip.NewReader(resp.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zip)
}

func TestAReportThatIsCutOffNeverLooksComplete(t *testing.T) {
	b := newBench(t)
	list := dials(3 * perPart)
	whole := parts(list)
	b.ports.onPart = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		if q.After.ID == list[2*perPart-1].ID {
			return nil, errors.New("the database went away")
		}
		return whole(q)
	}
	for _, gzip := range []bool{false, true} {
		resp := b.raw(reportPath, gzip)
		body, err := unpacked(resp)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("status %d, %d bytes, then %v", resp.StatusCode, len(body), err)
		}
		if n := strings.Count(string(body), "\n"); n < 2*perPart {
			t.Errorf("only %d rows came before the fault", n)
		}
		if resp.Trailer.Get("X-Report-Cursor") != "" {
			t.Error("it has the trailers of a whole one")
		}
	}
	eventually(t, "no report is counted", func() bool { return b.server.files.Sheets.Load() == 0 })
}

// The part before the fault and the part after its last whole row together equal the uninterrupted
// report.
func TestAReportGoesOnBehindTheLastRowThatArrived(t *testing.T) {
	b := newBench(t)
	list := dials(2*perPart + 7)
	list[perPart].InviteAt, list[perPart].Consumed = nil, false // not a row of it
	whole := parts(list)
	b.ports.onPart = whole
	for _, gzip := range []bool{false, true} {
		resp := b.raw(reportPath, gzip)
		want, err := unpacked(resp)
		if err != nil {
			t.Fatal(err)
		}
		columns := resp.Header.Get("X-Report-Columns")
		if got := resp.Trailer; got.Get("X-Report-Rows") != strconv.Itoa(len(list)-1) ||
			got.Get("X-Report-Cursor") != string(list[len(list)-1].ID) {
			t.Errorf("trailers %v", got)
		}
		b.ports.onPart = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
			if q.After.ID == list[perPart-1].ID {
				return nil, errors.New("the database went away")
			}
			return whole(q)
		}
		got, err := unpacked(b.raw(reportPath, gzip))
		if err == nil {
			t.Fatal("it was not cut off")
		}
		b.ports.onPart = whole
		got = got[:strings.LastIndexByte(string(got), '\n')+1]
		rows, err := csv.NewReader(strings.NewReader(string(got))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		after := rows[len(rows)-1][slices.Index(rows[0], "attempt_id")]
		resp = b.raw(reportPath+"?after="+after+"&columns="+columns, gzip)
		rest, err := unpacked(resp)
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+string(rest) != string(want) {
			t.Errorf("the two parts are not the whole: %d + %d bytes of %d", len(got), len(rest), len(want))
		}
		if typ := resp.Header.Get("Content-Type"); typ != "text/csv; charset=utf-8; header=absent" {
			t.Errorf("Content-Type %q", typ)
		}
		// After the last row there is nothing yet, and the cursor stays.
		resp = b.raw(reportPath+"?after="+string(list[len(list)-1].ID), gzip)
		if rest, err := unpacked(resp); err != nil || len(rest) > 0 ||
			resp.Trailer.Get("X-Report-Cursor") != string(list[len(list)-1].ID) {
			t.Errorf("%q behind the end, %v, %v", rest, err, resp.Trailer)
		}
	}
}

func TestAReportIsRefusedBeforeItsFirstByte(t *testing.T) {
	b := newBench(t)
	for query, field := range map[string]string{"?run=0": "run out_of_range", "?run=x": "run out_of_range",
		"?page=1":  "page unknown_field",
		"?after=x": "after invalid_format", "?after=" + strings.Repeat("A", 32): "after invalid_format",
		"?columns=0": "columns invalid_format"} {
		b.byAdmin("GET", reportPath+query, "").is(422, "validation_failed", field)
	}
	b.ports.onPart = func(campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		return nil, engine.Unavailable("database_unavailable", "The database does not answer.", time.Second)
	}
	b.byAdmin("GET", reportPath, "").is(503, "database_unavailable")
	b.ports.onPart = func(campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		return nil, engine.NotFound("campaign_not_found", "There is no such campaign.")
	}
	b.byAdmin("GET", reportPath, "").is(404, "campaign_not_found")
	b.do("GET", reportPath, "").is(401, "unauthorized")
	b.ports.onPart = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		if q.After.ID == "" || !q.After.ReservedAt.IsZero() {
			t.Errorf("%+v", q)
		}
		return nil, engine.NotFound("cursor_not_found", "no")
	}
	b.byAdmin("GET", reportPath+"?after="+string(theAttempt), "").is(404, "cursor_not_found")
	b.ports.onPart = parts(dials(1))
	b.byAdmin("GET", reportPath+"?columns="+strings.Repeat("0", 16), "").is(409, "columns_changed")
	if n := b.server.files.Sheets.Load(); n != 0 {
		t.Errorf("%d reports are still counted", n)
	}
	b.server.files.Sheets.Store(download.SheetCap)
	b.byAdmin("GET", reportPath, "").is(503, "too_many_reports")
	b.server.files.Sheets.Store(0)
	b.byAdmin("GET", reportPath+"?run=1", "").is(200, "")
}
