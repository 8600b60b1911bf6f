package http

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// The Attempt Report (SEMANTICS §4): one row for each attempt, in the order of
// the reservations, as it stands when its part of the report is read; attempts
// that are reserved after the request are left out.
//
// Decisions: times are UTC, RFC 3339 with milliseconds; a cell is empty when
// there is nothing to say (attempt_number of an attempt that is not consumed,
// among others); the contact's variables are one column with a JSON object,
// since every contact may have others. Text that came from elsewhere and that a
// spreadsheet would take for a formula has an apostrophe in front; phone
// numbers are a plus and digits, and stay as they are.

// reportPage is how many attempts are read at a time.
const reportPage = 250

var reportColumns = []struct {
	name string
	cell func(a *campaign.ReportedAttempt) string
}{
	{"run", func(a *campaign.ReportedAttempt) string { return strconv.Itoa(a.Run) }},
	{"pass", func(a *campaign.ReportedAttempt) string { return strconv.Itoa(a.Pass) }},
	{"attempt_number", func(a *campaign.ReportedAttempt) string { return positive(a.Attempt.Number) }},
	{"attempt_id", func(a *campaign.ReportedAttempt) string { return string(a.ID) }},
	{"contact_id", func(a *campaign.ReportedAttempt) string { return string(a.Contact) }},
	{"phone_number", func(a *campaign.ReportedAttempt) string { return a.To.E164() }},
	{"from_number", func(a *campaign.ReportedAttempt) string { return a.From.E164() }},
	{"trunk", func(a *campaign.ReportedAttempt) string { return inert(string(a.Trunk)) }},
	{"reserved_at", func(a *campaign.ReportedAttempt) string { return stage(a.ReservedAt) }},
	{"invite_at", func(a *campaign.ReportedAttempt) string { return stage(a.InviteAt) }},
	{"trying_at", func(a *campaign.ReportedAttempt) string { return stage(a.TryingAt) }},
	{"ringing_at", func(a *campaign.ReportedAttempt) string { return stage(a.RingingAt) }},
	{"answered_at", func(a *campaign.ReportedAttempt) string { return stage(a.AnsweredAt) }},
	{"verdict_at", func(a *campaign.ReportedAttempt) string { return stage(a.VerdictAt) }},
	{"bot_connected_at", func(a *campaign.ReportedAttempt) string { return stage(a.BotConnectedAt) }},
	{"bot_first_audio_at", func(a *campaign.ReportedAttempt) string { return stage(a.BotFirstAudioAt) }},
	{"ended_at", func(a *campaign.ReportedAttempt) string { return stage(a.EndedAt) }},
	{"outcome", func(a *campaign.ReportedAttempt) string { return string(a.Outcome) }},
	{"sip_code", func(a *campaign.ReportedAttempt) string { return positive(a.SIPCode) }},
	{"sip_reason", func(a *campaign.ReportedAttempt) string { return inert(a.SIPReason) }},
	{"q850", func(a *campaign.ReportedAttempt) string { return positive(a.Q850) }},
	{"amd_verdict", func(a *campaign.ReportedAttempt) string { return string(a.Verdict) }},
	{"amd_ms", func(a *campaign.ReportedAttempt) string { return milliseconds(a) }},
	{"session_id", func(a *campaign.ReportedAttempt) string { return inert(string(a.Session)) }},
	{"disposition", func(a *campaign.ReportedAttempt) string { return inert(result(a).Disposition) }},
	{"sub_disposition", func(a *campaign.ReportedAttempt) string { return inert(result(a).SubDisposition) }},
	{"ring_s", func(a *campaign.ReportedAttempt) string {
		return seconds(a.Ring(), a.InviteAt != nil && (a.AnsweredAt != nil || a.EndedAt != nil))
	}},
	{"talk_s", func(a *campaign.ReportedAttempt) string {
		return seconds(a.Talk(), a.WasConnected() && a.BotConnectedAt != nil && a.EndedAt != nil)
	}},
	{"hung_up_by", func(a *campaign.ReportedAttempt) string { return string(a.HungUpBy) }},
	{"variables", variablesCell},
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func stage(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func seconds(d time.Duration, known bool) string {
	if !known {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}

func milliseconds(a *campaign.ReportedAttempt) string {
	if a.Verdict == "" {
		return ""
	}
	return strconv.FormatInt(a.AMDTook.Milliseconds(), 10)
}

func result(a *campaign.ReportedAttempt) attempt.Result {
	if a.Result == nil {
		return attempt.Result{}
	}
	return *a.Result
}

// inert keeps a spreadsheet from taking text for a formula.
func inert(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

func variablesCell(a *campaign.ReportedAttempt) string {
	if len(a.ContactVariables) == 0 {
		return "{}"
	}
	b, err := json.Marshal(a.ContactVariables) // with its keys in order
	if err != nil {
		return "{}" // strings always marshal
	}
	return string(b)
}

// attemptsReport streams the report. The first part is read before anything is
// sent, so that an error that is there from the start is answered as one.
func (s *Server) attemptsReport(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	run, err := r.runOf()
	if err != nil {
		return err
	}
	q := campaign.AttemptsQuery{Campaign: id, Run: run, Until: s.Now(), Limit: reportPage}
	first, err := s.Reports.AttemptsPage(r.ctx(), q)
	if err != nil {
		return err
	}
	r.send(200, contentCSV+"; charset=utf-8", nil)
	r.rc.Response.Header.Set("Content-Disposition", `attachment; filename="attempts-`+string(id)+`.csv"`)
	r.rc.Response.SetBodyStream(&attemptsReport{server: s, conn: r.rc.Conn(), request: r.id, q: q, page: first}, -1)
	return nil
}

// runOf reads the run of the query, 0 without one.
func (r *request) runOf() (run int, err error) {
	var errs fieldErrors
	for k, v := range r.rc.QueryArgs().All() {
		if string(k) != "run" {
			errs.add(clipName(string(k)), "unknown_field", "is not a parameter of this request")
			continue
		}
		if run, err = strconv.Atoi(string(v)); err != nil || run < 1 || run > 1_000_000 {
			errs.add("run", "out_of_range", "must be a whole number from 1")
		}
	}
	return run, errs.err()
}

// attemptsReport is the body of an answer. An error in the middle of it ends
// the connection without the last chunk: the client sees that it has not got
// all.
type attemptsReport struct {
	server  *Server
	conn    net.Conn
	request string
	q       campaign.AttemptsQuery
	page    []campaign.ReportedAttempt
}

// SupportsBodyWriteTo implements fasthttp.BodyWriterTo.
func (a *attemptsReport) SupportsBodyWriteTo() bool { return true }

var errWriteTo = errors.New("http: a report is written, not read")

// Read is not used.
func (a *attemptsReport) Read([]byte) (int, error) { return 0, errWriteTo }

// WriteTo writes the rows, a part of the report at a time; each part has the
// server's WriteTimeout to be taken.
func (a *attemptsReport) WriteTo(w io.Writer) (total int64, err error) {
	var buf bytes.Buffer
	out := csv.NewWriter(&buf)
	row := make([]string, len(reportColumns))
	for i, c := range reportColumns {
		row[i] = c.name
	}
	_ = out.Write(row) // into memory
	for {
		for i := range a.page {
			for j, c := range reportColumns {
				row[j] = c.cell(&a.page[i])
			}
			_ = out.Write(row)
		}
		out.Flush()
		if err := a.conn.SetWriteDeadline(time.Now().Add(a.server.WriteTimeout)); err != nil {
			return total, err
		}
		n, err := w.Write(buf.Bytes())
		total += int64(n)
		if err != nil || len(a.page) < a.q.Limit {
			return total, err
		}
		buf.Reset()
		if err := a.next(); err != nil {
			a.server.metrics.cut.Inc()
			a.server.Log.Error().Str("request_id", a.request).Str("error", longDigits.ReplaceAllString(err.Error(), "***")).Msg("report broken off")
			return total, err
		}
	}
}

// next reads the part behind the last row.
func (a *attemptsReport) next() (err error) {
	last := &a.page[len(a.page)-1]
	a.q.After.ReservedAt, a.q.After.ID = *last.ReservedAt, last.ID
	ctx, cancel := context.WithTimeout(a.server.closing, a.server.CommandTimeout)
	defer cancel()
	a.page, err = a.server.Reports.AttemptsPage(ctx, a.q)
	return err
}
