package http

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// dials makes n attempts, a second apart.
func dials(n int) []campaign.ReportedAttempt {
	list := make([]campaign.ReportedAttempt, n)
	for i := range list {
		at := testAt.Add(-time.Hour + time.Duration(i)*time.Second)
		a := &list[i].Attempt
		a.ID, a.Campaign, a.Contact = engine.AttemptID(fmt.Sprintf("%032x", i+1)), "cmp_1", engine.ContactID(fmt.Sprintf("%032x", 1000+i))
		a.Run, a.Pass, a.Number, a.Consumed, a.State = 1, 1, 1, true, attempt.Ended
		a.To, a.From, a.Trunk = mobile, "+493012345601", "carrier"
		a.ReservedAt, a.InviteAt, a.EndedAt = &at, &at, &at
		a.Outcome = engine.OutcomeNoAnswer
		list[i].ContactVariables = map[string]string{"city": "Bonn"}
	}
	return list
}

// parts gives the list part by part, as the store does.
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

func TestTheAttemptReportHasOneRowADial(t *testing.T) {
	b := newBench(t)
	list := dials(2*reportPart + 7)
	// An intent that was never sent is no dial; one that does not count is.
	list[3].InviteAt, list[3].Consumed = nil, false
	list[4].Consumed = false
	served, verdict := testAt, &list[5].Attempt
	verdict.AnsweredAt, verdict.ServedAt, verdict.BotConnectedAt = &served, &served, &served
	end := served.Add(1500 * time.Millisecond)
	verdict.EndedAt, verdict.Verdict, verdict.AMDTook, verdict.SIPCode, verdict.HungUpBy = &end, engine.VerdictHuman, 740*time.Millisecond, 200, engine.PartyBot
	verdict.Attestation = "=A" // of a carrier of its own mind
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
	if got := strings.Join(rows[0], ","); got != strings.Join(reportColumns, ",")+",variables.city,variables.note" {
		t.Errorf("header %s", got)
	}
	if cell(4, "attempt_id") != string(list[4].ID) || cell(4, "attempt_number") != "" {
		t.Errorf("a dial that does not count: %v", rows[4])
	}
	for name, want := range map[string]string{
		"run": "1", "pass": "1", "attempt_number": "1", "phone_number": mobile, "from_number": "+493012345601", "trunk": "carrier",
		"answered_at": "2030-03-01T12:00:00.000Z", "ended_at": "2030-03-01T12:00:01.500Z", "sip_code": "200", "amd_verdict": "human",
		"amd_ms": "740", "talk_s": "1.500", "hung_up_by": "bot", "attestation": "'=A", "disposition": "'=HYPERLINK(1)", "sub_disposition": "fine",
		"variables.city": "Köln, \"Süd\"", "variables.note": "'-1",
	} {
		if got := cell(5, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if last := rows[len(rows)-1]; last[column("attempt_id")] != string(list[len(list)-1].ID) {
		t.Errorf("the last row is %v", last)
	}
}

func TestAReportThatIsCutOffNeverLooksComplete(t *testing.T) {
	b := newBench(t)
	list := dials(3 * reportPart)
	whole := parts(list)
	b.ports.onPart = func(q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
		if q.After.ID == list[2*reportPart-1].ID {
			return nil, errors.New("the database went away")
		}
		return whole(q)
	}
	req, err := nethttp.NewRequest("GET", "http://api.test"+reportPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.admin)
	resp, err := b.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("status %d, %d bytes, then %v", resp.StatusCode, len(body), err)
	}
	if n := strings.Count(string(body), "\n"); n < 2*reportPart {
		t.Errorf("only %d rows came before the fault", n)
	}
	if n := b.server.reports.Load(); n != 0 {
		t.Errorf("%d reports are still counted", n)
	}
}

func TestAReportIsRefusedBeforeItsFirstByte(t *testing.T) {
	b := newBench(t)
	for query, field := range map[string]string{"?run=0": "run out_of_range", "?run=x": "run out_of_range", "?page=1": "page unknown_field"} {
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
	b.ports.onPart = parts(dials(1))
	b.server.reports.Store(reportCap)
	b.byAdmin("GET", reportPath, "").is(503, "too_many_reports")
	b.server.reports.Store(0)
	b.byAdmin("GET", reportPath+"?run=1", "").is(200, "")
}
