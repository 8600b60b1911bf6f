package engine

import "time"

// NodeLease is one lease of the node that this process is: from the moment at which it
// joined until it could not renew. It is read right before each write that carries a
// call on, by the boot-time clock, so that nothing that was held up on the way (a
// goroutine, the process, the machine) leaves after it.
type NodeLease interface {
	// Until is when it ends unless it is renewed. A lease that is over stays over: the
	// node joins again with another one.
	Until() BootTime
}

// Fence is what the adapters know of the lease of their node.
type Fence interface {
	// Boot reads the boot-time clock.
	Boot() BootTime
	// Lease is the present one, or the last; nil: there was none yet.
	Lease() NodeLease
	// Kept says whether another node that is heard of acts for a call here. It is
	// asked under the adapters' locks: it must not call them.
	Kept(a AttemptID) bool
}

// LimboFor is how long a conversation goes on behind the end of the lease without
// anybody who acts for it. SEMANTICS §4.
const LimboFor = 30 * time.Second

// FencedOff says whether what began under a lease has outlived it: then it may not
// become a conversation any more. Nil: there are no leases.
func FencedOff(now BootTime, begun NodeLease) bool { return begun != nil && now >= begun.Until() }

// LimboOver says whether a conversation has to be ended, which began under a lease:
// nobody else has it, and the node is not back.
func LimboOver(begun NodeLease, f Fence, a AttemptID) bool {
	now := f.Boot()
	return FencedOff(now, begun) && now >= f.Lease().Until().Add(LimboFor) && !f.Kept(a)
}
