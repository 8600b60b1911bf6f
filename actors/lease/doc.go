// Package lease is what the owners of scarce resources have in common: channels of trunks, seats of
// bots, calls from outbound numbers. Every use requires a lease. Several nodes may share trunks,
// bots and numbers; then one node keeps the count of each (SharedCaps), and this package defines
// the messages between its actors and those of the other nodes.
package lease
