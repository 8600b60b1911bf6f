package contactlist

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/number"
)

// PhoneColumn is the column that a file must have.
const PhoneColumn = "phone_number"

// timeColumns are the columns that a list of contacts may have, for contact.Times.
var timeColumns = [...]string{"not_before", "expires_at", "priority"}

// OtherNumber is the column of the person's nth number, from 2 to contact.NumbersCap; LabelOf that of its
// label.
func OtherNumber(n int) string { return PhoneColumn + "_" + strconv.Itoa(n) }

// LabelOf is the column of the label of the person's nth number.
func LabelOf(n int) string { return OtherNumber(n) + "_label" }

// RecordCap limits one record, in bytes: the variables of a contact have at most 16 KiB, which
// quoting may double.
const RecordCap = 64 << 10

// Row is one row of the list.
type Row struct {
	// Line is where the row begins; the first line of the file is 1.
	Line       int
	Number     engine.PhoneNumber
	Alternates contact.Alternates
	Variables  map[string]string
	Times      contact.Times
	// Given is the number as in the file, shortened: for the list of rejected rows. Record is the whole
	// row as in the file, without its line end and without the cells that the mapping leaves out; U+FFFD stands
	// for what is no character.
	Given  string
	Record string
	// Reason is a stable code, Message a sentence; both are "" for a good row.
	Reason  string
	Message string
}

// Reasons why a row cannot become a contact, in addition to the codes of package number.
const (
	MalformedRow     = "malformed_row"
	VariablesInvalid = "variables_invalid"
	TimesInvalid     = "times_invalid"
	NumbersInvalid   = "numbers_invalid" // beside the first
)

// Reader reads the rows of a file.
type Reader struct {
	in      *bufio.Reader
	meter   *meter
	decoder *decoder
	csv     *csv.Reader
	tape    tape
	comma   rune     // 0 before it is known
	first   string   // the first line
	own     int      // leading columns that a file of rejected rows has and the original has not
	names   []string // of the variables by column; "" for a column that is left out
	left    []int    // columns that the mapping leaves out
	phone   int      // the column of the numbers, whose name is not used
	vars    int
	times   [len(timeColumns)]int                               // their columns plus 1, 0 for none
	others  [contact.NumbersCap - 1]struct{ number, label int } // likewise
	now     time.Time                                           // zero: they are variables like all others
	format  Format
	before  int // lines before the first one that csv sees
	last    int // where the last row began
}

// Format is what must be known of a file to read it.
type Format struct {
	// Mapping renames columns: a name in the file's first line (without surrounding blanks) to another
	// one, or to "" to leave the column out.
	Mapping map[string]string
	// Country is that of numbers without a country code (ISO 3166); "" refuses them.
	Country string
	// Encoding is one of Encodings, Delimiter one of Delimiters; "" has it found.
	Encoding  string
	Delimiter string
}

// NewMappedReader reads a list of contacts, whose times are judged at a time.
func NewMappedReader(r io.Reader, f Format, now time.Time) *Reader {
	in := newReader(r, f)
	in.now = now
	return in
}

const readAhead = 32 << 10

// NewReader returns a reader; it reads nothing yet.
func NewReader(r io.Reader) *Reader { return newReader(r, Format{}) }

func newReader(r io.Reader, f Format) *Reader {
	d := newDecoder(r, f.Encoding)
	m := &meter{r: d}
	m.reset()
	in := bufio.NewReaderSize(m, readAhead)
	return &Reader{meter: m, decoder: d, in: in, tape: tape{r: in}, format: f}
}

// Layout is how the file was read so far; it is final once Next has returned io.EOF.
func (r *Reader) Layout() campaign.FileLayout {
	l := campaign.FileLayout{Encoding: r.decoder.encoding, Header: r.first}
	for name, c := range delimiters {
		if c == r.comma {
			l.Delimiter = name
		}
	}
	return l
}

// tape keeps what is read until the record that it belongs to is known.
type tape struct {
	r    io.Reader
	kept []byte
	from int64 // where kept begins
}

func (t *tape) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// until returns what was kept up to a place, without line ends around it, and forgets it.
func (t *tape) until(place int64) string {
	n := int(place - t.from)
	s := string(bytes.Trim(t.kept[:n], "\r\n"))
	t.kept, t.from = t.kept[:copy(t.kept, t.kept[n:])], place
	return s
}

// meter ends a record that is too long: after an unclosed quotation mark, encoding/csv would read
// on to the end of the file.
type meter struct {
	r    io.Reader
	left int
}

