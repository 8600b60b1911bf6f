package reports

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/download"
	"dialler/http/form"
	"dialler/http/wire"
)

// The Attempt Report (SEMANTICS §4): one row per dial, streamed (package download). A reader whose
// download was interrupted, or who wants newer rows, continues after the last row received: its
// attempt_id is the cursor.

// API serves reports on campaigns: the Attempt Report, and the record of a run.
type API struct {
	*wire.Host
	files    *download.Files
	Reports  Reports
	Evidence Evidence
}

// New makes the API.
func New(h *wire.Host, f *download.Files, reports Reports, evidence Evidence) *API {
	return &API{Host: h, files: f, Reports: reports, Evidence: evidence}
}

const (
	// reportPart is how many attempts are read at a time.
	reportPart = 1000
	// reportVariables bounds the columns of variables.
	reportVariables = 256

	columnsHeader = "X-Report-Columns"
	cursorTrailer = "X-Report-Cursor"
	rowsTrailer   = "X-Report-Rows"
)

// reportColumns are the columns before the variables, whose columns are named
// "variables." and the variable's name.
var reportColumns = []string{
	"run", "pass", "attempt_number", "attempt_id", "contact_id", "phone_number", "from_number", "trunk",
	"reserved_at", "invite_at", "trying_at", "ringing_at", "answered_at", "verdict_at", "bot_connected_at",
	"bot_first_audio_at", "ended_at",
	"outcome", "sip_code", "sip_reason", "q850", "amd_verdict", "amd_ms", "session_id", "disposition", "sub_disposition",
	"ring_s", "talk_s", "hung_up_by", "attestation",
}

var errColumnsChanged = engine.Conflict("columns_changed",
	"")

// SendReport sends the Attempt Report as CSV.
func (s *API) SendReport(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	q := campaign.AttemptsQuery{Campaign: id, Until: s.Now(), Limit: reportPart}
	columns, err := reportQuery(r, &q)
	if err != nil {
		return err
	}
	release, err := s.files.Take()
	if err != nil {
		return err
	}
	w := &reportRows{server: s, query: q, cursor: q.After.ID}
	// All refusals come before the first byte.
	if w.variables, err = s.Reports.ReportVariables(r.Ctx(), q.Campaign, reportVariables); err == nil {
		w.next, err = s.Reports.AttemptsPage(r.Ctx(), q)
	}
	header := append([]string(nil), reportColumns...)
	for _, v := range w.variables {
		header = append(header, "variables."+v)
	}
	sum := columnsSum(header)
	if err == nil && columns != "" && columns != sum {
		err = errColumnsChanged
	}
	if err != nil {
		release()
		return err
	}
	w.record = make([]string, 0, len(header))
	if q.After.ID != "" {
		header = nil // the reader already has the header line
	}
	r.HTTP.Response.Header.Set(columnsHeader, sum)
	s.files.SendRows(r, &download.Sheet{Campaign: id, Columns: header, Part: w.part, Trailers: w.trailers},
		"attempts-"+string(id)+".csv", release, rowsTrailer, cursorTrailer)
	return nil
}

// reportQuery reads the parameters; columns is the checksum that came with the reader's first part,
// "" if not given.
func reportQuery(r *wire.Request, q *campaign.AttemptsQuery) (columns string, err error) {
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key, val := string(k), string(v); key {
		case "run":
			n, err := strconv.Atoi(val)
			if err != nil || n < 1 || n > 1<<30 {
				errs.Add("run", "out_of_range", "must be the number of a run, 1 or more")
			}
			q.Run = n
		case "after":
			if !form.IsHex(val, 32) {
				errs.Add("after", "invalid_format", "must be the attempt_id of a row")
			}
			q.After.ID = engine.AttemptID(val)
		case "columns":
			if !form.IsHex(val, columnsSumLen) {
				errs.Add("columns", "invalid_format", "must be what "+columnsHeader+" said")
			}
			columns = val
		default:
			errs.UnknownParameter(key)
		}
	}
	return columns, errs.Err()
}

