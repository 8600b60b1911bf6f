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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/wire"
)

// CSV files that are sent as they are read, on a connection of their own. One
// that was cut off must never look complete: on any fault after the first byte
// the connection is closed without the last chunk (RFC 9112 §7.1, §8), and what
// is compressed without its end (RFC 1952 §2.3.1).

// files are sent as they are read, or made as a whole first; there are only so
// many at a time.
type files struct {
	host     *wire.Host
	patience time.Duration      // that a reader is waited for
	cut      prometheus.Counter // files that were cut off
	sheets   atomic.Int32       // being written
	archives wire.Places        // being made or sent
}

func newFiles(h *wire.Host, patience time.Duration, cut prometheus.Counter) *files {
	return &files{host: h, patience: patience, cut: cut, archives: wire.NewPlaces(archiveCap)}
}

// download is one file on its way.
type download struct {
	files    *files
	campaign engine.CampaignID
	head     []byte
	gzip     bool
	columns  []string // the first line; nil for a file without one
	// part writes a part of the rows and says whether there are more.
	part func(ctx context.Context, rows *csv.Writer) (more bool, err error)
	// trailers gives the fields behind the last chunk, pairs of name and value;
	// they were announced by send.
	trailers func() []string
}

// send answers with a file; done is called when it has ended. announced are
// the names of its trailers.
func (s *files) send(r *wire.Request, d *download, name string, done func(), announced ...string) {
	contentType := wire.ContentCSV + "; charset=utf-8"
	if d.columns == nil {
		contentType += "; header=absent"
	}
	r.Send(200, contentType, nil)
	h := &r.HTTP.Response.Header
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Vary", "Accept-Encoding")
	d.files, d.gzip = s, takesGzip(r.HTTP.Request.Header.Peek("Accept-Encoding"))
	if d.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	h.SetContentLength(-1) // chunked
	h.SetConnectionClose()
	d.head = h.AppendBytes(nil)
	if len(announced) > 0 { // fasthttp would write trailers of its own
		d.head = append(d.head[:len(d.head)-2], "Trailer: "+strings.Join(announced, ", ")+"\r\n\r\n"...)
	}
	r.AtLeisure(done, d.run)
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

// run writes the file.
func (d *download) run(ctx context.Context, conn net.Conn) {
	if err := d.write(ctx, conn); err != nil {
		d.files.cut.Inc()
		var timeout net.Error
		if ctx.Err() == nil && !errors.As(err, &timeout) {
			d.files.host.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(d.campaign)).Msg("a report was cut off; its reader sees a broken answer")
		}
	}
}

func (d *download) write(ctx context.Context, conn net.Conn) error {
	out := bufio.NewWriterSize(&wire.Patient{Conn: conn, Patience: d.files.patience}, 64<<10)
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

// sheet answers with a file whose rows are read size at a time by next, in order;
// the first are read before the answer begins, so that it can still be refused.
func sheet[T any](s *files, r *wire.Request, d *download, name string, size int, next func(context.Context) ([]T, error), cells func(*T) []string) error {
	release, err := s.take()
	if err != nil {
		return err
	}
	first, err := next(r.Ctx())
	if err != nil {
		release()
		return err
	}
	begun := false
	d.part = func(ctx context.Context, rows *csv.Writer) (bool, error) {
		part := first
		if begun {
			ctx, cancel := context.WithTimeout(ctx, s.host.CommandTimeout)
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
	s.send(r, d, name, release)
	return nil
}

// rejectedPart is how many rejected rows are read at a time.
const rejectedPart = 1000

// rejectedColumns are those of the file of rejected rows.
var rejectedColumns = []string{"line", "phone_number", "reason", "message"}

// rejectedFile answers with the rows of an import that did not become contacts.
func (s *Server) rejectedFile(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	page := campaign.Page{Number: 0, Size: rejectedPart}
	return sheet(s.files, r, &download{campaign: imp.Campaign, columns: rejectedColumns}, "rejected-"+string(imp.ID)+".csv", rejectedPart,
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

// sheetCap bounds the sheets that are written at the same time.
const sheetCap = 16

// take counts a sheet that begins; release ends it.
func (s *files) take() (release func(), err error) {
	if s.sheets.Add(1) > sheetCap {
		s.sheets.Add(-1)
		return nil, engine.Unavailable("too_many_reports", "Many reports are being written; try again when one has ended.", 10*time.Second)
	}
	return func() { s.sheets.Add(-1) }, nil
}
