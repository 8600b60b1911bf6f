package sipstack

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"dialler/sipstack/message"
)

const (
	// markedFor is how long an address that failed is put behind the others of
	// its name (RFC 3263 §4.3).
	markedFor = 30 * time.Second
	maxMarked = 5 * time.Minute // what its Retry-After can ask for
	maxMarks  = 1000
)

// marks are the addresses that failed a short while ago.
type marks struct {
	mu    sync.Mutex
	until map[markKey]time.Time
}

type markKey struct {
	addr netip.AddrPort
	over message.Transport
}

// fail marks an address; zero is the usual time.
func (m *marks) fail(to target, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.until == nil {
		m.until = map[markKey]time.Time{}
	}
	if len(m.until) >= maxMarks {
		for k, t := range m.until {
			if now.After(t) {
				delete(m.until, k)
			}
		}
	}
	if len(m.until) < maxMarks {
		m.until[markKey{to.addr, to.transport}] = now.Add(min(cmp.Or(d, markedFor), maxMarked))
	}
}

func (m *marks) clear(to target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, markKey{to.addr, to.transport})
}

func (m *marks) marked(to target) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.until[markKey{to.addr, to.transport}]
	return ok && time.Now().Before(t)
}

// sort puts marked addresses last and keeps the order otherwise.
func (m *marks) sort(to []target) []target {
	if len(to) > 1 {
		slices.SortStableFunc(to, func(a, b target) int {
			switch x, y := m.marked(a), m.marked(b); {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		})
	}
	return to
}
