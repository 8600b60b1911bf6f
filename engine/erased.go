package engine

import (
	"encoding/hex"
	"strings"
	"time"
)

// ErasedPrefix begins the tombstone that replaces a person's number after an erasure: no phone
// number starts with it, and no call is placed to it.
const ErasedPrefix = "erased:"

// ErasedNumber is the tombstone of one person: 64 random bits, which reveal nothing about the
// number.
func ErasedNumber(random [8]byte) PhoneNumber {
	return PhoneNumber(ErasedPrefix + hex.EncodeToString(random[:]))
}

// Erased says whether the number is the tombstone of an erased person.
func (p PhoneNumber) Erased() bool { return strings.HasPrefix(string(p), ErasedPrefix) }

// ErasedPerson says what was known about a person who was erased.
type ErasedPerson struct {
	Contacts   int
	Attempts   int
	Recordings int
	// Suppressed says that the person is not called again. RestsUntil is the earliest time at which
	// a person who is not suppressed may be called again; nil means at once.
	Suppressed bool
	RestsUntil *time.Time
}

// Add adds what was known about the person by another number.
func (p *ErasedPerson) Add(o ErasedPerson) {
	p.Contacts += o.Contacts
	p.Attempts += o.Attempts
	p.Recordings += o.Recordings
	p.Suppressed = p.Suppressed || o.Suppressed
	if o.RestsUntil != nil && (p.RestsUntil == nil || o.RestsUntil.After(*p.RestsUntil)) {
		p.RestsUntil = o.RestsUntil
	}
}
