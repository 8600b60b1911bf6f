package chain

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding"
	"encoding/binary"
	"errors"
	"hash"
)

// RowKey is the secret of an installation under which the digests of rows are made. It is not in
// the database in clear, so whoever can write there cannot make one.
type RowKey [32]byte

// DigestSize is the length of a row's digest and of a batch's code: HMAC-SHA-256, cut to half.
const DigestSize = 16

// Digest16 is the digest of a row, or the code of a batch. The zero value stands for a row that was
// removed.
type Digest16 [DigestSize]byte

// Row names a row: its table, or a part of its columns, and its identifier.
type Row struct {
	Part byte
	ID   [16]byte
}

// Entry says which digest a row had when it was written. Of a row's entries the one of the highest
// order counts: it may have been written several times by transactions that overtake each other.
type Entry struct {
	Row
	Order  uint64
	Digest Digest16
}

// Gone says that the row was removed.
func (e *Entry) Gone() bool { return e.Digest == Digest16{} }

// AppendTo appends the entry in the form that batches keep and that their hash covers: the part, the
// identifier, the order as a varint, the digest.
func (e *Entry) AppendTo(dst []byte) []byte {
	dst = append(dst, e.Part)
	dst = append(dst, e.ID[:]...)
	dst = binary.AppendUvarint(dst, e.Order)
	return append(dst, e.Digest[:]...)
}

var errEntries = errors.New("the list of rows is damaged")

// Entries calls f with every entry of a batch.
func Entries(b []byte, f func(*Entry)) error {
	var e Entry
	for len(b) > 0 {
		if len(b) < 17 {
			return errEntries
		}
		e.Part = b[0]
		copy(e.ID[:], b[1:17])
		order, n := binary.Uvarint(b[17:])
		if n <= 0 || len(b) < 17+n+DigestSize {
			return errEntries
		}
		e.Order = order
		copy(e.Digest[:], b[17+n:])
		b = b[17+n+DigestSize:]
		f(&e)
	}
	return nil
}

// Cut returns the entries that fit into a length, at least one, and the rest.
func Cut(b []byte, length int) (first, rest []byte) {
	n := 0
	for n < len(b) {
		_, order := binary.Uvarint(b[n+17:])
		next := n + 17 + order + DigestSize
		if n > 0 && next > length {
			break
		}
		n = next
	}
	return b[:n], b[n:]
}

// A Digester makes digests under an installation's key. It is not safe for concurrent use.
type Digester struct {
	h            state
	inner, outer []byte // the hash after the first block, which the installation's key alone decides
	buf          []byte
	sum          [sha256.Size]byte
}

// state is a SHA-256 that can be put where it was.
type state interface {
	hash.Hash
	encoding.BinaryUnmarshaler
	encoding.BinaryAppender
}

// NewDigester returns a Digester for a key.
func NewDigester(k *RowKey) *Digester {
	d := &Digester{h: sha256.New().(state)}
	after := func(constant []byte) []byte {
		block := make([]byte, sha256.BlockSize)
		pad(block, k[:], constant)
		d.h.Reset()
		d.h.Write(block)
		b, _ := d.h.AppendBinary(nil) // never fails
		return b
	}
	d.inner, d.outer = after(ipad), after(opad)
	return d
}

// ipad and opad are the constants of HMAC (RFC 2104).
var ipad, opad = bytes.Repeat([]byte{0x36}, sha256.BlockSize), bytes.Repeat([]byte{0x5c}, sha256.BlockSize)

// pad writes the first block of a hash under a key of 32 bytes.
func pad(to, key, constant []byte) {
	n := subtle.XORBytes(to, key, constant)
	copy(to[n:sha256.BlockSize], constant[n:])
}

// mac is HMAC-SHA-256 (RFC 2104) of the message, which begins after the first block of buf.
func mac(key *RowKey, buf []byte) Hash {
	pad(buf, key[:], ipad)
	h := sha256.Sum256(buf)
	var last [sha256.BlockSize + sha256.Size]byte
	pad(last[:], key[:], opad)
	copy(last[sha256.BlockSize:], h[:])
	return sha256.Sum256(last[:])
}

