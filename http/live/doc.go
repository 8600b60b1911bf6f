// Package live shows the current state of campaigns: a snapshot, then changes, as server-sent
// events.
//
//   - However many clients watch a campaign, it is queried once a second; while none
//     do, not at all.
//   - No client holds up another, or an actor.
//   - A stream continues while its credentials cannot be checked (database down), and
//     ends after ten seconds in which the campaign could not be queried.
package live
