// Package lease is what those who own something scarce have in common: channels of
// trunks, seats of bots, calls from outbound numbers. Whoever uses one holds a lease.
// Several nodes may use the same trunks, bots and numbers; then one node keeps the count
// of each (SharedCaps), and this package has the messages between its actors and those
// of the others.
package lease
