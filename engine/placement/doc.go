// Package placement says which node of a cluster carries a new call: whose
// sockets send its INVITE and its audio.
//
// What it must not know: how nodes talk, what a call is made of, who decides
// that one is dialled.
//
// # Rules
//
//   - A node carries its own campaigns' calls itself while it has room: a leg that
//     is here costs least. Above OwnShare of what it can carry, each call goes to
//     the emptier of two candidates that are drawn, itself among them.
//   - How full a node is, is the larger of two shares: calls of the room for them,
//     and processor time of MaxLoad. What was placed there since its last report
//     counts as carried, at what a call costs there.
//   - No call goes to a node that was not heard for Fresh, is draining, is full,
//     cannot use the trunk, or failed within Rest. When no node has room, the own
//     one carries the call: channels, seats and abandons bound what is dialled,
//     and they are not decided here.
//   - Two are drawn, not the emptiest taken: several nodes that place calls by the
//     same reports would all choose that one.
package placement
