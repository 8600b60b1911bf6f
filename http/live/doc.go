// Package live shows campaigns as they are: a snapshot, then what changed, as
// server-sent events.
//
//   - However many watch a campaign, it is asked once a second; while nobody does,
//     not at all.
//   - No client holds up another, or an actor.
//   - A stream goes on while its credentials cannot be checked (database away), and
//     ends after ten seconds in which the campaign could not be asked.
package live
