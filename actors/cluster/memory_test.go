package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// memory carries messages within a process.
type memory struct{ n *Node }

var (
	memoryMu    sync.Mutex
	memoryNodes = map[string]*Node{} // by address
)

func inMemory(n *Node, _ membership) (transport, error) {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	memoryNodes[n.cfg.Listen] = n
	return memory{n}, nil
}

func (m memory) to(pid *actor.PID) *Node {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	n := memoryNodes[pid.Address]
	if n == nil || n.cfg.Secret != m.n.cfg.Secret {
		return nil
	}
	return n
}

func (m memory) address() string { return m.n.cfg.Listen }

func (m memory) send(to *actor.PID, b *wrapperspb.BytesValue) error {
	if n := m.to(to); n != nil {
		n.desk.take(b, nil)
	}
	return nil
}

func (m memory) ask(ctx context.Context, to *actor.PID, b *wrapperspb.BytesValue, _ time.Duration) (*wrapperspb.BytesValue, error) {
	n := m.to(to)
	if n == nil {
		return nil, actor.ErrDeadLetter
	}
	got := make(chan *wrapperspb.BytesValue, 1)
	n.desk.take(b, func(a *wrapperspb.BytesValue) { got <- a })
	select {
	case a := <-got:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m memory) close() {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	delete(memoryNodes, m.n.cfg.Listen)
}
