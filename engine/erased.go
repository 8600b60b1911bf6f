package engine

import (
	"encoding/hex"
	"strings"
	"time"
)

// ErasedPrefix begins what stands in the place of a person's number once the
// person was erased: no phone number has it, and none is called by it.
const ErasedPrefix = "erased:"

// ErasedNumber is the tombstone of one person: 64 random bits, which say
// nothing of the number.
func ErasedNumber(random [8]byte) PhoneNumber {
	return PhoneNumber(ErasedPrefix + hex.EncodeToString(random[:]))
}

// Erased says whether the number was that of a person who was erased.
func (p PhoneNumber) Erased() bool { return strings.HasPrefix(string(p), ErasedPrefix) }

// ErasedPerson says what was known of a person who was erased.
type ErasedPerson struct {
	Contacts   int
	Attempts   int
	Recordings int
	// Suppressed: the person is not called again. RestsUntil is when one who is
	// not suppressed may be called again at the earliest, nil: at once.
	Suppressed bool
	RestsUntil *time.Time
}
