package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

const (
	// throughput is how many messages an actor handles before others get a turn.
	throughput = 300
	// workersCap bounds how many goroutines wait for work.
	workersCap = 256
)

// workers run the actors that have messages. protoactor starts a goroutine for
// every actor that wakes up, and each grows its stack anew, which costs more
// than most messages; these goroutines are used again and keep their stacks.
type workers struct {
	mu     sync.Mutex
	idle   []chan func() // the one used last is used next
	closed bool
}

var _ actor.Dispatcher = (*workers)(nil)

// Schedule implements actor.Dispatcher.
func (w *workers) Schedule(fn func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		c := w.idle[n-1]
		w.idle = w.idle[:n-1]
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
		w.mu.Unlock()
		next, ok := <-c
		if !ok {
			return
		}
		fn = next
	}
}

// close ends the idle workers; the others end with their work.
func (w *workers) close() {
	w.mu.Lock()
	idle := w.idle
	w.idle, w.closed = nil, true
	w.mu.Unlock()
	for _, c := range idle {
		close(c)
	}
}

// props are those of every actor of the tree.
func (d *deps) props(producer actor.Producer, options ...actor.PropsOption) *actor.Props {
	return actor.PropsFromProducer(producer, append(options, actor.WithDispatcher(&d.workers))...)
}