var errRecordTooLong = errors.New("contactlist: record too long")

// reset begins another record; read-ahead is allowed on top.
func (m *meter) reset() { m.left = RecordCap + readAhead }

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errRecordTooLong
	}
	n, err := m.r.Read(p[:min(len(p), m.left)])
	m.left -= n
	return n, err
}

// Next returns the next row, and io.EOF after the last one. Any other error concerns the file as a
// whole.
func (r *Reader) Next() (Row, error) {
	if r.csv == nil {
		if err := r.header(); err != nil {
			return Row{}, err
		}
	}
	for {
		r.meter.reset()
		fields, err := r.csv.Read()
		if err != nil {
			return r.broken(err)
		}
		record := r.tape.until(r.csv.InputOffset())
		if !blank(fields[min(r.own, len(fields)):]) {
			line, _ := r.csv.FieldPos(0)
			r.last = r.before + line
			row := r.row(r.last, fields)
			row.Record = r.kept(record)
			return row, nil
		}
	}
}

// broken decides what a parser error means for the row or the file.
func (r *Reader) broken(err error) (Row, error) {
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errRecordTooLong):
		return Row{}, engine.Invalid("record_too_long", "A record has more than "+strconv.Itoa(RecordCap>>10)+
			" KiB, after line "+strconv.Itoa(max(r.last, r.before))+"; is a quotation mark not closed?")
	case !errors.As(err, &parse):
		return Row{}, err
	case parse.StartLine != parse.Line:
		return Row{}, engine.Invalid("malformed_csv", "The record that begins on line "+
			strconv.Itoa(r.before+parse.StartLine)+
			" is broken on line "+strconv.Itoa(r.before+parse.Line)+"; is a quotation mark not closed?")
	}
	r.last = r.before + parse.StartLine
	return Row{Line: r.last, Reason: MalformedRow, Record: r.kept(r.tape.until(r.csv.InputOffset())),
		Message: "a quotation mark stands where none may: quote the whole cell and double the mark"}, nil
}

func blank(fields []string) bool {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			return false
		}
	}
	return true
}

// row judges one record. Its strings share the memory of the record.
func (r *Reader) row(line int, fields []string) Row {
	row := Row{Line: line}
	cell := ""
	if r.own > 0 {
		for i := range fields {
			fields[i] = unguarded(fields[i])
		}
	}
	if r.phone < len(fields) {
		cell = strings.TrimSpace(fields[r.phone])
	}
	row.Given = shorten(cell)
	for _, extra := range fields[min(len(fields), len(r.names)):] {
		if strings.TrimSpace(extra) != "" {
			return refuse(row, MalformedRow, "the row has more cells than the first line has columns")
		}
	}
	n, err := parseNumber(cell, r.format.Country)
	if err != nil {
		var e *engine.Error
		// errors.Is would take any error with the same code for it.
		if err == number.ErrNoCountry && !r.now.IsZero() { //nolint:errorlint // it is never wrapped
			return refuse(row, engine.ErrorCode(err), "the number has no country code: choose the country of such numbers "+
				"(default_country, such as DE), or write it as +4930901820")
		}
		if errors.As(err, &e) {
			return refuse(row, e.Code, e.Detail)
		}
		return refuse(row, "invalid_number", "the number cannot be read")
	}
	row.Number = n
	if row.Times, err = r.timesOf(fields); err != nil {
		return refuse(row, TimesInvalid, err.Error())
	}
	if row.Alternates, err = r.alternatesOf(n, fields); err != nil {
		return refuse(row, NumbersInvalid, err.Error())
	}
	return r.variables(row, fields)
}

func (r *Reader) timesOf(fields []string) (contact.Times, error) {
	var cells [len(timeColumns)]string
	some := false
	for i, at := range r.times {
		if at > 0 && at <= len(fields) {
			cells[i] = strings.TrimSpace(fields[at-1])
			some = some || cells[i] != ""
		}
	}
	if !some {
		return contact.Times{}, nil
	}
	t, wrong := contact.ParseTimes(cells[0], cells[1], cells[2], r.now)
	if len(wrong) > 0 {
		return contact.Times{}, errors.New(wrong[0].Field + " " + wrong[0].Message)
	}
	return t, nil
}

