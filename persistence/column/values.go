package column

import (
	"encoding/binary"
	"hash/maphash"
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

// Value is a column of the last row, in binary form; value is nil for null.
func (b *Batch[T]) Value(i int) (name string, oid uint32, value []byte) {
	s, at := &b.shape.slots[i], b.at[i]
	if n := int32(binary.BigEndian.Uint32(b.rows.buf[at:])); n >= 0 { //nolint:gosec // two's complement
		value = b.rows.buf[at+4 : at+4+int(n)]
	}
	return s.name, s.oid, value
}

var seed = maphash.MakeSeed()

// Sum stands for what columns of the last row are, in this process, and for n; it is never 0.
func (b *Batch[T]) Sum(some Some, n uint64) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var own [8]byte
	binary.BigEndian.PutUint64(own[:], n)
	_, _ = h.Write(own[:])
	for _, i := range some {
		at := b.at[i]
		length := int32(binary.BigEndian.Uint32(b.rows.buf[at:])) //nolint:gosec // two's complement
		_, _ = h.Write(b.rows.buf[at : at+4+int(max(length, 0))])
	}
	return max(h.Sum64(), 1)
}

// Stamp stands for bytes, in this process.
func Stamp(b []byte) uint64 { return maphash.Bytes(seed, b) }
