package spine

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"dialler/engine/chain"
	"dialler/engine/seal"
)

// Kind says what an entry is about.
type Kind string

// The kinds of entries; the type of their data has the same name, but for anchors: engine/anchor.Receipt.
const (
	KindGenesis    Kind = "genesis"
	KindStart      Kind = "start"
	KindSeal       Kind = "seal"
	KindCheckpoint Kind = "checkpoint"
	KindExport     Kind = "export"
	KindKey        Kind = "key"
	KindErasure    Kind = "erasure"
	KindRetention  Kind = "retention"
	KindRestored   Kind = "restored"
	KindAnchor     Kind = "anchor"
)

// Entry is one entry of the spine.
type Entry struct {
	N         int64           // from 1, without a gap
	At        time.Time       // to the microsecond
	Kind      Kind            //
	Data      json.RawMessage // an object: Genesis, Seal and so on
	Previous  chain.Hash      // of the entry before; zero before the first
	SignedBy  string          // fingerprint of the key
	Signature []byte
}

// instant is the format of a time in a text: UTC, six digits of the second.
const instant = "2006-01-02T15:04:05.000000Z"

// written is an entry as JSON: its text, and in a file the signature and the hash, for people.
type written struct {
	At        string          `json:"at"`
	Data      json.RawMessage `json:"data"`
	Kind      Kind            `json:"kind"`
	N         int64           `json:"n"`
	Previous  string          `json:"previous"`
	SignedBy  string          `json:"signed_by"`
	Hash      string          `json:"hash,omitempty"`
	Signature string          `json:"signature,omitempty"`
}

func (e *Entry) written() written {
	return written{At: e.At.UTC().Format(instant), Data: e.Data, Kind: e.Kind, N: e.N, Previous: e.Previous.String(),
		SignedBy: e.SignedBy}
}

// Text is what is hashed and signed: the entry without its signature, in the form of RFC 8785.
func (e *Entry) Text() ([]byte, error) {
	raw, err := json.Marshal(e.written())
	if err != nil {
		return nil, err
	}
	return chain.AppendCanonical(nil, raw)
}

// Hash is the SHA-256 of the entry's text; zero if its data is not JSON.
func (e *Entry) Hash() chain.Hash {
	text, err := e.Text()
	if err != nil {
		return chain.Hash{}
	}
	return chain.Digest(text)
}

// heading begins every signed text of an entry.
const heading = "dialler spine 1\n"

// Sign makes the entry the signer's.
func (e *Entry) Sign(by seal.Signer) error {
	e.SignedBy = by.Public().Fingerprint()
	text, err := e.Text()
	if err != nil {
		return err
	}
	e.Signature, err = by.Sign(append([]byte(heading), text...))
	return err
}

// SignedWith says whether the entry is signed with this key.
func (e *Entry) SignedWith(key seal.Public) bool {
	text, err := e.Text()
	return err == nil && e.SignedBy == key.Fingerprint() && key.Verify(append([]byte(heading), text...), e.Signature)
}

// Line is the entry as a line of a file, without its end.
func (e *Entry) Line() ([]byte, error) {
	w := e.written()
	w.Hash, w.Signature = e.Hash().String(), hex.EncodeToString(e.Signature)
	raw, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return chain.AppendCanonical(nil, raw)
}

var errLine = errors.New("not an entry of the spine")

// ParseLine reads a line of a file. It checks its form, not its signature.
func ParseLine(line []byte) (e Entry, err error) {
	var w written
	if err := json.Unmarshal(line, &w); err != nil {
		return e, errLine
	}
	at, err := time.Parse(instant, w.At)
	if err != nil || w.N < 1 || w.Kind == "" || len(w.Data) == 0 {
		return e, errLine
	}
	e = Entry{N: w.N, At: at, Kind: w.Kind, Data: w.Data, SignedBy: w.SignedBy}
	if e.Previous, err = ParseHash(w.Previous); err != nil {
		return e, errLine
	}
	if e.Signature, err = hex.DecodeString(w.Signature); err != nil || e.Hash().String() != w.Hash {
		return e, errLine
	}
	return e, nil
}

// ParseHash reads 64 hex digits.
func ParseHash(s string) (h chain.Hash, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(h) {
		return h, errLine
	}
	return chain.Hash(raw), nil
}

// String names an entry for people.
func (e *Entry) String() string {
	return fmt.Sprintf("entry %s (%s of %s)", strconv.FormatInt(e.N, 10), e.Kind, e.At.UTC().Format(time.RFC3339))
}
