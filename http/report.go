package http

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/engine/campaign"
)

// The Attempt Report (SEMANTICS §4): one row a dial, streamed. A file that was
// cut off must never look complete: on any fault after the first byte the
// connection is closed without the last chunk (RFC 9112 §7.1, §8).

const (
	// reportPart is how many attempts are read at a time.
	reportPart = 1000
	// reportPatience is how long a reader of the report may take for what it
	// was sent, if Config does not say otherwise.
	reportPatience = 60 * time.Second
	// reportCap bounds reports that are written at the same time.
	reportCap = 16
	// reportVariables bounds the columns of variables.
	reportVariables = 256
)

// reportColumns are the columns before the variables, whose columns are named
// "variables." and the variable's name.
var reportColumns = []string{
	"run", "pass", "attempt_number", "attempt_id", "contact_id", "phone_number", "from_number", "trunk",
	"reserved_at", "invite_at", "trying_at", "ringing_at", "answered_at", "verdict_at", "bot_connected_at", "bot_first_audio_at", "ended_at",
	"outcome", "sip_code", "sip_reason", "q850", "amd_verdict", "amd_ms", "session_id", "disposition", "sub_disposition",
	"ring_s", "talk_s", "hung_up_by", "attestation",
}

// report answers with the Attempt Report as CSV.
func (s *Server) report(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	q := campaign.AttemptsQuery{Campaign: id, Until: s.Now(), Limit: reportPart}
	var errs fieldErrors
	for k, v := range r.rc.QueryArgs().All() {
		n, err := strconv.Atoi(string(v))
		switch {
		case string(k) != "run":
			errs.add(clipName(string(k)), "unknown_field", "is not a parameter of this request")
		case err != nil || n < 1 || n > 1<<30:
			errs.add("run", "out_of_range", "must be the number of a run, 1 or more")
		default:
			q.Run = n
		}
	}
	if err := errs.err(); err != nil {
		return err
	}
	if s.reports.Add(1) > reportCap {
		s.reports.Add(-1)
		return engine.Unavailable("too_many_reports", "Many reports are being written; try again when one has ended.", 10*time.Second)
	}
	w := &reportWriter{server: s, query: q}
	// What can be refused is refused before the first byte.
	if w.variables, err = s.Reports.ReportVariables(r.ctx(), q.Campaign, reportVariables); err == nil {
		w.first, err = s.Reports.AttemptsPage(r.ctx(), q)
	}
	if err != nil {
		s.reports.Add(-1)
		return err
	}
	r.send(nethttp.StatusOK, contentCSV+"; charset=utf-8", nil)
	h := &r.rc.Response.Header
	h.Set("Content-Disposition", `attachment; filename="attempts-`+string(q.Campaign)+`.csv"`)
	h.SetContentLength(-1) // chunked
	h.SetConnectionClose()
	w.head = h.AppendBytes(nil)
	r.rc.HijackSetNoResponse(true)
	r.rc.Hijack(s.atLeisure(func() { s.reports.Add(-1) }, w.run))
	return nil
}

// atLeisure runs what takes as long as a client likes, on a connection of its
// own; fasthttp closes it afterwards. It ends when the server shuts down.
func (s *Server) atLeisure(end func(), run func(ctx context.Context, conn net.Conn)) fasthttp.HijackHandler {
	return func(conn net.Conn) {
		defer end()
		if !s.feeds.begin() {
			return
		}
		defer s.feeds.work.Done()
		defer func() {
			if p := recover(); p != nil {
				s.panicked(p)
			}
		}()
		ctx, cancel := context.WithCancel(s.feeds.ctx)
		unblocked := make(chan struct{})
		context.AfterFunc(ctx, func() {
			defer close(unblocked)
			_ = conn.SetDeadline(past)
		})
		defer func() {
			cancel()
			<-unblocked
		}()
		run(ctx, conn)
	}
}

// reportWriter writes one report to a connection of its own.
type reportWriter struct {
	server    *Server
	query     campaign.AttemptsQuery
	variables []string
	first     []campaign.ReportedAttempt
	head      []byte
}

