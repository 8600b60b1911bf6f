// Package anchor is what a witness outside the installation is shown, and what it gives back: the
// hash of the newest seal, and a receipt. It writes and reads receipts and RFC 3161 time stamps, and
// compares receipts with the seals of a database.
//
// It must not know how a witness is reached, or where seals and receipts are stored.
package anchor

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Hash is a SHA-256 of a seal.
type Hash [32]byte

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) != hex.EncodedLen(len(h)) {
		return errors.New("anchor: not a SHA-256 in hex")
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// String is the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Seal is what is shown.
type Seal struct {
	N    int64
	Hash Hash
	At   time.Time
}

// Kind is a kind of witness.
type Kind string

const (
	Webhook   Kind = "webhook"
	File      Kind = "file"
	Mail      Kind = "mail"
	Object    Kind = "object"    // in a store with retention lock
	TimeStamp Kind = "timestamp" // RFC 3161
)

// Receipt is what a witness gave for a seal.
type Receipt struct {
	Kind Kind      `json:"kind"`
	URL  string    `json:"url"` // without credentials
	N    int64     `json:"n"`
	Hash Hash      `json:"hash"`
	At   time.Time `json:"at"` // when it came
	// Data is the witness's own: the token of a time stamp, the answer of a webhook.
	Data []byte `json:"data,omitempty"`
}

// Statement is the seal as webhooks, files, mails and objects are shown it: one line of JSON.
func Statement(s Seal, installation string) []byte {
	b, _ := json.Marshal(struct { // contains nothing that JSON cannot represent
		N            int64     `json:"n"`
		Hash         Hash      `json:"hash"`
		At           time.Time `json:"at"`
		Installation string    `json:"installation"` // fingerprint of its signing key
	}{s.N, s.Hash, s.At.UTC(), installation})
	return b
}

// lineCap bounds one receipt, in bytes.
const lineCap = 1 << 20

// Read reads receipts, or lines of an anchor's file, one JSON object a line.
func Read(in io.Reader, f func(Receipt)) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), lineCap)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var r Receipt
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("line %d is not a receipt: %w", n, err)
		}
		f(r)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("receipts not read: %w", err)
	}
	return nil
}

// Compare compares receipts with the seals: each names a seal that must be there with the same hash,
// and a time stamp must be one of that hash, by whoever roots vouch for (Verify). It returns a sentence for
// each that does not hold.
func Compare(receipts []Receipt, roots *x509.CertPool, lookup func(n int64) (Hash, bool)) (wrong []string) {
	for i := range receipts {
		r := &receipts[i]
		say := func(what string) {
			to := r.URL
			if to == "" {
				to = "a witness" // that kept nothing but the statement
			}
			wrong = append(wrong, fmt.Sprintf("seal %d, shown to %s at %s: %s", r.N, to, r.At.UTC().Format(time.RFC3339),
				what))
		}
		if r.Kind == TimeStamp {
			if _, err := Verify(r.Data, r.Hash, nil, roots); err != nil {
				say("its time stamp does not vouch for its hash: " + err.Error())
			}
		}
		switch have, ok := lookup(r.N); {
		case !ok:
			say("it is gone")
		case have != r.Hash:
			say("it has another hash now: the history was written anew")
		}
	}
	return wrong
}
