package actors

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"

	"dialler/engine"
)

// newID is 32 hex digits: 48 bits of Unix milliseconds, so that identifiers
// sort by creation and index pages stay hot, and 80 random bits.
func newID(now time.Time) string {
	var b [16]byte
	ms := now.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // the low byte is meant
	}
	_, _ = rand.Read(b[6:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}

func newAttemptID(now time.Time) engine.AttemptID { return engine.AttemptID(newID(now)) }
func newContactID(now time.Time) engine.ContactID { return engine.ContactID(newID(now)) }

// NewCampaignID is short enough to read out: "cmp_" and 10 characters.
func NewCampaignID() engine.CampaignID {
	var b [7]byte
	_, _ = rand.Read(b[:])
	s := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
	return engine.CampaignID("cmp_" + strings.ToLower(s[:10]))
}
