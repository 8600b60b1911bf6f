package link

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// network carries frames between nodes, as unreliably as it is told to.
type network struct {
	mu    sync.Mutex
	nodes map[engine.Incarnation]*Links
	rand  *rand.Rand
	// Percentages of frames lost and duplicated; each takes up to delay, so that they overtake each
	// other. cut means none arrives.
	lose, twice int
	delay       time.Duration
	cut         bool
	edit        func([]byte) []byte // changes each frame
}

func newNetwork(seed uint64) *network {
	return &network{nodes: map[engine.Incarnation]*Links{}, rand: rand.New(rand.NewPCG(seed, 7))}
}

func (n *network) set(lose, twice int, delay time.Duration, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lose, n.twice, n.delay, n.cut = lose, twice, delay, cut
}

func (n *network) carry(to engine.Incarnation, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	dest := n.nodes[to]
	if dest == nil || n.cut {
		return
	}
	if n.edit != nil {
		b = n.edit(b)
	}
	copies := 1
	if n.rand.IntN(100) < n.twice {
		copies = 2
	}
	for range copies {
		if n.rand.IntN(100) < n.lose {
			continue
		}
		after := time.Millisecond
		if n.delay > 0 {
			after = time.Duration(n.rand.Int64N(int64(n.delay)))
		}
		time.AfterFunc(after, func() { dest.Receive(b) })
	}
}

// clock is a node's own: its boot-time clock started at a different moment from the others'.
type clock struct {
	start time.Time
	boot  engine.BootTime
}

func (c clock) Now() time.Time        { return time.Now() }
func (c clock) Boot() engine.BootTime { return c.boot.Add(time.Since(c.start)) }

// join makes a process that is an incarnation, or a later one at the same address.
func (n *network) join(id engine.Incarnation, cap int) *Links {
	ls := New(
		Config{Clock: clock{start: time.Now(), boot: engine.BootTime(id) * 7e12}, Log: zerolog.Nop(), QueueCap: cap},
	)
	ls.Through(n.carry)
	ls.Join(id)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[id] = ls
	return ls
}

func (n *network) close() {
	n.mu.Lock()
	all := n.nodes
	n.nodes = map[engine.Incarnation]*Links{}
	n.mu.Unlock()
	for _, ls := range all {
		ls.Close()
	}
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func pause(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}

// say writes a number, the only message of these tests.
func say(n int) func(*Wire) { return func(w *Wire) { Number(w, &n) } }

// heard records what a node is told, and answers a question with its number plus one.
type heard struct {
	mu   sync.Mutex
	all  []int
	from []engine.Incarnation
}

func (h *heard) take(s *Said) {
	var n int
	if Number(s.Wire, &n); !s.Whole() {
		return
	}
	h.mu.Lock()
	h.all, h.from = append(h.all, n), append(h.from, s.Link.Peer())
	h.mu.Unlock()
	if s.Asked() {
		s.Answer(nil, 0, say(n+1))
	}
}

func (h *heard) list() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]int(nil), h.all...)
}

// of lists what one node told.
func (h *heard) of(id engine.Incarnation) (all []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, n := range h.all {
		if h.from[i] == id {
			all = append(all, n)
		}
	}
	return all
}

// asking records the outcome of a question.
type asking struct {
	mu    sync.Mutex
	times int
	got   int
	err   error
	at    time.Time
}

func (a *asking) then(w *Wire, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times++
	a.err, a.at = err, time.Now()
	if err == nil {
		Number(w, &a.got)
	}
}