// alternatesOf reads the person's numbers beside the first; empty cells are left out.
func (r *Reader) alternatesOf(first engine.PhoneNumber, fields []string) (contact.Alternates, error) {
	cell := func(column int) string {
		if column == 0 || column > len(fields) {
			return ""
		}
		return strings.TrimSpace(fields[column-1])
	}
	var list []contact.Alternate
	for i, at := range r.others {
		text, label := cell(at.number), cell(at.label)
		switch {
		case text == "" && label != "":
			return "", errors.New(LabelOf(i+2) + " labels no number: " + OtherNumber(i+2) + " is empty")
		case text == "":
			continue
		}
		n, err := parseNumber(text, r.format.Country)
		if err != nil {
			return "", errors.New(OtherNumber(i+2) + " is no number that can be called, such as +4930901820")
		}
		if message := contact.CheckLabel(label); message != "" {
			return "", errors.New(LabelOf(i+2) + " " + message)
		}
		if n == first || slices.ContainsFunc(list, func(a contact.Alternate) bool { return a.Number == n }) {
			continue // a file often repeats the number where there is no other
		}
		list = append(list, contact.Alternate{Number: n, Label: strings.Clone(label)})
	}
	return contact.NewAlternates(list), nil
}

func (r *Reader) variables(row Row, fields []string) Row {
	if r.vars == 0 {
		return row
	}
	vars := make(map[string]string, r.vars)
	total := 0
	for i, name := range r.names {
		if i == r.phone || name == "" {
			continue
		}
		v := ""
		if i < len(fields) {
			v = fields[i]
		}
		switch {
		case !utf8.ValidString(v):
			return refuse(row, VariablesInvalid, "the cell of "+name+" is not UTF-8")
		case r.own > 0 && strings.Contains(v, unreadable):
			return refuse(row, VariablesInvalid, "the cell of "+name+" has a character that could not be read (U+FFFD): write "+
				"what was meant")
		case strings.IndexByte(v, 0) >= 0:
			return refuse(row, VariablesInvalid, "the cell of "+name+" contains the character U+0000, which cannot be kept")
		}
		if name == engine.IdentityVariable && !engine.ValidIdentity(v) {
			return refuse(row, VariablesInvalid, "the cell of "+name+" is not an Identity header: one line of at most "+
				strconv.Itoa(engine.IdentityCap)+" bytes")
		}
		total += len(name) + len(v)
		vars[name] = v
	}
	if total > contact.VariablesCap {
		return refuse(row, VariablesInvalid, "the variables have more than "+strconv.Itoa(contact.VariablesCap>>10)+
			" KiB in all")
	}
	row.Variables = vars
	return row
}

func refuse(row Row, reason, message string) Row {
	row.Reason, row.Message, row.Number, row.Alternates = reason, message, "", ""
	row.Variables, row.Times = nil, contact.Times{}
	return row
}

// parseNumber skips full parsing for numbers that are already E.164.
func parseNumber(cell, country string) (engine.PhoneNumber, error) {
	if cell == "" {
		return "", engine.Invalid("invalid_number", "the row has no number")
	}
	if cell[0] == '+' && strings.Trim(cell[1:], "0123456789") == "" {
		return number.Parse(cell)
	}
	return number.ParseLoose(cell, country)
}

// givenCap limits what is kept of an unreadable number, in bytes.
const givenCap = 40

func shorten(cell string) string {
	s := strings.ToValidUTF8(strings.ReplaceAll(cell, "\x00", ""), "\uFFFD")
	if len(s) <= givenCap {
		return strings.Clone(s)
	}
	cut := givenCap
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// --- the first line ----------------------------------------------------------

// header reads the first line that is not blank.
func (r *Reader) header() error {
	var line []byte
	for len(bytes.TrimSpace(line)) == 0 {
		got, err := r.firstLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if r.before == 0 {
			got = bytes.TrimPrefix(got, []byte("\uFEFF"))
		}
		r.before++
		line = got
		if len(bytes.TrimSpace(line)) == 0 && errors.Is(err, io.EOF) {
			return engine.Invalid("empty_file", "The file is empty; its first line names the columns, among them "+PhoneColumn+
				".")
		}
	}
	if !utf8.Valid(line) {
		return errNotUTF8
	}
	r.first = string(bytes.TrimRight(line, "\r\n"))
	if r.comma = delimiters[r.format.Delimiter]; r.comma == 0 {
		r.comma = delimiter(line)
	}
	one := csv.NewReader(bytes.NewReader(line))
	one.Comma = r.comma
	cells, err := one.Read()
	if err != nil {
		return engine.Invalid("malformed_csv", "The first line cannot be read; it names the columns.")
	}
	if err := r.columns(cells); err != nil {
		return err
	}
	r.csv = csv.NewReader(&r.tape)
	r.csv.Comma, r.csv.FieldsPerRecord, r.csv.ReuseRecord = r.comma, -1, true
	return nil
}

// firstLine returns a line, and io.EOF with the last one.
func (r *Reader) firstLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > RecordCap || errors.Is(err, errRecordTooLong) {
			return nil, engine.Invalid("record_too_long", "The first line has more than "+strconv.Itoa(RecordCap>>10)+
				" KiB; is this a CSV file?")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return line, err
	}
}

