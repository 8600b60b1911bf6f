package lease

import (
	"encoding/binary"
	"time"
)

// How the messages are written that nodes exchange about counts (port SharedCaps): writer
// and reader of each value.

// Reader reads a message; Bad: it ended too early.
type Reader struct {
	B   []byte
	Bad bool
}

// PutText appends a text.
func PutText[T ~string](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// PutInt appends a number.
func PutInt[T ~int | ~int64 | ~uint8](b []byte, v T) []byte {
	return binary.AppendVarint(b, int64(v))
}

// PutTime appends a time, to the nanosecond.
func PutTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return PutInt(b, 0)
	}
	return PutInt(b, t.UnixNano())
}

// PutFlag appends yes or no.
func PutFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Text reads what PutText wrote.
func (r *Reader) Text() string {
	n, l := binary.Uvarint(r.B)
	if l <= 0 || n > uint64(len(r.B)-l) { //nolint:gosec // l bytes were read
		r.Bad, r.B = true, nil
		return ""
	}
	s := string(r.B[l : l+int(n)]) //nolint:gosec // within the slice
	r.B = r.B[l+int(n):]           //nolint:gosec // likewise
	return s
}

// Int reads what PutInt wrote.
func (r *Reader) Int() int64 {
	v, l := binary.Varint(r.B)
	if l <= 0 {
		r.Bad, r.B = true, nil
		return 0
	}
	r.B = r.B[l:]
	return v
}

// Time reads what PutTime wrote.
func (r *Reader) Time() time.Time {
	if v := r.Int(); v != 0 {
		return time.Unix(0, v)
	}
	return time.Time{}
}

// Flag reads what PutFlag wrote.
func (r *Reader) Flag() bool {
	if len(r.B) == 0 {
		r.Bad = true
		return false
	}
	v := r.B[0] != 0
	r.B = r.B[1:]
	return v
}
