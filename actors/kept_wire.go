package actors

import (
	"encoding/binary"
	"time"

	"dialler/engine"
)

// What nodes ask and tell each other of counts (port Keepers). Writer and reader
// of each message stand one below the other.

// words is a message that is read; bad: it ended too early.
type words struct {
	b   []byte
	bad bool
}

func putText[T ~string](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func putInt[T ~int | ~int64 | ~uint8](b []byte, v T) []byte {
	return binary.AppendVarint(b, int64(v))
}

func putTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return putInt(b, 0)
	}
	return putInt(b, t.UnixNano())
}

func putFlag(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (w *words) text() string {
	n, l := binary.Uvarint(w.b)
	if l <= 0 || n > uint64(len(w.b)-l) { //nolint:gosec // l bytes were read
		w.bad, w.b = true, nil
		return ""
	}
	s := string(w.b[l : l+int(n)]) //nolint:gosec // within the slice
	w.b = w.b[l+int(n):]           //nolint:gosec // likewise
	return s
}

func (w *words) int() int64 {
	v, l := binary.Varint(w.b)
	if l <= 0 {
		w.bad, w.b = true, nil
		return 0
	}
	w.b = w.b[l:]
	return v
}

func (w *words) time() time.Time {
	if v := w.int(); v != 0 {
		return time.Unix(0, v)
	}
	return time.Time{}
}

func (w *words) flag() bool {
	if len(w.b) == 0 {
		w.bad = true
		return false
	}
	v := w.b[0] != 0
	w.b = w.b[1:]
	return v
}

// legs of a trunk: a question for channels and tokens.
func putLegs(b []byte, legs []engine.LegID) []byte {
	b = putInt(b, len(legs))
	for _, l := range legs {
		b = putText(b, l)
	}
	return b
}

func (w *words) legs() []engine.LegID {
	n := w.int()
	if n < 0 || n > int64(len(w.b)) { // each has a byte at least
		w.bad = true
		return nil
	}
	legs := make([]engine.LegID, 0, n)
	for range n {
		legs = append(legs, engine.LegID(w.text()))
	}
	return legs
}

// trunkGrant answers it: which of the legs, in their order, how long each INVITE has
// to wait, and why not the rest.
type trunkGrant struct {
	got        []bool
	wait       []time.Duration // one a leg
	constraint engine.Constraint
	retryAt    time.Time
}

func (g *trunkGrant) bytes() []byte {
	b := putInt(nil, len(g.got))
	for _, ok := range g.got {
		b = putFlag(b, ok)
	}
	b = putTime(putText(b, g.constraint), g.retryAt)
	for _, d := range g.wait {
		b = putInt(b, int64(d))
	}
	return b
}

func readTrunkGrant(b []byte, legs int) (g trunkGrant, ok bool) {
	w := words{b: b}
	if w.int() != int64(legs) || len(w.b) < legs {
		return g, false
	}
	g.got = make([]bool, legs)
	for i := range g.got {
		g.got[i] = w.flag()
	}
	g.constraint, g.retryAt = engine.Constraint(w.text()), w.time()
	g.wait = make([]time.Duration, legs)
	for i := range g.wait {
		g.wait[i] = time.Duration(w.int())
	}
	return g, !w.bad
}

// trunkNotice gives legs back, or tells that one was sent, or refused for too many
// calls.
type trunkNotice struct {
	legs      []engine.LegID
	sent      bool
	over      bool
	throttled bool
	after     time.Duration
}

func (n *trunkNotice) bytes() []byte {
	return putFlag(putInt(putFlag(putFlag(putLegs(nil, n.legs), n.over), n.throttled), int64(n.after)), n.sent)
}

func readTrunkNotice(b []byte) (n trunkNotice, ok bool) {
	w := words{b: b}
	n.legs, n.over, n.throttled, n.after = w.legs(), w.flag(), w.flag(), time.Duration(w.int())
	n.sent = w.flag()
	return n, !w.bad
}
