// Package placement decides which node of a cluster carries a new call: whose sockets send its
// INVITE and its audio.
//
// What it must not know: how nodes talk, what a call consists of, who decides that one is dialled.
//
// # Rules
//
//   - A node carries its own campaigns' calls itself while it has room: a local
//     leg costs least. Above OwnShare of its capacity, each call goes to the
//     emptier of two randomly drawn candidates, itself among them.
//   - The load of a node is the larger of two shares: calls of the room for them,
//     and processor time of MaxLoad. Calls placed there since its last report
//     count as carried, at what a call costs there.
//   - No call goes to a node that was not heard for Fresh, is draining, is full,
//     cannot use the trunk, or failed within Rest. When no node has room, the own
//     one carries the call: channels, seats and abandons limit what is dialled,
//     and they are not decided here.
//   - Two are drawn, instead of taking the emptiest: several nodes that place
//     calls by the same reports would all choose that one.
package placement