// run writes the report.
func (w *reportWriter) run(ctx context.Context, conn net.Conn) {
	s := w.server
	if err := w.write(ctx, conn); err != nil {
		s.metrics.cut.Inc()
		var timeout net.Error
		if ctx.Err() == nil && !errors.As(err, &timeout) {
			s.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(w.query.Campaign)).Msg("a report was cut off; its reader sees a broken answer")
		}
	}
}

func (w *reportWriter) write(ctx context.Context, conn net.Conn) error {
	out := bufio.NewWriterSize(&patient{conn: conn, patience: w.server.ReportPatience}, 64<<10)
	if _, err := out.Write(w.head); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(out)
	rows := csv.NewWriter(chunks)
	header := append([]string(nil), reportColumns...)
	for _, v := range w.variables {
		header = append(header, "variables."+v)
	}
	if err := rows.Write(header); err != nil {
		return err
	}
	record := make([]string, 0, len(header))
	for part := w.first; ; {
		for i := range part {
			if !dialled(&part[i]) {
				continue
			}
			record = reportRow(record[:0], &part[i], w.variables)
			if err := rows.Write(record); err != nil {
				return err
			}
		}
		rows.Flush()
		if err := errors.Join(rows.Error(), out.Flush()); err != nil {
			return err
		}
		if len(part) < w.query.Limit {
			break
		}
		last := &part[len(part)-1]
		w.query.After.ReservedAt, w.query.After.ID = *last.ReservedAt, last.ID
		var err error
		if part, err = w.next(ctx); err != nil {
			return err
		}
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	if _, err := io.WriteString(out, "\r\n"); err != nil { // no trailers
		return err
	}
	return out.Flush()
}

func (w *reportWriter) next(ctx context.Context) ([]campaign.ReportedAttempt, error) {
	ctx, cancel := context.WithTimeout(ctx, w.server.CommandTimeout)
	defer cancel()
	return w.server.Reports.AttemptsPage(ctx, w.query)
}

// reportRate is the least that a reader must take on the average, bytes a
// second: there are only so many reports at a time.
const reportRate = 16 << 10

// patient gives every write its own time, and all of them as long as a reader
// may take who reads reportRate bytes a second.
type patient struct {
	conn     net.Conn
	patience time.Duration
	sent     int64
	waited   time.Duration
}

func (p *patient) Write(b []byte) (int, error) {
	earned := time.Duration(float64(p.sent) / reportRate * float64(time.Second))
	wait := min(p.patience, p.patience+earned-p.waited)
	if wait <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	began := time.Now()
	if err := p.conn.SetWriteDeadline(began.Add(wait)); err != nil {
		return 0, err
	}
	n, err := p.conn.Write(b)
	p.sent += int64(n)
	p.waited += time.Since(began)
	return n, err
}

// dialled says whether the attempt is a dial: its INVITE left, or may have.
func dialled(a *campaign.ReportedAttempt) bool { return a.InviteAt != nil || a.Consumed }

// reportRow appends the row of an attempt.
func reportRow(row []string, a *campaign.ReportedAttempt, variables []string) []string {
	number := ""
	if a.Consumed && a.Number > 0 {
		number = strconv.Itoa(a.Number)
	}
	row = append(row, strconv.Itoa(a.Run), strconv.Itoa(a.Pass), number, string(a.ID), string(a.Contact), a.To.E164(), a.From.E164(), string(a.Trunk),
		reportTime(a.ReservedAt), reportTime(a.InviteAt), reportTime(a.TryingAt), reportTime(a.RingingAt), reportTime(a.AnsweredAt),
		reportTime(a.VerdictAt), reportTime(a.BotConnectedAt), reportTime(a.BotFirstAudioAt), reportTime(a.EndedAt),
		string(a.Outcome), reportCount(a.SIPCode), freeText(a.SIPReason), reportCount(a.Q850), string(a.Verdict), "", string(a.Session))
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
	row = append(row, freeText(disposition), freeText(sub), ring, talk, string(a.HungUpBy), freeText(a.Attestation))
	values := a.ContactVariables
	if values == nil {
		values = a.Variables
	}
	for _, v := range variables {
		row = append(row, freeText(values[v]))
	}
	return row
}

func reportTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func reportCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func reportSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// freeText keeps spreadsheets from taking what others wrote for a formula: an
// apostrophe goes before a cell that begins like one. Phone numbers and numbers
// are ours and stay as they are.
func freeText(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
