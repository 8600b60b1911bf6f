package cdr

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/number"
)

// Fields that a column of the file can be mapped to.
const (
	CallID   = "call_id"
	To       = "to"
	From     = "from"
	Start    = "start"  // when the INVITE came
	Answer   = "answer" // when the call was answered
	Duration = "duration"
)

// Fields are all of them.
var Fields = []string{CallID, To, From, Start, Answer, Duration}

// Record is one line of a carrier.
type Record struct {
	Line   int
	CallID string
	// To and From are "" when the file has no such column or the cell is no number.
	To, From engine.PhoneNumber
	// Start and Answer are zero when the file does not tell them.
	Start, Answer time.Time
	// Duration is from the answer to the end; -1 when the file does not tell it.
	Duration time.Duration
}

// At is when the record's call began, or was answered when only that is known.
func (r *Record) At() time.Time {
	if r.Start.IsZero() {
		return r.Answer
	}
	return r.Start
}

// Format says how a file is written.
type Format struct {
	// Columns are the names in the first line, by field; names are compared without case.
	Columns map[string]string
	// Zone holds for times without one of their own; Layout is that of package time, "" for the
	// usual ones.
	Zone   *time.Location
	Layout string
	// Country (ISO 3166) is where numbers without a country code are; "" when there are none.
	Country string
}

// Unreadable is the code of a file that is not as its format says.
const Unreadable = "cdr_unreadable"

func unreadable(format string, args ...any) error {
	return engine.Invalid(Unreadable, fmt.Sprintf(format, args...))
}

// recordCap limits one line, in bytes.
const recordCap = 64 << 10

// Reader reads the records of a file, CSV with a comma, semicolon or tab.
type Reader struct {
	csv    *csv.Reader
	format Format
	column map[string]int
	before int // lines before those that csv counts
}

// NewReader reads the first line.
func NewReader(in io.Reader, f Format) (*Reader, error) {
	if f.Zone == nil {
		f.Zone = time.UTC
	}
	has := func(field string) bool { return f.Columns[field] != "" }
	for field := range f.Columns {
		if !slices.Contains(Fields, field) {
			return nil, unreadable("%s is no field: they are %s", field, strings.Join(Fields, ", "))
		}
	}
	if !has(Start) && !has(Answer) || !has(CallID) && !has(To) {
		return nil, unreadable("columns for start or answer, and for call_id or to, are needed")
	}
	b := bufio.NewReaderSize(in, recordCap)
	line, err := b.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, unreadable("the first line has more than %d KiB: is this a CSV file?", recordCap>>10)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	}
	line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	if !utf8.Valid(line) {
		return nil, unreadable("the file is not in UTF-8")
	}
	comma := delimiter(line)
	head := csv.NewReader(bytes.NewReader(line))
	head.Comma = comma
	names, err := head.Read()
	if err != nil {
		return nil, unreadable("the first line names no columns")
	}
	r := &Reader{csv: csv.NewReader(b), format: f, column: map[string]int{}, before: 1}
	r.csv.Comma, r.csv.FieldsPerRecord, r.csv.ReuseRecord = comma, -1, true
	for field, name := range f.Columns {
		at := -1
		for i, n := range names {
			if strings.EqualFold(strings.TrimSpace(n), strings.TrimSpace(name)) {
				if at >= 0 {
					return nil, unreadable("the column %q appears twice", name)
				}
				at = i
			}
		}
		if at < 0 {
			return nil, unreadable("the first line has no column %q; it has %q", name, names)
		}
		r.column[field] = at
	}
	return r, nil
}

// delimiter is the most frequent candidate of the first line.
func delimiter(line []byte) rune {
	best := ','
	for _, c := range ";\t" {
		if bytes.Count(line, []byte(string(c))) > bytes.Count(line, []byte(string(best))) {
			best = c
		}
	}
	return best
}