var errNotUTF8 = engine.Invalid("not_utf8", "")

// delimiters are what may stand between two cells, by their names.
var delimiters = map[string]rune{"comma": ',', "semicolon": ';', "tab": '\t', "pipe": '|'}

// Delimiters are the names of all delimiters.
func Delimiters() []string { return slices.Sorted(maps.Keys(delimiters)) }

// delimiter is the most frequent candidate outside quotation marks.
func delimiter(line []byte) rune {
	candidates := [...]byte{',', ';', '\t', '|'}
	var count [len(candidates)]int
	quoted := false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		} else if i := bytes.IndexByte(candidates[:], c); i >= 0 && !quoted {
			count[i]++
		}
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	return rune(candidates[best])
}

// columns interprets the names of the columns.
func (r *Reader) columns(cells []string) error {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	r.phone = -1
	seen := make(map[string]struct{}, len(cells))
	used, special := 0, 0
	if !r.now.IsZero() {
		r.own = ownColumns(cells)
	}
	for i, c := range cells {
		name := strings.TrimSpace(c)
		if i < r.own {
			r.names = append(r.names, "")
			continue
		}
		if r.own > 0 {
			name = strings.TrimSpace(unguarded(c))
		}
		if to, is := r.format.Mapping[name]; is {
			used++
			if name = to; name == "" {
				r.left = append(r.left, i)
				r.names = append(r.names, "")
				continue
			}
		}
		isPhone := strings.EqualFold(name, PhoneColumn)
		if isPhone {
			name = PhoneColumn
		}
		if lower := strings.ToLower(name); !r.now.IsZero() && (slices.Contains(timeColumns[:], lower) ||
			r.other(lower) != nil) {
			name = lower
		}
		_, twice := seen[name]
		switch {
		case name == "":
			return engine.Invalid("empty_column", "Column "+strconv.Itoa(i+1)+" has no name.")
		case strings.IndexByte(name, 0) >= 0:
			return engine.Invalid("column_name_invalid", "The name of column "+strconv.Itoa(i+1)+
				" contains the character U+0000.")
		case len(name) > contact.VariableNameCap:
			return engine.Invalid("column_name_too_long", "The name of column "+strconv.Itoa(i+1)+" has more than "+
				strconv.Itoa(contact.VariableNameCap)+" bytes.")
		case twice:
			return engine.Invalid("duplicate_column", "The column "+name+" appears twice.")
		case isPhone:
			r.phone = i
		}
		seen[name] = struct{}{}
		if k := slices.Index(timeColumns[:], name); k >= 0 && !r.now.IsZero() {
			r.times[k], name = i+1, ""
			special++
		}
		if column := r.other(name); column != nil && !r.now.IsZero() {
			*column, name = i+1, ""
			special++
		}
		r.names = append(r.names, name)
	}
	r.vars = len(seen) - 1 - special // behind the number
	if used < len(r.format.Mapping) {
		return engine.Invalid("missing_column", "The first line has no column "+r.unmapped(cells)+
			", which the mapping names.")
	}
	switch {
	case r.phone < 0:
		return engine.Invalid("missing_column", "The first line has no column "+PhoneColumn+".")
	case r.vars > contact.VariableCountCap:
		return engine.Invalid("too_many_columns", "A contact has at most "+strconv.Itoa(contact.VariableCountCap)+
			" variables; leave columns out.")
	}
	return nil
}

// other is where the place of a column for one of the person's other numbers, or its label, is kept; nil
// for any other column.
func (r *Reader) other(name string) *int {
	for i := range r.others {
		switch name {
		case OtherNumber(i + 2):
			return &r.others[i].number
		case LabelOf(i + 2):
			return &r.others[i].label
		}
	}
	return nil
}

// unmapped returns a column that the mapping names and the file lacks, the first in alphabetical
// order.
func (r *Reader) unmapped(cells []string) string {
	missing := ""
	for name := range r.format.Mapping {
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == name }) &&
			(missing == "" || name < missing) {
			missing = name
		}
	}
	return missing
}
