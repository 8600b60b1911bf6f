// Package routing carries requests about a campaign, or one of its calls, to the node that acts for
// it: any node accepts any request.
//
// It must not know what a command means, how nodes find and reach each other (package cluster), or
// HTTP.
//
// Invariants:
//
//   - A command is carried out by the campaign's current owner or not at all:
//     a node that has lost the campaign answers "not_owner" and the next owner
//     is asked.
//   - Nothing is lost in transit: commands, replies and errors cross the wire
//     whole (the test TestCommandsAndRepliesPassTheWireWhole), unlike their JSON,
//     which leaves out what clients do not see.
//   - "owner_silent" means that a command may have been carried out. A client with
//     an Idempotency-Key repeats it, and it is carried out once.
package routing
