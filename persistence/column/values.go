package column

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Some are columns of a table, in the order of their names.
type Some []int

// Some selects columns of a layout.
func (l *Layout) Some(is func(name string) bool) (some Some) {
	for i := range l.slots {
		if is(l.slots[i].name) {
			some = append(some, i)
		}
	}
	slices.SortFunc(some, func(a, b int) int { return strings.Compare(l.slots[a].name, l.slots[b].name) })
	return some
}

// Values calls f with columns of the last row, in binary form; value is nil for null.
func (b *Batch[T]) Values(some Some, f func(name string, oid uint32, value []byte) error) error {
	for _, i := range some {
		at := b.at[i]
		var value []byte
		if n := int32(binary.BigEndian.Uint32(b.rows.buf[at:])); n >= 0 { //nolint:gosec // two's complement
			value = b.rows.buf[at+4 : at+4+int(n)]
		}
		if err := f(b.shape.slots[i].name, b.shape.slots[i].oid, value); err != nil {
			return err
		}
	}
	return nil
}
