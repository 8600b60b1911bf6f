package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"dialler/engine"
)

// Hash is a SHA-256 hash of HashSize bytes.
type Hash [HashSize]byte

// ParseHash reads what String returns; "" is the zero hash, before the first batch.
func ParseHash(s string) (h Hash, err error) {
	if s == "" {
		return h, nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != HashSize {
		return h, errHash
	}
	return Hash(b), nil
}

var errHash = errors.New("not a hash of 64 hex digits")

// HashSize is the length of a Hash.
const HashSize = sha256.Size

// String returns 64 hex digits.
func (h Hash) String() string {
	const digits = "0123456789abcdef"
	var b [2 * len(h)]byte
	for i, v := range h {
		b[2*i], b[2*i+1] = digits[v>>4], digits[v&15]
	}
	return string(b[:])
}

// Record is an event in the form that is hashed.
type Record struct {
	Campaign engine.CampaignID // "" for events that belong to no campaign
	Run      int
	Seq      int64
	At       time.Time // to the microsecond
	Type     string
	Version  int
	Contact  engine.ContactID // "" without
	Attempt  engine.AttemptID // "" without
	Leg      int
	Activity bool
	Data     []byte // JSON
}

// instant is the format of a time in a text: UTC, six digits of the second.
const instant = "2006-01-02T15:04:05.000000Z"

// AppendText appends the text from which the digest is computed: one JSON object in canonical form.
// It fails only when Data is not JSON.
func (r *Record) AppendText(dst []byte) ([]byte, error) {
	dst = append(dst, `{"activity":`...)
	dst = strconv.AppendBool(dst, r.Activity)
	dst = append(dst, `,"at":"`...)
	dst = r.At.UTC().AppendFormat(dst, instant)
	dst = append(dst, `","attempt_id":`...)
	dst = appendString(dst, string(r.Attempt))
	dst = append(dst, `,"campaign_id":`...)
	dst = appendString(dst, string(r.Campaign))
	dst = append(dst, `,"contact_id":`...)
	dst = appendString(dst, string(r.Contact))
	dst = append(dst, `,"data":`...)
	dst, err := AppendCanonical(dst, r.Data)
	if err != nil {
		return dst, err
	}
	dst = append(dst, `,"leg":`...)
	dst = strconv.AppendInt(dst, int64(r.Leg), 10)
	dst = append(dst, `,"run":`...)
	dst = strconv.AppendInt(dst, int64(r.Run), 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, r.Seq, 10)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, r.Type)
	dst = append(dst, `,"version":`...)
	dst = strconv.AppendInt(dst, int64(r.Version), 10)
	return append(dst, '}'), nil
}

// Digest is the digest of an event's text.
func Digest(text []byte) Hash { return sha256.Sum256(text) }

// Link is the hash of a batch: over the hash of the previous batch (all zero for the first), the
// concatenated digests of its events in the order of their sequence and, if it has any, its entries
// of rows and their length in four bytes, big endian.
func Link(before Hash, digests, rows []byte) Hash {
	h := sha256.New()
	h.Write(before[:])
	h.Write(digests)
	if len(rows) > 0 {
		h.Write(rows)
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(rows)))) //nolint:gosec // fits in memory
	}
	return Hash(h.Sum(nil))
}
