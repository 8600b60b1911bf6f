// Package ownership says which node of a cluster may act: the lease of a node, counted on its own
// boot-time clock, and the owner of an identity (a campaign, a trunk, a fleet of bots, a number).
//
// What it must not know: how leases are stored (package persistence), how nodes talk
// (actors/cluster), what an owner does.
//
// Invariants:
//
//   - One node has one lease, renewed as one row whatever the node owns. An
//     identity is owned while the lease of its owner's node is valid.
//   - A lease is counted from the moment before its renewal was sent, on the
//     boot-time clock, less a margin: a node knows that its lease is over before
//     any other node may claim what it owned, whatever the network and the
//     scheduler do to it.
//   - An expired lease does not come back: the node joins again as another
//     incarnation, and owns nothing.
//   - Epochs of an identity only grow; one epoch has one owner.
package ownership
