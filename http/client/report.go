package client

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// Report is an Attempt Report being downloaded. It must be closed; if the server breaks off, it
// ends with io.ErrUnexpectedEOF.
type Report struct {
	io.ReadCloser
	// Columns identifies the set of columns: parts with different values cannot be joined.
	Columns string
	answer  *http.Response
}

// Cursor is the attempt_id of the last row, from which a later report continues: known once the
// report was read to io.EOF, "" before, and for a report without rows.
func (r *Report) Cursor() string { return r.answer.Trailer.Get("X-Report-Cursor") }

// ReportPart selects a part of the Attempt Report; the zero value is all.
type ReportPart struct {
	Run int // 0: all runs
	// After is the attempt_id of the caller's last row: the report continues with the next one and
	// has no header line.
	After string
	// Columns, if set, is that of the previous part: code columns_changed if the contacts'
	// variables have changed since.
	Columns string
}

// AttemptReport streams the Attempt Report, a CSV with one row per dial. Code cursor_not_found if
// After is no longer stored.
func (c *Client) AttemptReport(ctx context.Context, campaignID string, p ReportPart) (*Report, error) {
	r := request{method: http.MethodGet, path: campaignPath(campaignID) + "/attempts.csv", query: url.Values{}}
	for k, v := range map[string]string{"after": p.After, "columns": p.Columns} {
		if v != "" {
			r.query.Set(k, v)
		}
	}
	if p.Run > 0 {
		r.query.Set("run", strconv.Itoa(p.Run))
	}
	resp, err := c.begun(ctx, &r)
	if err != nil {
		return nil, err
	}
	return &Report{ReadCloser: resp.Body, Columns: resp.Header.Get("X-Report-Columns"), answer: resp}, nil
}

// Download is the progress of WriteReport.
type Download struct {
	Rows int
	// Part is what to pass to WriteReport to continue after the last row.
	Part ReportPart
}

// WriteReport writes the Attempt Report to a file and resumes after interruptions, so that each row
// is in the file once and whole. After an error the caller continues with Download.Part; without
// one, that fetches newer rows.
func (c *Client) WriteReport(ctx context.Context, campaignID string, p ReportPart, to io.Writer) (d Download,
	err error) {
	w := reportWriter{out: csv.NewWriter(to), d: Download{Part: p}, named: p.After != ""}
	w.out.UseCRLF = true
	for try := 0; ; try++ {
		before := w.d.Rows
		err := c.writePart(ctx, campaignID, &w)
		w.out.Flush()
		switch {
		case err == nil || !errors.Is(err, errBrokenOff):
			return w.d, errors.Join(err, w.out.Error())
		case w.d.Rows > before:
			try = 0
		}
		wait, ok := c.worth(&request{method: http.MethodGet}, err, try)
		if !ok || !pause(ctx, wait) {
			return w.d, err
		}
	}
}

// reportWriter writes a report to a file.
type reportWriter struct {
	out   *csv.Writer
	d     Download
	named bool // the header line has been written
}

// errBrokenOff means that the connection ended within a report.
var errBrokenOff = errors.New("the report was cut short")

// reportID is the index of attempt_id in a row.
const reportID = 3

// writePart writes the rows of one response.
func (c *Client) writePart(ctx context.Context, campaignID string, w *reportWriter) error {
	report, err := c.AttemptReport(ctx, campaignID, w.d.Part)
	if err != nil {
		return err
	}
	defer func() { _ = report.Close() }()
	w.d.Part.Columns = report.Columns
	in := csv.NewReader(report)
	in.ReuseRecord = true
	header := w.d.Part.After == ""
	for {
		row, err := in.Read()
		var syntax *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &syntax):
			return err
		case err != nil:
			return errors.Join(errBrokenOff, err)
		case len(row) <= reportID || header && row[reportID] != "attempt_id":
			return errors.New("the answer is not an Attempt Report")
		case header && w.named: // it was interrupted before its first row
			header = false
			continue
		}
		if err := w.out.Write(row); err != nil {
			return err
		}
		if header {
			header, w.named = false, true
			continue
		}
		w.d.Rows++
		w.d.Part.After = row[reportID]
	}
}