// keyed is HMAC-SHA-256 under the installation's key of buf and what follows it.
func (d *Digester) keyed(rest ...[]byte) Hash {
	_ = d.h.UnmarshalBinary(d.inner) // we wrote it
	d.h.Write(d.buf)
	for _, b := range rest {
		d.h.Write(b)
	}
	d.h.Sum(d.sum[:0])
	_ = d.h.UnmarshalBinary(d.outer)
	d.h.Write(d.sum[:])
	d.h.Sum(d.sum[:0])
	return d.sum
}

// KeyOf is the key of one row's digests: HMAC of the row's name. Whoever has it can prove what the
// row was, and nothing about any other.
func (d *Digester) KeyOf(r Row) RowKey {
	d.buf = append(d.buf[:0], "row\x00"...)
	d.buf = append(d.buf, r.Part)
	d.buf = append(d.buf, r.ID[:]...)
	return RowKey(d.keyed())
}

// Named identifies a row without a uuid by a text: HMAC, because the text may be a phone number.
func (d *Digester) Named(text string) (id [16]byte) {
	d.buf = append(append(d.buf[:0], "name\x00"...), text...)
	h := d.keyed()
	copy(id[:], h[:])
	return id
}

// Batch is the code of a batch: only the holder of the key could have written it. owner is its
// campaign ("" for none) and run its chain.
func (d *Digester) Batch(owner string, run int, digests, rows []byte) Digest16 {
	d.buf = append(d.buf[:0], "batch\x00"...)
	d.buf = append(append(d.buf, owner...), 0)
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(run)) //nolint:gosec // never negative
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(len(digests)))
	return cut(d.keyed(digests, rows))
}

// Event is the code of a single event, by its digest: for a batch that the database put together.
func (d *Digester) Event(digest Hash) Digest16 {
	d.buf = append(append(d.buf[:0], "event\x00"...), digest[:]...)
	return cut(d.keyed())
}

func cut(h Hash) (out Digest16) {
	copy(out[:], h[:])
	if out == (Digest16{}) {
		out[0] = 1 // zero means a row that was removed
	}
	return out
}

// RowDigest is the digest of a row's columns under the row's own key: HMAC of Columns.
func RowDigest(key *RowKey, columns []byte) Digest16 {
	return cut(mac(key, append(make([]byte, sha256.BlockSize, sha256.BlockSize+len(columns)), columns...)))
}

// Row computes the entry of a row whose columns add appends (AppendColumn).
func (d *Digester) Row(r Row, order uint64, add func(dst []byte) ([]byte, error)) (Entry, error) {
	key := d.KeyOf(r)
	buf, err := add(append(d.buf[:0], ipad...)) // room for the first block
	d.buf = buf
	if err != nil {
		return Entry{}, err
	}
	return Entry{Row: r, Order: order, Digest: cut(mac(&key, d.buf))}, nil
}

// AppendColumn appends a column to what a row's digest covers: the length of its name (one byte), the
// name, the length of the value (four bytes, big endian), the value. Numbers and times are the
// big-endian integers of PostgreSQL's binary form (times in microseconds since 2000), truth values
// one byte, JSON is canonical (AppendCanonical).
func AppendColumn(dst []byte, name string, value []byte) []byte {
	dst = append(append(dst, byte(len(name))), name...)          //nolint:gosec // a column's name has 63 bytes at most
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value))) //nolint:gosec // fits in memory
	return append(dst, value...)
}

// AppendJSONColumn is AppendColumn for JSON in any form.
func AppendJSONColumn(dst []byte, name string, value []byte) ([]byte, error) {
	dst = append(append(dst, byte(len(name))), name...) //nolint:gosec // a column's name has 63 bytes at most
	at := len(dst)
	dst, err := AppendCanonical(append(dst, 0, 0, 0, 0), value)
	if err != nil {
		return dst, err
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4)) //nolint:gosec // fits in memory
	return dst, nil
}

// Equal says whether two digests are the same.
func (d Digest16) Equal(b []byte) bool { return bytes.Equal(d[:], b) }
