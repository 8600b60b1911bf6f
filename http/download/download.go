package download

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
	"dialler/http/wire"
)

// CSV files that are sent as they are read, on a connection of their own. A truncated one must
// never look complete: on any error after the first byte the connection is closed without the last
// chunk (RFC 9112 §7.1, §8), and compressed data without its end (RFC 1952 §2.3.1).

// Files sends files as they are read, or after they are complete; their number is limited.
type Files struct {
	host     *wire.Host
	patience time.Duration      // how long to wait for a reader
	cut      prometheus.Counter // truncated files
	Sheets   atomic.Int32       // being written
	Archives wire.Places        // being made or sent
}

// New makes a sender of files; cut counts truncated ones.
func New(h *wire.Host, patience time.Duration, cut prometheus.Counter) *Files {
	return &Files{host: h, patience: patience, cut: cut, Archives: wire.NewPlaces(ArchiveCap)}
}

// Sheet is one file being sent.
type Sheet struct {
	files    *Files
	Campaign engine.CampaignID
	head     []byte
	gzip     bool
	Columns  []string // the header line; nil for a file without one
	Comma    rune     // between two cells; 0 for a comma
	// Part writes some rows and says whether there are more.
	Part func(ctx context.Context, rows *csv.Writer) (more bool, err error)
	// Trailers returns the fields after the last chunk, pairs of name and value; send announced
	// them.
	Trailers func() []string
}

// SendRows sends a file; done is called when it has ended. announced are the names of its trailers.
func (s *Files) SendRows(r *wire.Request, d *Sheet, name string, done func(), announced ...string) {
	contentType := wire.ContentCSV + "; charset=utf-8"
	if d.Columns == nil {
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
	if len(announced) > 0 { // fasthttp would write its own trailers
		d.head = append(d.head[:len(d.head)-2], "Trailer: "+strings.Join(announced, ", ")+"\r\n\r\n"...)
	}
	r.AtLeisure(done, d.run)
}

// takesGzip reads Accept-Encoding (RFC 9110 §12.5.3). Without one the file is sent uncompressed.
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
func (d *Sheet) run(ctx context.Context, conn net.Conn) {
	if err := d.write(ctx, conn); err != nil {
		d.files.cut.Inc()
		var timeout net.Error
		if ctx.Err() == nil && !errors.As(err, &timeout) {
			d.files.host.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id",
				string(d.Campaign)).Msg("a report was cut off; the client sees a broken answer")
		}
	}
}

func (d *Sheet) write(ctx context.Context, conn net.Conn) error {
	out := bufio.NewWriterSize(&wire.Patient{Conn: conn, Patience: d.files.patience}, 64<<10)
	if _, err := out.Write(d.head); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(out)
	gathered := bufio.NewWriterSize(chunks, 16<<10) // each write is a chunk
	var body io.Writer = gathered
	var zip *gzip.Writer
	flush := func() error { return nil }
	if d.gzip {
		zip, _ = gzip.NewWriterLevel(gathered, gzip.BestSpeed) // only an invalid level gives an error
		body, flush = zip, zip.Flush
	}
	rows := csv.NewWriter(body)
	if d.Comma != 0 {
		rows.Comma = d.Comma
	}
	if d.Columns != nil {
		if err := rows.Write(d.Columns); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if more, err = d.Part(ctx, rows); err != nil {
			return err
		}
		rows.Flush()
		// In this order: each flushes into the next.
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
	if d.Trailers != nil {
		fields := d.Trailers()
		for i := 0; i < len(fields); i += 2 {
			end += fields[i] + ": " + fields[i+1] + "\r\n"
		}
	}
	if _, err := io.WriteString(out, end+"\r\n"); err != nil {
		return err
	}
	return out.Flush()
}

// SendSheet sends a file whose rows next reads in order, some at a time until there are none; the first are read
// before the response begins, so that it can still be refused.
func SendSheet[T any](s *Files, r *wire.Request, d *Sheet, name string,
	next func(context.Context) ([]T, error), cells func(*T) []string) error {
	release, err := s.Take()
	if err != nil {
		return err
	}
	first, err := next(r.Ctx())
	if err != nil {
		release()
		return err
	}
	begun := false
	d.Part = func(ctx context.Context, rows *csv.Writer) (bool, error) {
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
		return len(part) > 0, nil
	}
	s.SendRows(r, d, name, release)
	return nil
}

// SheetCap bounds the sheets written concurrently.
const SheetCap = 16

// Take counts a sheet that begins; release ends it.
func (s *Files) Take() (release func(), err error) {
	if s.Sheets.Add(1) > SheetCap {
		s.Sheets.Add(-1)
		return nil, engine.Unavailable(
			"too_many_reports",
			"Too many reports are being written; try again when one has ended.",
			10*time.Second,
		)
	}
	return func() { s.Sheets.Add(-1) }, nil
}

// Time formats a time for files, "" for nil.
func Time(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
