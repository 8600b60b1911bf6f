package column

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine/chain"
)

// AppendEvidence appends a column, in PostgreSQL's binary form, to what the digest of its row covers.
// Nothing is appended for null, and for empty texts, zeros and false: a column that a later release
// adds leaves earlier digests as they are. (A time is never zero.)
func AppendEvidence(dst []byte, name string, oid uint32, value []byte) ([]byte, error) {
	if value == nil {
		return dst, nil
	}
	switch oid {
	case pgtype.JSONBOID:
		return chain.AppendJSONColumn(dst, name, value[1:]) // after the version of the form
	case pgtype.TextOID, pgtype.ByteaOID, pgtype.BoolOID, pgtype.Int4OID, pgtype.Int8OID, pgtype.Float8OID:
		if !slices.ContainsFunc(value, func(b byte) bool { return b != 0 }) {
			return dst, nil
		}
	}
	return chain.AppendColumn(dst, name, value), nil
}

// Evidence are columns of a table, in the order of their names.
type Evidence []int

// EvidenceOf selects the columns of a layout that are evidence.
func (l *Layout) EvidenceOf(is func(name string) bool) (e Evidence) {
	for i := range l.slots {
		if is(l.slots[i].name) {
			e = append(e, i)
		}
	}
	slices.SortFunc(e, func(a, b int) int { return strings.Compare(l.slots[a].name, l.slots[b].name) })
	return e
}

// AppendEvidence appends columns of the last row to what its digest covers.
func (b *Batch[T]) AppendEvidence(dst []byte, of Evidence) (_ []byte, err error) {
	for _, i := range of {
		at := b.at[i]
		var value []byte
		if n := int32(binary.BigEndian.Uint32(b.rows.buf[at:])); n >= 0 { //nolint:gosec // two's complement
			value = b.rows.buf[at+4 : at+4+int(n)]
		}
		s := &b.shape.slots[i]
		if dst, err = AppendEvidence(dst, s.name, s.oid, value); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
