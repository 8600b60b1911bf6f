// Package routing carries what is asked of a campaign, or of a call of one, to
// the node that acts for it: any node takes any request.
//
// What it must not know: what a command means, how nodes find and reach each
// other (package cluster), HTTP.
//
// Invariants:
//
//   - A command is carried out by the campaign's owner, while it is that, or by
//     nobody: a node that has lost the campaign answers "not_owner" and the next
//     owner is asked.
//   - What arrives is what was sent: commands, replies and errors pass the wire
//     whole (the test TestCommandsAndRepliesPassTheWireWhole), unlike their JSON,
//     which leaves out what clients do not see.
//   - "owner_silent" means that a command may have been carried out. Whoever has
//     an Idempotency-Key repeats it, and it is carried out once.
package routing
