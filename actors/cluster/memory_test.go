package cluster

import "sync"

// memory carries frames within a process.
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

func (m memory) address() string { return m.n.cfg.Listen }

func (m memory) send(address string, frame []byte) {
	memoryMu.Lock()
	n := memoryNodes[address]
	memoryMu.Unlock()
	if n != nil && n.cfg.Secret == m.n.cfg.Secret {
		n.links.Receive(frame)
	}
}

func (m memory) close() {
	memoryMu.Lock()
	defer memoryMu.Unlock()
	delete(memoryNodes, m.n.cfg.Listen)
}
