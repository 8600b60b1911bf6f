package keepers

import (
	"encoding/binary"
	"errors"

	"dialler/engine/ownership"
)

const (
	frameVersion = 1
	// frameFill is what a frame is filled up to, frameCap what is taken.
	frameFill = 256 << 10
	frameCap  = 1 << 20
	bodyCap   = 64 << 10
)

// kind says what an item of a frame is.
type kind byte

const (
	asks      kind = 1 + iota // a question
	answers                   // to it
	refuses                   // the node keeps no such count
	owes                      // something given back
	confirms                  // that it was taken
	lastKinds = confirms
)

type item struct {
	kind kind
	id   uint64 // of the question, or of the debt of its identity
	of   ownership.Identity
	body []byte
}

func (i *item) size() int { return 32 + len(i.of.Kind) + len(i.of.ID) + len(i.body) }

var errMalformed = errors.New("keepers: a frame of another node cannot be read; do all nodes run the same version?")

func encode(n uint64, items []item) []byte {
	size := 16
	for i := range items {
		size += items[i].size()
	}
	b := append(make([]byte, 0, size), frameVersion)
	b = binary.AppendUvarint(b, n)
	for i := range items {
		it := &items[i]
		b = append(b, byte(it.kind))
		b = binary.AppendUvarint(b, it.id)
		for _, s := range [...]string{string(it.of.Kind), it.of.ID, string(it.body)} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return b
}

// decode reads a frame; bodies are copies.
func decode(b []byte) (n uint64, items []item, err error) {
	if len(b) < 2 || len(b) > frameCap || b[0] != frameVersion {
		return 0, nil, errMalformed
	}
	b = b[1:]
	unsigned := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err, b = errMalformed, nil
			return 0
		}
		b = b[n:]
		return v
	}
	text := func(most uint64) []byte {
		l := unsigned()
		if l > most || l > uint64(len(b)) {
			err, b = errMalformed, nil
			return nil
		}
		t := b[:l]
		b = b[l:]
		return t
	}
	n = unsigned()
	for len(b) > 0 && err == nil {
		it := item{kind: kind(b[0])}
		b = b[1:]
		it.id = unsigned()
		it.of.Kind = ownership.Kind(text(ownership.MaxKind))
		it.of.ID = string(text(ownership.MaxIdentity))
		it.body = append([]byte(nil), text(bodyCap)...)
		if it.kind < asks || it.kind > lastKinds || !it.of.Valid() {
			err = errMalformed
		}
		items = append(items, it)
	}
	if err != nil {
		return 0, nil, err
	}
	return n, items, nil
}
