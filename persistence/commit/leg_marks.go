package commit

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// A write brings all legs of its attempt, most of them as they were before. To
// have the server find that out costs it as much as a change does: a lock of the
// row, and WAL. So the store keeps of the legs that it wrote last what decides
// whether a row is newer (legNewer), and sends only those that moved on.

// legMark is what legNewer compares of a leg to the callee.
type legMark struct {
	seq, code, q850 int
	sent, ended     int64 // µs, 0 without
	dialog          bool
	proof           engine.Proof
}

// legKey is attempt and number of a leg.
type legKey struct {
	attempt [16]byte
	n       int
}

// sentLeg is a leg in the transaction under way.
type sentLeg struct {
	legKey
	legMark
}

// sentLegOf: ok is false for legs to bots and to whom calls are handed over,
// which are few and not remembered.
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

// markedLegs is how many legs are remembered at least, and half of how many at
// most: those of some thousand calls, in less than two megabytes.
const markedLegs = 8192

// legMarks remembers legs whose commit was confirmed. Nothing is lost with it: a
// leg that it does not know is sent.
type legMarks struct {
	mu          sync.Mutex
	now, before map[legKey]legMark
	server      int // counts what forget was called for
}

// stored says whether the leg is known to be stored as it is.
func (m *legMarks) stored(l *sentLeg) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, ok := m.now[l.legKey]
	if !ok {
		was, ok = m.before[l.legKey]
	}
	return ok && was == l.legMark
}

// of tells one server from the next.
func (m *legMarks) of() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// put notes what was committed by the server.
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

// forget is called when the server may be another: one to which the last commits
// did not come, or a copy of an earlier day.
func (m *legMarks) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.before = nil, nil
	m.server++
}
