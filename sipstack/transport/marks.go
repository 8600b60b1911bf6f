package transport

import (
	"cmp"
	"net/netip"
	"slices"
	"sync"
	"time"

	"dialler/sipstack/message"
)

const (
	// markedFor is how long a failed address is sorted after the others of its name (RFC 3263
	// §4.3).
	markedFor = 30 * time.Second
	MaxMarked = 5 * time.Minute // the longest time its Retry-After can set
	maxMarks  = 1000
)

// Marks are the addresses that failed recently.
type Marks struct {
	mu    sync.Mutex
	until map[markKey]time.Time
}

type markKey struct {
	addr netip.AddrPort
	over message.Transport
}

// Fail marks an address; zero means the default time.
func (m *Marks) Fail(to Target, d time.Duration) {
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
		m.until[markKey{to.Addr, to.Transport}] = now.Add(min(cmp.Or(d, markedFor), MaxMarked))
	}
}

func (m *Marks) Clear(to Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, markKey{to.Addr, to.Transport})
}

func (m *Marks) Marked(to Target) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.until[markKey{to.Addr, to.Transport}]
	return ok && time.Now().Before(t)
}

// Sort puts marked addresses last and otherwise keeps the order.
func (m *Marks) Sort(to []Target) []Target {
	if len(to) > 1 {
		slices.SortStableFunc(to, func(a, b Target) int {
			switch x, y := m.Marked(a), m.Marked(b); {
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
