package engine

import "time"

// NodeLease is one lease of this process's node: from when it joined until it could not renew. It
// is read, by the boot-time clock, right before each write that continues a call, so that nothing
// that was delayed (a goroutine, the process, the machine) leaves after it.
type NodeLease interface {
	// Until is when it ends unless renewed. An expired lease is never revived: the node joins again
	// with a new one.
	Until() BootTime
	// Gap is when it began, and for how long the node had none before; 0 for its first.
	Gap() (since BootTime, without time.Duration)
}

// Fence is what the adapters know about the lease of their node.
type Fence interface {
	// Boot reads the boot-time clock.
	Boot() BootTime
	// Lease is the current lease, or the last one; nil if there was none yet.
	Lease() NodeLease
	// Kept says whether another, reachable node owns a call here. It is called under the adapters'
	// locks, so it must not call them.
	Kept(a AttemptID) bool
}

// LimboFor is how long a conversation continues after the end of the lease without an owner.
// SEMANTICS §4.
const LimboFor = 30 * time.Second

// FencedOff says whether something begun under a lease has outlived it: then it may no longer
// become a conversation. A nil lease means that there are no leases.
func FencedOff(now BootTime, begun NodeLease) bool { return begun != nil && now >= begun.Until() }

// LimboOver says whether a conversation begun under a lease must be ended: no other node has it,
// and this node is not back, or came back too late. A process that stood still wakes after its time,
// and may have a new lease before it looks.
func LimboOver(begun NodeLease, f Fence, a AttemptID) bool {
	return FencedOff(f.Boot(), begun) && LimboPassed(f) && !f.Kept(a)
}

// LimboPassed says whether the node has no lease, or had none until a moment ago, for as long as a
// conversation goes on without.
func LimboPassed(f Fence) bool {
	now, lease := f.Boot(), f.Lease()
	if lease == nil {
		return false
	}
	since, without := lease.Gap()
	return now >= lease.Until().Add(LimboFor) || without >= LimboFor && time.Duration(now-since) < wokenFor
}

// wokenFor is how long after such a return conversations are looked at for it. By then each has been,
// and whoever owns them may have been heard.
const wokenFor = 2 * time.Second
