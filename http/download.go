package http

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
)

// CSV files that are sent as they are read, on a connection of their own. One
// that was cut off must never look complete: on any fault after the first byte
// the connection is closed without the last chunk (RFC 9112 §7.1, §8), and what
// is compressed without its end (RFC 1952 §2.3.1).

// reportPatience is how long a reader of a file may take for what it was sent,
// if Config does not say otherwise.
const reportPatience = 60 * time.Second

// download is one file on its way.
type download struct {
	server   *Server
	campaign engine.CampaignID
	head     []byte
	gzip     bool
	columns  []string // the first line; nil for a file without one
	// part writes a part of the rows and says whether there are more.
	part func(ctx context.Context, rows *csv.Writer) (more bool, err error)
	// trailers gives the fields behind the last chunk, pairs of name and value;
	// they were announced by download.
	trailers func() []string
}

// download answers with a file; done is called when it has ended. announced are
// the names of its trailers.
func (r *request) download(d *download, name string, done func(), announced ...string) {
	contentType := contentCSV + "; charset=utf-8"
	if d.columns == nil {
		contentType += "; header=absent"
	}
	r.send(200, contentType, nil)
	h := &r.rc.Response.Header
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Vary", "Accept-Encoding")
	d.server, d.gzip = r.server, takesGzip(r.rc.Request.Header.Peek("Accept-Encoding"))
	if d.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	h.SetContentLength(-1) // chunked
	h.SetConnectionClose()
	d.head = h.AppendBytes(nil)
	if len(announced) > 0 { // fasthttp would write trailers of its own
		d.head = append(d.head[:len(d.head)-2], "Trailer: "+strings.Join(announced, ", ")+"\r\n\r\n"...)
	}
	r.atLeisure(done, d.run)
}

// takesGzip reads Accept-Encoding (RFC 9110 §12.5.3). Without one the file goes
// out as it is.
func takesGzip(accept []byte) bool {
	star := false
	for part := range strings.SplitSeq(string(accept), ",") {
		name, weight, _ := strings.Cut(part, ";")
		refused := false
		if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q="); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			refused = err != nil || n <= 0
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return !refused
		case "*":
			star = !refused
		}
	}
	return star
}

// atLeisure runs what takes as long as a client likes in place of the answer, on the
// connection; fasthttp closes it afterwards. It ends when the server shuts down.
func (r *request) atLeisure(end func(), run func(ctx context.Context, conn net.Conn)) {
	s := r.server
	r.rc.HijackSetNoResponse(true)
	r.rc.Hijack(func(conn net.Conn) {
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
	})
}

// run writes the file.
func (d *download) run(ctx context.Context, conn net.Conn) {
	s := d.server
	if err := d.write(ctx, conn); err != nil {
		s.metrics.cut.Inc()
		var timeout net.Error
		if ctx.Err() == nil && !errors.As(err, &timeout) {
			s.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(d.campaign)).Msg("a report was cut off; its reader sees a broken answer")
		}
	}
}

func (d *download) write(ctx context.Context, conn net.Conn) error {
	out := bufio.NewWriterSize(&patient{conn: conn, patience: d.server.ReportPatience}, 64<<10)
	if _, err := out.Write(d.head); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(out)
	gathered := bufio.NewWriterSize(chunks, 16<<10) // a write of it is a chunk
	var body io.Writer = gathered
	var zip *gzip.Writer
	flush := func() error { return nil }
	if d.gzip {
		zip, _ = gzip.NewWriterLevel(gathered, gzip.BestSpeed) // errors are for levels that are none
		body, flush = zip, zip.Flush
	}
	rows := csv.NewWriter(body)
	if d.columns != nil {
		if err := rows.Write(d.columns); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if more, err = d.part(ctx, rows); err != nil {
			return err
		}
		rows.Flush()
		// One after the other: each empties what the one before filled.
		for _, f := range []func() error{rows.Error, flush, gathered.Flush, out.Flush} {
			if err := f(); err != nil {
				return err
			}
		}
	}
	if zip != nil {
		if err := zip.Close(); err != nil {
			return err
		}
	}
	if err := errors.Join(gathered.Flush(), chunks.Close()); err != nil {
		return err
	}
	end := ""
	if d.trailers != nil {
		fields := d.trailers()
		for i := 0; i < len(fields); i += 2 {
			end += fields[i] + ": " + fields[i+1] + "\r\n"
		}
	}
	if _, err := io.WriteString(out, end+"\r\n"); err != nil {
		return err
	}
	return out.Flush()
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

// sheet answers with a file whose rows are read size at a time by next, in order;
// the first are read before the answer begins, so that it can still be refused.
func sheet[T any](r *request, d *download, name string, size int, next func(context.Context) ([]T, error), cells func(*T) []string) error {
	s := r.server
	release, err := s.takeReport()
	if err != nil {
		return err
	}
	first, err := next(r.ctx())
	if err != nil {
		release()
		return err
	}
	begun := false
	d.part = func(ctx context.Context, rows *csv.Writer) (bool, error) {
		part := first
		if begun {
			ctx, cancel := context.WithTimeout(ctx, s.CommandTimeout)
			defer cancel()
			var err error
			if part, err = next(ctx); err != nil {
				return false, err
			}
		}
		begun, first = true, nil
		for i := range part {
			if err := rows.Write(cells(&part[i])); err != nil {
				return false, err
			}
		}
		return len(part) == size, nil
	}
	r.download(d, name, release)
	return nil
}

// noQuery refuses every parameter.
func (r *request) noQuery() error {
	var errs form.Errors
	for k := range r.rc.QueryArgs().All() {
		errs.Add(form.ClipName(string(k)), "unknown_field", "is not a parameter of this request")
	}
	return errs.Err()
}

// rejectedPart is how many rejected rows are read at a time.
const rejectedPart = 1000

// rejectedColumns are those of the file of rejected rows.
var rejectedColumns = []string{"line", "phone_number", "reason", "message"}

// rejectedFile answers with the rows of an import that did not become contacts.
func (s *Server) rejectedFile(r *request) error {
	imp, err := r.importOf()
	if err != nil {
		return err
	}
	if err := r.noQuery(); err != nil {
		return err
	}
	page := campaign.Page{Number: 0, Size: rejectedPart}
	return sheet(r, &download{campaign: imp.Campaign, columns: rejectedColumns}, "rejected-"+string(imp.ID)+".csv", rejectedPart,
		func(ctx context.Context) ([]campaign.RejectedRow, error) {
			page.Number++
			list, _, err := s.Imports.RejectedRows(ctx, imp.ID, page)
			return list, err
		}, func(row *campaign.RejectedRow) []string {
			return []string{strconv.Itoa(row.Line), givenNumber(row.Number), row.Reason, engine.SpreadsheetText(row.Message)}
		})
}

// givenNumber is a number as a file had it: free text unless it is one.
func givenNumber(s string) string {
	if digits, plus := strings.CutPrefix(s, "+"); plus && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return s
	}
	return engine.SpreadsheetText(s)
}
