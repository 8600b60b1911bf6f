package host

import (
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

const (
	// throughput is how many messages an actor handles before others get a turn.
	throughput = 300
	// workersCap bounds how many goroutines wait for work; workersLeast is how many stay even
	// without work.
	workersCap   = 256
	workersLeast = 8
	// workersRest is how long the others wait.
	workersRest = 10 * time.Second
)

// workers run the actors that have messages. protoactor starts a goroutine for every actor that
// wakes up, and growing its stack costs more than most messages; these goroutines are reused and
// keep their stacks. Surplus workers left by a burst end after a while.
type workers struct {
	mu     sync.Mutex
	idle   []chan func() // last in, first out
	unused int           // how many at the head of idle were unused since shrink last fired
	shrink *time.Timer   // nil while no more wait than should stay
	closed bool
}

var _ actor.Dispatcher = (*workers)(nil)

// Schedule implements actor.Dispatcher.
func (w *workers) Schedule(fn func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.unused = min(w.unused, n-1)
		w.mu.Unlock()
		c <- fn
		return
	}
	w.mu.Unlock()
	go w.work(fn)
}

// Throughput implements actor.Dispatcher.
func (w *workers) Throughput() int { return throughput }

func (w *workers) work(fn func()) {
	c := make(chan func(), 1)
	for {
		fn()
		w.mu.Lock()
		if w.closed || len(w.idle) >= workersCap {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, c)
		if len(w.idle) > workersLeast && w.shrink == nil {
			w.unused = 0
			w.shrink = time.AfterFunc(workersRest, w.dismiss)
		}
		w.mu.Unlock()
		next, ok := <-c
		if !ok {
			return
		}
		fn = next
	}
}

// dismiss ends the workers that were idle since its last run, except for a few.
func (w *workers) dismiss() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	n := min(w.unused, max(len(w.idle)-workersLeast, 0))
	ended := slices.Clone(w.idle[:n])
	w.idle = slices.Delete(w.idle, 0, n)
	w.unused = len(w.idle)
	if w.shrink = nil; len(w.idle) > workersLeast {
		w.shrink = time.AfterFunc(workersRest, w.dismiss)
	}
	w.mu.Unlock()
	for _, c := range ended {
		close(c)
	}
}

// close ends the idle workers; the others end when their work does.
func (w *workers) close() {
	w.mu.Lock()
	idle := w.idle
	w.idle, w.closed = nil, true
	if w.shrink != nil {
		w.shrink.Stop()
	}
	w.mu.Unlock()
	for _, c := range idle {
		close(c)
	}
}
