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

// markedLegs is the minimum number of remembered legs, and half the maximum: the legs of some
// thousand calls, in less than two megabytes.
const markedLegs = 8192

// legMarks remembers legs whose commit was confirmed. Losing it is harmless: an unknown leg is
// sent.
type legMarks struct {
	mu          sync.Mutex
	now, before map[legKey]legMark
	server      int // counts the calls of forget
}

// stored says whether the leg is known to be stored in this state.
func (m *legMarks) stored(l *sentLeg) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.now[l.legKey]
	if !ok {
		was, ok = m.before[l.legKey]
	}
	return ok && was == l.legMark
}

// of returns the count that distinguishes one server from the next.
func (m *legMarks) of() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// put records the legs that the server has committed.
func (m *legMarks) put(server int, sent []sentLeg) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if server != m.server {
		return
	}
	for i := range sent {
		if m.now == nil || len(m.now) >= markedLegs {
			m.before, m.now = m.now, make(map[legKey]legMark)
		}
		m.now[sent[i].legKey] = sent[i].legMark
	}
}

// forget is called when the server may be another one: a standby that missed the last commits, or
// an older copy.
func (m *legMarks) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.before = nil, nil
	m.server++
}
