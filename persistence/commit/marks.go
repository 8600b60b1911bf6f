package commit

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// A write contains all legs of its attempt, most of them unchanged. For the server, finding that
// out costs as much as a change does: a row lock, and WAL. So the store remembers, for the legs
// that it wrote most recently, the fields that decide whether a row is newer (legNewer), and sends
// only the legs that have changed.
//
// The same goes for the digests of an attempt that has ended: its result changes few of the columns, and
// what a batch has of the others already is not made again.

// legMark is what legNewer compares of a leg to the callee.
type legMark struct {
	seq, code, q850 int
	sent, ended     int64 // µs, 0 without
	dialog          bool
	proof           engine.Proof
}

// legKey is the attempt and number of a leg.
type legKey struct {
	attempt [16]byte
	n       int
}

// sentLeg is a leg in the current transaction.
type sentLeg struct {
	legKey
	legMark
}

// sentLegOf returns false for legs to bots and transfer targets, which are few and not remembered.
func sentLegOf(l *table.LegRow) (s sentLeg, ok bool) {
	s.n = l.N
	s.legMark = legMark{seq: l.Leg.Seq, code: l.Leg.SIPCode, q850: l.Leg.Q850, sent: micros(l.Leg.SentAt),
		ended:  micros(l.Leg.EndedAt),
		dialog: l.Leg.Dialog != nil, proof: l.Leg.Proof}
	return s, l.Far.Kind == "" && column.ParseID(l.Attempt, &s.attempt)
}

func micros(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMicro()
}

// endMark stands for what two digests of an ended attempt are made of; 0 is none.
type endMark struct{ attempt, quality uint64 }

// sentEnd is an ended attempt in the current transaction.
type sentEnd struct {
	attempt [16]byte
	endMark
}

// marked is the minimum number of remembered legs and of ended attempts, and half the maximum: some
// thousand calls, less than two megabytes each.
const marked = 8192

// recent are the values of the keys that were put last.
type recent[K comparable, V any] struct{ now, before map[K]V }

func (r *recent[K, V]) of(k K) (v V, ok bool) {
	if v, ok = r.now[k]; !ok {
		v, ok = r.before[k]
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if r.now == nil || len(r.now) >= marked {
		r.before, r.now = r.now, make(map[K]V)
	}
	r.now[k] = v
}

// marks remembers legs and ended attempts whose commit was confirmed. Losing it is harmless: what is
// unknown is sent.
type marks struct {
	mu     sync.Mutex
	legs   recent[legKey, legMark]
	ends   recent[[16]byte, endMark]
	server int // counts the calls of forget
}

// leg says whether the leg is known to be stored in this state.
func (m *marks) leg(l *sentLeg) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.legs.of(l.legKey)
	return ok && was == l.legMark
}

// end is what the digests of an ended attempt that batches have were made of.
func (m *marks) end(attempt *[16]byte) endMark {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark, _ := m.ends.of(*attempt)
	return mark
}

// of returns the count that distinguishes one server from the next.
func (m *marks) of() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// put records what the server has committed.
func (m *marks) put(server int, legs []sentLeg, ends []sentEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if server != m.server {
		return
	}
	for i := range legs {
		m.legs.put(legs[i].legKey, legs[i].legMark)
	}
	for i := range ends {
		m.ends.put(ends[i].attempt, ends[i].endMark)
	}
}

// forget is called when the server may be another one: a standby that missed the last commits, or
// an older copy.
func (m *marks) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.legs, m.ends = recent[legKey, legMark]{}, recent[[16]byte, endMark]{}
	m.server++
}