const columnsSumLen = 16

// columnsSum is a checksum of a set of columns.
func columnsSum(columns []string) string {
	sum := sha256.Sum256([]byte(strings.Join(columns, "\x00")))
	return hex.EncodeToString(sum[:columnsSumLen/2])
}

// reportRows are the rows of one report.
type reportRows struct {
	server    *API
	query     campaign.AttemptsQuery
	variables []string
	next      []campaign.ReportedAttempt // the first part, read before writing begins
	begun     bool
	record    []string
	written   int
	cursor    engine.AttemptID // of the last row
}

func (w *reportRows) part(ctx context.Context, rows *csv.Writer) (more bool, err error) {
	part := w.next
	if w.begun {
		ctx, cancel := context.WithTimeout(ctx, w.server.CommandTimeout)
		defer cancel()
		if part, err = w.server.Reports.AttemptsPage(ctx, w.query); err != nil {
			return false, err
		}
	}
	w.begun, w.next = true, nil
	for i := range part {
		if !dialled(&part[i]) {
			continue
		}
		w.record = reportRow(w.record[:0], &part[i], w.variables)
		if err := rows.Write(w.record); err != nil {
			return false, err
		}
		w.written++
		w.cursor = part[i].ID
	}
	if len(part) < w.query.Limit {
		return false, nil
	}
	last := &part[len(part)-1]
	w.query.After.ReservedAt, w.query.After.ID = *last.ReservedAt, last.ID
	return true, nil
}

func (w *reportRows) trailers() []string {
	return []string{rowsTrailer, strconv.Itoa(w.written), cursorTrailer, string(w.cursor)}
}

// dialled says whether the attempt is a dial: its INVITE left, or may have.
func dialled(a *campaign.ReportedAttempt) bool { return a.InviteAt != nil || a.Consumed }

// reportRow appends the row of an attempt.
func reportRow(row []string, a *campaign.ReportedAttempt, variables []string) []string {
	number, outcome := "", ""
	if a.Consumed && a.Number > 0 {
		number = strconv.Itoa(a.Number)
	}
	if final := a.FinalOutcome(); final != nil {
		outcome = string(*final)
	}
	row = append(row, strconv.Itoa(a.Run), strconv.Itoa(a.Pass), number, string(a.ID), string(a.Contact), a.To.E164(),
		a.From.E164(), engine.SpreadsheetText(string(a.Trunk)),
		download.Time(a.ReservedAt), download.Time(a.InviteAt), download.Time(a.TryingAt), download.Time(a.RingingAt),
		download.Time(a.AnsweredAt),
		download.Time(a.VerdictAt), download.Time(a.BotConnectedAt), download.Time(a.BotFirstAudioAt),
		download.Time(a.EndedAt),
		outcome, reportCount(a.SIPCode), engine.SpreadsheetText(a.SIPReason), reportCount(a.Q850),
		string(a.Verdict), "", string(a.Session))
	if a.Verdict != "" {
		row[len(row)-2] = strconv.FormatInt(a.AMDTook.Milliseconds(), 10)
	}
	var disposition, sub string
	if a.Result != nil {
		disposition, sub = a.Result.Disposition, a.Result.SubDisposition
	}
	ring, talk := "", ""
	if a.RingingAt != nil || a.AnsweredAt != nil {
		ring = reportSeconds(a.Ring())
	}
	if a.WasConnected() && a.EndedAt != nil {
		talk = reportSeconds(a.Talk())
	}
	row = append(row, engine.SpreadsheetText(disposition), engine.SpreadsheetText(sub), ring, talk, string(a.HungUpBy),
		engine.SpreadsheetText(a.Attestation))
	values := a.ContactVariables
	if values == nil {
		values = a.Variables
	}
	for _, v := range variables {
		row = append(row, engine.SpreadsheetText(values[v]))
	}
	return row
}

func reportCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func reportSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
