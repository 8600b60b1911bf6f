package contactlist

import (
	"encoding/csv"
	"strconv"
	"strings"

	"dialler/engine"
	"dialler/engine/campaign"
)

// A file of rejected rows has the columns of the original, in their order and behind two of its own: the
// line of the original and what was wrong with it. Corrected, it can be imported as it is.
const (
	rejectedLine    = "rejected_line"
	rejectedBecause = "rejected_because"
)

// ownColumns returns how many of a file's first columns were put before the original's.
func ownColumns(cells []string) int {
	if len(cells) > 2 && strings.TrimSpace(cells[0]) == rejectedLine && strings.TrimSpace(cells[1]) == rejectedBecause {
		return 2
	}
	return 0
}

// Rejected writes the rejected rows of a file in the file's own layout.
type Rejected struct {
	Comma rune
	own   int // leading columns of the imported file that are not its original's
	width int // the original's columns
}

// NewRejected returns the columns of a file of rejected rows; ok is false if the original's are not known,
// because it was imported before they were kept.
func NewRejected(l campaign.FileLayout) (r Rejected, columns []string, ok bool) {
	r.Comma = delimiters[l.Delimiter]
	if r.Comma == 0 || l.Header == "" {
		return r, nil, false
	}
	names := parted(l.Header, r.Comma)
	r.own = ownColumns(names)
	names = r.original(names)
	r.width = len(names)
	return r, r.framed(rejectedLine, rejectedBecause, names), true
}

// Row returns the cells of a rejected row. A record that is no longer kept leaves the original's cells
// empty: the row is then a blank one.
func (r Rejected) Row(row *campaign.RejectedRow) []string {
	return r.framed(strconv.Itoa(row.Line), guarded(row.Message), r.original(parted(row.Record, r.Comma)))
}

// original takes away what a file that was itself one of rejected rows has more than its original.
func (r Rejected) original(cells []string) []string {
	if r.own == 0 {
		return cells
	}
	cells = cells[min(r.own, len(cells)):]
	for i := range cells {
		cells[i] = unguarded(cells[i])
	}
	return cells
}

// framed puts line and reason before cells.
func (r Rejected) framed(line, because string, cells []string) []string {
	out := append(make([]string, 0, 2+max(len(cells), r.width)), line, because)
	for _, c := range cells {
		out = append(out, guarded(c))
	}
	for len(out) < 2+r.width {
		out = append(out, "")
	}
	return out
}

// parted returns the cells of a record. Where quotation marks are wrong they are taken for text, because it is not
// known which of them were meant to hold a cell together.
func parted(record string, comma rune) []string {
	if record == "" {
		return []string{""}
	}
	in := csv.NewReader(strings.NewReader(record))
	in.Comma, in.FieldsPerRecord = comma, -1
	cells, err := in.Read()
	if err != nil {
		return strings.Split(record, string(comma))
	}
	return cells
}

// kept returns what is kept of a record: no cells of columns that the mapping leaves out, and U+FFFD for what is no
// character.
func (r *Reader) kept(record string) string {
	if strings.IndexByte(record, 0) >= 0 {
		record = strings.ReplaceAll(record, "\x00", unreadable)
	}
	record = strings.ToValidUTF8(record, unreadable)
	if len(r.left) == 0 {
		return record
	}
	cells := parted(record, r.comma)
	for _, i := range r.left {
		if i < len(cells) {
			cells[i] = ""
		}
	}
	var b strings.Builder
	out := csv.NewWriter(&b)
	out.Comma = r.comma
	_ = out.Write(cells) // to memory
	out.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// unreadable stands in a kept record for what was no character in the file.
const unreadable = "\uFFFD"

// guarded puts an apostrophe before what a spreadsheet would take for a formula, and before an
// apostrophe that would be taken for such a one. A number with its plus stays as it is.
func guarded(cell string) string {
	if special(cell) && !plainNumber(cell) {
		return "'" + cell
	}
	return cell
}

// unguarded takes the apostrophe away.
func unguarded(cell string) string {
	if rest, ok := strings.CutPrefix(cell, "'"); ok && special(rest) {
		return rest
	}
	return cell
}

func special(cell string) bool {
	if rest, ok := strings.CutPrefix(cell, "'"); ok {
		return strings.HasPrefix(rest, "'") || engine.StartsFormula(rest)
	}
	return engine.StartsFormula(cell)
}

func plainNumber(cell string) bool {
	return len(cell) > 1 && cell[0] == '+' && strings.Trim(cell[1:], "0123456789") == ""
}
