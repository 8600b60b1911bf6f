// Package cluster joins several processes into one dialler: which nodes exist, which of them acts
// for a campaign, a trunk, a fleet or a number, and how a request reaches that node.
//
// It must not know the content of requests (they are a method's name and bytes), SQL, or what an
// owner does with what it owns.
//
// # Who owns what
//
// Only the leases in PostgreSQL decide ownership (port Owners, package ownership). protoactor-go's
// cluster carries frames and reports early that a member is gone. Its placement, gossip and block
// list decide nothing here: after a join, a pause or a partition they leave identities with two
// activations (shown by TestTheStockLookupActivatesTwice). So the identity lookup is ours, through
// the library's extension point, and gossip is turned down. The etcd provider is ours too: the
// library's own waits forever for an unreachable etcd, registers IDs that the rest of the library
// does not know, and never closes its client.
//
// # Invariants
//
//   - A node acts only before Until, on the boot-time clock, and only for what it
//     has claimed since Begin. Code that writes an INVITE calls May right before the
//     write, or carries Until as the send-by time.
//   - A request is carried out by the owner or not at all, and once: it goes over the
//     link of the two nodes (package link).
//   - Every wait ends with its context; memory use is bounded.
//   - A request whose deadline has passed is dropped.
//
// # What it costs
//
// Measured with BenchmarkAsk (shared machine with two cores, loopback, both sides together): a
// single request to another node takes 0.10 ms and 64 µs of CPU; among many, 17 µs of CPU. A
// request that the node can carry out itself is a plain call. A node renews one row a second.
//
// # Who may talk to a node
//
// Anyone who reaches the message address can command the node. It belongs on a network of the nodes
// alone; Config.Secret keeps out anyone who does not know it, but does not encrypt.
package cluster
