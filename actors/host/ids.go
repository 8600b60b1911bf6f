package host

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// NewID returns 32 hex digits: 48 bits of Unix milliseconds, so that identifiers sort by creation
// and index pages stay hot, and 80 random bits.
func NewID(now time.Time) string {
	var b [16]byte
	ms := now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // the low byte is meant
	}
	_, _ = rand.Read(b[6:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}
