// Package cluster joins several processes into one dialler: which nodes there
// are, which of them acts for a campaign, a trunk, a fleet or a number, and how
// a request reaches it.
//
// What it must not know: what is asked (a method's name and bytes), SQL, what
// an owner does with what it owns.
//
// # Who owns what
//
// Only the leases in PostgreSQL say it (port Owners, package ownership).
// protoactor-go's cluster carries frames and tells early that a member is
// gone; its placement, its gossip and its list of blocked members decide nothing
// here: after a join, a pause or a partition they leave identities with two
// activations (the test TestTheStockLookupActivatesTwice shows it). So the
// identity lookup is ours, through its extension point, gossip is turned down,
// and so is the provider for etcd: the library's own waits forever on an etcd
// that is away, registers ids that the rest of the library does not know, and
// never closes its client.
//
// # Invariants
//
//   - A node acts only before Until, on the boot-time clock, and for what it has
//     claimed since Begin. Whoever writes an INVITE asks May, or carries Until as
//     the send-by time, right before the write.
//   - A request is carried out by the owner or by nobody, and once: it goes over the
//     link of the two nodes (package link).
//   - Every wait ends with its context; what is kept in memory is bounded.
//   - A request whose deadline has passed is dropped.
//
// # What it costs
//
// Measured (BenchmarkAsk, shared machine of two cores, loopback, both sides
// together): a request to another node takes 0.10 ms and 64 µs of CPU when it is
// alone, 17 µs of CPU among many. One that the node can carry out itself is a
// call. A node renews one row a second.
//
// # Who may talk to a node
//
// Whoever reaches the address of messages can command the node. It belongs on a
// network of the nodes alone; Config.Secret keeps out whoever does not know it,
// and does not encrypt.
package cluster
