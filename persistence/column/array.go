package column

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Array builds one parameter of a multi-row statement: a one-dimensional
// PostgreSQL array in binary form. The rows of a group commit are sent column
// by column; building the wire form straight from the structs costs a tenth of
// what a general encoder takes.
type Array struct {
	buf   []byte
	n     uint32
	nulls bool
	oid   uint32
}

// headLength covers dimensions, null flag, element type, length and lower bound.
const headLength = 20

func (a *Array) Reset(oid uint32) {
	a.buf = append(a.buf[:0], make([]byte, headLength)...)
	a.n, a.nulls, a.oid = 0, false, oid
}

// Param returns the finished parameter; it is valid until the next reset.
func (a *Array) Param() []byte {
	if a.n == 0 {
		b := a.buf[:12]
		clear(b)
		binary.BigEndian.PutUint32(b[8:], a.oid)
		return b
	}
	b := a.buf
	clear(b[:headLength])
	binary.BigEndian.PutUint32(b[0:], 1)
	if a.nulls {
		binary.BigEndian.PutUint32(b[4:], 1)
	}
	binary.BigEndian.PutUint32(b[8:], a.oid)
	binary.BigEndian.PutUint32(b[12:], a.n)
	binary.BigEndian.PutUint32(b[16:], 1)
	return b
}

// Empty says whether the array has no element.
func (a *Array) Empty() bool { return a.n == 0 }

// Only returns the single element as a scalar parameter: the bytes after header and length.
func (a *Array) Only() []byte { return a.buf[headLength+4:] }

// Null appends a null.
func (a *Array) Null() {
	a.n++
	a.nulls = true
	a.buf = append(a.buf, 0xff, 0xff, 0xff, 0xff)
}

func (a *Array) length(n int) {
	a.n++
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(n)) //nolint:gosec // lengths of values that fit in memory
}

// Text appends text that PostgreSQL accepts: valid UTF-8 without NUL. A reason phrase from the wire
// may be neither, and must not make a call impossible to record.
func (a *Array) Text(s string) {
	s = Clean(s)
	a.length(len(s))
	a.buf = append(a.buf, s...)
}

func Clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func (a *Array) Bytea(b []byte) {
	a.length(len(b))
	a.buf = append(a.buf, b...)
}

func (a *Array) Bool(v bool) {
	a.length(1)
	if v {
		a.buf = append(a.buf, 1)
	} else {
		a.buf = append(a.buf, 0)
	}
}

func (a *Array) Int4(v int64) {
	a.length(4)
	v = min(max(v, math.MinInt32), math.MaxInt32)
	a.buf = binary.BigEndian.AppendUint32(a.buf, uint32(int32(v))) //nolint:gosec // two's complement is the wire form
}

func (a *Array) Int8(v int64) {
	a.length(8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, uint64(v)) //nolint:gosec // two's complement is the wire form
}

func (a *Array) float8(v float64) {
	a.length(8)
	a.buf = binary.BigEndian.AppendUint64(a.buf, math.Float64bits(v))
}

// microsecondsToY2K is the distance between the Unix epoch and PostgreSQL's.
const microsecondsToY2K = 946684800 * 1000000

// Int4Of reads a binary integer.
func Int4Of(b []byte) int { return int(int32(binary.BigEndian.Uint32(b))) } //nolint:gosec // as it was written

// InstantOf reads what instant writes.
func InstantOf(b []byte) time.Time {
	since := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // two's complement is the wire form
	return time.UnixMicro(since + microsecondsToY2K).UTC()
}

func (a *Array) Instant(t time.Time) {
	a.Int8(t.Unix()*1000000 + int64(t.Nanosecond()/1000) - microsecondsToY2K)
}

func (a *Array) moment(t *time.Time) {
	if t == nil {
		a.Null()
		return
	}
	a.Instant(*t)
}

// ID appends 32 hex digits as a uuid. "" becomes null, and so does anything that is not an
// identifier: the column then refuses it unless it is nullable.
func (a *Array) ID(s string) {
	var b [16]byte
	if !ParseID(s, &b) {
		a.Null()
		return
	}
	a.UUID(b)
}

// UUID appends a uuid.
func (a *Array) UUID(b [16]byte) {
	a.length(16)
	a.buf = append(a.buf, b[:]...)
}

// ParseID reads 32 lower-case hex digits.
func ParseID(s string, b *[16]byte) bool {
	if len(s) != 32 {
		return false
	}
	for i := range 16 {
		hi, lo := hexDigit(s[2*i]), hexDigit(s[2*i+1])
		if hi > 15 || lo > 15 {
			return false
		}
		b[i] = hi<<4 | lo
	}
	return true
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

const hexDigits = "0123456789abcdef"

func FormatID(b [16]byte) string {
	var out [32]byte
	for i, v := range b {
		out[2*i], out[2*i+1] = hexDigits[v>>4], hexDigits[v&15]
	}
	return string(out[:])
}

// IDOf reads a uuid in binary form; null becomes "".
func IDOf(b []byte) string {
	if len(b) != 16 {
		return ""
	}
	return FormatID([16]byte(b))
}

// JSON appends v as jsonb.
func (a *Array) JSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	a.JSONB(CleanJSON(b))
	return nil
}

// JSONB appends b, which must be clean JSON already.
func (a *Array) JSONB(b []byte) {
	a.length(1 + len(b))
	a.buf = append(a.buf, 1) // version of the binary form
	a.buf = append(a.buf, b...)
}

var nulEscape = []byte(`\u0000`)

// CleanJSON drops escaped NUL characters, which jsonb cannot hold. An escaped backslash does not
// start one.
func CleanJSON(b []byte) []byte {
	if !bytes.Contains(b, nulEscape) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		if bytes.HasPrefix(b[i:], nulEscape) {
			i += len(nulEscape) - 1
			continue
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

func IsID(s string) bool {
	var b [16]byte
	return ParseID(s, &b)
}