// Next returns the next record, and io.EOF after the last one. A cell that cannot be read is an
// error that names its line.
func (r *Reader) Next() (x Record, err error) {
	for {
		cells, err := r.csv.Read()
		var parse *csv.ParseError
		switch {
		case errors.As(err, &parse):
			return x, unreadable("line %d is not CSV", r.before+parse.Line)
		case err != nil:
			return x, err
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue
		}
		line, _ := r.csv.FieldPos(0)
		return r.record(r.before+line, cells)
	}
}

func (r *Reader) record(line int, cells []string) (x Record, err error) {
	cell := func(field string) string {
		at, ok := r.column[field]
		if !ok || at >= len(cells) {
			return ""
		}
		return strings.TrimSpace(cells[at])
	}
	x = Record{Line: line, CallID: strings.Clone(cell(CallID)), To: r.number(cell(To)), From: r.number(cell(From)),
		Duration: -1}
	if x.Start, err = r.time(cell(Start)); err != nil {
		return x, unreadable("line %d: the start %q is no time that is known: give --time-layout", line, cell(Start))
	}
	if x.Answer, err = r.time(cell(Answer)); err != nil {
		return x, unreadable("line %d: the answer %q is no time that is known: give --time-layout", line, cell(Answer))
	}
	if text := cell(Duration); text != "" {
		if x.Duration, err = duration(text); err != nil {
			return x, unreadable("line %d: the duration %q is neither seconds nor hours:minutes:seconds", line, text)
		}
	}
	switch {
	case x.At().IsZero():
		return x, unreadable("line %d tells no time", line)
	case x.CallID == "" && x.To == "":
		return x, unreadable("line %d has neither a Call-ID nor a called number that can be read", line)
	}
	return x, nil
}

// number reads a number as files of contacts have it, and as carriers write it: with its country
// code, without a plus. One that the dialler would not dial stays what its digits are: it may be
// the call that nobody here has placed.
func (r *Reader) number(cell string) engine.PhoneNumber {
	if n, err := number.Parse(cell); err == nil {
		return n
	}
	international, err := number.ParseLoose("+"+cell, "")
	if err == nil && strings.EqualFold(number.Region(international), r.format.Country) {
		return international
	}
	if n, err := number.ParseLoose(cell, r.format.Country); err == nil {
		return n
	}
	if err == nil {
		return international
	}
	const longest = 18
	digits := strings.Trim(strings.TrimPrefix(cell, "+"), " ")
	if digits == "" || len(digits) > longest || strings.Trim(digits, "0123456789") != "" {
		return ""
	}
	return engine.PhoneNumber("+" + strings.TrimLeft(digits, "0"))
}

// layouts are the usual ones; days before months and months before days cannot be told apart where
// a slash stands between.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "02.01.2006 15:04:05", "20060102150405"}

func (r *Reader) time(cell string) (time.Time, error) {
	if cell == "" {
		return time.Time{}, nil
	}
	if r.format.Layout != "" {
		return time.ParseInLocation(r.format.Layout, cell, r.format.Zone)
	}
	for _, l := range layouts {
		if t, err := time.ParseInLocation(l, cell, r.format.Zone); err == nil {
			return t, nil
		}
	}
	const firstMilliseconds = 1e11 // 1973 in milliseconds, the year 5138 in seconds
	seconds, err := strconv.ParseFloat(cell, 64)
	switch {
	case err != nil || seconds <= 0 || seconds >= 1e14:
		return time.Time{}, errors.New("no time")
	case seconds >= firstMilliseconds:
		return time.UnixMilli(int64(seconds)).UTC(), nil
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC(), nil
}

// duration reads seconds, or hours:minutes:seconds.
func duration(text string) (time.Duration, error) {
	const longest = 1e7 // seconds
	total := 0.0
	parts := strings.Split(text, ":")
	for _, p := range parts {
		n, err := strconv.ParseFloat(strings.Replace(p, ",", ".", 1), 64)
		if err != nil || n < 0 || n > longest || len(parts) > 3 {
			return 0, errors.New("no duration")
		}
		total = total*60 + n
	}
	return time.Duration(total * float64(time.Second)), nil
}
